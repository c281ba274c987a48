# SPDX-License-Identifier: Apache-2.0
"""
The journal of a device: which partitions changed since somebody last looked.

Who changes the suffix hashes of a partition enters it; who keeps something
about partitions reads on from where it was. The file may go at any time: then
its readers know nothing any more, and look at everything. PROTOCOL.md, "What
is kept between passes", has the bytes and the order of events.
"""

import os
import secrets
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from logging import Logger
from typing import Any

from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.utils import mkdirs

from swift_lightsync.common.owner import give_to_owner_of
from swift_lightsync.sync.names import JOURNAL_FILE, WRITERS_FILE

MAGIC = b'LSJ1'
#: Bytes of the magic and the name.
HEAD = 16
#: policy, nothing, partition
ENTRY = struct.Struct('<HHI')
#: Bytes at which a journal is replaced by an empty one.
MAX_BYTES = 1 << 20
#: Bytes before a reader's place that must not have changed.
TAIL = 64


@dataclass(frozen=True)
class Place:
    """How far a reader has read.

    :param identity: device and inode of the file
    :param head: its first bytes
    :param offset: of the first byte that was not read
    :param tail: the bytes before that
    """
    identity: tuple[int, int]
    head: bytes
    offset: int
    tail: bytes


def journal_of(device_path: str) -> str:
    """Return the path of a device's journal."""
    return os.path.join(device_path, JOURNAL_FILE)


def enter(device_path: str, policy: int, partition: int) -> None:
    """Enter a partition in the journal of its device, if there is one.

    :param device_path: the device's directory
    :param policy: index of the policy
    :param partition: the partition, whose hashes are invalidated already
    :raises OSError: if it could not be entered, and the journal not removed
    """
    path = journal_of(device_path)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        # Nobody reads it.
        return
    try:
        if os.fstat(fd).st_size < MAX_BYTES:
            entry = ENTRY.pack(policy, 0, partition)
            with suppress(OSError):
                if os.write(fd, entry) == len(entry):
                    return
    finally:
        os.close(fd)
    # Full, or it cannot be written: the readers have to know.
    with suppress(FileNotFoundError):
        os.unlink(path)


def begin(device_path: str, tmp_path: str) -> Place:
    """Return the end of a device's journal, which is made if there is none.

    What is looked at after that is known as long as :func:`read_on` finds
    nothing new about it.

    :param device_path: the device's directory
    :param tmp_path: a directory for temporary files of the same file system
    :raises OSError: if there is no journal and none can be made
    """
    path = journal_of(device_path)
    found = _end(path)
    if found is None:
        mkdirs(tmp_path)
        fresh = os.path.join(tmp_path, '%s.%s' % (
            JOURNAL_FILE, secrets.token_hex(8)))
        try:
            with open(fresh, 'xb') as stream:
                stream.write(MAGIC + secrets.token_bytes(HEAD - len(MAGIC)))
            with suppress(FileNotFoundError):
                if not _is_journal(path):
                    os.unlink(path)
            # Somebody else may have made one meanwhile.
            with suppress(FileExistsError):
                os.link(fresh, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(fresh)
        found = _end(path)
    if found is None:
        raise OSError('no journal can be made: %s' % path)
    return found


def _is_journal(path: str) -> bool:
    with open(path, 'rb') as stream:
        head = stream.read(HEAD)
    return len(head) == HEAD and head.startswith(MAGIC)


def _end(path: str) -> Place | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        stat = os.fstat(fd)
        head = os.pread(fd, HEAD, 0)
        end = stat.st_size - (stat.st_size - HEAD) % ENTRY.size
        if len(head) < HEAD or not head.startswith(MAGIC):
            return None
        begin = max(HEAD, end - TAIL)
        return Place((stat.st_dev, stat.st_ino), head, end,
                     os.pread(fd, end - begin, begin))
    finally:
        os.close(fd)


def read_on(device_path: str, place: Place
            ) -> tuple[Place, set[tuple[int, int]]] | None:
    """Return what was entered in a device's journal since it was last read.

    :param device_path: the device's directory
    :param place: how far it was read
    :returns: how far it is read now, and the index of the policy and the
        number of each partition; None if that is not known any more
    """
    try:
        fd = os.open(journal_of(device_path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        stat = os.fstat(fd)
        if (stat.st_dev, stat.st_ino) != place.identity \
                or not place.offset <= stat.st_size <= 2 * MAX_BYTES \
                or os.pread(fd, HEAD, 0) != place.head:
            return None
        begin = place.offset - len(place.tail)
        data = os.pread(fd, stat.st_size - begin, begin)
    except OSError:
        return None
    finally:
        os.close(fd)
    if not data.startswith(place.tail):
        return None
    fresh = data[len(place.tail):]
    fresh = fresh[:len(fresh) - len(fresh) % ENTRY.size]
    known = data[:len(place.tail) + len(fresh)]
    return (Place(place.identity, place.head, place.offset + len(fresh),
                  known[-TAIL:]),
            {(policy, partition)
             for policy, _, partition in ENTRY.iter_unpack(fresh)})


class Writers:
    """The mark by which writers say that entries may have been lost.

    :param conf: a section: ``recon_cache_path`` is the directory of its file
    :param logger: where a file that cannot be written is logged
    """

    def __init__(self, conf: Mapping[str, Any], logger: Logger) -> None:
        self.path = os.path.join(conf.get(
            'recon_cache_path', DEFAULT_RECON_CACHE_PATH), WRITERS_FILE)
        self.logger = logger

    def touch(self) -> None:
        """Make all readers look at everything once more."""
        try:
            with open(self.path, 'ab') as stream:
                # A server loads its app as root before it becomes Swift's.
                give_to_owner_of(os.path.dirname(self.path), stream.fileno())
                if stream.tell() >= MAX_BYTES:
                    stream.truncate(0)
                # Two in one tick of the clock differ by their sizes.
                stream.write(b'.')
        except FileNotFoundError:
            # No directory, no mark: nobody believes what a journal says.
            pass
        except OSError as err:
            self.logger.warning(
                'Unable to say that changes of partitions may be unknown; '
                'they are noticed within full_exchange_interval: %s', err)

    def mark(self) -> tuple[int, int, int] | None:
        """Return what changes when some writer touches it."""
        try:
            stat = os.stat(self.path)
        except OSError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns
