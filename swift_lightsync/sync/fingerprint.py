# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
``changed.pkl``: the root of a partition, kept beside its ``hashes.pkl``.

LightSync §5.2. The file is a cache whose validity is derived, never
announced: it counts only while the hashes.pkl that its root was computed
from is still in place and nothing is queued in hashes.invalid. So nothing
that writes to a partition needs to know of it, and a lost, stale or damaged
one costs a recalculation. PROTOCOL.md, "changed.pkl", is the format.
"""

import os
import pickle  # nosec: B403
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from tempfile import mkstemp

from swift.common.concurrency import Timeout
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.utils import mkdirs
from swift.common.utils.pickle import unpickle
from swift.obj.diskfile import HASH_FILE, HASH_INVALIDATIONS_FILE, \
    get_part_path, get_tmp_dir

from swift_lightsync.sync import merkle
from swift_lightsync.sync.names import CHANGED_FILE

VERSION = 1
#: Longest file that is read at all; a valid one has about 150 bytes.
MAX_BYTES = 4096
#: Seconds; what lies behind is no time at all.
END_OF_TIME = 1e11
MAX_SUFFIXES = 4096
HEX_DIGITS = frozenset('0123456789abcdef')


#: Partitions that one visit to a thread pool looks at: a few milliseconds.
PORTION = 64


def in_portions(partitions):
    """Cut partitions into what one visit to a thread pool should bear."""
    partitions = list(partitions)
    return [partitions[start:start + PORTION]
            for start in range(0, len(partitions), PORTION)]


class FingerprintError(ValueError):
    """A ``changed.pkl`` that is damaged, with the reason."""


@dataclass(frozen=True)
class Fingerprint:
    """
    :param root: the root of the suffix hashes, 32 hex digits
    :param suffixes: how many suffix hashes it stands for
    :param source: (inode, size, mtime_ns) of the hashes.pkl they were in
    :param exchanged: when all replicas were last compared suffix by suffix,
        or this file was first made; seconds
    :param version: of this format
    """
    root: str
    suffixes: int
    source: tuple
    exchanged: float
    version: int = VERSION

    def __post_init__(self):
        sound = {
            'root': type(self.root) is str and len(self.root) == 32
            and not set(self.root) - HEX_DIGITS,
            'suffixes': type(self.suffixes) is int
            and 0 <= self.suffixes <= MAX_SUFFIXES,
            'source': type(self.source) is tuple and len(self.source) == 3
            and all(type(field) is int for field in self.source),
            'exchanged': type(self.exchanged) is float
            and 0 <= self.exchanged < END_OF_TIME,
            'version': self.version == VERSION,
        }
        for field, is_sound in sound.items():
            if not is_sound:
                # The value stays out of the message: it may be anything.
                raise FingerprintError('field %s is not as specified' % field)


#: Of a partition that is not there: nothing stands for it, and nothing ever
#: makes it current.
ABSENT = Fingerprint(merkle.root({}), 0, (0, 0, 0), 0.0)


def _identity(stat):
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def load(partition_path):
    """
    Read the ``changed.pkl`` of a partition, current or not.

    :param partition_path: absolute path of the partition directory
    :returns: a :class:`Fingerprint`, or None if there is no file
    :raises FingerprintError: if it is damaged
    """
    path = os.path.join(partition_path, CHANGED_FILE)
    try:
        with open(path, 'rb') as changed:
            data = changed.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as err:
        raise FingerprintError('%s: %s' % (path, err))
    if len(data) > MAX_BYTES:
        raise FingerprintError('%s: longer than %d bytes' % (path, MAX_BYTES))
    try:
        return Fingerprint(**unpickle(data))
    except Exception as err:
        # Damaged pickles raise nearly anything.
        raise FingerprintError('%s: %s: %s' % (
            path, type(err).__name__, err))


def is_current(partition_path, fingerprint):
    """
    Whether a fingerprint still speaks for the partition.

    The queue of invalidations is looked at before hashes.pkl: whoever
    empties the queue has replaced hashes.pkl before, so a queue seen empty
    and then an unchanged hashes.pkl leave no gap to slip through.

    :param partition_path: absolute path of the partition directory
    :param fingerprint: a :class:`Fingerprint`
    """
    try:
        queue = os.stat(os.path.join(partition_path, HASH_INVALIDATIONS_FILE))
        if queue.st_size:
            return False
    except (FileNotFoundError, NotADirectoryError):
        pass
    try:
        source = os.stat(os.path.join(partition_path, HASH_FILE))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return _identity(source) == fingerprint.source


def store(partition_path, tmp_path, fingerprint):
    """
    Replace the ``changed.pkl`` of a partition at once.

    It is not synced: after a power cut it is current or counts for nothing.

    :param partition_path: absolute path of the partition directory
    :param tmp_path: a directory for temporary files of the same file system
    :param fingerprint: a :class:`Fingerprint`
    :raises OSError: if the file system will not have it
    """
    mkdirs(tmp_path)
    fd, tmp_file = mkstemp(dir=tmp_path, suffix='.tmp')
    try:
        with os.fdopen(fd, 'wb') as changed:
            pickle.dump(asdict(fingerprint), changed, protocol=2)
        os.rename(tmp_file, os.path.join(partition_path, CHANGED_FILE))
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(tmp_file)
        raise


def _from_hashes_file(partition_path, exchanged):
    """
    Compute the fingerprint of a partition from its hashes.pkl alone.

    The file is only ever replaced as a whole: what is read from one open
    file belongs to that file's identity.

    :returns: a :class:`Fingerprint`, or None if the file is missing, damaged
        or has suffixes that await hashing
    """
    try:
        with open(os.path.join(partition_path, HASH_FILE), 'rb') as source:
            identity = _identity(os.fstat(source.fileno()))
            hashes = unpickle(source)
        if hashes.pop('valid', True) is not True or None in hashes.values():
            return None
        hashes.pop('updated', None)
        return Fingerprint(merkle.root(hashes), len(hashes), identity,
                           exchanged)
    except Exception:
        # As in swift.obj.diskfile.read_hashes: anything can come out of a
        # damaged pickle, and it counts for nothing.
        return None


class Fingerprints:
    """
    The fingerprints of the partitions that one diskfile manager holds.

    Those that were seen are remembered; whether one is current is looked up
    on disk each time. The methods block: call them through a thread pool.

    :param df_mgr: a diskfile manager
    :param policy: the StoragePolicy of its partitions
    :param logger: a logger
    """

    def __init__(self, df_mgr, policy, logger):
        self.df_mgr = df_mgr
        self.policy = policy
        self.logger = logger
        self._seen = {}

    def get_many(self, device, partitions):
        """
        The fingerprints of partitions as they are now.

        :param device: name of the device
        :param partitions: an iterable of partitions
        :returns: a tuple of the number of suffixes that had to be hashed,
            and a dict, partition to :class:`Fingerprint`: ABSENT for a
            partition that is not on the device; one that could not be read
            is left out
        :raises DiskFileDeviceUnavailable: if the device is not mounted
        """
        dev_path = self._dev_path(device)
        hashed, found = 0, {}
        for partition, (more, fingerprint) in self._of_each(
                partitions, lambda partition: self._get(
                    dev_path, device, partition), device):
            hashed += more
            found[partition] = fingerprint
        return hashed, found

    def roots(self, device, partitions):
        """
        The roots of partitions as they are now; as :meth:`get_many`.

        :returns: a dict, partition to root
        """
        _, found = self.get_many(device, partitions)
        return {partition: fingerprint.root
                for partition, fingerprint in found.items()}

    def suffix_hashes(self, device, partitions):
        """
        The suffix hashes of partitions as they are now.

        :returns: a dict, partition to a dict, suffix to hash: an empty one
            for a partition that is not on the device; one that could not be
            read is left out
        :raises DiskFileDeviceUnavailable: if the device is not mounted
        """
        dev_path = self._dev_path(device)
        return dict(self._of_each(
            partitions, lambda partition: self.df_mgr._get_hashes(
                device, partition, self.policy)[1]
            if os.path.isdir(get_part_path(dev_path, self.policy, partition))
            else {}, device))

    def invalidate(self, device, suffixes):
        """
        Queue suffixes for hashing.

        :param device: name of the device
        :param suffixes: a dict, partition to a list of suffixes; a partition
            that is not on the device is passed over
        :raises DiskFileDeviceUnavailable: if the device is not mounted
        """
        dev_path = self._dev_path(device)

        def invalidate_partition(partition):
            path = get_part_path(dev_path, self.policy, partition)
            if os.path.isdir(path):
                for suffix in suffixes[partition]:
                    self.df_mgr.invalidate_hash(os.path.join(path, suffix))

        for _ in self._of_each(suffixes, invalidate_partition, device):
            pass

    def _of_each(self, partitions, method, device):
        """Yield (partition, result of the method), errors being logged."""
        for partition in partitions:
            try:
                yield partition, method(partition)
            except (Exception, Timeout) as err:
                # Locked, or on a bad sector: no matter of the others.
                self.logger.error(
                    'Unable to hash partition %s on %s: %s: %s',
                    partition, device, type(err).__name__, err)

    def get(self, device, partition):
        """
        The fingerprint of one partition; as :meth:`get_many`.

        :returns: a tuple of the number of suffixes that had to be hashed,
            and a :class:`Fingerprint`
        """
        return self._get(self._dev_path(device), device, partition)

    def _dev_path(self, device):
        dev_path = self.df_mgr.get_dev_path(device)
        if not dev_path:
            raise DiskFileDeviceUnavailable()
        return dev_path

    def _get(self, dev_path, device, partition):
        partition_path = get_part_path(dev_path, self.policy, partition)
        known = self._seen.get(partition_path)
        if known and is_current(partition_path, known):
            return 0, known
        if not os.path.isdir(partition_path):
            self._seen.pop(partition_path, None)
            return 0, ABSENT
        try:
            known = load(partition_path)
        except FingerprintError as err:
            self.logger.warning('Replacing a damaged fingerprint: %s', err)
            known = None
        if known and is_current(partition_path, known):
            self._seen[partition_path] = known
            return 0, known
        return self._renew(dev_path, device, partition, known)

    def _renew(self, dev_path, device, partition, known):
        hashed, hashes = self.df_mgr._get_hashes(device, partition,
                                                 self.policy)
        exchanged = known.exchanged if known else float(time.time())
        partition_path = get_part_path(dev_path, self.policy, partition)
        fingerprint = _from_hashes_file(partition_path, exchanged)
        if fingerprint:
            self._keep(dev_path, partition_path, fingerprint)
            return hashed, fingerprint
        # Somebody is writing to the partition, or a suffix cannot be hashed
        # (None, as stock Swift has it): good for now, not for later.
        return hashed, Fingerprint(
            merkle.root({suffix: str(digest)
                         for suffix, digest in hashes.items()}),
            len(hashes), (0, 0, 0), exchanged)

    def _keep(self, dev_path, partition_path, fingerprint):
        self._seen[partition_path] = fingerprint
        try:
            store(partition_path,
                  os.path.join(dev_path, get_tmp_dir(self.policy)),
                  fingerprint)
        except FileNotFoundError:
            # The partition was moved away meanwhile.
            pass
        except OSError as err:
            # Only time is lost: the root is computed again when asked for.
            self.logger.warning('Unable to keep the fingerprint of %s: %s',
                                partition_path, err)

    def relist(self, device, partition):
        """
        Make the partition's hashes reflect the suffixes that really exist.

        :param device: name of the device
        :param partition: the partition
        :returns: the number of suffixes that had to be hashed
        """
        return self.df_mgr._get_hashes(device, partition, self.policy,
                                       do_listdir=True)[0]

    def note_exchange(self, device, partition, now):
        """
        Remember that all replicas were compared suffix by suffix.

        :param device: name of the device
        :param partition: the partition
        :param now: when, seconds
        """
        dev_path = self._dev_path(device)
        fingerprint = self._get(dev_path, device, partition)[1]
        if fingerprint is not ABSENT:
            self._keep(dev_path,
                       get_part_path(dev_path, self.policy, partition),
                       replace(fingerprint, exchanged=float(now)))
