# SPDX-License-Identifier: Apache-2.0
"""
What one call changes in an index: one batch, which is written or not at all.
"""

from dataclasses import replace

from swift_losf.format import keys
from swift_losf.format.header import VOLUME_HEADER_LENGTH, VolumeType
from swift_losf.format.values import VolumeState, pack_varints

NEXT_KEY = keys.STATE + b'next_volume'


class Change:
    """Collects a batch, and the states of the volumes after it.

    :param batch: a LevelDB write batch
    :param volumes: number -> VolumeState, as they are; is left alone
    :param next_volume: the number of the next new volume
    :param is_watched: whether it is wanted which files are touched
    :param most_metadata: bytes of metadata that an entry has at most
    """

    def __init__(self, batch, volumes, next_volume, is_watched=False,
                 most_metadata=0):
        self.volumes = {}
        #: numbers of volumes whose state is taken out
        self.dropped = set()
        #: places of hashes to what becomes of their files: codes of names
        #: to values, or None
        self.touched = {}
        #: whether it queues space that is to be given back
        self.reclaims = False
        #: by how much the number of files in quarantine grows
        self.quarantined = 0
        self.next_volume = self._next_before = next_volume
        #: whether there is anything to be written
        self.made = False
        self._batch = batch
        self._before = volumes
        self._is_watched = is_watched
        self._most_metadata = most_metadata

    def put(self, key, value):
        """Enter a value."""
        self._batch.put(key, value)
        self._touch(key, value)

    def delete(self, key):
        """Take a key out."""
        self._batch.delete(key)
        self._touch(key, None)

    def _touch(self, key, value):
        self.made = True
        if self._is_watched and key[:1] == keys.FILE:
            place, code = keys.split_code(key)
            self.touched.setdefault(place, {})[code] = value

    def volume(self, number, type_=VolumeType.DATA):
        """Return the state of a volume; of an empty one if it is new."""
        state = self.volumes.get(number) or self._before.get(number)
        return state or VolumeState(type_, VOLUME_HEADER_LENGTH,
                                    VOLUME_HEADER_LENGTH)

    def put_volume(self, number, state):
        """Enter the state of a volume."""
        self.volumes[number] = state

    def raise_watermark(self, number, type_, watermark):
        """Enter a volume, and its watermark if that is higher."""
        self.next_volume = max(self.next_volume, number + 1)
        state = self.volume(number, type_)
        self.put_volume(number, replace(
            state, watermark=max(state.watermark, watermark)))

    def count(self, number, **differences):
        """Add to what is counted in a volume.

        :param differences: of fields of its VolumeState
        """
        # Of a torn log an earlier batch may be missing, and with it what it
        # counted: an index that is wrong there has to go on all the same.
        state = self.volume(number)
        self.put_volume(number, replace(state, **{
            name: max(0, getattr(state, name) + difference)
            for name, difference in differences.items()}))

    def add_file(self, key, location):
        """Make a file exist."""
        self.put(key, location.pack(self._most_metadata))
        self.count(location.volume, files=1, bytes=location.length)

    def remove_file(self, key, location):
        """Take a file out. Its space stays taken until reclaim."""
        self.delete(key)
        self.count(location.volume, files=-1, bytes=-location.length)

    def replace_file(self, files, key, name, location):
        """Make a file exist in place of one of the same name, if there is one.

        :param files: of the hash, a dict of name to Location, which is
            brought up to date
        :param key: of the file
        :param name: of the file
        :param location: of its record
        """
        if name in files:
            self.remove_file(key, files[name])
            self.reclaim(files[name])
        self.add_file(key, location)
        files[name] = location

    def add_quarantined(self, key, location):
        """Enter a file in quarantine."""
        self.put(key, location.pack())
        self.count(location.volume, held=1, held_bytes=location.length)
        self.quarantined += 1

    def remove_quarantined(self, key, location):
        """Take a file out of quarantine."""
        self.delete(key)
        self.count(location.volume, held=-1, held_bytes=-location.length)
        self.quarantined -= 1

    def move(self, key, source, target):
        """Let an entry point to a copy of its record, and reclaim the record.

        :param key: of a file, or of one in quarantine
        :param source: the Location of the record
        :param target: that of the copy
        """
        if key[:1] == keys.FILE:
            self.remove_file(key, source)
            self.add_file(key, target)
        else:
            self.remove_quarantined(key, source)
            self.add_quarantined(keys.quarantine_key(
                *keys.split_file_key(key), target), target)
        self.reclaim(source)

    def reclaim(self, location):
        """Queue the space of a record to be given back."""
        self.reclaim_range(location.volume, location.offset, location.length)

    def reclaim_range(self, number, offset, length):
        """Queue a range of a volume to be given back."""
        self.put(keys.dead_key(number, offset), pack_varints([length]))
        self.count(number, dead_bytes=length)
        self.reclaims = True

    def reclaimed(self, number, offset, length):
        """Take out of the queue what has been given back."""
        self.delete(keys.dead_key(number, offset))
        self.count(number, dead_bytes=-length)

    def drop_volume(self, number):
        """Take the state of a volume out."""
        self.delete(keys.volume_key(number))
        self.dropped.add(number)

    def write(self):
        """Write the batch, with the new states of the volumes."""
        for number, state in self.volumes.items():
            if state != self._before.get(number):
                self.put(keys.volume_key(number), state.pack())
        if self.next_volume != self._next_before:
            self.put(NEXT_KEY, pack_varints([self.next_volume]))
        if self.made:
            self._batch.write()
