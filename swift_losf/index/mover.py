# SPDX-License-Identifier: Apache-2.0
"""
Lets entries point to the copies that the compactor has made of their records.

FORMAT.md, "Compaction".
"""

from dataclasses import dataclass

from swift_losf.format.values import Location


@dataclass(frozen=True)
class Copy:
    """
    A record that was copied, and its durable copy.

    :param partition: of the object
    :param hash: of its name, 16 bytes
    :param source: the Location of the record
    :param target: that of the copy
    """
    partition: int
    hash: bytes
    source: Location
    target: Location


class Mover:
    """
    Moves entries of an index from records to their copies.

    :param db: a Database
    :param reader: its EntryReader
    """

    def __init__(self, db, reader):
        self._db = db
        self._reader = reader
        #: entries that were moved since the index was opened
        self.moved = 0

    def move(self, copies, type_, end, is_current):
        """
        Move entries, all in one batch.

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
                                        each.source)
                if key is None or not is_current(each):
                    change.reclaim(each.target)
                else:
                    change.move(key, each.source, each.target)
                    moved += 1
        self.moved += moved
