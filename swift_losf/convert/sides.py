# SPDX-License-Identifier: Apache-2.0
"""The two ways in which a device keeps the files of objects of a policy.

Both list them by partition and hash, read, write and remove them. What is
written is durable, and was read again and compared, before it is there under
its name: so whatever has its name need not be copied again. Volumes are here,
files in files.py.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from swift_losf.diskfile.vfile import VFileReader
from swift_losf.diskfile.vfile_writer import BYTES_PER_SYNC, call
from swift_losf.format.layout import ObjectPath
from swift_losf.upkeep.partitions import directories, invalidate
from swift_losf.volumes.ballast import is_given_up

#: bytes that are read and compared at a time
CHUNK = 2 ** 20
#: seconds that compaction may keep a tombstone, and between two looks at it
PATIENCE, PAUSE = 60, 0.05


class NotCopied(OSError):
    """What was read again is not what was written."""


class Damaged(Exception):
    """A file cannot be read, or its metadata cannot."""


@dataclass(frozen=True)
class Source:
    """A file that is open.

    :param read: a function of an offset and a length, as os.pread
    :param size: bytes of its data
    :param metadata: a dict
    :param written: when it was written, Unix time, seconds
    """
    read: Any
    size: int
    metadata: dict[str, Any]
    written: float

    def chunks(self) -> Iterator[bytes]:
        """Yield its data."""
        for offset in range(0, self.size, CHUNK):
            yield self.read(offset, min(CHUNK, self.size - offset))

    def require_same(self, other: 'Source') -> None:
        """Compare with a copy, byte for byte.

        :raises NotCopied: if they differ
        """
        if (self.size, self.metadata) != (other.size, other.metadata) or any(
                mine != its for mine, its in zip(
                    self.chunks(), other.chunks())):
            raise NotCopied(errno.EIO, 'the copy differs from the original')


class Side:
    """The files of one device and policy.

    :param layout: a Layout
    """

    def __init__(self, layout: Any) -> None:
        self.layout = layout

    def partitions(self) -> list[int]:
        """Return the partitions that may have files."""
        return sorted(directories(self.layout))

    def hashes(self, partition: int) -> dict[str, list[str]]:
        """Return the hashes of a partition, each with its files' names."""
        raise NotImplementedError

    def open(self, where: ObjectPath) -> Any:
        """Return a context manager that opens a file: a Source.

        :raises FileNotFoundError: if it is gone
        :raises Damaged: if it cannot be read
        """
        raise NotImplementedError

    def require_room(self) -> None:
        """Check that there is more than what is kept for deletes.

        :raises OSError: ENOSPC if there is not
        """
        if any(map(is_given_up, self.layout.ballasts)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(self, where: ObjectPath, source: Source
              ) -> Callable[[], None] | None:
        """Write a file, and compare it with what it is copied from.

        Its content is durable before it has its name, which settle makes
        durable.

        :returns: a function to be called next, which waits for that and gives
            it its name, and does not read the source; None if it has it
        :raises NotCopied: if it cannot be read again as it was
        """
        raise NotImplementedError

    def settle(self) -> None:
        """Make durable that what was written has its name."""

    def remove(self, where: ObjectPath, names: list[str]) -> None:
        """Remove files of a hash, if they are there."""
        raise NotImplementedError

    def invalidate(self, where: ObjectPath) -> None:
        """Have the suffix of a hash hashed anew."""
        invalidate(self.layout, where.partition, [int(str(where.suffix), 16)])


def place(layout: Any, partition: int, object_hash: str,
          name: str = '') -> ObjectPath:
    """Return the ObjectPath of a hash, or of a file of it."""
    return ObjectPath(layout.device_path, layout.policy_index, partition,
                      object_hash[-3:], object_hash, name or None)


class Volumes(Side):
    """Records of volumes.

    :param store: a Store
    """

    def __init__(self, store: Any) -> None:
        super().__init__(store.layout)
        self._store = store

    def partitions(self) -> list[int]:
        return self._store.index.list_partitions()

    def hashes(self, partition: int) -> dict[str, list[str]]:
        return {object_hash: names
                for suffix in self._store.list_partition(partition)
                for object_hash, names in self._store.list_suffix(
                    partition, suffix)}

    @contextmanager
    def open(self, where: ObjectPath) -> Iterator[Source]:
        location = dict(self._store.list_hash(
            where.partition, where.object_hash)).get(where.name)
        if location is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT),
                                    where.name)
        with self._opened(where, location) as source:
            yield source

    @contextmanager
    def _opened(self, where: ObjectPath, location: Any) -> Iterator[Source]:
        try:
            reader = VFileReader.open(
                self.layout, location, _hash(where), where.name)
        except FileNotFoundError:
            raise
        except OSError as err:
            raise Damaged(str(err)) from err
        with reader:
            def read(offset: int, length: int) -> bytes:
                reader.seek(offset)
                return reader.read(length)
            yield Source(read, reader.size, dict(reader.metadata),
                         reader.written / 1e9)

    def write(self, where: ObjectPath, source: Source
              ) -> Callable[[], None] | None:
        # In a thread of its own, which may block.
        writer = self._store.writer(
            os.path.splitext(str(where.name))[1], BYTES_PER_SYNC, call)
        try:
            for chunk in source.chunks():
                writer.write(chunk)
            pending = writer.finish(where.name, source.metadata,
                                    where.partition, _hash(where))
        except BaseException:
            writer.abort()
            raise
        try:
            with self._opened(where, pending.location) as again:
                source.require_same(again)
        except BaseException:
            pending.done()
            raise
        self._store.register(where, where.name, pending)
        return None

    def remove(self, where: ObjectPath, names: list[str]) -> None:
        end = time.monotonic() + PATIENCE
        while names:  # none would be all
            self._store.remove(where.partition, where.object_hash, names)
            # It keeps the tombstones of a hash that it is compacting.
            names = [name for name, _ in self._store.list_hash(
                where.partition, where.object_hash) if name in names]
            if not names:
                return
            if time.monotonic() > end:
                raise OSError(errno.EBUSY, '%s of %s are not removed while '
                              'their volume is compacted' % (
                                  ', '.join(names), where.object_hash))
            time.sleep(PAUSE)


def _hash(where: ObjectPath) -> bytes:
    return bytes.fromhex(str(where.object_hash))
