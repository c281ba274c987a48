# SPDX-License-Identifier: Apache-2.0
"""
What is done to an index besides the calls of index.proto: recovery enters
what it finds, and the sweeper gives space back.
"""

import threading

from swift_losf.format import keys
from swift_losf.format.keys import Location
from swift_losf.format.name_code import supersedes
from swift_losf.index.listings import Listings


class Upkeep(Listings):
    """
    :param db: a Database
    """

    def __init__(self, db):
        super().__init__(db)
        self.recovered = 0
        self.punched_bytes = 0
        #: is set when there is space to be given back
        self.has_dead = threading.Event()

    def replace(self, change, files, key, name, location):
        """Enter a file; one of the same name gives way."""
        if name in files:
            change.leave(key, files[name])
            change.bury(files[name])
            self.has_dead.set()
        change.enter(key, location)
        files[name] = location

    def is_entered(self, partition, hash_, location, files=None):
        """
        :param files: of the hash, if the caller knows them
        :returns: whether a record has an entry, be it in quarantine or under
            another name
        """
        if files is None:
            files = self.files(partition, hash_)
        places = list(files.values())
        if self.db.quarantined:
            places += [Location.unpack(value) for _, value in self.db.scan(
                *keys.hash_range(partition, hash_, keys.QUARANTINED))]
        return any(place.spot == location.spot for place in places)

    def is_dead(self, location):
        """:returns: whether a record's space is to be given back"""
        return self.db.get(keys.dead_key(*location.spot)) is not None

    def skip_volumes(self, number):
        """
        :param number: no volume will be given this number or a lower one
        """
        with self.db.change() as change:
            change.next_volume = max(change.next_volume, number + 1)

    def adopt(self, header, name, location, written):
        """
        Enter a record that has been found in a volume. Of two of one name the
        one written later stays. What one in quarantine had superseded does
        not come back.

        :param header: its RecordHeader
        :param name: of the file
        :param location: of the record
        :param written: a function that tells when the record at a location
            was written, Unix time, ns
        """
        partition, hash_ = header.partition, header.hash
        key = keys.file_key(partition, hash_, name)
        with self.db.change() as change:
            files = self.files(partition, hash_)
            if header.quarantined:
                self._adopt_quarantined(change, header, name, location, files)
            elif (name in files and written(files[name]) > header.written
                  or self._is_superseded(partition, hash_, name)):
                change.bury(location)
            else:
                self.replace(change, files, key, name, location)
        self.recovered += 1

    def _adopt_quarantined(self, change, header, name, location, files):
        partition, hash_ = header.partition, header.hash
        for other, place in files.items():
            same = place.spot == location.spot
            if same or supersedes(name, other):
                change.leave(keys.file_key(partition, hash_, other), place)
                if not same:
                    change.bury(place)
        change.quarantine(keys.quarantine_key(
            partition, hash_, name, location), location)

    def _is_superseded(self, partition, hash_, name):
        return self.db.quarantined and any(
            supersedes(keys.split_file_key(key)[2], name)
            for key, _ in self.db.scan(*keys.hash_range(
                partition, hash_, keys.QUARANTINED)))

    def bury_gaps(self, gaps):
        """
        Have space given back that no record has.

        :param gaps: a dict of numbers of volumes to Ranges
        """
        with self.db.change() as change:
            for number, ranges in gaps.items():
                for start, end in ranges:
                    change.bury_range(number, start, end - start)
                    self.has_dead.set()

    def bury_records(self, locations):
        """
        Have the space of records given back that were never registered.
        """
        with self.db.change() as change:
            for location in locations:
                change.bury(location)
                self.has_dead.set()

    def drop_volume(self, number):
        """Forget, durably, a volume that has no entries any more."""
        with self.db.change() as change:
            change.drop_volume(number)
        self.db.sync()
