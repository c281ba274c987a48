# SPDX-License-Identifier: Apache-2.0
"""Files and directories of objects, as stock Swift keeps them."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from swift.common.utils import remove_directory, renamer
from swift.obj import diskfile

from swift_losf.convert.group_sync import GroupSync
from swift_losf.convert.sides import Damaged, Side, Source
from swift_losf.format.layout import ObjectPath


class Files(Side):
    """Files and directories, as stock Swift keeps them."""

    def __init__(self, layout: Any) -> None:
        super().__init__(layout)
        self._sync = GroupSync(layout.device_path)

    def _directory(self, where: ObjectPath) -> str:
        return os.path.join(self.layout.partition(where.partition),
                            str(where.suffix), str(where.object_hash))

    def hashes(self, partition: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
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

    def write(self, where: ObjectPath, source: Source
              ) -> Callable[[], None] | None:
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
                with open(file.name, 'rb') as again:
                    source.require_same(_source(again.fileno()))
            except BaseException:
                os.unlink(file.name)
                raise
        return partial(self._enter, file.name, os.path.join(
            self._directory(where), str(where.name)))

    def _enter(self, draft: str, path: str) -> None:
        try:
            self._sync.sync()
            renamer(draft, path, fsync=False)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(draft)
            raise

    def settle(self) -> None:
        self._sync.sync()

    def remove(self, where: ObjectPath, names: list[str]) -> None:
        directory = self._directory(where)
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
        remove_directory(directory)
        remove_directory(os.path.dirname(directory))


def _listed(path: str) -> list[str]:
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
