# SPDX-License-Identifier: Apache-2.0
"""The space of volumes that is to be given back: the `d` entries of an index.

The sweeper works them off. FORMAT.md, "Removing a file".
"""

import itertools
import threading

from swift_losf.format import keys
from swift_losf.format.values import unpack_varints

#: ranges that are taken out with one change
BATCH = 10000


class ReclaimQueue:
    """Names ranges of volumes that are given back some time.

    :param db: a Database
    """

    def __init__(self, db):
        self._db = db
        #: is held by who gives the space of a volume back
        self.lock = threading.Lock()
        #: number of the volume that is being emptied, to be removed as a whole
        self.emptied = None
        #: rounds of the sweeper that were begun, and the last of them that
        #: has left no dead data
        self.rounds = self.cleared = 0
        #: bytes given back since the index was opened
        self.punched_bytes = 0
        #: is set whenever something has been queued
        self.pending = db.reclaim_pending

    def has(self, location):
        """Return whether the space of a record is to be given back."""
        return self._db.get(keys.dead_key(*location.spot)) is not None

    def of_volume(self, number):
        """Return an iterator of (offset, length) of a volume's ranges."""
        return self._unpacked(self._db.scan(*keys.dead_range(number)))

    def of_snapshot(self, snapshot, number):
        """Return what of_volume does, as of an earlier moment.

        :param snapshot: of the Database
        :param number: of the volume
        """
        start, stop = keys.dead_range(number)
        return self._unpacked(snapshot.iterator(
            start=start, stop=stop, verify_checksums=True))

    @staticmethod
    def _unpacked(entries):
        return ((keys.split_dead_key(key)[1],
                 unpack_varints(value, 1, 'length')[0])
                for key, value in entries)

    def forget(self, number):
        """Take out all of a volume that is removed."""
        entries = self.of_volume(number)
        while batch := list(itertools.islice(entries, BATCH)):
            self.given_back(number, batch, sum(
                length for _, length in batch))

    def given_back(self, number, ranges, punched):
        """Take out what is given back, durably, or need not be.

        :param number: of the volume
        :param ranges: (offset, length) each
        :param punched: the bytes that were given back
        """
        with self._db.change() as change:
            if number in self._db.volumes:
                for offset, length in ranges:
                    change.reclaimed(number, offset, length)
        self.punched_bytes += punched
