# SPDX-License-Identifier: Apache-2.0
"""The file ``changed.pkl``: one partition's fingerprint, and when it is valid.

LightSync §5.2. The file keeps the root of a partition beside its
``hashes.pkl``. It is a cache whose validity is derived, never announced: it
counts only while the hashes.pkl that its root was computed from is still in
place and nothing is queued in hashes.invalid. So nothing that writes to a
partition needs to know of it, and a lost, stale or damaged file costs a
recalculation. PROTOCOL.md, "changed.pkl", is the format. ``fingerprints``
keeps those of all partitions up to date.
"""

import os
import pickle  # nosec: B403
import pickletools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from swift.common.utils import mkdirs
from swift.common.utils.pickle import unpickle
from swift.obj.diskfile import HASH_FILE, HASH_INVALIDATIONS_FILE

from swift_lightsync.common.files import replace_file
from swift_lightsync.sync.core import fragments, merkle
from swift_lightsync.sync.names import CHANGED_FILE

VERSION = 1
#: Longest file that is read at all; a valid one has about 150 bytes.
MAX_BYTES = 4096
#: Longest hashes.pkl that is read; one of 4,096 suffixes has 180 KB.
MAX_HASHES_BYTES = 4 << 20
#: Seconds; anything later is no time at all.
END_OF_TIME = 1e11
MAX_SUFFIXES = 4096
#: Index of a fragment: Swift has no ring of more rows.
MAX_FRAGMENT = 0x7fff
HEX_DIGITS = frozenset('0123456789abcdef')
#: The opcodes that the pickle of a fingerprint consists of. Others can take
#: any amount of memory in a few bytes, whatever they name.
OPCODES = frozenset((
    'PROTO', 'EMPTY_DICT', 'MARK', 'BINUNICODE', 'BINPUT', 'BINGET', 'BININT',
    'BININT1', 'BININT2', 'LONG1', 'BINFLOAT', 'TUPLE3', 'SETITEMS', 'STOP'))


class FingerprintError(ValueError):
    """A ``changed.pkl`` that is damaged, with the reason."""


@dataclass(frozen=True)
class Fingerprint:
    """The root of one partition, and what it was computed from.

    :param root: the root of the suffix hashes, 32 hex digits
    :param suffixes: how many suffix hashes it stands for
    :param source: (inode, size, mtime_ns) of the hashes.pkl they were in
    :param exchanged: when all replicas were last compared suffix by suffix,
        or this file was first made; seconds
    :param version: of this format
    :param fragment: of erasure coding, as of ``fragments.summary``
    """
    root: str
    suffixes: int
    source: tuple[int, int, int]
    exchanged: float
    version: int = VERSION
    fragment: int = fragments.NONE

    @property
    def shown(self) -> str:
        """The root by which peers are answered."""
        return fragments.shown(self.root, self.fragment)


#: The fingerprint of a partition that is not on the device. It has no source,
#: so it is never current.
ABSENT = Fingerprint(merkle.root({}), 0, (0, 0, 0), 0.0)


def _damaged_fields(fingerprint: Fingerprint) -> list[str]:
    """Return the names of the fields that are not as specified."""
    root, source = fingerprint.root, fingerprint.source
    sound: dict[str, bool] = {
        'root': type(root) is str and len(root) == 32
        and not set(root) - HEX_DIGITS,
        'suffixes': type(fingerprint.suffixes) is int
        and 0 <= fingerprint.suffixes <= MAX_SUFFIXES,
        'source': type(source) is tuple and len(source) == 3
        and all(type(field) is int for field in source),
        'exchanged': type(fingerprint.exchanged) is float
        and 0 <= fingerprint.exchanged < END_OF_TIME,
        'version': fingerprint.version == VERSION,
        'fragment': type(fingerprint.fragment) is int
        and fragments.MIXED <= fingerprint.fragment <= MAX_FRAGMENT,
    }
    return [field for field, is_sound in sound.items() if not is_sound]


def _identity(stat: os.stat_result) -> tuple[int, int, int]:
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _read(path: str, most: int) -> tuple[os.stat_result, bytes]:
    """Read so many bytes of a file at most, in few system calls."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        stat = os.fstat(fd)
        return stat, os.read(fd, min(most, stat.st_size))
    finally:
        os.close(fd)


def _check_opcodes(data: bytes) -> None:
    strange = {opcode.name for opcode, _, _ in pickletools.genops(
        data)} - OPCODES
    if strange:
        raise FingerprintError('%s is in no fingerprint' % min(strange))


def load(partition_path: str) -> Fingerprint | None:
    """Read the ``changed.pkl`` of a partition, current or not.

    :param partition_path: absolute path of the partition directory
    :returns: the fingerprint, or None if there is no file
    :raises FingerprintError: if the file is damaged
    """
    path = os.path.join(partition_path, CHANGED_FILE)
    try:
        _, data = _read(path, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as err:
        raise FingerprintError('%s: %s' % (path, err))
    if len(data) > MAX_BYTES:
        raise FingerprintError('%s: longer than %d bytes' % (path, MAX_BYTES))
    try:
        _check_opcodes(data)
        fingerprint = Fingerprint(**unpickle(data))
        damaged = _damaged_fields(fingerprint)
    except Exception as err:
        # Damaged pickles raise nearly anything.
        raise FingerprintError('%s: %s: %s' % (
            path, type(err).__name__, err))
    if damaged:
        # The value stays out of the message: it may be anything.
        raise FingerprintError('%s: not as specified: %s' % (
            path, ', '.join(damaged)))
    return fingerprint


def is_current(partition_path: str, fingerprint: Fingerprint) -> bool:
    """Return whether a fingerprint still describes the partition.

    The queue of invalidations is read before hashes.pkl: whoever empties the
    queue has replaced hashes.pkl before, so a queue seen empty and then an
    unchanged hashes.pkl leave no gap to slip through.

    :param partition_path: absolute path of the partition directory
    :param fingerprint: the fingerprint
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


def store(partition_path: str, tmp_path: str,
          fingerprint: Fingerprint) -> None:
    """Replace the ``changed.pkl`` of a partition as a whole.

    It is not synced: after a power cut it is current or counts for nothing.

    :param partition_path: absolute path of the partition directory
    :param tmp_path: a directory for temporary files of the same file system
    :param fingerprint: the fingerprint
    :raises OSError: if the file cannot be written
    """
    fields = asdict(fingerprint)
    if fingerprint.fragment == fragments.NONE:
        del fields['fragment']
    data = pickle.dumps(fields, protocol=2)
    path = os.path.join(partition_path, CHANGED_FILE)
    try:
        replace_file(path, data, mode=0o600, temporary_in=tmp_path)
    except FileNotFoundError:
        mkdirs(tmp_path)
        replace_file(path, data, mode=0o600, temporary_in=tmp_path)


def of_replicas(hashes: dict[str, str]) -> tuple[str, int]:
    """Return the root of suffix hashes, as ``fragments.summary`` does."""
    return merkle.root(hashes), fragments.NONE


def from_hashes_file(partition_path: str, exchanged: float,
                     summary: Callable[[Any], tuple[str, int]] = of_replicas
                     ) -> Fingerprint | None:
    """Compute the fingerprint of a partition from its hashes.pkl alone.

    The file is only ever replaced as a whole: what is read from one open
    file belongs to that file's identity.

    :param partition_path: absolute path of the partition directory
    :param exchanged: when all replicas were last compared, seconds
    :param summary: makes a root of its suffix hashes
    :returns: the fingerprint, or None if the file is missing, damaged or has
        suffixes that await hashing
    """
    try:
        stat, data = _read(os.path.join(partition_path, HASH_FILE),
                           MAX_HASHES_BYTES)
        identity = _identity(stat)
        hashes = unpickle(data)
        if hashes.pop('valid', True) is not True:
            return None
        hashes.pop('updated', None)
        if not all(hashes.values()):
            return None
        root, fragment = summary(hashes)
        fingerprint = Fingerprint(root, len(hashes), identity, exchanged,
                                  fragment=fragment)
        return None if _damaged_fields(fingerprint) else fingerprint
    except Exception:
        # As in swift.obj.diskfile.read_hashes: anything can come out of a
        # damaged pickle, and it counts for nothing.
        return None
