# SPDX-License-Identifier: Apache-2.0
"""Writes the versions of a container's objects (VERSIONING.md §4): the common
part of Write-Repair and Read-Repair.

1. An update is one request to all container servers: they take its row, give
   it its vector and answer with the head. Where that is greater, the update is
   written once more, after it, with data of its own.
2. The data of a version have the name of its row, and no other row names them.
   So they may be deleted as soon as a majority has its purge.
3. A null version is purged only by who knows that a majority holds a newer
   one, and its data are deleted only after that.
"""

import time
from dataclasses import dataclass, field, replace
from enum import Enum

from swift_lightsync.versioning.core.heads import purge_rows, with_least_vector
from swift_lightsync.versioning.core.life import life_of, life_row
from swift_lightsync.versioning.core.row_data import (
    Entry,
    purge_name,
    purge_record,
    row_of,
    version_name,
)
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from swift_lightsync.versioning.strategies.history import History, named

#: Null versions of an object that are purged in one request.
AT_ONCE = 400


class Mode(Enum):
    """When the latest version is decided."""
    WRITE_REPAIR = 'write-repair'
    READ_REPAIR = 'read-repair'


@dataclass(frozen=True)
class Committed:
    """What came of an update.

    :param entry: the version; its id may be greater than it was
    :param before: the latest before it, or None
    :param replaced: versions that are purged now: their data are to be deleted
    """
    entry: Entry
    before: Entry | None = None
    replaced: list[Entry] = field(default_factory=list)


class Strategy(History):
    """Reads and writes the versions of a container's objects.

    Methods that read or write raise RowsUnavailable where too few replicas
    answer; those that write raise ClockRefused where the clock is wrong, and
    ValueError where a row would be too long.

    :param rows: ``Rows`` of the container
    :param clock: ``SiteClock``
    :param site: the name of this site
    :param now: returns the wall time in seconds
    :param peers: whether other sites have to be told of purges
    """

    def __init__(self, rows, clock, site, now=time.time, peers=True):
        super().__init__(rows)
        self.clock = clock
        self.site = site
        self.now = now
        self.peers = peers

    def tick(self, after=None):
        """Return a new ``Stamp``.

        :param after: what it has to exceed, or None
        """
        return self.clock.tick(self.now(), after)

    def new_version(self, deleted=False, after=None):
        """Return the ``Version`` of an update of now, without its vector.

        :param after: the latest ``Entry``, if it has been read, or None
        """
        return Version(self.tick(after and after.version.id), self.site,
                       Vector(), deleted)

    def commit(self, entry, again=None):
        """Make a version durable, in 1 round. A null version takes one more,
        and one in which it replaces others.

        :param entry: a version of this site, whose data is stored
        :param again: what stores the data of one ``Entry`` as those of
            another: where another version has a greater id, that may have
            been there before this one was begun, so this one is written
            once more. None: its id exceeds all that was there
        :returns: ``Committed``
        """
        told = self._write(entry.object, [row_of(entry)])
        before, first = told.before, []
        if again and told.head is not None and \
                told.head.version.id > entry.version.id:
            first = [entry]
            entry = replace(entry, version=self.new_version(
                entry.version.deleted, told.head))
            again(first[0], entry)
            told = self._write(entry.object, [
                row_of(entry), *self._taken_back(first[0])])
        if told.head and told.head.version.id == entry.version.id:
            entry = told.head
        return Committed(entry, before, first + self._overwritten(entry))

    def _taken_back(self, entry):
        """Return the rows that purge a version that was just written: it may
        have come to other sites already. Only container servers know its
        vector; its least one is enough here.
        """
        return purge_rows(with_least_vector(entry), self.tick(), self.peers)

    def _overwritten(self, entry):
        """Return the null versions that a durable version has replaced."""
        try:
            return self.replace_nulls(entry.object) if entry.null else []
        except (RowsUnavailable, ClockRefused):
            # It is durable; the propagator replaces what is left.
            return []

    def replace_nulls(self, obj):
        """Purge the null versions of an object, but for the newest, in 1
        round; in 2 if there are several.

        :returns: a list of each ``Entry`` that is purged: its data is to be
            deleted
        """
        # All replicas of a majority hold the newest now.
        gone = self.nulls(obj)[1][1:AT_ONCE]
        if gone:
            stamp = self.tick()
            self._write(obj, [row for each in gone for row in purge_rows(
                each, stamp, self.peers)])
        return gone

    def purge(self, entry):
        """Purge a version, in 1 round; in 2 where replicas differ.

        :param entry: as ``get`` returns it
        :returns: the latest ``Entry`` after that, or None
        """
        return self._write(entry.object, purge_rows(
            entry, self.tick(entry.version.id), self.peers)).head

    def apply(self, entry):
        """Make durable a version or a purge that another site made, in 1
        round; a null version as in ``commit``. Entries may come in any order
        and any number of times.

        :returns: a list of each ``Entry`` whose data is to be deleted: null
            versions that are overwritten, itself if it is purged here
        """
        obj, stamp = entry.object, entry.version.id
        if entry.purged:
            self._write(obj, [row_of(entry), purge_record(entry)], own=False)
            return []
        names = version_name(obj, stamp), purge_name(obj, stamp)
        told = self._write(obj, [row_of(entry)], False, names)
        mine = named(told.rows, *names)
        gone = [mine] if mine and mine.purged else []
        if entry.null:
            gone += self.replace_nulls(obj)
        return gone

    def amend(self, entry, content_type, changed=None):
        """Record that the metadata of a version has changed, in 2 rounds.

        :param changed: the ``Stamp`` of a change at another site; None: now
        :returns: False if there is no such version
        """
        known = self.get(entry.object, entry.version.id)
        if known is None or known.purged:
            return False
        self._write(entry.object, [row_of(replace(
            known, content_type=content_type,
            changed=changed or self.tick()))], own=changed is None)
        return True

    def checked(self, obj=''):
        """Let container servers check the clock, in 1 round, before something
        else than rows is changed: what is stamped ahead Swift keeps so long.

        :returns: the latest ``Entry`` of the object, or None
        :raises ClockRefused: if the clock is wrong
        """
        return self._write(obj, ()).head

    def set_life(self, life):
        """Write the container's life record; the one with the newest stamp
        wins. Where another one has newer headers, that is not all: whoever
        comes second has it written once more, with these.

        :returns: the ``Life`` that counts now
        """
        row = self._write('', [life_row(life)], own=life.site == self.site
                          ).before_row
        if row is None or row.deleted:
            return life
        older, newer = sorted((life, life_of(row)),
                              key=lambda each: each.stamp)
        joined = newer.joined(older)
        if joined == newer:
            return newer
        return self.set_life(joined.after(
            # No later than need be: a newer one may be under way.
            self.clock.tick(0, newer.stamp), self.site))

    def _write(self, obj, rows, own=True, names=()):
        """Write rows of an object.

        :param own: whether the clock of this site has made their stamps
        :param names: of rows to tell of
        """
        return self.rows.write(Request(
            obj, tuple(map(WireRow.of, rows)), names, self.listed,
            stamp=self.tick(), clock=self.now() if own else None))


class WriteRepair(Strategy):
    """
    The strategy of containers in the mode write-repair: the latest version is
    decided when an update is committed (Write-Repair and Read-Repair §3.2.1).
    """

    listed = True


class ReadRepair(Strategy):
    """The strategy of containers in the mode read-repair: the latest version
    is decided when an object is read or listed (the same, §3.2.2).
    """

    listed = False


STRATEGIES = {Mode.WRITE_REPAIR: WriteRepair, Mode.READ_REPAIR: ReadRepair}
