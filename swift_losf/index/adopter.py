# SPDX-License-Identifier: Apache-2.0
"""Enters into an index the records that recovery finds in volumes.

FORMAT.md, "Recovery", step 4.
"""

from swift_losf.format import keys
from swift_losf.format.name_code import other_name, supersedes
from swift_losf.format.values import Location


class Adopter:
    """Decides what becomes of a found record: an entry, or space to give back.

    :param db: a Database
    :param reader: its EntryReader
    """

    def __init__(self, db, reader):
        self._db = db
        self._reader = reader
        #: records that were adopted since the index was opened
        self.recovered = 0

    def adopt(self, header, name, location, written):
        """Enter a record, unless another one supersedes it.

        Of two records of one name the one written later stays; if one is a
        copy of the other, that which has the entry, or, of a fragment, the
        durable one. What one in quarantine
        had superseded does not come back, nor does a copy of it.

        :param header: its RecordHeader
        :param name: of the file
        :param location: of the record
        :param written: a function that tells when the record at a location
            was written, Unix time, ns
        """
        partition, hash_ = header.partition, header.hash
        key = keys.file_key(partition, hash_, name)
        with self._db.change() as change:
            files = self._reader.files(partition, hash_)
            other = files.get(other_name(name))
            is_copy = other is not None and written(other) == header.written
            if header.quarantined:
                self._adopt_quarantined(change, header, name, location, files)
            elif (name in files and written(files[name]) >= header.written
                  or is_copy and not header.durable
                  or self._is_superseded(header, name, written)):
                change.reclaim(location)
            else:
                if is_copy:
                    change.remove_file(keys.file_key(
                        partition, hash_, other_name(name)), other)
                    if other != location:
                        change.reclaim(other)
                    del files[other_name(name)]
                change.replace_file(files, key, name, location)
        self.recovered += 1

    def _adopt_quarantined(self, change, header, name, location, files):
        partition, hash_ = header.partition, header.hash
        for other, known in files.items():
            same = known.spot == location.spot
            if same or supersedes(name, other):
                change.remove_file(
                    keys.file_key(partition, hash_, other), known)
                if not same:
                    change.reclaim(known)
        change.add_quarantined(keys.quarantine_key(
            partition, hash_, name, location), location)

    def _is_superseded(self, header, name, written):
        if not self._db.quarantined:
            return False
        for key, value in self._db.scan(*keys.hash_range(
                header.partition, header.hash, keys.QUARANTINED)):
            other = keys.split_file_key(key)[2]
            if supersedes(other, name) or other == name and written(
                    Location.unpack(value)) == header.written:
                return True
        return False
