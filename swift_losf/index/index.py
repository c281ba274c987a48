# SPDX-License-Identifier: Apache-2.0
"""
The index of one device and storage policy: the calls of index.proto.

FORMAT.md, "The index", "Writing a file" and "Removing a file". A call that
changes anything is one batch; one that only reads sees the index as it was
when it began. All may be called from any thread.
"""

from swift_losf.format import keys
from swift_losf.format.header import VOLUME_HEADER_LENGTH, VolumeType
from swift_losf.format.keys import Location, Statistics
from swift_losf.index.call_arguments import (
    check,
    check_hash,
    check_location,
    check_range,
    check_suffix,
    file_key,
)
from swift_losf.index.db import Database
from swift_losf.index.index_upkeep import Upkeep


class NotFound(Exception):
    """A file that is not there."""


class Refused(Exception):
    """A call that the state of the index does not allow."""


def is_tombstone(name):
    """:returns: whether this is the name of a tombstone"""
    return name.endswith('.ts')


class Index(Upkeep):
    """
    :param path: the directory of its LevelDB
    :raises InvalidArgument: in all calls, if an argument is not allowed
    :raises plyvel.Error: here and in all calls, if LevelDB cannot go on
    :raises FormatError: the same, if an entry is not what it should be
    """

    def __init__(self, path):
        super().__init__(Database(path))

    def register(self, partition, hash_, name, location, watermark):
        """
        Enter a file whose record is durable.

        Entering it again changes nothing. A file of the same name gives way,
        as it would to a rename.

        :param partition: of the object
        :param hash_: of its name, 16 bytes
        :param name: of the file
        :param location: of its record
        :param watermark: of the record's volume
        :returns: the files of the hash: a list of (name, Location), by name
        :raises Refused: if the record has been removed
        """
        check_hash(partition, hash_)
        key = file_key(partition, hash_, name)
        check_location(name, location)
        check_range('watermark', watermark, VOLUME_HEADER_LENGTH,
                    keys.MAX_NUMBER)
        type_ = VolumeType.TOMBSTONES if is_tombstone(name) \
            else VolumeType.DATA
        with self.db.change() as change:
            change.raise_watermark(location.volume, type_, watermark)
            files = self.files(partition, hash_)
            if not self.is_entered(partition, hash_, location, files):
                self._require_alive(location)
                self.replace(change, files, key, name, location)
        return sorted(files.items())

    def _require_alive(self, location):
        if self.is_dead(location):
            raise Refused('volume %d, offset %d: this record has been removed'
                          % location.spot)

    def remove(self, partition, hash_, names=()):
        """
        Take files out, and have their space given back.

        When a tombstone is among them, what was removed of the hash before
        is durable too: it must not outlive what has deleted it.

        :param names: of the files; none: all of the hash
        :returns: (names that were there, how many files are left)
        """
        check_hash(partition, hash_)
        for name in names:
            file_key(partition, hash_, name)
        with self.db.change() as change:
            files = self.files(partition, hash_)
            removed = sorted(set(files).intersection(names)
                             if names else files)
            for name in removed:
                change.leave(file_key(partition, hash_, name), files[name])
                change.bury(files[name])
            must_sync = (any(map(is_tombstone, removed))
                         and self.db.has_unsynced_removal(hash_))
            if removed:
                must_sync |= self.db.note_removal(hash_)
        if removed:
            self.has_dead.set()
        if must_sync:
            self.db.sync()
        return removed, len(files) - len(removed)

    def quarantine(self, partition, hash_=None, suffix=None):
        """
        Put all files of a hash, or of a suffix, into quarantine, durably.

        :param hash_: 16 bytes, or None
        :param suffix: a number, if there is no hash
        :returns: how many files these were
        """
        if hash_:
            check_hash(partition, hash_)
            entries = keys.hash_range(partition, hash_)
        else:
            check_suffix(partition, suffix)
            entries = keys.suffix_range(partition, suffix)
        count = 0
        with self.db.change() as change:
            for key, value in self.db.scan(*entries):
                location = Location.unpack(value)
                change.leave(key, location)
                change.quarantine(
                    keys.quarantine_key(*keys.split_file_key(key), location),
                    location)
                count += 1
        if count:
            self.db.sync()
        return count

    def rename(self, partition, hash_, old, new):
        """
        Give a file another name, durably. Doing it again changes nothing.

        :returns: the files of the hash: a list of (name, Location), by name
        :raises NotFound: if there is no file of either name
        """
        check_hash(partition, hash_)
        old_key = file_key(partition, hash_, old)
        new_key = file_key(partition, hash_, new)
        with self.db.change() as change:
            files = self.files(partition, hash_)
            if old not in files and new not in files:
                raise NotFound('partition %d, hash %s: there is no %s' % (
                    partition, hash_.hex(), old))
            if old in files and old != new:
                location = files.pop(old)
                change.leave(old_key, location)
                self.replace(change, files, new_key, new, location)
        self.db.sync()
        return sorted(files.items())

    def new_volume(self, type_):
        """
        Reserve a number for a volume.

        :param type_: a VolumeType
        :returns: the number
        """
        check('type', type_, ' or '.join('%d' % each for each in VolumeType),
              type_ in list(VolumeType))
        with self.db.change() as change:
            number = change.next_volume
            change.raise_watermark(number, type_, VOLUME_HEADER_LENGTH)
        return number

    def list_volumes(self):
        """:returns: a list of (number, VolumeState), by number"""
        return sorted(self.db.volumes.copy().items())

    def statistics(self):
        """:returns: Statistics"""
        states = list(self.db.volumes.copy().values())
        return Statistics(
            *(sum(getattr(state, field) for state in states)
              for field in ('files', 'bytes', 'dead_bytes')),
            self.db.quarantined, len(states), self.recovered,
            self.punched_bytes)

    def sync(self):
        """Make all durable that has been done before."""
        self.db.sync()

    def close(self):
        """Sync and close."""
        self.db.close()
