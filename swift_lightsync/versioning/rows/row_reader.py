# SPDX-License-Identifier: Apache-2.0
"""
Reads rows from a majority of a container's replicas, page by page; the rows of
a sharded container come from its shards.
"""

from dataclasses import dataclass, replace
from typing import List

from swift.common.concurrency import spawn_n
from swift.common.constraints import CONTAINER_LISTING_LIMIT

from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.rows.row_client import majority, unavailable
from swift_lightsync.versioning.rows.row_wire import (
    Page,
    missed,
    newest,
    put_headers,
    row_of_record,
    united,
)

#: Rows that one page gives to replicas that lack them, at most.
MAX_MENDED = 16
#: Shards of shards that are followed.
MAX_DEPTH = 5


@dataclass(frozen=True)
class _Shard:
    place: tuple
    lower: str
    upper: str


def _shards_of(answers, place):
    """
    Collect the shards that the replicas of a container name.

    :param place: (account, container) that answered
    :returns: a list of ``_Shard``, every one that any answer names; the
        container itself comes first if it has rows that its shards lack
    """
    found = {}
    for answer in answers:
        if answer.is_of_shards:
            for record in answer.records:
                name = tuple(record['name'].split('/', 1))
                found[name] = _Shard(name, record['lower'], record['upper'])
    # As part of the list it stands for a gap between shards.
    found.pop(place, None)
    shards = sorted(found.values(), key=lambda shard: shard.lower)
    if any(answer.is_sharding for answer in answers):
        shards.insert(0, _Shard(place, '', ''))
    return shards


class RowReader:
    """
    Reads the rows that match a query.

    :param client: a ``RowClient``
    :param ask: a function like its ``ask``, which is the default
    """

    def __init__(self, client, ask=None):
        self.client = client
        self._ask = ask or client.ask

    def rows(self, place, query, kind='auto', depth=0):
        """
        Read all rows that match a query.

        :param place: (account, container)
        :param kind: of records: 'object' if only the rows are wanted that the
            container itself still has, without its shards
        :returns: (a list of ``Row``, the number of rounds that it took)
        :raises RowsUnavailable: if too few replicas answered
        """
        found: List[Row] = []
        rounds, marker = 0, query.marker
        while True:
            limit = CONTAINER_LISTING_LIMIT
            if query.limit is not None:
                limit = min(limit, query.limit - len(found))
            page, more = self._page(
                place, replace(query, marker=marker, limit=limit), kind,
                depth)
            found.extend(page.rows)
            rounds += more
            if not page.truncated or len(found) == query.limit:
                return found, rounds
            marker = page.rows[-1].name

    def _page(self, place, query, kind, depth):
        """
        Read a page; return (a ``Page``, the number of rounds that it took).
        """
        parameters = query.parameters()
        answers = self._ask(place, parameters, kind)
        pages = [(answer, self._page_of(answer, query))
                 for answer in answers if not answer.is_of_shards]
        whole = pages[0][1] if pages else Page((), False)
        alike = all(page == whole for _, page in pages)
        if not alike:
            whole = united([page for _, page in pages], query.limit,
                           query.reverse)
        if kind == 'object':
            return whole, 1
        if not alike and len(pages) == len(answers) and query.hidden:
            self._mend(place, pages, whole, query)
        rounds = 1
        if any(answer.may_have_shards for answer in answers):
            answers += self._ask(place, parameters, 'shard')
            rounds += 1
        shards = [shard for shard in _shards_of(answers, place)
                  if query.overlaps(shard.lower, shard.upper)]
        if not shards:
            return whole, rounds
        if depth == MAX_DEPTH:
            raise unavailable(place, answers, majority(len(answers)))
        return self._from_shards(place, shards, query, whole, rounds, depth)

    def _page_of(self, answer, query):
        rows = tuple(map(row_of_record, answer.records))
        if query.exact:
            return Page(tuple(row for row in rows
                              if row.name == query.prefix), False)
        return Page(rows, len(rows) >= query.limit)

    def _from_shards(self, place, shards, query, whole, rounds, depth):
        if query.reverse:
            shards.reverse()
        found = list(whole.rows)
        end = whole.rows[-1].name if whole.truncated else None
        for number, shard in enumerate(shards):
            rows, more = self.rows(
                shard.place, query,
                'object' if shard.place == place else 'auto', depth + 1)
            rounds += more
            found.extend(rows)
            if len(rows) == query.limit:
                end = self._nearer(end, rows[-1].name, query)
            if end is not None and self._beyond(
                    shards[number + 1:], end, query):
                break
        page = Page(tuple(sorted(found, key=lambda row: row.name,
                                 reverse=query.reverse)), False)
        if end is None:
            return united([page], query.limit, query.reverse), rounds
        names = newest(page.rows)
        inside = tuple(names[name] for name in sorted(
            names, reverse=query.reverse)
            if self._nearer(end, name, query) == name)
        return Page(inside[:query.limit], True), rounds

    @staticmethod
    def _nearer(end, name, query):
        """Return whichever of two names is listed first."""
        if end is None:
            return name
        return max(end, name) if query.reverse else min(end, name)

    @staticmethod
    def _beyond(shards, end, query):
        """Check that all names of some shards are listed after an end."""
        if query.reverse:
            return all(shard.upper and shard.upper < end for shard in shards)
        return all(shard.lower >= end for shard in shards)

    def _mend(self, place, pages, whole, query):
        """Give rows to replicas that lack them, in the background."""
        part = self.client.ring.get_part(*place)
        for answer, page in pages:
            for row in missed(page, whole, query.reverse)[:MAX_MENDED]:
                spawn_n(self.client.request, answer.node, part, 'PUT',
                        '/%s/%s/%s' % (place + (row.name,)),
                        put_headers(row))
