# SPDX-License-Identifier: Apache-2.0
"""The LevelDB below an index: opening it, changing it, making it durable.

Whatever one call changes is one batch, and no two calls change anything at
the same time. So each batch carries the new state of the volumes it touches.

LevelDB's log is not synced with each batch. After a power cut it may have
lost not only its end but any part since the last sync, so what a later batch
says of the volumes proves nothing about an earlier one. Each volume's state
therefore tells its checkpoint too: what the watermark was when the last sync
began that has come to its end.
"""

import contextlib
import errno
import os
import threading
from collections.abc import Set
from dataclasses import replace

import plyvel

from swift_losf.format import keys
from swift_losf.format.values import VolumeState, pack_varints, unpack_varints
from swift_losf.index.change import NEXT_KEY, Change
from swift_losf.index.known import ALL, Known
from swift_losf.index.leveldb_log import MARK, sync_logs

#: of an index whose entries may have metadata: the second
FORMAT_VERSION, WITH_METADATA = 3, 4
VERSION_KEY = keys.STATE + b'version'
#: is there from when an index is made until all volumes are in it
UNFINISHED = keys.STATE + b'unfinished'

#: Bytes that LevelDB may use for blocks it has read, and for what is not yet
#: in a table; the second is there twice while a table is written. There is no
#: bloom filter: it helps who asks for a key, and files are sought by ranges.
_CACHE = 16 * 2 ** 20
_WRITE_BUFFER = 4 * 2 ** 20
_BLOCK = 8192
#: tables of 2 MiB that are open: their indexes are in memory
_OPEN_FILES = 1000
#: hashes kept in memory since files of theirs were removed
_MAX_REMOVALS = 100000


class NotDurable(Exception):
    """What is to be durable is refused, as the disk cannot be written."""


class VersionError(Exception):
    """Another release has written the index, in another format."""


class Database:
    """A LevelDB, and what is kept in memory of it.

    :param path: its directory; is made if it is missing
    :param durable: whether it is on a disk, not in memory
    :raises plyvel.Error: if it cannot be opened or read
    :raises VersionError: if another release has written it
    :raises FormatError: if an entry is not what it should be
    """

    def __init__(self, path, durable=True):
        os.makedirs(path, exist_ok=True)
        self.path = path
        self.durable = durable
        self._db = plyvel.DB(
            path, create_if_missing=True, paranoid_checks=True,
            lru_cache_size=_CACHE, write_buffer_size=_WRITE_BUFFER,
            max_open_files=_OPEN_FILES, block_size=_BLOCK)
        self._directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self._lock = threading.Lock()
        self._sync_lock = threading.Lock()
        #: why nothing may be written any more
        self._failure = None
        self._synced_logs: set[str] = set()
        #: batches written, and how many of them are durable
        self._written = self._synced = 0
        #: hashes of which files were removed since the last sync began, and
        #: those that it makes durable
        self._removals: set[bytes] = set()
        self._syncing: Set[bytes] = frozenset()
        #: numbers of volumes that are removed, or about to be
        self.retired: set[int] = set()
        #: what is told of each change, in the order of the changes
        self.publisher = None
        #: bytes of metadata that an entry has at most
        self.most_metadata = 0
        #: is set by each change that queues space to be given back
        self.reclaim_pending = threading.Event()
        self.known = Known()
        try:
            self.reload()
        except BaseException:
            self._close()
            raise

    def reload(self):
        """Read what is kept in memory. REQUIRES: nothing changes meanwhile."""
        version = self.get(VERSION_KEY)
        self.is_new = version is None
        if version is None:
            self._db.put(VERSION_KEY, pack_varints([FORMAT_VERSION]))
        elif version not in map(pack_varints, (
                [FORMAT_VERSION], [WITH_METADATA])):
            raise VersionError(
                '%s: the version of the index is %s, allowed are %d and %d'
                % (self.path, version.hex(), FORMAT_VERSION, WITH_METADATA))
        self.volumes = {
            keys.split_volume_key(key): VolumeState.unpack(value)
            for key, value in self.scan(
                *keys.prefix_range(keys.VOLUME))}
        self.quarantined = sum(1 for _ in self.scan(
            *keys.prefix_range(keys.QUARANTINED)))
        number = self.get(NEXT_KEY)
        self.next_volume = 1 if number is None else unpack_varints(
            number, 1, 'number of the next volume')[0]

    def keep_metadata(self, most):
        """Let entries have metadata from now on, or none any more.

        :param most: bytes of a record's metadata; what is longer stays out
        """
        if most and self.get(VERSION_KEY) != pack_varints([WITH_METADATA]):
            with self.change() as change:
                change.put(VERSION_KEY, pack_varints([WITH_METADATA]))
            # No log may have entries that an older release cannot read, and
            # not tell it so.
            if self.durable:
                self.sync()
        self.most_metadata = most

    @property
    def is_unfinished(self):
        """Whether it was lost, and has not got all of the volumes yet."""
        return self.get(UNFINISHED) is not None

    def begin(self):
        """Note that it has nothing of the volumes yet: no hash is known."""
        with self.change() as change:
            change.put(UNFINISHED, b'')
        self.known.all_but([ALL])

    def copy_in(self, entries):
        """Write entries of another index, of which reload() takes note."""
        with self._lock, self._db.write_batch() as batch:
            for key, value in entries:
                batch.put(key, value)
            self._written += 1

    def finish(self):
        """Note that all volumes are in it."""
        self.known.all_but(())
        with self.change() as change:
            change.delete(UNFINISHED)

    def get(self, key):
        """Return the value of a key, or None."""
        return self._db.get(key, verify_checksums=True)

    def scan(self, start, stop):
        """
        Read the entries with keys from start to below stop, as they are now.

        :returns: an iterator of (key, value), which can seek
        :raises NotKnownYet: if they are not all there yet
        """
        self.known.require(start, stop)
        return self._db.iterator(start=start, stop=stop,
                                 verify_checksums=True)

    def snapshot(self):
        """Return the entries as they are now; the snapshot has an iterator."""
        return self._db.snapshot()

    @contextlib.contextmanager
    def change(self):
        """Yield a Change, which is written when the block is left.

        It is not written if the block raises. No other change is made
        meanwhile.

        :raises plyvel.Error: if it cannot be written, or an earlier one could
            not: LevelDB would go on behind a torn end of its log, and not
            read what is there when it is opened again
        """
        with self._lock:
            if self._failure:
                raise self._failure
            # One that comes meanwhile reads what is written here.
            publisher = self.publisher
            change = Change(self._db.write_batch(), self.volumes,
                            self.next_volume, publisher is not None,
                            self.most_metadata)
            yield change
            try:
                change.write()
            except plyvel.Error as err:
                self._failure = err
                raise
            self._written += change.made
            self.volumes.update(change.volumes)
            for number in change.dropped:
                self.volumes.pop(number, None)
            self.quarantined += change.quarantined
            self.next_volume = change.next_volume
            if publisher:
                publisher.apply(change.touched)
        if change.reclaims:
            self.reclaim_pending.set()

    def paused(self):
        """Return a context in which nothing is changed."""
        return self._lock

    def has_unsynced_removal(self, hash_):
        """Return, in a change, whether a removal may not be durable yet."""
        return hash_ in self._removals or hash_ in self._syncing

    def note_removal(self, hash_):
        """Note, in a change, that files of a hash are removed.

        :returns: whether it is time for a sync, to forget them
        """
        self._removals.add(hash_)
        return len(self._removals) >= _MAX_REMOVALS

    def sync(self):
        """Make all durable that has been written before the call.

        :raises NotDurable: if the index is in memory
        """
        if not self.durable:
            raise NotDurable('%s: the disk cannot be written' % self.path)
        wanted = self._written
        with self._sync_lock:
            if self._synced >= wanted:
                return
            with self._lock:
                written = self._written
                self._syncing, self._removals = self._removals, set()
                watermarks = [(number, state.watermark)
                              for number, state in self.volumes.items()
                              if state.checkpoint != state.watermark]
            self._synced_logs = sync_logs(self._directory, self._synced_logs)
            self._synced, self._syncing = written, frozenset()
            self._put_checkpoints(watermarks)

    def _put_checkpoints(self, watermarks):
        # Need not be durable: an older checkpoint is as true, but lower. So
        # it does not count as something that the next sync is there for.
        with self.change() as change:
            for number, watermark in watermarks:
                if number in self.volumes:
                    change.put_volume(number, replace(
                        change.volume(number), checkpoint=watermark))
            change.put(MARK, pack_varints([self._synced]))
        if self._written == self._synced + 1:
            self._synced += 1

    def close(self):
        """Sync and close. Closing again does nothing."""
        if self._db.closed:
            return
        try:
            if self.durable:
                self.sync()
        finally:
            with self._lock:
                self._close()

    def _close(self):
        self._db.close()
        os.close(self._directory)


def is_full(error):
    """Return whether a write failed because there was no space for it.

    :param error: what the write has raised
    """
    if isinstance(error, plyvel.Error):
        return os.strerror(errno.ENOSPC) in str(error)
    return getattr(error, 'errno', None) in (errno.ENOSPC, errno.EDQUOT)
