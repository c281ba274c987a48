# SPDX-License-Identifier: Apache-2.0
"""
Lets entries point to the copies that the compactor has made of their records.

FORMAT.md, "Compaction".
"""

from contextlib import contextmanager
from dataclasses import dataclass

from swift_losf.format.values import Location


@dataclass(frozen=True)
class Copy:
    """A record that was copied, and its durable copy.

    :param partition: of the object
    :param hash: of its name, 16 bytes
    :param source: the Location of the record
    :param target: that of the copy
    :param name: of the file
    """
    partition: int
    hash: bytes
    source: Location
    target: Location
    name: str


class Mover:
    """Moves entries of an index from records to their copies.

    :param db: a Database
    :param reader: its EntryReader
    """

    def __init__(self, db, reader):
        self._db = db
        self._reader = reader
        #: entries that were moved since the index was opened
        self.moved = 0
        #: hashes of which copies are made, and no entry tells of them
        self.copied: frozenset[bytes] = frozenset()

    @contextmanager
    def copying(self, hashes):
        """
        Keep the tombstones of hashes while copies of their records are made.

        A crash leaves copies that nobody knows: if the file was removed
        meanwhile, its tombstone has to be there to say so.

        :param hashes: of the records
        """
        self.copied = frozenset(hashes)
        try:
            yield
        finally:
            self.copied = frozenset()

    def move(self, copies, type_, end, is_current):
        """Move entries, all in one batch.

        A copy whose record has no entry any more, or has been marked since it
        was read, is given back: what was done meanwhile wins.

        :param copies: Copies, all into one volume
        :param type_: the VolumeType of that volume
        :param end: where it ends: there is no other record without entry
        :param is_current: a function of a Copy, whether the record is still
            what was copied
        """
        moved = 0
        with self._db.change() as change:
            change.raise_watermark(copies[0].target.volume, type_, end)
            for each in copies:
                key = self._reader.find(each.partition, each.hash,
                                        each.source, each.name)
                if key is None or not is_current(each):
                    change.reclaim(each.target)
                    # The copy must not outlive what has deleted the record.
                    self._db.note_removal(each.hash)
                else:
                    change.move(key, each.source, each.target)
                    moved += 1
        self.moved += moved
