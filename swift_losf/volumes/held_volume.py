# SPDX-License-Identifier: Apache-2.0
"""A volume that a process has locked, and a record in it that is outstanding.

A record is outstanding from when its place is chosen until its registration
has been answered, or given up.
"""

import os


class HeldVolume:
    """A volume of the pool, with one user at a time.

    :param volume: a WritableVolume
    """

    def __init__(self, volume):
        self.volume = volume
        self.number = volume.header.number
        self.outstanding = set()
        self.used = True
        self.broken = False
        #: when its last user left it: seconds of a monotonic clock
        self.left = 0


class Pending:
    """A record that is durable, and not in the index yet.

    :param pool: the VolumePool
    :param held: the HeldVolume
    :param location: the Location of the record
    """

    def __init__(self, pool, held, location):
        self._pool = pool
        self._held = held
        self.location = location

    def watermark(self, is_last=True):
        """Return the watermark that the record has to be registered with.

        :param is_last: whether it is registered for the last time
        """
        return self._pool.watermark(
            self._held, self.location.offset if is_last else None)

    def is_in_place(self, path):
        """Return whether the record is in the volume that is there now.

        If not, another device has been mounted, and no volume from before is
        used again.

        :param path: of the volume
        """
        try:
            there = os.path.samestat(os.fstat(self._held.volume.fd),
                                     os.stat(path))
        except FileNotFoundError:
            there = False
        if not there:
            self._pool.abandon_all()
        return there

    def done(self):
        """End it: the volume need not stay locked for this record.

        REQUIRES: the registration has been answered or given up, and is not
        tried again.
        """
        self._pool.settle(self._held, self.location.offset)
