# SPDX-License-Identifier: Apache-2.0
"""Reads and writes rows of versions in one database of a hidden container, and
reads what that says of its container.

All queries go through the index of the object table, (deleted, name): what
they cost follows the rows that they return.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from sqlite3 import Connection, Cursor, OperationalError
from typing import Any
from urllib.parse import unquote

from swift.common.concurrency import sleep
from swift.common.utils import decode_timestamps

from swift_lightsync.versioning.core.comparing import Digest
from swift_lightsync.versioning.core.life import life_of
from swift_lightsync.versioning.core.row_data import (
    LAST,
    LIFE,
    VERSIONS,
    Row,
    parse_version,
    versions_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Page, Request

_COLUMNS = ('SELECT name, created_at, size, content_type, etag, deleted '
            'FROM object WHERE storage_policy_index = ? AND ')
_STORED = ('name', 'created_at', 'size', 'content_type', 'etag', 'deleted',
           'storage_policy_index')
#: What only null versions fulfil.
_NULL = " AND etag LIKE '%; sv!_null=1%' ESCAPE '!'"
#: Names in one statement, less than SQLite's limit of arguments.
_AT_ONCE = 500
#: Where a container says what its mode is, and the one that has listing rows.
MODE, LISTED = 'X-Container-Sysmeta-Site-Versions-Mode', 'write-repair'
#: Where a shard says what container it is a part of.
ROOT = 'X-Container-Sysmeta-Shard-Root'
QUOTED_ROOT = 'X-Container-Sysmeta-Shard-Quoted-Root'


def after_prefix(prefix: str) -> str:
    """Return the least name that is greater than all that begin with a prefix;
    '' if there is none.
    """
    kept = prefix.rstrip(LAST)
    if not kept:
        return ''
    after = ord(kept[-1]) + 1
    # Surrogates are no characters of names.
    return kept[:-1] + chr(0xe000 if after == 0xd800 else after)


def record_of(row: Row, policy: int) -> dict[str, Any]:
    """Return a row as a container broker merges it."""
    return {'name': row.name, 'created_at': str(row.stamp),
            'size': row.size, 'content_type': row.content_type,
            'etag': row.etag, 'deleted': int(row.deleted),
            'storage_policy_index': policy,
            'ctype_timestamp': None, 'meta_timestamp': None}


#: What a database says of its container.
_DESCRIBED = (
    'SELECT account, container, metadata, storage_policy_index, '
    'put_timestamp, delete_timestamp, id, %s FROM container_info')
_HAS_SHARDS = ('EXISTS (SELECT 1 FROM shard_range WHERE deleted = 0 '
               "AND name != account || '/' || container)")


@dataclass(frozen=True)
class Container:
    """What a database says of its container, read once for a request.

    :param id: of the database
    :param own: its account and name
    :param account: the root's
    :param root: the name of the container that it is, or is a shard of
    :param is_root: whether it is no shard
    :param mode: how versions are listed; empty: not said
    :param policy: the index of its storage policy
    :param may_be_deleted: whether it is, if it has no objects
    :param has_shards: whether it has any, or is getting them
    """
    id: str
    own: tuple[str, str]
    account: str
    root: str
    is_root: bool
    mode: str
    policy: int
    may_be_deleted: bool
    has_shards: bool

    @classmethod
    def of(cls, connection: Connection) -> 'Container':
        """Read what a database says."""
        try:
            found = connection.execute(_DESCRIBED % _HAS_SHARDS)
        except OperationalError:
            # One that is older than sharding has no such table.
            found = connection.execute(_DESCRIBED % 0)
        account, name, metadata, policy, put, deleted, id, has_shards = \
            found.fetchone()
        said = json.loads(metadata) if metadata else {}
        own = account, name
        path = unquote(said.get(QUOTED_ROOT, ('',))[0]) or \
            said.get(ROOT, ('',))[0]
        account, _, name = (path or '/'.join(own)).partition('/')
        return cls(id, own, account, name, (account, name) == own,
                   said.get(MODE, ('',))[0], policy,
                   deleted > put, bool(has_shards))

    def is_listed(self, asked: Request) -> bool:
        """Check whether listing rows count; not every request says it."""
        return self.mode == LISTED if self.mode else asked.listed


def _stamp(created_at: str) -> Stamp:
    try:
        return Stamp.parse(created_at)
    except ValueError:
        # Swift's own rows may have three timestamps in one.
        return Stamp.parse(decode_timestamps(created_at)[0].internal)


class RowTable:
    """The rows of one database.

    :param connection: to it; a cursor in a transaction, whose statements wait
        for no lock
    :param policy: the index of the container's storage policy
    """

    def __init__(self, connection: Connection | Cursor,
                 policy: int) -> None:
        self._connection = connection
        self._policy = policy

    def _rows(self, condition: str, *values: Any) -> Iterator[Row]:
        for record in self._connection.execute(
                _COLUMNS + condition, (self._policy,) + values):
            name, created_at, size, content_type, etag, deleted = record
            yield Row(name, _stamp(created_at), size, content_type, etag,
                      bool(deleted))

    def named(self, names: Iterable[str]) -> list[Row]:
        """Return the rows of some names, deleted ones too."""
        wanted = sorted(set(names))
        found: list[Row] = []
        for start in range(0, len(wanted), _AT_ONCE):
            chunk = wanted[start:start + _AT_ONCE]
            found += self._rows('deleted IN (0, 1) AND name IN (%s)' %
                                ','.join('?' * len(chunk)), *chunk)
        return found

    def newest(self, obj: str, limit: int) -> list[Row]:
        """Return the newest versions of an object, newest first."""
        prefix = versions_of(obj)
        return list(self._rows(
            'deleted = 0 AND name > ? AND name < ? ORDER BY name LIMIT ?',
            prefix, after_prefix(prefix), limit))

    def merge(self, rows: Iterable[Row]) -> None:
        """Put rows in the place of those of their names.

        :param rows: newer than these
        """
        for row in rows:
            found = record_of(row, self._policy)
            self._connection.execute(
                'DELETE FROM object WHERE deleted IN (0, 1) AND name = ? '
                'AND storage_policy_index = ?', (row.name, self._policy))
            self._connection.execute(
                'INSERT INTO object (name, created_at, size, content_type, '
                'etag, deleted, storage_policy_index) VALUES (?, ?, ?, ?, ?, '
                '?, ?)', [found[each] for each in _STORED])

    def after(self, stamp: Stamp) -> list[Row]:
        """Return the versions whose ids exceed a stamp, by name."""
        return [row for row in self._rows(
            'deleted = 0 AND name >= ? AND name < ? AND created_at > ? '
            'ORDER BY name', VERSIONS, after_prefix(VERSIONS), str(stamp))
            if parse_version(row.name).id > stamp]

    def digest(self, until: Stamp) -> Digest:
        """Return the ``Digest`` of the live versions up to a stamp."""
        return Digest.of(self._records(), until)

    def _records(self) -> Iterator[tuple[str, str, str]]:
        """Yield what the digest is about."""
        life = self.named([LIFE])
        if life and life_of(life[0]).exists:
            yield LIFE, str(life[0].stamp), life[0].content_type
        last = VERSIONS
        while last:
            # No cursor stays open: it would keep writers waiting.
            records = self._connection.execute(
                'SELECT name, created_at, content_type FROM object WHERE '
                'storage_policy_index = ? AND deleted = 0 AND name > ? AND '
                'name < ? ORDER BY name LIMIT ?', (
                    self._policy, last, after_prefix(VERSIONS),
                    _AT_ONCE)).fetchall()
            yield from records
            last = records[-1][0] if len(records) == _AT_ONCE else ''
            sleep()

    def page(self, page: Page) -> list[Row]:
        """Return the rows of a page."""
        if page.heads:
            return self._heads(page)
        low, high = bounds(page)
        return list(self._between(low, high, page.reverse, page.limit,
                                  _NULL if page.nulls else ''))

    def _between(self, low: str, high: str, reverse: bool, limit: int,
                 only: str = '') -> Iterator[Row]:
        """Yield live rows, from one name on and before another."""
        condition, values = 'deleted = 0 AND name >= ?' + only, [low]
        if high:
            condition += ' AND name < ?'
            values.append(high)
        return self._rows('%s ORDER BY name %s LIMIT ?' % (
            condition, 'DESC' if reverse else ''), *values, limit)

    def _heads(self, page: Page) -> list[Row]:
        low, high = bounds(page)
        found: list[Row] = []
        while len(found) < page.limit:
            row = self._one(low, high, page.reverse)
            if row is None:
                break
            obj = parse_version(row.name).object
            if page.reverse:
                # Its newest version is the first one of the object.
                high = versions_of(obj)
                row = self._one(max(low, high), after_prefix(high), False)
            else:
                low = after_prefix(versions_of(obj))
            if row is not None:
                found.append(row)
        return found

    def _one(self, low: str, high: str, reverse: bool) -> Row | None:
        return next(self._between(low, high, reverse, 1), None)


def bounds(page: Page) -> tuple[str, str]:
    """Return the names that a page lies between: the first one may be in it,
    the last one is not; '' is no bound.
    """
    after, before = page.marker, page.end_marker
    if page.reverse:
        after, before = before, after
    end = after_prefix(page.prefix) if page.prefix else ''
    # The next name after one is that with a null character more.
    return (max(page.prefix, after + '\0' if after else ''),
            min(before, end) if before and end else before or end)
