# SPDX-License-Identifier: Apache-2.0
"""
Write-Repair: the latest version is decided when an update is committed
(Write-Repair and Read-Repair §3.2.1; VERSIONING.md §3 and §4).
"""

from dataclasses import replace

from swift_lightsync.versioning.core.keys import WriteRepairKeys
from swift_lightsync.versioning.core.pointer import pointer_after
from swift_lightsync.versioning.core.row_data import (
    Pointer,
    history_row,
    latest_row,
    listed_entry,
    null_of,
    pointer_of,
    row_of,
)
from swift_lightsync.versioning.rows.row_wire import Query
from swift_lightsync.versioning.strategies.basis import (
    Basis,
    latest_entry,
    present,
)
from swift_lightsync.versioning.strategies.strategy import Strategy

#: Times that ``repair`` looks whether others have moved a pointer.
REPAIRS = 5


def _is_right(basis):
    return basis.points_to(latest_entry(basis.known))


class WriteRepair(Strategy):
    """The strategy of containers in the mode write-repair."""

    keys = WriteRepairKeys

    def latest(self, obj):
        """
        Find the latest version of an object, in 1 round.

        :returns: the ``Entry``, which may be a delete marker; None if the
            object was never versioned, or all of its versions are purged
        """
        rows, = self.rows.read(self._history_query(obj))
        pointer = self._pointer(rows, obj)
        return pointer and pointer.latest

    def begin(self, obj):
        """Read the ``Basis`` of a new version; 1 round."""
        return self._basis(obj, Query(True, self.keys.of_object(obj),
                                      limit=1))

    def commit(self, basis, entry):
        """
        Make a version and the pointer to it durable, in 1 round; in 2 if it
        overwrites a null version.

        :raises RowsUnavailable: if they may not be durable
        :raises ValueError: if the rows would be too long
        """
        stale = []
        if entry.plain:
            basis, stale = self._without_plain(basis.object)
        self._write(basis, [entry] + stale)

    def get(self, obj, stamp):
        """
        Find one version of an object, in 1 round.

        :returns: the ``Entry`` (see ``purged``), or None if it is unknown
        """
        return self._one_of(obj, stamp, [self._version_query(obj, stamp)])

    def name_of(self, obj, stamp):
        """Return the name of a version's data, from the version's id alone."""
        return self.keys.version(obj, self.name_only(stamp, self.site))

    def purge(self, obj, stamp):
        """
        Purge a version, in 3 rounds unless others move the pointer at the same
        time.

        :returns: the ``Entry`` that was removed, or None if there is none
        """
        basis = self._whole(obj)
        for entry in basis.known:
            if entry.version.id == stamp:
                break
        else:
            return None
        self._remove(basis, entry if entry.purged else
                     replace(entry, purged=self.tick()))
        return None if entry.purged else entry

    def apply(self, entry):
        """
        Make durable a version or a purge that another site made. Entries may
        come in any order and any number of times.
        """
        self.follow(entry, *filter(None, [entry.purged]))
        if entry.purged:
            self._remove(self._whole(entry.object), entry)
            return
        basis = self._around(entry)
        here = any(known.version.id == entry.version.id
                   for known in basis.known)
        self._write(basis, [entry], again=here and not entry.changed)

    def amend(self, entry, content_type, changed=None):
        """
        Record that the metadata of a version has changed, in 2 rounds.

        :param changed: a ``Stamp``; None: now
        """
        self._write(self._around(entry), [replace(
            entry, content_type=content_type,
            changed=changed or self.tick())])

    def adopt(self, obj):
        """
        Give a null version its row, so that other sites get it.

        :returns: its ``Entry``, or None if there is none without a row
        """
        basis = self.begin(obj)
        if basis.null:
            self._write(basis, [])
        return basis.null

    def is_right(self, obj):
        """
        Compute the latest version anew from all versions, in 1 round.

        :returns: whether the pointer and the listing both name it
        """
        return _is_right(self._whole(obj))

    def repair(self, obj):
        """
        Compute the pointer anew from all versions, and write it if it is
        wrong.

        :returns: whether it was wrong
        """
        for count in range(REPAIRS):
            basis = self._whole(obj)
            if _is_right(basis):
                return count > 0
            self._write_all(basis, [])
        return True

    def current(self, prefix='', marker='', end_marker='', limit=None,
                reverse=False):
        """List the rows of the user's container, read from a majority."""
        rows, = self.rows.read(Query(False, prefix, marker, end_marker,
                                     limit, reverse=reverse))
        return [listed_entry(row) or null_of(row, self.site) for row in rows]

    def all_entries(self, obj):
        return list(self._whole(obj).known)

    def with_null(self, entries, row):
        null = row and null_of(row, self.site)
        if null is None or any(
                max(entry.version.id, entry.purged or entry.version.id) >=
                row.stamp for entry in entries):
            return entries
        return entries + [null]

    def _around(self, entry):
        """Read a ``Basis`` that includes a version's own row; 1 round."""
        return self._basis(
            entry.object,
            Query(True, self.keys.of_object(entry.object), limit=1),
            self._version_query(entry.object, entry.version.id))

    def _whole(self, obj):
        """Read the ``Basis`` with all versions; 1 round."""
        return self._basis(obj, Query(True, self.keys.of_object(obj)))

    def _basis(self, obj, *queries):
        """
        Read the ``Basis`` with the versions that match some queries; 1 round.
        """
        histories, listed, *versions = self.rows.read(
            self._history_query(obj), Query(False, obj, exact=True),
            *queries)
        pointer = self._pointer(histories, obj)
        entries = {row.name: self.entry(row)
                   for rows in versions for row in rows}
        listed_at = listed[0].stamp if listed else None
        known = list(entries.values())
        null = None
        if listed_at and (pointer is None or pointer.stamp < listed_at):
            known = self.with_null(known, listed[0])
            null = known[-1] if len(known) > len(entries) else None
        if listed_at:
            self.clock.follow(listed_at)
        return Basis(obj, pointer, tuple(known), listed_at, null,
                     listed_entry(listed[0]) if listed else None)

    def _pointer(self, rows, obj):
        if not rows:
            return None
        pointer = pointer_of(rows[0], obj)
        self.clock.follow(pointer.stamp, *(
            version.id for version in pointer.frontier))
        return pointer

    def _history_query(self, obj):
        return Query(True, self.keys.history(obj), exact=True)

    def _version_query(self, obj, stamp):
        return Query(True, self.name_of(obj, stamp), exact=True)

    def _row(self, entry):
        return row_of(entry, self.data_name(entry))

    def _write(self, basis, fresh, again=False):
        """
        Write versions and the pointer that follows from them, in 1 round.

        :param again: whether the versions have rows already, so that the
            pointer may be right and is then not written
        """
        known = list(basis.known) + fresh
        try:
            pointer = pointer_after(basis.pointer, known, self.tick,
                                    basis.listed_at)
        except KeyError:
            self._write_all(self._whole(basis.object), fresh)
            return
        if again and basis.points_to(pointer.latest):
            self.rows.write(hidden_rows=list(map(self._row, fresh)))
        else:
            self._write_rows(basis, pointer, fresh)

    def _write_all(self, basis, fresh):
        """
        Write versions and the pointer, from a basis that has all versions. If
        the latest that the pointer names has no row, it is still being written
        or its writer died; its data is there, so it gets its row, too.
        """
        pointed = basis.pointer and basis.pointer.latest
        if pointed and all(entry.version.id != pointed.version.id
                           for entry in basis.known):
            fresh = [pointed] + fresh
        self._write_rows(basis, pointer_after(
            basis.pointer and Pointer(basis.pointer.stamp),
            list(basis.known) + fresh, self.tick, basis.listed_at), fresh)

    def _write_rows(self, basis, pointer, fresh):
        if basis.null and all(entry.version.id != basis.null.version.id
                              for entry in fresh):
            fresh = fresh + [basis.null]
        self.rows.write(
            [latest_row(pointer, basis.object)],
            [history_row(self.keys.history(basis.object), pointer)] +
            list(map(self._row, fresh)))

    def _remove(self, basis, marker):
        self._write_all(basis, [marker])
        self.repair(basis.object)

    def _without_plain(self, obj):
        """
        Read the basis of a null version that replaces the others of this site.

        :returns: a ``Basis`` without the null version that has no row, and a
            list of the purges of those null versions of this site that are
            overwritten
        """
        basis = self._whole(obj)
        stale = [replace(entry, purged=self.tick())
                 for entry in present(basis.known)
                 if entry.plain and entry.version.site == self.site and
                 entry is not basis.null]
        return replace(basis, null=None, known=tuple(
            entry for entry in basis.known if entry is not basis.null)), stale
