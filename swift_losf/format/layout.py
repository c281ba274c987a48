# SPDX-License-Identifier: Apache-2.0
"""The paths that LOSF uses on disk. FORMAT.md, "The format of LOSF"."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from os.path import basename, join

from swift_lightsync.common.cached import cached_property

LOSF_BASE = 'losf'
OBJECTS_BASE = 'objects'

_VOLUME_NAME = re.compile(r'v([0-9]{10})\Z')
#: A device may be called like an objects directory, so the last one counts.
_BELOW_OBJECTS = re.compile(
    '(.*)/' + OBJECTS_BASE + r'(?:-([0-9]+))?/([0-9]+)(?:/([^/]+))?'
    r'(?:/([^/]+))?(?:/([^/]+))?/*\Z', re.DOTALL)
_LOSF_NAME = re.compile(LOSF_BASE + r'(?:-([1-9][0-9]*))?\Z')


def volume_name(number: int) -> str:
    """Return the name of a volume's file; volumes are numbered from 1."""
    return 'v%010d' % number


def volume_number(name: str) -> int | None:
    """Return the number of the volume that a file name is of, or None."""
    match = _VOLUME_NAME.match(name)
    return int(match.group(1)) if match else None


def policies_in(names: Iterable[str]) -> list[int]:
    """Return the policies that have volumes on a device.

    :param names: of what is in the directory of the device
    :returns: indexes of storage policies, sorted
    """
    return sorted(int(match.group(1) or 0)
                  for match in map(_LOSF_NAME.match, names) if match)


@dataclass(frozen=True)
class Layout:
    """The paths of the files of one device and storage policy.

    :param device_path: where the device is mounted
    :param policy_index: of the storage policy
    :param index_path: a directory on another, faster device for the indexes
        of all devices, or None
    """
    device_path: str
    policy_index: int
    index_path: str | None = None

    def _named(self, base: str) -> str:
        return '%s-%d' % (base, self.policy_index) if self.policy_index \
            else base

    @cached_property
    def root(self) -> str:
        """The directory of all that is no partition."""
        return join(self.device_path, self._named(LOSF_BASE))

    @cached_property
    def volumes(self) -> str:
        """The directory of the volumes."""
        return join(self.root, 'volumes')

    @property
    def index(self) -> str:
        """The directory of the LevelDB."""
        if self.index_path:
            return join(
                self.index_path, basename(self.device_path),
                self._named(LOSF_BASE))
        return join(self.root, 'index')

    @cached_property
    def socket(self) -> str:
        """The socket of the index server."""
        return join(self.root, 'index.sock')

    @property
    def lock(self) -> str:
        """The file that the process which has the index open has locked."""
        return join(self.root, 'index.lock')

    @property
    def ballasts(self) -> tuple[str, ...]:
        """A directory on each filesystem that index and volumes are on."""
        own = join(self.root, 'ballast')
        return (own, self.index + '.ballast') if self.index_path else (own,)

    @property
    def objects(self) -> str:
        """The directory of the partitions."""
        return join(self.device_path, self._named(OBJECTS_BASE))

    def volume(self, number: int) -> str:
        """Return the path of a volume."""
        return join(self.volumes, volume_name(number))

    def partition(self, partition: int) -> str:
        """Return the path of the directory of a partition."""
        return join(self.objects, str(partition))


@dataclass(frozen=True)
class ObjectPath:
    """The parts of a path below an ``objects`` directory.

    The path is that of a partition, a suffix, a hash directory or a file.

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
    suffix: str | None = None
    object_hash: str | None = None
    name: str | None = None

    @classmethod
    def parse(cls, path: str) -> 'ObjectPath':
        """Split a path.

        :param path: absolute
        :raises ValueError: if it is not below an ``objects`` directory
        """
        match = _BELOW_OBJECTS.match(path)
        if not match:
            raise ValueError('not a path below a partition: %s' % path)
        device, policy, partition, *names = match.groups()
        return cls(device, int(policy or 0), int(partition), *names)
