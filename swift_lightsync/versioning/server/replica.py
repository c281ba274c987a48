# SPDX-License-Identifier: Apache-2.0
"""What one replica of a hidden container does for a request (VERSIONING.md
§4): it reads what it holds of an object, decides what of the request's rows to
take (core/heads.py), merges that, and tells the newest version.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from sqlite3 import Connection, Cursor
from typing import Any

from swift.common.concurrency import tpool
from swift.container.backend import SHARD_UPDATE_STATES, SHARDED, SHARDING

from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.core.heads import (
    SEEN,
    Held,
    Plan,
    lookups,
    newest_rows,
    planned,
)
from swift_lightsync.versioning.core.row_data import (
    RESERVED,
    VERSIONS,
    Row,
    versions_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.server.counts import count_rows
from swift_lightsync.versioning.server.databases import KeptDatabases, locked
from swift_lightsync.versioning.server.row_table import (
    Container,
    RowTable,
    after_prefix,
    bounds,
)

#: Seconds that a request waits for the container's lock.
LOCK_TIMEOUT = 10


class _Rows:
    """The rows of a container's databases: one, or two while it is sharded.

    :param tables: a ``RowTable`` of each
    """

    def __init__(self, tables: list[RowTable]) -> None:
        self._tables = tables

    def named(self, names: Iterable[str]) -> dict[str, Row]:
        wanted = list(names)
        return newest_rows(*(table.named(wanted) for table in self._tables))

    def live(self, *found: list[Row]) -> list[Row]:
        """Unite what databases have; a newer one may have deleted a row."""
        rows = newest_rows(*found)
        if len(self._tables) > 1:
            rows = self.named(rows)
        return [rows[name] for name in sorted(rows)
                if not rows[name].deleted]

    def newest(self, obj: str, limit: int) -> list[Row]:
        return self.live(*(table.newest(obj, limit)
                           for table in self._tables))[:limit]

    def page(self, page: verb.Page) -> list[Row]:
        parts = [table.page(page) for table in self._tables]
        ends = [part[-1].name for part in parts if len(part) >= page.limit]
        rows = self.live(*parts)[::-1 if page.reverse else 1]
        if not ends or not self._tables[1:]:
            return rows[:page.limit]
        # What a database has after its page is not known yet.
        end = max(ends) if page.reverse else min(ends)
        rows = [row for row in rows if (row.name >= end if page.reverse
                                        else row.name <= end)][:page.limit]
        if len(rows) < page.limit:
            rows += self.page(replace(page, marker=end,
                                      limit=page.limit - len(rows)))
        return rows


def answer(broker: Any, asked: verb.Request,
           databases: KeptDatabases) -> bytes | None:
    """Do what a request asks of one replica, in one transaction; where it
    changes something under its container's lock.

    :param broker: a ``ContainerBroker``
    :returns: an encoded ``verb.Answer``; None if there is no such hidden
        container
    :raises LockTimeout: if others hold the lock for too long
    :raises ValueError: if a row of a version cannot be read
    """
    if not broker.db_files:
        return None
    if os.path.exists(broker.pending_file):
        # Nothing of ours waits there, but what others have put must be read.
        with broker:
            broker._commit_puts_stale_ok()
    with ExitStack() as stack:
        if asked.rows or asked.listed:
            stack.enter_context(locked(broker.pending_file, LOCK_TIMEOUT))
        stack.enter_context(databases.lent(broker))
        if asked.rows or asked.listed or asked.digest or \
                broker.db_files[1:]:
            return _told_with_digests(broker, asked)
        return databases.remembered(broker, asked, partial(
            _told_with_digests, broker, asked))


def _told_with_digests(broker: Any, asked: verb.Request) -> bytes | None:
    told = _answered(broker, asked)
    if told and asked.digest:
        # It takes long, and keeps no writer waiting.
        told = replace(told, digests=_digests(broker, asked.digest))
    return verb.encoded(told) if told else None


def _digests(broker: Any, until: Stamp) -> tuple[int, ...]:
    """Return the digests; none where rows are in two databases."""
    if broker.get_db_state() == SHARDING:
        return ()
    policy = broker.storage_policy_index
    with broker.get() as connection:
        return RowTable(connection, policy).digest(until).buckets


def _answered(broker: Any, asked: verb.Request) -> verb.Answer | None:
    # Sharding moves rows from the first of two databases to the other one.
    state = broker.get_db_state()
    left_behind = broker.get_brokers()[:-1] if state == SHARDING else []
    with ExitStack() as stack:
        connection = stack.enter_context(
            _writing(broker) if asked.rows or asked.listed
            else _reading(broker))
        found = Container.of(connection)
        if not found.root.startswith(RESERVED) or \
                found.may_be_deleted and broker._is_deleted(connection):
            return None
        cursor = connection.cursor(Cursor)
        shards, left = _shards(broker, asked) if found.has_shards \
            else ((), ())
        table = RowTable(cursor, found.policy)
        rows = _Rows([*(RowTable(stack.enter_context(each.get()),
                                 found.policy) for each in left_behind),
                      table])
        # The listing row of a sharded container is in another shard.
        plan = _planned(
            rows, asked, [each.row for each in asked.rows
                          if each.name not in left],
            asked.listed and not shards and found.is_root)
        if plan.rows:
            # The sharder looks at how many rows a shard has.
            if found.is_root:
                count_rows(cursor, found.is_listed(asked))
            table.merge(plan.rows)
        return _told(rows, asked, plan, shards, left, state == SHARDED)


@contextmanager
def _reading(broker: Any) -> Iterator[Connection]:
    """Begin a transaction that only reads; it waits for nothing yet."""
    with broker.get() as connection:
        connection.cursor(Cursor).execute('BEGIN')
        yield connection


@contextmanager
def _writing(broker: Any) -> Iterator[Connection]:
    """Begin a transaction that changes a database, and commit it. The flushes
    are waited for in another thread.
    """
    with broker.get() as connection:
        before = connection.total_changes
        connection.execute('BEGIN IMMEDIATE')
        yield connection
        if connection.total_changes > before:
            tpool.execute(connection.commit)


def has_rows(broker: Any, prefix: str) -> bool:
    """Check whether a container's databases have rows that are not deleted.

    :param prefix: how their names begin
    """
    policy = broker.storage_policy_index
    with ExitStack() as connections:
        return bool(_Rows([
            RowTable(connections.enter_context(each.get()), policy)
            for each in broker.get_brokers()
        ]).page(verb.Page(prefix, limit=1)))


def _planned(rows: _Rows, asked: verb.Request, mine: list[Row],
             listed: bool) -> Plan:
    if not asked.object and not mine:
        return Plan((), None, None)
    # What is purged now is no head, and a new version has seen the newest.
    wanted = SEEN + sum(row.deleted for row in mine) if mine else 1
    held = Held(
        rows.newest(asked.object, wanted) if asked.object else (),
        rows.named(lookups(asked.object, mine)) if mine or listed else {})
    return planned(held, asked.object, mine, listed, asked.stamp)


def _told(rows: _Rows, asked: verb.Request, plan: Plan,
          shards: tuple[verb.Shard, ...], left: tuple[str, ...],
          is_sharded: bool) -> verb.Answer:
    """Make the answer, of what is held now."""
    def wire(row: Row | None) -> verb.WireRow | None:
        return verb.WireRow.of(row) if row else None

    named = rows.named(asked.names) if asked.names else {}
    page = rows.page(asked.page) if asked.page else []
    answer = verb.Answer(
        wire(plan.before if asked.rows else None), wire(plan.head),
        tuple(map(verb.WireRow.of, named.values())),
        tuple(map(verb.WireRow.of, page)), shards, left)
    if shards and is_sharded and not (
            answer.head or answer.rows or answer.page):
        return replace(answer, only_shards=True)
    return answer


def _shards(broker: Any, asked: verb.Request
            ) -> tuple[tuple[verb.Shard, ...], tuple[str, ...]]:
    """Find the shards that a request concerns.

    :returns: these, and the names of the request's rows that belong to them
    """
    found: dict[str, Any] = {}
    left = []
    for name in dict.fromkeys([row.name for row in asked.rows] +
                              list(asked.names)):
        ranges = broker.get_shard_ranges(includes=name,
                                         states=SHARD_UPDATE_STATES)
        for each in ranges[:1]:
            found[each.name] = each
            left.append(name)
    for low, high in _spans(asked):
        # A marker leaves out the shard whose last name it is.
        first = broker.get_shard_ranges(
            includes=low, states=SHARD_UPDATE_STATES) if low else []
        for each in first + broker.get_shard_ranges(
                marker=low, end_marker=high or None,
                states=SHARD_UPDATE_STATES):
            found[each.name] = each
    rows = {row.name for row in asked.rows}
    return (tuple(verb.Shard(each.name, str(each.lower), str(each.upper))
                  for each in sorted(found.values(),
                                     key=lambda each: each.lower)),
            tuple(name for name in left if name in rows))


def _spans(asked: verb.Request) -> list[tuple[str, str]]:
    """Return the first and last names of what is read; '' is no bound."""
    spans = []
    if asked.object:
        prefix = versions_of(asked.object)
        spans.append((prefix, after_prefix(prefix)))
    if asked.page:
        spans.append(bounds(asked.page))
    if asked.digest:
        spans.append((VERSIONS, after_prefix(VERSIONS)))
    return spans
