# SPDX-License-Identifier: Apache-2.0
"""
Read-Repair: the latest version is decided when an object is read
(Write-Repair and Read-Repair §3.2.2; VERSIONING.md §3 and §4).
"""

from dataclasses import replace

from swift_lightsync.versioning.core.keys import ReadRepairKeys
from swift_lightsync.versioning.core.row_data import Row, null_of, row_of
from swift_lightsync.versioning.rows.row_wire import Query
from swift_lightsync.versioning.strategies.basis import (
    Basis,
    latest_entry,
    present,
)
from swift_lightsync.versioning.strategies.strategy import Strategy


class ReadRepair(Strategy):
    """The strategy of containers in the mode read-repair."""

    keys = ReadRepairKeys

    def latest(self, obj):
        """
        Find the latest version of an object, in 1 round; with the lookup
        by-site, in 2 if the newest version of a site is purged.

        :returns: the ``Entry``, which may be a delete marker, or None
        """
        if self.lookup == 'full':
            return latest_entry(self.all_entries(obj))
        return latest_entry(self._newest_of_sites(obj))

    def begin(self, obj):
        """Return an empty ``Basis``; 0 rounds."""
        return Basis(obj)

    def commit(self, basis, entry):
        """
        Make a version durable, in 1 round; in 2 if it overwrites a null
        version.

        :raises RowsUnavailable: if it may not be durable
        :raises ValueError: if the row would be too long
        """
        stale = self._plain(entry) if entry.plain else []
        self._write([entry] + stale, entry.version.id)

    def get(self, obj, stamp):
        """
        Find one version of an object, in 1 round.

        :returns: the ``Entry`` (see ``purged``), or None if it is unknown
        """
        return self._one_of(obj, stamp, [
            Query(True, self.keys.version(obj, self.name_only(stamp, site)),
                  exact=True) for site in self._sites_of(stamp)])

    def name_of(self, obj, stamp):
        """
        Find the name of a version's data from the version's id alone.

        :returns: the name, or None if the id does not tell the site
        """
        sites = self._sites_of(stamp)
        if len(sites) > 1:
            return None
        return self.keys.version(obj, self.name_only(stamp, sites[0]))

    def purge(self, obj, stamp):
        """
        Purge a version, in 2 rounds.

        :returns: the ``Entry`` that was removed, or None if there is none
        """
        entry = self.get(obj, stamp)
        if entry is None or entry.purged:
            return None
        marker = replace(entry, purged=self.tick())
        self._write([marker], marker.purged)
        return entry

    def apply(self, entry):
        """
        Make durable a version or a purge that another site made, in 1 round.
        Entries may come in any order and any number of times.
        """
        self.follow(entry, *filter(None, [entry.purged]))
        self._write([entry])

    def amend(self, entry, content_type, changed=None):
        """
        Record that the metadata of a version has changed, in 1 round.

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
        """Return False: there is no pointer that could be wrong."""
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
        """Read each ``Entry`` that has a row, and the object's own row."""
        rows, listed = self.rows.read(
            Query(True, self.keys.of_object(obj)),
            Query(False, obj, exact=True))
        return list(map(self.entry, rows)), next(iter(listed), None)

    def _newest_of_sites(self, obj):
        """
        Return a list with each site's newest ``Entry``, and some older ones.
        """
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
        Make the purges of the null versions that a new one overwrites.

        :returns: a list of ``Entry``, for null versions of this site only
        """
        rows, _listed = self._read(entry.object)
        return [replace(old, purged=self.tick()) for old in present(rows)
                if old.plain and old.version.site == self.site]

    def _write(self, entries, stamp=None):
        """
        Write the rows of some versions.

        :param stamp: if the versions are null versions: the stamp since which
            they have rows, so that the object's own row is deleted
        """
        plain = stamp and entries[0].plain
        self.rows.write(
            [Row(entries[0].object, stamp, deleted=True)] if plain else [],
            [row_of(entry, self.data_name(entry)) for entry in entries])
