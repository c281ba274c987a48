# SPDX-License-Identifier: Apache-2.0
"""
What one call changes in an index.
"""

from dataclasses import replace

from swift_losf.format import keys
from swift_losf.format.header import VOLUME_HEADER_LENGTH, VolumeType
from swift_losf.format.keys import VolumeState

NEXT_KEY = keys.STATE + b'next_volume'


class Change:
    """
    What one call changes: a batch, and the states of the volumes after it.

    :param batch: a LevelDB write batch
    :param volumes: number -> VolumeState, as they are; is left alone
    :param next_volume: the number of the next new volume
    """

    def __init__(self, batch, volumes, next_volume):
        self.volumes = {}
        #: numbers of volumes that are there no more
        self.dropped = set()
        #: how many files are in quarantine more than before
        self.quarantined = 0
        self.next_volume = self._next_before = next_volume
        #: whether there is anything to be written
        self.made = False
        self._batch = batch
        self._before = volumes

    def put(self, key, value):
        """Enter a value."""
        self._batch.put(key, value)
        self.made = True

    def delete(self, key):
        """Take a key out."""
        self._batch.delete(key)
        self.made = True

    def volume(self, number, type_=VolumeType.DATA):
        """:returns: the state of a volume; of an empty one if it is new"""
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

    def _count(self, location, sign):
        state = self.volume(location.volume)
        self.put_volume(location.volume, replace(
            state, files=state.files + sign,
            bytes=state.bytes + sign * location.length))

    def _count_dead(self, number, length):
        state = self.volume(number)
        self.put_volume(number, replace(
            state, dead_bytes=state.dead_bytes + length))

    def enter(self, key, location):
        """Make a file exist."""
        self.put(key, location.pack())
        self._count(location, 1)

    def leave(self, key, location):
        """Take a file out."""
        self.delete(key)
        self._count(location, -1)

    def quarantine(self, key, location):
        """Enter a file in quarantine."""
        self.put(key, location.pack())
        self.quarantined += 1

    def bury(self, location):
        """Have a record's space given back."""
        self.bury_range(location.volume, location.offset, location.length)

    def bury_range(self, number, offset, length):
        """Have the space of a range of a volume given back."""
        self.put(keys.dead_key(number, offset), keys.pack_varints([length]))
        self._count_dead(number, length)

    def forget(self, number, offset, length):
        """Enter that a record's space has been given back."""
        self.delete(keys.dead_key(number, offset))
        self._count_dead(number, -length)

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
            self.put(NEXT_KEY, keys.pack_varints([self.next_volume]))
        if self.made:
            self._batch.write()
