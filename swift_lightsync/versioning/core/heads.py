# SPDX-License-Identifier: Apache-2.0
"""What a replica of a hidden container does with the rows of one object
(VERSIONING.md §4): a pure function of the rows that it holds and the rows that
come in.

1. Of two rows of one name the newer stays. A version with a purge record stays
   purged, whatever comes.
2. A version of this site gets its vector here: it has seen all that this
   replica holds.
3. The newest version that is not purged is the head. The listing row of
   Write-Repair follows it.

What one replica decides may be lost with it. So it purges nothing by itself:
only who knows what a majority holds does (strategies/strategy.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from swift_lightsync.versioning.core.row_data import (
    VERSIONS,
    Entry,
    Row,
    entry_of,
    listing_name,
    listing_row,
    purge_name,
    purge_record,
    row_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector

#: Newest versions that a vector is joined from.
SEEN = 8


@dataclass(frozen=True)
class Held:
    """What a replica holds of an object.

    :param newest: the rows of its newest versions, newest first; at most
        ``SEEN``, and one more for each version that is to be purged
    :param known: every row whose name is among those of the rows that come in,
        of their purge records, and of the listing row; deleted ones too
    """
    newest: Sequence[Row] = ()
    known: Mapping[str, Row] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Says what a replica merges, and which version is the newest then.

    :param rows: to merge
    :param before: the head before them, or None
    :param head: the head after them, or None
    """
    rows: tuple[Row, ...]
    before: Row | None
    head: Row | None


def is_version(row: Row) -> bool:
    """Check whether a row is one of a version, purged or not."""
    return row.name.startswith(VERSIONS)


def lookups(obj: str, rows: Iterable[Row]) -> list[str]:
    """Return the names of the rows that have to be ``known`` for a plan.

    :param obj: the object's name; empty: no head is planned
    :param rows: that come in
    """
    names = [listing_name(obj)] if obj else []
    for row in rows:
        names.append(row.name)
        if is_version(row):
            entry = entry_of(row)
            names.append(purge_name(entry.object, entry.version.id))
    return names


def newest_rows(*groups: Iterable[Row]) -> dict[str, Row]:
    """Return the newest row of each name; of equal ones the first."""
    found: dict[str, Row] = {}
    for rows in groups:
        for row in rows:
            if row.name not in found or found[row.name].stamp < row.stamp:
                found[row.name] = row
    return found


def planned(held: Held, obj: str, rows: Sequence[Row], listed: bool,
            stamp: Stamp | None) -> Plan:
    """Decide what to merge.

    :param obj: the object's name; empty: the rows are merged as they are
    :param rows: that come in
    :param listed: whether the object has a listing row
    :param stamp: of the operation
    :raises ValueError: if a row of a version cannot be read, or would be too
        long
    """
    taken: dict[str, Row] = {}
    for row in rows:
        known = held.known.get(row.name)
        if known is not None and known.stamp >= row.stamp:
            continue
        if is_version(row) and not row.deleted:
            entry = entry_of(row)
            if purge_name(entry.object, entry.version.id) in held.known:
                continue
            row = row_of(_with_vector(entry, held.newest))
        taken[row.name] = row
    if not obj:
        return Plan(tuple(taken.values()),
                    held.known.get(rows[0].name) if rows else None, None)
    before = held.newest[0] if held.newest else None
    live = newest_rows(held.newest, filter(is_version, taken.values()))
    heads = sorted((row for row in live.values() if not row.deleted),
                   key=lambda row: row.name)
    head = heads[0] if heads else None
    if listed:
        listing = listing_after(held.known.get(listing_name(obj)), head,
                                obj, stamp)
        if listing is not None:
            taken[listing.name] = listing
    return Plan(tuple(taken.values()), before, head)


def _with_vector(entry: Entry, newest: Sequence[Row]) -> Entry:
    version = entry.version
    if version.vector:
        return entry
    own = Vector({version.site: version.id})
    seen = [entry_of(row).version for row in newest[:SEEN]]
    vectors = [each.vector.joined(Vector({each.site: each.id}))
               for each in seen if each.id < version.id]
    return replace(entry, version=replace(
        version, vector=own.joined(*vectors)))


def with_least_vector(entry: Entry) -> Entry:
    """Return a version with a vector that replicas do not differ in: a purge
    record is removed when all have the same.
    """
    version = entry.version
    return replace(entry, version=replace(
        version, vector=Vector({version.site: version.id})))


def listing_after(known: Row | None, head: Row | None, obj: str,
                  stamp: Stamp | None) -> Row | None:
    """
    Return the listing row to write, or None if the one that is known is right.
    """
    entry = entry_of(head) if head else None
    if known is None:
        if entry is None:
            return None
        return listing_row(entry, obj, entry.version.id)
    wanted = listing_row(entry, obj, known.stamp)
    if wanted == known:
        return None
    if entry is not None and entry.version.id > known.stamp:
        return listing_row(entry, obj, entry.version.id)
    tick = stamp or (entry.version.id if entry else known.stamp)
    return listing_row(entry, obj, known.stamp.revised(tick))


def is_listed_right(known: Row | None, head: Row | None,
                    obj: str) -> bool:
    """Check whether an object's listing row follows its head."""
    return listing_after(known, head, obj, None) is None


def purge_rows(entry: Entry, stamp: Stamp | None,
               recorded: bool) -> list[Row]:
    """Return the rows that purge a version.

    :param entry: the version
    :param stamp: of the purge
    :param recorded: whether other sites have to be told
    """
    # It exceeds all rows of the version.
    least = Stamp(entry.version.id.ticks + 1, entry.version.id.offset)
    gone = replace(entry, purged=max(stamp or least, least))
    rows = [row_of(gone)]
    if recorded:
        rows.append(purge_record(gone))
    return rows
