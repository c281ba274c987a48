# SPDX-License-Identifier: Apache-2.0
"""
The names that LOSF uses on disk. FORMAT.md, "The format of LOSF".
"""

import re
from dataclasses import dataclass
from os.path import basename, join

LOSF_BASE = 'losf'
OBJECTS_BASE = 'objects'

_VOLUME_NAME = re.compile(r'v([0-9]{10})\Z')
_OBJECTS_NAME = re.compile(OBJECTS_BASE + r'(?:-([0-9]+))?\Z')
_LOSF_NAME = re.compile(LOSF_BASE + r'(?:-([1-9][0-9]*))?\Z')


def volume_name(number):
    """
    :param number: of a volume, from 1
    :returns: the name of its file
    """
    return 'v%010d' % number


def volume_number(name):
    """
    :param name: of a file among the volumes
    :returns: the number of the volume, or None if it is no volume
    """
    match = _VOLUME_NAME.match(name)
    return int(match.group(1)) if match else None


def policies_in(names):
    """
    :param names: of what is in the directory of a device
    :returns: a sorted list of the policies that have volumes there
    """
    return sorted(int(match.group(1) or 0)
                  for match in map(_LOSF_NAME.match, names) if match)


@dataclass(frozen=True)
class Layout:
    """
    Where the files of one device and storage policy are.

    :param device_path: where the device is mounted
    :param policy_index: of the storage policy
    :param index_path: a directory on another, faster device for the indexes
        of all devices, or None
    """
    device_path: str
    policy_index: int
    index_path: str = None

    def _named(self, base):
        return '%s-%d' % (base, self.policy_index) if self.policy_index \
            else base

    @property
    def root(self):
        return join(self.device_path, self._named(LOSF_BASE))

    @property
    def volumes(self):
        return join(self.root, 'volumes')

    @property
    def index(self):
        """The directory of the LevelDB."""
        if self.index_path:
            return join(
                self.index_path, basename(self.device_path),
                self._named(LOSF_BASE))
        return join(self.root, 'index')

    @property
    def socket(self):
        return join(self.root, 'index.sock')

    @property
    def lock(self):
        return join(self.root, 'index.lock')

    @property
    def ballasts(self):
        """A directory on each filesystem that index and volumes are on."""
        own = join(self.root, 'ballast')
        return (own, self.index + '.ballast') if self.index_path else (own,)

    @property
    def objects(self):
        return join(self.device_path, self._named(OBJECTS_BASE))

    def volume(self, number):
        return join(self.volumes, volume_name(number))

    def partition(self, partition):
        return join(self.objects, str(partition))


@dataclass(frozen=True)
class ObjectPath:
    """
    What a path below an ``objects`` directory names: a partition, a suffix, a
    hash directory or a file in it.

    :param device_path: where the device is mounted
    :param policy_index: of the storage policy
    :param partition: a number
    :param suffix: three hex digits, or None
    :param object_hash: 32 hex digits, or None
    :param name: of the file, or None
    """
    device_path: str
    policy_index: int
    partition: int
    suffix: str = None
    object_hash: str = None
    name: str = None

    @classmethod
    def parse(cls, path):
        """
        :param path: absolute
        :raises ValueError: if it names no such thing
        """
        parts = path.rstrip('/').split('/')
        # A device may be called like an objects directory, nothing below
        # one can.
        for at in reversed(range(1, len(parts))):
            match = _OBJECTS_NAME.match(parts[at])
            if match:
                below = parts[at + 1:]
                break
        else:
            below = ()
        if not 1 <= len(below) <= 4 or not below[0].isdigit():
            raise ValueError('not a path below a partition: %s' % path)
        return cls('/'.join(parts[:at]), int(match.group(1) or 0),
                   int(below[0]), *below[1:])
