# SPDX-License-Identifier: Apache-2.0
"""What several replicas say of the same rows: where they differ, and what they
say together (VERSIONING.md §4). This module only computes.

1. Of two rows of one name the newer is right, also if it says that the row is
   deleted. A name that a replica does not tell of may be missing there or be
   deleted: only that replica can say which.
2. A page that is as long as was asked for says nothing of what comes after it.
3. Two rows with one stamp may have different vectors; together they have seen
   what any of them has seen.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from swift_lightsync.versioning.core.heads import is_version, newest_rows
from swift_lightsync.versioning.core.row_data import (
    LAST,
    PURGES,
    Entry,
    Row,
    entry_of,
    parse_version,
    purge_name,
    row_of,
    versions_of,
)
from swift_lightsync.versioning.core.verb import (
    MAX_BODY,
    Answer,
    Page,
    Request,
    Shard,
    WireRow,
    encoded,
)

#: Rows that one request gives to replicas that may lack them.
BATCH = 100
#: Many clients ask for one object.
_entry_of = lru_cache(256)(entry_of)


@dataclass(frozen=True)
class View:
    """What one replica, or several that agree, say.

    :param before_row: of the newest version of the object before a write
    :param head_row: of its newest version now
    :param rows: those that were asked for by name, deleted ones too
    :param page: live rows
    :param truncated: whether the page may go on
    """
    before_row: Row | None = None
    head_row: Row | None = None
    rows: Mapping[str, Row] = field(default_factory=dict)
    page: list[Row] = field(default_factory=list)
    truncated: bool = False

    @property
    def before(self) -> Entry | None:
        """The newest version of the object before a write."""
        return _entry_of(self.before_row) if self.before_row else None

    @property
    def head(self) -> Entry | None:
        """Its newest version now."""
        return _entry_of(self.head_row) if self.head_row else None

    @classmethod
    def of(cls, answer: Answer, page: Page | None) -> 'View':
        """Return what a replica says.

        :param page: that it was asked for
        """
        return cls(
            _row(answer.before), _row(answer.head),
            {each.name: each.row for each in answer.rows},
            [each.row for each in answer.page],
            page is not None and len(answer.page) >= page.limit)

    def cut(self, page: Page | None) -> 'View':
        """Return the view with a page of the length that was asked for first.
        """
        if page is None:
            return replace(self, page=[], truncated=False)
        return replace(self, page=self.page[:page.limit], truncated=(
            self.truncated or len(self.page) > page.limit))

    @property
    def heads(self) -> list[Row]:
        """The head as a list, which is empty if there is none."""
        return [self.head_row] if self.head_row else []


def _row(wire: WireRow | None) -> Row | None:
    return wire.row if wire else None


def last_name(page: Page, name: str) -> str:
    """Return the last name that a page says something of.

    :param name: of its last row
    """
    if not page.heads:
        return name
    # The other versions of that object are not in it either.
    versions = versions_of(parse_version(name).object)
    return versions if page.reverse else versions + LAST


def end_of(views: Iterable[View], page: Page | None) -> str | None:
    """Return the last name that all pages say something of; None: any.

    :param page: that was asked for
    """
    ends = [last_name(page, view.page[-1].name) for view in views
            if page and view.truncated and view.page]
    if not page or not ends:
        return None
    return max(ends) if page.reverse else min(ends)


def within(end: str | None, name: str, page: Page | None) -> bool:
    """Check whether a name is listed no later than another."""
    return end is None or page is None or (
        name >= end if page.reverse else name <= end)


def disputed(views: Sequence[View], page: Page | None) -> list[str]:
    """Return the names of the rows that some replicas do not say the same of.

    :param views: answers to one request
    :param page: that was asked for
    :returns: a list, in the order of the page
    """
    heads = {_identity(view.head_row): view.heads for view in views}
    found = {row.name for rows in heads.values() for row in rows
             if len(heads) > 1}
    found |= _differing([view.rows for view in views])
    end = end_of(views, page)
    found |= _differing([
        {row.name: row for row in view.page
         if within(end, row.name, page)} for view in views])
    return sorted(found, reverse=bool(page and page.reverse))


def _identity(row: Row | None) -> object:
    return row and (row.name, row.stamp, row.deleted)


def _differing(held: Sequence[Mapping[str, Row]]) -> set[str]:
    names = set().union(*held)
    first = held[0]
    return {name for name in names for rows in held[1:]
            if _identity(first.get(name)) != _identity(rows.get(name))}


def known_rows(views: Iterable[View]) -> dict[str, Row]:
    """Return the newest row of each name that any replica tells of; a purge
    record tells of its version, too.
    """
    views = list(views)
    told = [row for view in views for row in (
        *view.heads, *view.rows.values(), *view.page)]
    gone = [row_of(entry_of(row)) for row in told
            if row.name.startswith(PURGES) and not row.deleted]
    return newest_rows(told, gone)


def mending(request: Request, views: Sequence[View]) -> Request | None:
    """Return the request that makes replicas agree on what they dispute.

    :param request: that they were asked
    :param views: what each of them has answered
    :returns: a request that gives them what any of them has, and asks the same
        again; None: they agree
    """
    page = request.page
    names = disputed(views, page) if len(views) > 1 else ()
    if not names:
        return None
    if page is None and request.object:
        # Where one version is purged, others may be too.
        page = Page(versions_of(request.object), limit=BATCH)
    elif page and (len(names) > BATCH or page.limit < BATCH):
        # Replicas that differ much are compared in parts.
        page = replace(page, limit=BATCH)
    known = known_rows(views)
    rows: list[WireRow] = []
    size = 0
    for name in names[:BATCH]:
        rows.append(WireRow.of(known[name]))
        size += len(encoded(rows[-1]))
        if size > MAX_BODY // 2:
            break
    asked = dict.fromkeys(request.names)
    for row in rows:
        asked.setdefault(row.name)
        if is_version(row.row):
            entry = entry_of(row.row)
            asked.setdefault(purge_name(entry.object, entry.version.id))
    return replace(request, rows=tuple(rows), names=tuple(asked), page=page,
                   clock=None)


def united(views: Sequence[View], page: Page | None) -> View:
    """Return what views say together.

    :param views: answers to one request; where they differ, the newest row
        and the greatest head count
    :param page: that was asked for
    """
    if len(views) == 1:
        return views[0]
    end = end_of(views, page)
    rows = _joined([view.rows.values() for view in views])
    listed = _joined([view.page for view in views])
    names = [name for name in sorted(
        listed, reverse=bool(page and page.reverse))
        if within(end, name, page)]
    return View(
        _greatest([view.before_row] for view in views),
        _greatest([view.head_row] for view in views), rows,
        [listed[name] for name in names], end is not None)


def _greatest(groups: Iterable[Iterable[Row | None]]) -> Row | None:
    """Return the row of the newest version."""
    rows = _joined([[row for row in group if row] for group in groups])
    return rows[min(rows)] if rows else None


def _joined(groups: Sequence[Iterable[Row]]) -> dict[str, Row]:
    """Return the newest row of each name, with a vector of all that the
    writers of this row have seen.
    """
    found: dict[str, Row] = {}
    for rows in groups:
        for row in rows:
            known = found.get(row.name)
            if known is None or known.stamp < row.stamp:
                found[row.name] = row
            elif known.stamp == row.stamp and known.etag != row.etag and \
                    is_version(row) and not row.deleted:
                found[row.name] = _with_vectors(known, row)
    return found


def _with_vectors(row: Row, other: Row) -> Row:
    entry = entry_of(row)
    vector = entry.version.vector.joined(entry_of(other).version.vector)
    try:
        return row_of(replace(entry, version=replace(
            entry.version, vector=vector)))
    except ValueError:
        # The row has no room for both.
        return row


def shards_of(answers: Iterable[Answer], place: tuple[str, str]
              ) -> list[Shard]:
    """Return all shards that any answer names, in the order of their names.

    :param place: (account, container) that has answered
    """
    found = {shard.name: shard for answer in answers
             for shard in answer.shards}
    # As part of the list it stands for a gap between shards.
    found.pop('/'.join(place), None)
    return sorted(found.values(), key=lambda shard: shard.lower)


def covers(shard: Shard, name: str) -> bool:
    """Check whether a name belongs to a shard."""
    return shard.lower < name and (not shard.upper or name <= shard.upper)
