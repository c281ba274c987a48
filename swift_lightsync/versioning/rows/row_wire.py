# SPDX-License-Identifier: Apache-2.0
"""
Rows as container servers take and give them (VERSIONING.md §3), and how
what several replicas give is united.

A listing says when a row was modified, but not the offset of its
timestamp: therefore each row that is written carries its stamp.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Dict, Optional, Tuple

from swift.common.swob import str_to_wsgi

from swift_lightsync.versioning.core.row_data import (
    Row,
    stamped_etag,
    unstamped_etag,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: The character that sorts last.
LAST = '\U0010ffff'
#: A container server fails where what follows the last character of a prefix
#: is none that it can look for.
_NO_PREFIX = ('\ud7ff', LAST)


@dataclass(frozen=True)
class Query:
    """
    Which rows to read.

    :param hidden: of the hidden container, else of the user's
    :param prefix: of the names; the whole name if ``exact``
    :param marker: names after it (before it if ``reverse``)
    :param end_marker: names before it (after it if ``reverse``)
    :param limit: at most so many rows; None for all
    """
    hidden: bool
    prefix: str = ''
    marker: str = ''
    end_marker: str = ''
    limit: Optional[int] = None
    exact: bool = False
    reverse: bool = False

    def __post_init__(self):
        if self.limit is not None and self.limit < 1:
            raise ValueError('the limit of a query is %r, must be at least 1'
                             % (self.limit,))

    def parameters(self):
        """Return the parameters of the query string, a dict."""
        # A shard is written to before its older rows are moved there.
        found = {'format': 'json', 'states': 'listing,updating',
                 'prefix': self.prefix, 'limit': self.limit or '',
                 'marker': self.marker, 'end_marker': self.end_marker,
                 'reverse': 'true' if self.reverse else ''}
        if self.exact:
            # Of all names with a prefix the prefix itself is the first.
            found.update(limit=1, marker='', end_marker='', reverse='')
            if self.prefix.endswith(_NO_PREFIX):
                # Nor is there a name between it and itself with a null.
                found.update(prefix='', marker=self.prefix + '\0',
                             reverse='true')
        return {name: str(value) for name, value in found.items()
                if value != ''}

    @property
    def bounds(self):
        """Two names: no row from before the one, or after the other."""
        if self.exact:
            return self.prefix, self.prefix
        after, before = self.marker, self.end_marker
        if self.reverse:
            after, before = before, after
        last = self.prefix + LAST if self.prefix else ''
        return (max(self.prefix, after),
                min(last, before) if last and before else last or before)

    def overlaps(self, lower, upper):
        """
        Whether a shard may hold such rows.

        :param lower: its names are greater, '' if there is no bound
        :param upper: its names are not greater, '' if there is no bound
        """
        first, last = self.bounds
        return (not upper or first <= upper) and (not last or lower < last)


@dataclass(frozen=True)
class Page:
    """
    Rows of one replica, sorted as was asked.

    :param truncated: whether more may follow
    """
    rows: Tuple[Row, ...]
    truncated: bool


def put_headers(row):
    """
    :returns: the headers of the request that writes or deletes a row
    :raises ValueError: if it is too long
    """
    if row.deleted:
        return {'X-Timestamp': str(row.stamp)}
    return {'X-Timestamp': str(row.stamp),
            'X-Size': str(row.size),
            'X-Content-Type': str_to_wsgi(row.content_type),
            'X-Etag': stamped_etag(row)}


def _modified(text):
    moment = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
    return Stamp(microseconds * TICKS // 10 ** 6)


def row_of_record(record):
    """
    :param record: a dict of a listing in JSON
    :returns: the ``Row``; its stamp is the one it was written with, or
        when others than we have written it, when it was modified
    """
    etag, stamp = unstamped_etag(record['hash'])
    return Row(record['name'],
               Stamp.parse(stamp) if stamp else
               _modified(record['last_modified']),
               record['bytes'], record['content_type'], etag)


def newest(rows):
    """
    :returns: a dict, of each name the row with the newest stamp; of equal
        stamps one that does not depend on their order
    """
    found: Dict[str, Row] = {}
    for row in rows:
        known = found.get(row.name)
        if known is None or (known.stamp, known.etag) < (row.stamp, row.etag):
            found[row.name] = row
    return found


def united(pages, limit, reverse):
    """
    :param pages: a ``Page`` of each replica that answered, all of them
        answers to one query
    :returns: a ``Page`` of what they hold together: of each name the
        newest row. Where a page ends, nothing is known of its replica.
    """
    found = newest(row for page in pages for row in page.rows)
    names = sorted(found, reverse=reverse)
    ends = [page.rows[-1].name for page in pages
            if page.truncated and page.rows]
    if ends:
        end = max(ends) if reverse else min(ends)
        names = [name for name in names
                 if (name >= end if reverse else name <= end)]
    truncated = bool(ends) or len(names) > limit
    return Page(tuple(found[name] for name in names[:limit]), truncated)


def missed(page, whole, reverse):
    """
    :param page: of one replica
    :param whole: what ``united`` made of it and others
    :returns: the rows of the whole that the replica should have and has
        not, or has older
    """
    known = {row.name: row.stamp for row in page.rows}
    end = page.rows[-1].name if page.truncated and page.rows else None
    return [row for row in whole.rows
            if (end is None or (row.name >= end if reverse
                                else row.name <= end))
            and (row.name not in known or known[row.name] < row.stamp)]
