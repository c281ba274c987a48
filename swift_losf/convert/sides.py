# SPDX-License-Identifier: Apache-2.0
"""The two ways in which a device keeps the files of objects of a policy.

Both list them by partition and hash, read, write and remove them. What is
written is durable, and was read again and compared, before it is there under
its name: so whatever has its name need not be copied again.
"""

import errno
import os
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List

from swift.common.utils import remove_directory, renamer
from swift.obj import diskfile

from swift_losf.convert.group_sync import GroupSync
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.diskfile.vfile_writer import BYTES_PER_SYNC
from swift_losf.format.layout import ObjectPath
from swift_losf.upkeep.partitions import invalidate
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
    metadata: Dict[str, Any]
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

    def partitions(self) -> List[int]:
        """Return the partitions that may have files."""
        try:
            names = os.listdir(self.layout.objects)
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdigit())

    def hashes(self, partition: int) -> Dict[str, List[str]]:
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

    def write(self, where: ObjectPath, source: Source) -> None:
        """Write a file, and compare it with what it is copied from.

        Its content is durable before it has its name, which settle makes
        durable.

        :raises NotCopied: if it cannot be read again as it was
        """
        raise NotImplementedError

    def settle(self) -> None:
        """Make durable that what was written has its name."""

    def remove(self, where: ObjectPath, names: List[str]) -> None:
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


class Files(Side):
    """Files and directories, as stock Swift keeps them."""

    def __init__(self, layout: Any) -> None:
        super().__init__(layout)
        self._sync = GroupSync(layout.device_path)

    def _directory(self, where: ObjectPath) -> str:
        return os.path.join(self.layout.partition(where.partition),
                            str(where.suffix), str(where.object_hash))

    def hashes(self, partition: int) -> Dict[str, List[str]]:
        found: Dict[str, List[str]] = {}
        root = self.layout.partition(partition)
        for suffix in _listed(root):
            if not diskfile.valid_suffix(suffix):
                continue
            for object_hash in _listed(os.path.join(root, suffix)):
                names = [name for name in _listed(os.path.join(
                    root, suffix, object_hash)) if name.endswith(
                        ('.data', '.meta', '.ts')) and name[0] != '.']
                if names and len(object_hash) == 32:
                    found[object_hash] = names
        return found

    @contextmanager
    def open(self, where: ObjectPath) -> Iterator[Source]:
        with open(os.path.join(self._directory(where), str(where.name)),
                  'rb') as file:
            yield _source(file.fileno())

    def write(self, where: ObjectPath, source: Source) -> None:
        directory = os.path.join(
            self.layout.device_path, diskfile.get_tmp_dir(
                self.layout.policy_index))
        os.makedirs(directory, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
            try:
                for chunk in source.chunks():
                    file.write(chunk)
                file.flush()
                diskfile.write_metadata(file.fileno(), source.metadata)
                os.utime(file.fileno(), (source.written,) * 2)
                self._sync.sync()
                with open(file.name, 'rb') as again:
                    source.require_same(_source(again.fileno()))
                renamer(file.name, os.path.join(
                    self._directory(where), str(where.name)), fsync=False)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(file.name)
                raise

    def settle(self) -> None:
        self._sync.sync()

    def remove(self, where: ObjectPath, names: List[str]) -> None:
        directory = self._directory(where)
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
        remove_directory(directory)
        remove_directory(os.path.dirname(directory))


def _listed(path: str) -> List[str]:
    try:
        return os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _source(fd: int) -> Source:
    stat = os.fstat(fd)
    try:
        metadata = diskfile.read_metadata(fd)
    except (diskfile.DiskFileError, EOFError) as err:
        raise Damaged('its metadata cannot be read: %s' % (
            str(err) or type(err).__name__)) from err
    return Source(lambda offset, length: os.pread(fd, length, offset),
                  stat.st_size, metadata, stat.st_mtime)


class Volumes(Side):
    """Records of volumes.

    :param store: a Store
    """

    def __init__(self, store: Any) -> None:
        super().__init__(store.layout)
        self._store = store

    def partitions(self) -> List[int]:
        return self._store.index.list_partitions()

    def hashes(self, partition: int) -> Dict[str, List[str]]:
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

    def write(self, where: ObjectPath, source: Source) -> None:
        # In a thread of its own, which may block.
        writer = self._store.writer(
            os.path.splitext(str(where.name))[1], BYTES_PER_SYNC, _call)
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

    def remove(self, where: ObjectPath, names: List[str]) -> None:
        end = time.monotonic() + PATIENCE
        while names:  # none would be all
            self._store.remove(where.partition, where.object_hash, names)
            # It keeps the tombstones of a hash that it is compacting.
            names = [name for name, _ in self._store.list_hash(
                where.partition, where.object_hash) if name in names]
            if names and time.monotonic() > end:
                raise OSError(errno.EBUSY, '%s of %s are not removed while '
                              'their volume is compacted' % (
                                  ', '.join(names), where.object_hash))
            time.sleep(PAUSE if names else 0)


def _call(function: Any, *args: Any) -> Any:
    return function(*args)


def _hash(where: ObjectPath) -> bytes:
    return bytes.fromhex(str(where.object_hash))
