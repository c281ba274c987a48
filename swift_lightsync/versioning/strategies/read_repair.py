# SPDX-License-Identifier: Apache-2.0
"""
Read-Repair: the latest version is decided when an object is read
(Write-Repair and Read-Repair §3.2.2; VERSIONING.md §3 and §4).
"""

from dataclasses import replace

from swift_lightsync.versioning.core.keys import ReadRepairKeys
from swift_lightsync.versioning.core.row_data import Row, null_of, row_of
from swift_lightsync.versioning.rows.row_wire import Query
from swift_lightsync.versioning.strategies.strategy import (
    Basis,
    Strategy,
    latest_entry,
    present,
)


class ReadRepair(Strategy):
    """The strategy of containers in the mode read-repair."""

    keys = ReadRepairKeys

    def latest(self, obj):
        """
        1 round; by site, 2 where the newest version of a site is purged.

        :returns: the ``Entry``, which may be a delete marker, or None
        """
        if self.lookup == 'full':
            return latest_entry(self.all_entries(obj))
        return latest_entry(self._newest_of_sites(obj))

    def begin(self, obj):
        """0 rounds. :returns: a ``Basis`` that says nothing"""
        return Basis(obj)

    def commit(self, basis, entry):
        """
        1 round (2, where a null version is overwritten). When it returns,
        the version is durable.

        :raises RowsUnavailable: if it may not be
        :raises ValueError: if the row would be too long
        """
        stale = self._plain(entry) if entry.plain else []
        self._write([entry] + stale, entry.version.id)

    def get(self, obj, stamp):
        """
        1 round.

        :returns: the ``Entry`` of one version (see ``purged``), or None if
            it was never heard of
        """
        return self._one_of(obj, stamp, [
            Query(True, self.keys.version(obj, self.name_only(stamp, site)),
                  exact=True) for site in self._sites_of(stamp)])

    def name_of(self, obj, stamp):
        """
        :returns: the name of a version's data, by its id alone; None if
            the id does not tell its site
        """
        sites = self._sites_of(stamp)
        if len(sites) > 1:
            return None
        return self.keys.version(obj, self.name_only(stamp, sites[0]))

    def purge(self, obj, stamp):
        """
        2 rounds.

        :returns: the ``Entry`` that was removed, or None if it is not there
        """
        entry = self.get(obj, stamp)
        if entry is None or entry.purged:
            return None
        marker = replace(entry, purged=self.tick())
        self._write([marker], marker.purged)
        return entry

    def apply(self, entry):
        """
        Take in what another site made: a version or its purge, in any
        order and any number of times; 1 round. Then it is durable.
        """
        self.follow(entry, *filter(None, [entry.purged]))
        self._write([entry])

    def amend(self, entry, content_type, changed=None):
        """
        Note that the metadata of a version has changed; 1 round.

        :param changed: a ``Stamp``; None: now
        """
        self._write([replace(entry, content_type=content_type,
                             changed=changed or self.tick())])

    def adopt(self, obj):
        """
        Give a null version its row, so that other sites get it.

        :returns: its ``Entry``, or None if there is none without a row
        """
        rows, listed = self._read(obj)
        entries = self.with_null(rows, listed)
        if len(entries) == len(rows):
            return None
        self._write(entries[-1:], self.tick())
        return entries[-1]

    def repair(self, obj):
        """There is no pointer that could be wrong."""
        return False

    def all_entries(self, obj):
        return self.with_null(*self._read(obj))

    def with_null(self, entries, row):
        null = row and null_of(row, self.site)
        if null is None:
            return entries
        self.follow(null)
        if any(entry.version.id == null.version.id or
               entry.plain and entry.version.site == self.site and
               (entry.purged or entry.version.id) >= row.stamp
               for entry in entries):
            # a replica still has the row that was deleted since
            return entries
        return entries + [null]

    def _read(self, obj):
        """Each ``Entry`` that has a row, and the object's own row."""
        rows, listed = self.rows.read(
            Query(True, self.keys.of_object(obj)),
            Query(False, obj, exact=True))
        return list(map(self.entry, rows)), next(iter(listed), None)

    def _newest_of_sites(self, obj):
        """Return each site's newest ``Entry``, and older ones."""
        queries = [Query(True, self.keys.of_site(obj, site), limit=1)
                   for site in self.sites]
        *found, listed = self.rows.read(
            *queries, Query(False, obj, exact=True))
        entries = [self.entry(row) for rows in found for row in rows]
        purged = {entry.version.site for entry in entries if entry.purged}
        if purged:
            more = self.rows.read(*[
                Query(True, self.keys.of_site(obj, site))
                for site in self.sites if site in purged])
            entries += [self.entry(row) for rows in more for row in rows]
        return self.with_null(entries, next(iter(listed), None))

    def _sites_of(self, stamp):
        """Return the sites that may have made a version."""
        if stamp.rank < len(self.sites):
            return self.sites[stamp.rank:stamp.rank + 1]
        return self.sites

    def _plain(self, entry):
        """
        :returns: the purges of those null versions of this site that the
            one that is written now has overwritten
        """
        rows, _listed = self._read(entry.object)
        return [replace(old, purged=self.tick()) for old in present(rows)
                if old.plain and old.version.site == self.site]

    def _write(self, entries, stamp=None):
        """
        :param stamp: that null versions have rows since, so that the
            object needs none of its own
        """
        plain = stamp and entries[0].plain
        self.rows.write(
            [Row(entries[0].object, stamp, deleted=True)] if plain else [],
            [row_of(entry, self.data_name(entry)) for entry in entries])
