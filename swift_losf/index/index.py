# SPDX-License-Identifier: Apache-2.0
"""The index of one device and storage policy: the calls of index.proto.

FORMAT.md, "The index", "Writing a file" and "Removing a file". A call that
changes anything is one batch; one that only reads sees the index as it was
when it began. All may be called from any thread.
"""

from swift_losf.format import keys
from swift_losf.format.header import VOLUME_HEADER_LENGTH, VolumeType
from swift_losf.format.name_code import written_name
from swift_losf.format.values import MAX_NUMBER, Location, Statistics
from swift_losf.index.adopter import Adopter
from swift_losf.index.call_arguments import (
    check,
    check_hash,
    check_location,
    check_range,
    check_suffix,
    file_key,
)
from swift_losf.index.db import Database
from swift_losf.index.entry_reader import EntryReader
from swift_losf.index.mover import Mover
from swift_losf.index.part_power import PartPower
from swift_losf.index.reclaim_queue import ReclaimQueue


class NotFound(Exception):
    """A call names a file that does not exist."""


class Refused(Exception):
    """The state of the index does not allow a call."""


def is_tombstone(name):
    """Return whether this is the name of a tombstone."""
    return name.endswith('.ts')


class Index:
    """Keeps which files exist, where their records are, and what is unused.

    Its parts: ``part_power`` tells which partition a hash is in, whatever a
    caller takes it to be, ``reader`` lists what there is, ``reclaim`` queues
    space that is to be given back, ``adopter`` enters what recovery finds,
    ``mover`` what was copied.

    :param path: the directory of its LevelDB
    :param durable: whether that is on a disk, not in memory
    :raises InvalidArgument: in all calls, if an argument is not allowed
    :raises plyvel.Error: here and in all calls, if LevelDB cannot go on
    :raises FormatError: the same, if an entry is not what it should be
    """

    def __init__(self, path, durable=True):
        self.db = Database(path, durable)
        self.part_power = PartPower(self.db)
        self.reader = EntryReader(self.db, self.part_power)
        self.reclaim = ReclaimQueue(self.db)
        self.adopter = Adopter(self.db, self.reader)
        self.mover = Mover(self.db, self.reader)
        #: what the compactor has seen last
        self.allocated_bytes = self.garbage_bytes = 0

    def register(self, partition, hash_, name, location, watermark,
                 supersedes=()):
        """Enter a file whose record is durable, and remove what gives way.

        Entering it again changes nothing, unless it is a fragment that is
        durable now: its entry gets that name. A file of the same name gives
        way.

        :param partition: that the caller takes the object to be in
        :param hash_: of its name, 16 bytes
        :param name: of the file
        :param location: of its record
        :param watermark: of the record's volume
        :param supersedes: names of files that are removed, if they are there
        :returns: the files of the hash: a list of (name, Location), by name
        :raises Refused: if the record has been removed
        """
        asked, partition = partition, self._key_partition(
            partition, hash_, (name, *supersedes))
        check_location(name, location)
        check_range('watermark', watermark, VOLUME_HEADER_LENGTH,
                    MAX_NUMBER)
        check('supersedes', name, 'another file', name not in supersedes)
        type_ = VolumeType.TOMBSTONES if is_tombstone(name) \
            else VolumeType.DATA
        with self.db.change() as change:
            self._require_volume(location)
            self.part_power.note_change(asked, hash_)
            change.raise_watermark(location.volume, type_, watermark)
            files = self.reader.files(partition, hash_)
            self._enter(change, partition, hash_, files, name, location)
            _, must_sync = self._take_out(change, partition, hash_, files,
                                          set(files).intersection(supersedes))
        if must_sync:
            self.db.sync()
        return sorted(files.items())

    def _key_partition(self, partition, hash_, names):
        """Check a call's hash and names; return the partition of its keys."""
        check_hash(partition, hash_)
        partition = self.part_power.key_partition(partition, hash_)
        for name in names:
            file_key(partition, hash_, name)
        return partition

    def _require_volume(self, location):
        if location.volume in self.db.retired:
            raise Refused('volume %d is removed: nobody was writing to it'
                          % location.volume)

    def _enter(self, change, partition, hash_, files, name, location):
        """Enter a file, or give its entry its name, if that is to do.

        :param files: of the hash, which is brought up to date
        """
        if self.reader.is_entered(partition, hash_, location, files):
            if location == files.get(written_name(name)):
                self._rename(change, partition, hash_, files,
                             written_name(name), name)
            return
        # What was written under another name had an entry under that.
        if location.name_length != len(name) or self.reclaim.has(location):
            raise Refused('volume %d, offset %d: this record has been removed'
                          % location.spot)
        change.replace_file(files, file_key(partition, hash_, name), name,
                            location)

    def _take_out(self, change, partition, hash_, files, names):
        """Take files out, in a change, and have their space given back.

        :param files: of the hash, which is brought up to date
        :param names: of those that are taken out
        :returns: (the names, sorted; whether a sync must follow)
        """
        removed = sorted(names)
        for name in removed:
            location = files.pop(name)
            change.remove_file(file_key(partition, hash_, name), location)
            change.reclaim(location)
        must_sync = (any(map(is_tombstone, removed))
                     and self.db.has_unsynced_removal(hash_))
        if removed:
            must_sync |= self.db.note_removal(hash_)
        return removed, must_sync

    def remove(self, partition, hash_, names=()):
        """Take files out, and have their space given back.

        When a tombstone is among them, what was removed of the hash before
        is durable too: it must not outlive what has deleted it.

        :param names: of the files; none: all of the hash
        :returns: (names that were there, how many files are left)
        """
        asked, partition = partition, self._key_partition(
            partition, hash_, names)
        self._sync_before(hash_, names)
        with self.db.change() as change:
            self.part_power.note_change(asked, hash_)
            files = self.reader.files(partition, hash_)
            wanted = set(files).intersection(names) if names else set(files)
            if hash_ in self.mover.copied:
                wanted = {each for each in wanted if not is_tombstone(each)}
            removed, must_sync = self._take_out(change, partition, hash_,
                                                files, wanted)
        if must_sync:
            self.db.sync()
        return removed, len(files)

    def _sync_before(self, hash_, names):
        """Make durable what was removed before tombstones of a hash are."""
        if (not names or any(map(is_tombstone, names))) \
                and self.db.has_unsynced_removal(hash_):
            self.db.sync()

    def quarantine(self, partition, hash_=None, suffix=None):
        """Put all files of a hash, or of a suffix, into quarantine, durably.

        :param hash_: 16 bytes, or None
        :param suffix: a number, if there is no hash
        :returns: how many files these were
        """
        if hash_:
            check_hash(partition, hash_)
        else:
            check_suffix(partition, suffix)
        count = 0
        with self.db.change() as change:
            if hash_:
                self.part_power.note_change(partition, hash_)
            for key, value in self.db.scan(*keys.hash_range(
                    self.part_power.key_partition(partition, hash_), hash_)
                    ) if hash_ else self.reader.entries(
                        partition, suffix, suffix):
                location = Location.unpack(value)
                change.remove_file(key, location)
                change.add_quarantined(
                    keys.quarantine_key(*keys.split_file_key(key), location),
                    location)
                count += 1
        if count:
            self.db.sync()
        return count

    def rename(self, partition, hash_, old, new):
        """Give a file another name, durably. Doing it again changes nothing.

        :returns: the files of the hash: a list of (name, Location), by name
        :raises NotFound: if there is no file of either name
        """
        asked, partition = partition, self._key_partition(
            partition, hash_, (old, new))
        with self.db.change() as change:
            self.part_power.note_change(asked, hash_)
            files = self.reader.files(partition, hash_)
            if old not in files and new not in files:
                raise NotFound('partition %d, hash %s: there is no %s' % (
                    partition, hash_.hex(), old))
            if old in files and old != new:
                self._rename(change, partition, hash_, files, old, new)
        self.db.sync()
        return sorted(files.items())

    def _rename(self, change, partition, hash_, files, old, new):
        location = files.pop(old)
        change.remove_file(file_key(partition, hash_, old), location)
        change.replace_file(files, file_key(partition, hash_, new), new,
                            location)

    def skip_volumes(self, number):
        """Reserve no number for a volume up to this one any more."""
        with self.db.change() as change:
            change.next_volume = max(change.next_volume, number + 1)

    def retire(self, number):
        """Let no record of a volume be registered any more, if it has none.

        :param number: of the volume, which is about to be removed
        :returns: False if files of it are entered
        """
        with self.db.change() as change:
            if change.volume(number).has_files:
                return False
            self.db.retired.add(number)
        return True

    def drop_volume(self, number):
        """Forget a volume that is removed, and what was to be given back."""
        self.reclaim.forget(number)
        with self.db.change() as change:
            change.drop_volume(number)

    def new_volume(self, type_):
        """Reserve a number for a volume.

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
        """Return a list of (number, VolumeState), by number."""
        return sorted(self.db.volumes.copy().items())

    def statistics(self):
        """Return the Statistics: what there is, and what has been done."""
        states = list(self.db.volumes.copy().values())
        return Statistics(
            files=sum(state.files for state in states),
            bytes=sum(state.bytes for state in states),
            dead_bytes=sum(state.dead_bytes for state in states),
            quarantined=self.db.quarantined, volumes=len(states),
            recovered=self.adopter.recovered,
            punched_bytes=self.reclaim.punched_bytes,
            allocated_bytes=self.allocated_bytes,
            garbage_bytes=self.garbage_bytes, moved=self.mover.moved,
            removed_volumes=len(self.db.retired),
            part_power=self.part_power.tidied)

    def sync(self):
        """Make all durable that has been done before."""
        self.db.sync()

    def close(self):
        """Sync and close."""
        self.db.close()
