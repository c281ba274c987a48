# SPDX-License-Identifier: Apache-2.0
"""The common part of Write-Repair and Read-Repair (VERSIONING.md §4)."""

import heapq
import time
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from swift.common.constraints import CONTAINER_LISTING_LIMIT

from swift_lightsync.versioning.core.row_data import Row, entry_of
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.row_wire import Query
from swift_lightsync.versioning.strategies.basis import latest_entry, present

#: Rows that are deleted at once.
BATCH = 8
#: Follows the null character, and no name of an object starts with less.
_AFTER = '\x01'


def objects_query(base, prefix, marker, end_marker, reverse):
    """
    Make the query of the rows of objects' versions.

    :param base: the prefix of the names of all rows of versions
    :param prefix: of objects' names; the markers are objects' names, too, and
        not listed themselves
    :returns: a ``Query``
    """
    ends = {False: (_AFTER, ''), True: ('', _AFTER)}[bool(reverse)]
    return Query(True, base + prefix,
                 base + marker + ends[0] if marker else '',
                 base + end_marker + ends[1] if end_marker else '',
                 reverse=reverse)


class Strategy:
    """
    Reads and writes the versions of a container's objects.

    :param rows: ``Rows`` of the container
    :param clock: ``HybridClock``
    :param site: the name of this site
    :param sites: site_preference
    :param now: returns the wall time in seconds
    :param lookup: how Read-Repair reads: 'full' or 'by-site'
    """

    #: of the names of rows
    keys: Any = None

    def __init__(self, rows, clock, site, sites, now=time.time,
                 lookup='full'):
        if site not in sites:
            raise ValueError('the site is %r, must be one of %s' %
                             (site, ', '.join(sites)))
        if lookup not in ('full', 'by-site'):
            raise ValueError('the lookup is %r, must be full or by-site' %
                             (lookup,))
        self.rows = rows
        self.clock = clock
        self.site = site
        self.sites = tuple(sites)
        self.now = now
        self.lookup = lookup

    def tick(self):
        return self.clock.tick(self.now())

    def new_version(self, basis, deleted=False):
        """Return the ``Version`` of an update that this site makes now."""
        return Version.after(basis.seen, self.tick(), self.site, deleted)

    def data_name(self, entry):
        """Return the name of a version's data in the hidden container."""
        return self.keys.version(entry.object, entry.version)

    def history(self, obj, marker=None, limit=None):
        """
        List the versions of an object, without purged ones.

        :param marker: a ``Stamp``; only older versions are listed
        :returns: a list of ``Entry``, newest first
        """
        kept = [entry for entry in present(self.all_entries(obj))
                if marker is None or entry.version.id < marker]
        return kept[:limit]

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
        found = self._rest(marker, version_marker, reverse) \
            if version_marker else []
        for _name, entries in self._objects(prefix, marker, end_marker,
                                            limit, reverse):
            if limit is not None and len(found) >= limit:
                break
            kept = present(entries)
            found += reversed(kept) if reverse else kept
        return found[:limit]

    def _rest(self, obj, after, reverse):
        if not reverse:
            return self.history(obj, after)
        return [entry for entry in reversed(self.history(obj))
                if entry.version.id > after]

    def current(self, prefix='', marker='', end_marker='', limit=None,
                reverse=False):
        """
        List the latest version of each object.

        :returns: a list of ``Entry``, by name; delete markers too
        """
        entries = map(latest_entry, map(itemgetter(1), self._objects(
            prefix, marker, end_marker, limit, reverse)))
        return list(islice(filter(None, entries), limit))

    def clear(self):
        """
        Remove what purged versions have left in the hidden container, so that
        it can be deleted.

        :returns: False if there are versions; then nothing is removed
        """
        names, query = [], Query(True)
        for row in self._scan(query, None):
            if self._is_version(row):
                return False
            names.append(row.name)
        stamp = self.tick()
        for start in range(0, len(names), BATCH):
            self.rows.write(hidden_rows=[
                Row(name, stamp, deleted=True)
                for name in names[start:start + BATCH]])
        return True

    def _is_version(self, row):
        return row.name.startswith(self.keys.all_versions) and \
            not self.entry(row).purged

    def _objects(self, prefix, marker, end_marker, limit, reverse):
        """Yield the name and the list of ``Entry`` of each object, by name."""
        scan = partial(self._scan, limit=limit)
        hidden = groupby(map(self.entry, scan(objects_query(
            self.keys.all_versions, prefix, marker, end_marker, reverse))),
            key=lambda entry: entry.object)
        listed = ((row.name, row) for row in scan(Query(
            False, prefix, marker, end_marker, reverse=reverse)))
        merged = heapq.merge(
            ((name, 0, tuple(entries)) for name, entries in hidden),
            ((name, 1, row) for name, row in listed),
            key=itemgetter(0), reverse=reverse)
        for name, parts in groupby(merged, key=itemgetter(0)):
            entries, row = [], None
            for _name, is_row, part in parts:
                if is_row:
                    row = part
                else:
                    entries += part
            yield name, self.with_null(entries, row)

    def _scan(self, query, limit):
        """Yield all rows that match a query, reading a page at a time."""
        size = CONTAINER_LISTING_LIMIT
        if limit is not None:
            size = min(size, limit + 100)
        while True:
            found, = self.rows.read(replace(query, limit=size))
            yield from found
            if len(found) < size:
                return
            query = replace(query, marker=found[-1].name)

    def entry(self, row):
        """Return the ``Entry`` that the row of a version describes."""
        entry = entry_of(row, self.keys.parse(row.name))
        self.follow(entry, row.stamp)
        return entry

    def _one_of(self, obj, stamp, queries):
        """
        Find one version of an object; 1 round.

        :param queries: of the rows that the version may have
        :returns: its ``Entry``, or None
        """
        listed = None
        if stamp.is_of_a_filter:
            found = self.rows.read(*queries)
        else:
            # It may be a null version without a row of its own.
            *found, plain = self.rows.read(*queries,
                                           Query(False, obj, exact=True))
            listed = next(iter(plain), None)
        entries = [self.entry(row) for rows in found for row in rows]
        return next((entry for entry in self.with_null(entries, listed)
                     if entry.version.id == stamp), None)

    def follow(self, entry, *stamps):
        """
        Move the clock past a version that was read, so that all later versions
        of this site have greater stamps.
        """
        self.clock.follow(entry.version.id, *stamps, *(
            stamp for _site, stamp in entry.version.vector))

    def all_entries(self, obj):
        """Return a list of every ``Entry`` of an object; 1 round."""
        raise NotImplementedError

    def with_null(self, entries, row):
        """
        Add the null version to the entries of an object if it has no row of
        its own.

        :param entries: a list of each ``Entry`` that has a row
        :param row: of the object in the user's container, or None
        :returns: a list, the same one if there is nothing to add
        """
        raise NotImplementedError

    def name_only(self, stamp, site):
        """
        Return a ``Version`` of which only the id is known, to make names.
        """
        return Version(stamp, site, Vector())
