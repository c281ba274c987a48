# SPDX-License-Identifier: Apache-2.0
"""
Rows as container servers take and give them (VERSIONING.md §3), and how the
answers of several replicas are united.

A listing says when a row was modified, but not the offset of its timestamp:
therefore each row that is written carries its stamp.
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
    Says which rows to read.

    :param hidden: whether from the hidden container, else from the user's
    :param prefix: of the names; the whole name if ``exact``
    :param marker: only names after it (before it if ``reverse``)
    :param end_marker: only names before it (after it if ``reverse``)
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
        """
        Two names: every row that matches lies between them; '' is no bound.
        """
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
        Check whether a shard may have rows that match.

        :param lower: all names of the shard are greater; '' if there is no
            bound
        :param upper: no name of the shard is greater; '' if there is no bound
        """
        first, last = self.bounds
        return (not upper or first <= upper) and (not last or lower < last)


@dataclass(frozen=True)
class Page:
    """
    Rows of one replica, in the order of the query.

    :param truncated: whether more may follow
    """
    rows: Tuple[Row, ...]
    truncated: bool


def put_headers(row):
    """
    Return the headers of the request that writes or deletes a row.

    :raises ValueError: if the row is too long
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
    Read a record of a listing.

    :param record: a dict of a listing in JSON
    :returns: the ``Row``; its stamp is the one it was written with, or, if the
        filter did not write the row, the time of its modification
    """
    etag, stamp = unstamped_etag(record['hash'])
    return Row(record['name'],
               Stamp.parse(stamp) if stamp else
               _modified(record['last_modified']),
               record['bytes'], record['content_type'], etag)


def newest(rows):
    """
    Find the newest row of each name.

    :returns: a dict from names to rows; between equal stamps the choice does
        not depend on the order of the rows
    """
    found: Dict[str, Row] = {}
    for row in rows:
        known = found.get(row.name)
        if known is None or (known.stamp, known.etag) < (row.stamp, row.etag):
            found[row.name] = row
    return found


def united(pages, limit, reverse):
    """
    Unite the answers of several replicas to one query.

    :param pages: the ``Page`` of each replica that answered
    :returns: a ``Page`` with the newest row of each name. It ends where the
        first truncated page ends, because that replica may have more rows.
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
    Find the rows that a replica lacks.

    :param page: of the replica
    :param whole: what ``united`` made of this page and others
    :returns: the rows of the whole that the replica should have but lacks, or
        has in an older version
    """
    known = {row.name: row.stamp for row in page.rows}
    end = page.rows[-1].name if page.truncated and page.rows else None
    return [row for row in whole.rows
            if (end is None or (row.name >= end if reverse
                                else row.name <= end))
            and (row.name not in known or known[row.name] < row.stamp)]
