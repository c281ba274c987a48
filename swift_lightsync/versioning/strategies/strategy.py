# SPDX-License-Identifier: Apache-2.0
"""
Reads and writes the versions of a container's objects (VERSIONING.md §4): the
common part of Write-Repair and Read-Repair.

An update is one request to all container servers: they take its row, give it
its vector and answer with the head. Where that is greater, the update is
written once more, after it.
"""

import time
from dataclasses import dataclass, field, replace
from typing import ClassVar, List, Optional

from swift_lightsync.versioning.core.heads import purge_rows
from swift_lightsync.versioning.core.keys import (
    LIFE,
    VERSIONS,
    purge_name,
    version_name,
    versions_of,
)
from swift_lightsync.versioning.core.life import life_of, life_row
from swift_lightsync.versioning.core.row_data import (
    Entry,
    entry_of,
    purge_record,
    row_of,
)
from swift_lightsync.versioning.core.verb import (
    MAX_PAGE,
    Page,
    Request,
    WireRow,
)
from swift_lightsync.versioning.core.version import Vector, Version, frontier
from swift_lightsync.versioning.rows.row_reader import following

#: Times that an update is written again, after a head that was greater.
AGAIN = 3
#: Newest versions of an object that siblings are looked for in.
SIBLINGS = 64
#: Follows the null character, and no name of an object starts with less.
_AFTER = '\x01'


def objects_page(prefix, marker, end_marker, reverse, heads=False):
    """
    Return the page of the rows of objects' versions.

    :param prefix: of objects' names, as the markers; these are not listed
    :param heads: only the newest version of each object
    :returns: a ``Page``, without a limit
    """
    ends = ('', _AFTER) if reverse else (_AFTER, '')
    return Page(VERSIONS + prefix,
                VERSIONS + marker + ends[0] if marker else '',
                VERSIONS + end_marker + ends[1] if end_marker else '',
                reverse=reverse, heads=heads)


@dataclass(frozen=True)
class Committed:
    """
    What came of an update.

    :param entry: the version; its id may be greater than it was, and ``data``
        then names its data
    :param before: the latest before it, or None
    :param replaced: null versions that it has overwritten
    """
    entry: Entry
    before: Optional[Entry] = None
    replaced: List[Entry] = field(default_factory=list)


def _named(rows, version, record):
    """Return the ``Entry`` of a version by the names of its two rows."""
    row = rows.get(record)
    if row is None or row.deleted:
        row = rows.get(version)
    return entry_of(row) if row else None


class Strategy:
    """
    Reads and writes the versions of a container's objects.

    Methods that read or write raise RowsUnavailable where too few replicas
    answer; those that write raise ClockRefused where the clock is wrong, and
    ValueError where a row would be too long.

    :param rows: ``Rows`` of the container
    :param clock: ``SiteClock``
    :param site: the name of this site
    :param sites: site_preference
    :param now: returns the wall time in seconds
    :param peers: whether other sites have to be told of purges
    """

    #: Whether objects have listing rows.
    listed: ClassVar[bool]

    def __init__(self, rows, clock, site, sites, now=time.time, peers=True):
        if site not in sites:
            raise ValueError('the site is %r, must be one of %s' %
                             (site, ', '.join(sites)))
        self.rows = rows
        self.clock = clock
        self.site = site
        self.sites = tuple(sites)
        self.now = now
        self.peers = peers

    def tick(self, after=None):
        """
        Return a new ``Stamp``.

        :param after: what it has to exceed, or None
        """
        return self.clock.tick(self.now(), after)

    def new_version(self, deleted=False):
        """
        Return the ``Version`` of an update of now, without its vector.
        """
        return Version(self.tick(), self.site, Vector(), deleted)

    def latest(self, obj):
        """
        Return the latest version of an object, in 1 round.

        :returns: the ``Entry``, which may be a delete marker, or None
        """
        return self._read(object=obj).head

    def commit(self, entry):
        """
        Make a version durable, as the latest, in 1 round; in 2 where another
        version has a greater id.

        :param entry: a version of this site, whose data is stored
        :returns: ``Committed``
        """
        rows, own = [row_of(entry)], {entry.data_name}
        told = self._write(entry.object, rows)
        before, replaced = told.before, list(told.replaced)
        for _ in range(AGAIN):
            if told.head is None or told.head.version.id <= entry.version.id:
                break
            first, entry = entry, self._after(entry, told.head)
            own.add(entry.data_name)
            told = self._write(entry.object, [
                row_of(entry), *self._taken_back(first)])
            replaced += told.replaced
        if told.head and told.head.version.id == entry.version.id:
            entry = told.head
        # A null version that was written twice overwrites itself, too.
        return Committed(entry, before, [
            each for each in replaced if each.data_name not in own])

    def _taken_back(self, entry):
        """
        Return the rows that purge a version that was just written: it may
        have come to other sites already. Only container servers know its
        vector; its least one is enough here.
        """
        version = replace(entry.version, vector=Vector({
            entry.version.site: entry.version.id}))
        return purge_rows(replace(entry, version=version), self.tick(),
                          self.peers)

    def _after(self, entry, head):
        """Return a version once more, with an id that exceeds the head's."""
        version = replace(entry.version, id=self.tick(head.version.id),
                          vector=Vector())
        data = None if version.deleted else entry.data or entry.version.id
        return replace(entry, version=version, data=data)

    def get(self, obj, stamp):
        """
        Return one version of an object, in 1 round.

        :returns: the ``Entry`` (see ``purged``), or None if it is unknown
        """
        names = version_name(obj, stamp), purge_name(obj, stamp)
        return _named(self._read(object=obj, names=names).rows, *names)

    def purge(self, entry):
        """
        Purge a version, in 1 round; in 2 where replicas differ.

        :param entry: as ``get`` returns it
        :returns: the latest ``Entry`` after that, or None
        """
        return self._write(entry.object, purge_rows(
            entry, self.tick(entry.version.id), self.peers)).head

    def apply(self, entry):
        """
        Make durable a version or a purge that another site made, in 1 round.
        Entries may come in any order and any number of times.

        :returns: a list of each ``Entry`` whose data is to be deleted: null
            versions that it has overwritten, itself if it is purged here
        """
        obj, stamp = entry.object, entry.version.id
        if entry.purged:
            return self._write(obj, [row_of(entry), purge_record(entry)],
                               own=False).replaced
        names = version_name(obj, stamp), purge_name(obj, stamp)
        told = self._write(obj, [row_of(entry)], False, names)
        mine = _named(told.rows, *names)
        return told.replaced + ([mine] if mine and mine.purged else [])

    def amend(self, entry, content_type, changed=None):
        """
        Record that the metadata of a version has changed, in 2 rounds.

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

    def history(self, obj, marker=None, limit=None):
        """
        List the versions of an object.

        :param marker: a ``Stamp``; only older versions are listed
        :returns: a list of ``Entry``, newest first
        """
        return self._entries(Page(
            versions_of(obj), version_name(obj, marker) if marker else ''),
            limit)

    def versions(self, prefix='', marker='', version_marker=None,
                 end_marker='', limit=None, reverse=False):
        """
        List the versions of all objects.

        :param version_marker: a ``Stamp`` of a version of the object
            ``marker``: the list begins after this version; None: after the
            object
        :returns: a list of ``Entry``, by name and then newest first (if
            ``reverse``, in the opposite order)
        """
        page = objects_page(prefix, marker, end_marker, reverse)
        if version_marker:
            page = replace(page, marker=version_name(marker, version_marker))
        return self._entries(page, limit)

    def current(self, prefix='', marker='', end_marker='', limit=None,
                reverse=False):
        """
        List the latest version of each object.

        :returns: a list of ``Entry``, by name; delete markers too
        """
        return self._entries(objects_page(prefix, marker, end_marker, reverse,
                                          heads=True), limit)

    def siblings(self, obj):
        """
        List the latest version of an object and those that were made at the
        same time, of its newest versions.

        :returns: a list of ``Entry``, the latest first
        """
        newest = self.history(obj, limit=SIBLINGS)
        apart = set(frontier(entry.version for entry in newest))
        return newest[:1] + [entry for entry in newest[1:]
                             if entry.version in apart]

    def checked(self, obj=''):
        """
        Let container servers check the clock, in 1 round, before something
        else than rows is changed: what is stamped ahead Swift keeps so long.

        :returns: the latest ``Entry`` of the object, or None
        :raises ClockRefused: if the clock is wrong
        """
        return self._write(obj, ()).head

    def is_empty(self):
        """Check that the container has no versions."""
        return not self._entries(Page(VERSIONS), 1)

    def life(self):
        """Return the container's ``Life``, or None if it has no record."""
        row = self._read(names=(LIFE,)).rows.get(LIFE)
        return life_of(row) if row and not row.deleted else None

    def set_life(self, life):
        """
        Write the container's life record; the one with the newest stamp wins.
        """
        self._write('', [life_row(life)], own=life.site == self.site)

    def _read(self, **asked):
        return self.rows.read(Request(listed=self.listed, **asked))

    def _write(self, obj, rows, own=True, names=()):
        """
        Write rows of an object.

        :param own: whether the clock of this site has made their stamps
        :param names: of rows to tell of
        """
        return self.rows.write(Request(
            obj, tuple(map(WireRow.of, rows)), names, self.listed, self.peers,
            stamp=self.tick(), clock=self.now() if own else None))

    def _entries(self, page, limit):
        """Return the versions of a page and the following ones."""
        found: List[Entry] = []
        while limit is None or len(found) < limit:
            size = MAX_PAGE if limit is None else \
                min(MAX_PAGE, limit - len(found))
            rows = self._read(page=replace(page, limit=size)).page
            found += map(entry_of, rows)
            if len(rows) < size:
                break
            page = following(page, rows[-1].name, size)
        return found
