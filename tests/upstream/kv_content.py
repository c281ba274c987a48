# SPDX-License-Identifier: Apache-2.0
"""Objects in volumes, where Swift's tests look for files."""

import errno
import logging
import os
import re
from dataclasses import replace
from functools import lru_cache

from swift.common.storage_policy import POLICIES
from swift.obj.diskfile import valid_suffix

from swift_losf.daemon.manager import kv_policies
from swift_losf.diskfile.store import Store
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import HEADER_LENGTH, RecordHeader
from swift_losf.format.layout import Layout, ObjectPath, policies_in
from swift_losf.options import LosfOptions
from tests.upstream.paths import real_listdir
from tests.waiting import wait_for

#: seconds for which an index server may take to start
PATIENCE = 300

_HASH = re.compile(r'[0-9a-f]{32}\Z')
_QUARANTINED = re.compile(
    r'(?P<device>.*)/quarantined/(?P<objects>objects(?:-\d+)?)'
    r'(?:/(?P<suffix>[0-9a-f]{3}))?(?:/(?P<hash>[0-9a-f]{32})'
    r'(?:-[0-9a-f]{32})?(?:/(?P<name>[^/]+))?)?\Z')
_OBJECTS = re.compile(r'/objects(?:-\d+)?/?\Z')


def _missing(path):
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _file_or_names(name, names):
    """Return names, if any, and whether the name is a file's."""
    return [] if name and name not in names else names, name in names


@lru_cache(maxsize=8)
def _store(layout, _socket):
    return Store(layout, LosfOptions(), logging.getLogger(__name__))


class VolumeContent:
    """Objects under the paths that files would have, quarantined ones too.

    It is asked for any path, and has nothing but below the data directories
    of its own policies. An error is the one that os would raise.
    """

    def keeps(self, policy):
        """Return whether the objects of a StoragePolicy are in volumes."""
        raise NotImplementedError

    def known(self, path):
        """Return a path as swift_losf takes it.

        :raises ValueError: if it is of no device
        """
        return path

    def serve(self, layout):
        """
        See that the index server of a Layout runs, whose directory is there.

        :raises OSError: if it does not
        """

    def _store(self, layout):
        self.serve(layout)
        socket = os.stat(layout.socket)
        # Another one serves another index.
        return _store(layout, (socket.st_ino, socket.st_ctime_ns))

    def _parse(self, path):
        """Return an ObjectPath, or None if no file could be there."""
        if not isinstance(path, str):
            return None
        try:
            where = ObjectPath.parse(self.known(path))
        except ValueError:
            return None
        policy = POLICIES.get_by_index(where.policy_index)
        sound = policy is not None and self.keeps(policy) and (
            not where.suffix or valid_suffix(where.suffix)) and (
            not where.object_hash or _HASH.match(where.object_hash)
            and where.object_hash.endswith(where.suffix))
        return where if sound else None

    def _find(self, path):
        """Return the Store and ObjectPath of something that may be there.

        :raises FileNotFoundError: if it cannot be
        """
        where = self._parse(path)
        if where:
            layout = Layout(where.device_path, where.policy_index)
            if os.path.isdir(layout.root):
                return self._store(layout), where
        raise _missing(path)

    def owns(self, path):
        """Return whether it is, or would be, a hash directory or file here."""
        where = self._parse(path)
        return bool(where and where.object_hash)

    def exists(self, path):
        """Return whether the content has a directory or file there."""
        try:
            self.listdir(path)
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            pass
        return True

    def hides(self, path):
        """Return whether the content itself lies there: no list shows it."""
        return bool(policies_in([os.path.basename(path)]))

    def listdir(self, path):
        """Return the names in a directory."""
        text = path if isinstance(path, str) else ''
        quarantined = _QUARANTINED.match(text)
        if quarantined:
            names, is_file = self._list_quarantined(quarantined)
        elif _OBJECTS.search(text):
            names, is_file = self._list_partitions(text), False
        else:
            names, is_file = self._list(path)
        if is_file:
            raise NotADirectoryError(errno.ENOTDIR,
                                     os.strerror(errno.ENOTDIR), path)
        if not names:
            raise _missing(path)
        return names

    def _list(self, path):
        store, where = self._find(path)
        if where.object_hash:
            names = list(self._files(store, where))
            return _file_or_names(where.name, names)
        if where.suffix:
            return [each for each, _ in store.list_suffix(
                where.partition, where.suffix)], False
        return store.list_partition(where.partition), False

    @staticmethod
    def _files(store, where):
        """Return the files of a hash in its own partition, and in no other."""
        if bytes.fromhex(where.object_hash) not in (
                each for each, _ in store.index.list_suffix(
                    where.partition, int(where.suffix, 16))):
            return {}
        return dict(store.list_hash(where.partition, where.object_hash))

    def _list_partitions(self, objects):
        # Each has a directory, for its hashes and locks.
        try:
            return [name for name in real_listdir(objects)
                    if self.exists(os.path.join(objects, name))]
        except FileNotFoundError:
            return []

    def _quarantined(self, match):
        """Return a Store, and [(ObjectPath, Location)] of its quarantine."""
        store, where = self._find('%s/%s/0' % (match['device'],
                                               match['objects']))
        return store, [
            (replace(where, partition=partition, suffix=hash_.hex()[-3:],
                     object_hash=hash_.hex(), name=name), location)
            for partition, hash_, name, location in
            store.index.list_quarantine()
            if hash_.hex().endswith(match['suffix'] or '')]

    def _list_quarantined(self, match):
        files = [(where.object_hash, where.name)
                 for where, _ in self._quarantined(match)[1]]
        if not match['hash']:
            return sorted({hash_ for hash_, _ in files}), False
        names = [name for hash_, name in files if hash_ == match['hash']]
        return _file_or_names(match['name'], names)

    def _locate(self, path):
        match = _QUARANTINED.match(path)
        if match:
            store, files = self._quarantined(match)
            for where, location in files:
                if (where.object_hash, where.name) == (match['hash'],
                                                       match['name']):
                    return store, where, location
            raise _missing(path)
        store, where = self._find(path)
        location = self._files(store, where).get(where.name)
        if not location:
            raise _missing(path)
        return store, where, location

    def read(self, path):
        """Return the data of a file."""
        store, where, location = self._locate(path)
        with store.open(where, location) as source:
            return source.read()

    def getxattr(self, path):
        """Return a file's metadata, like diskfile.read_metadata."""
        store, where, location = self._locate(path)
        return store.read_metadata(where, location)[0]

    def write(self, path, data, metadata):
        """Keep or replace a file, with no regard to other files."""
        where = self._parse(path)
        layout = Layout(where.device_path, where.policy_index)
        store = self._store(layout)
        writer = store.writer(os.path.splitext(where.name)[1], 1 << 20)
        writer.write(data)
        store.register(where, where.name, writer.finish(
            where.name, metadata, where.partition,
            bytes.fromhex(where.object_hash)))
        if not metadata:
            self.damage(path)

    def unlink(self, path):
        """Remove a file, as rm would remove it behind Swift's back."""
        store, where, location = self._locate(path)
        store.remove(where.partition, where.object_hash, [where.name])
        # As if it had been given back already.
        self._overwrite(store, location, 0, bytes(HEADER_LENGTH))

    def damage(self, path):
        """Spoil the metadata of a file, as a disk would."""
        store, _, location = self._locate(path)
        self._overwrite(store, location,
                        location.footer_offset - location.offset, b'damage')

    def utime(self, path, seconds):
        """Change when a file was written, in seconds since 1970."""
        store, _, location = self._locate(path)
        with open(store.layout.volume(location.volume), 'rb') as volume:
            header = RecordHeader.unpack(os.pread(
                volume.fileno(), HEADER_LENGTH, location.offset))
        self._overwrite(store, location, 0, replace(
            header, written=int(seconds * 1e9)).pack())

    def appear(self, path):
        """Wait until what was moved to a path is there, if it is a device."""
        for policy in filter(self.keeps, POLICIES):
            layout = Layout(path, int(policy))
            if os.path.isdir(layout.root):
                wait_for(lambda: self._serves(layout), 'the index server of '
                         '%s serves' % layout.root, PATIENCE)

    def _serves(self, layout):
        try:
            return self._store(layout).index.statistics()
        except (OSError, IndexUnavailable):
            return False

    @staticmethod
    def _overwrite(store, location, at, data):
        fd = os.open(store.layout.volume(location.volume), os.O_WRONLY)
        try:
            os.pwrite(fd, data, location.offset + at)
        finally:
            os.close(fd)


class ClusterContent(VolumeContent):
    """The content of all devices, by the policies of /etc/swift."""

    def keeps(self, policy):
        return policy in kv_policies(POLICIES)


#: Of a cluster whose index servers are run by its managers.
CONTENT = ClusterContent()
