# SPDX-License-Identifier: Apache-2.0
"""
Rows of a container, at all of its replicas (VERSIONING.md §3 and §4).

1. A row is written to all replicas and is durable when a majority has it. The
   writer asks a replica that missed it again, in the background; after that,
   the container-replicator brings it.
2. Rows are read from a majority and united, so that every durable row is seen.
   A replica that turns out to lack a row is given it, in the background.
3. If a replica answers that it is sharded, its shards are asked.
"""

from dataclasses import dataclass, field
from typing import List

from swift.common.concurrency import Queue, sleep, spawn, spawn_n

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.rows.row_client import (
    NO_ANSWER,
    Answer,
    RowClient,
    RowsUnavailable,
    majority,
    unavailable,
)
from swift_lightsync.versioning.rows.row_reader import MAX_DEPTH, RowReader
from swift_lightsync.versioning.rows.row_wire import Query, put_headers

__all__ = ['Query', 'Rows', 'RowsUnavailable']

#: Seconds after which a replica that missed a row is asked again.
RETRY_AFTER = (1, 10)


@dataclass
class _Write:
    """
    A row that is being written.

    :param place: (account, container)
    :param needed: replicas that must have it
    :param asked: replicas that will answer
    """
    place: tuple
    row: Row
    headers: dict
    needed: int = 0
    asked: int = 0
    answers: List[Answer] = field(default_factory=list)

    @property
    def shards(self):
        return {answer.shard for answer in self.answers} - {None}

    @property
    def durable(self):
        taken = [answer for answer in self.answers
                 if answer.good or answer.shard]
        return len(taken) >= self.needed

    @property
    def decided(self):
        return self.durable or len(self.answers) == self.asked


class Rows:
    """
    Rows of a user's container and of the hidden one beside it.

    :param app: has ``container_ring``, ``conn_timeout``, ``node_timeout`` and,
        in a proxy, ``error_limiter``
    :param account: text, unquoted
    :param container: the user's, text, unquoted
    :param policy_index: of both containers
    :param connect: a function like swift.common.bufferedhttp.http_connect
    """

    def __init__(self, app, logger, account, container, policy_index=0,
                 trans_id=None, connect=None):
        self.ring = app.container_ring
        self.client = RowClient(app, logger, policy_index, trans_id, connect)
        self.reader = RowReader(self.client)
        self.user = (account, container)
        self.hidden = (account, hidden_container(container))
        #: rounds that were waited for
        self.rounds = 0

    def write(self, user_rows=(), hidden_rows=()):
        """
        Write all rows to all replicas, in one round.

        :raises RowsUnavailable: unless a majority takes each row; some rows
            may be written all the same
        :raises ValueError: if a row is too long
        """
        writes = [_Write(place, row, put_headers(row))
                  for place, rows in ((self.user, user_rows),
                                      (self.hidden, hidden_rows))
                  for row in rows]
        for _depth in range(MAX_DEPTH):
            if not writes:
                return
            self.rounds += 1
            self._send_all(writes)
            writes = [_Write(shard, write.row, write.headers)
                      for write in writes for shard in write.shards]
        raise RowsUnavailable('/%s/%s' % writes[0].place, [], 1)

    def _send_all(self, writes):
        answers = Queue()
        for write in writes:
            part, nodes = self.ring.get_nodes(*write.place)
            write.needed = majority(len(nodes))
            write.asked = len(nodes)
            for node in nodes:
                spawn_n(self._deliver, write, part, node, answers)
        while not all(write.decided for write in writes):
            write, answer = answers.get()
            write.answers.append(answer)
        for write in writes:
            if not write.durable:
                raise unavailable(write.place, write.answers, write.needed)

    def _deliver(self, write, part, node, answers):
        answer = None
        try:
            answer = self._send(write, part, node)
        finally:
            # Who waits must not wait for ever, whatever went wrong.
            answers.put((write, answer or Answer(node, NO_ANSWER)))
        if answer.good or answer.shard:
            return
        for seconds in RETRY_AFTER:
            sleep(seconds)
            if self.client.limited(node) or \
                    self._send(write, part, node).good:
                return

    def _send(self, write, part, node):
        return self.client.request(
            node, part, 'DELETE' if write.row.deleted else 'PUT',
            '/%s/%s/%s' % (write.place + (write.row.name,)), dict(
                write.headers, **{
                    'X-Backend-Accept-Redirect': 'true',
                    'X-Backend-Accept-Quoted-Location': 'true'}))

    def read(self, *queries):
        """
        Read rows, in one round and another for each further page or shards.

        :param queries: ``Query``
        :returns: a list of ``Row`` for each, sorted by name (in reverse order
            if ``reverse``)
        :raises RowsUnavailable: if too few replicas answered
        """
        threads = [spawn(self._read_one, query) for query in queries]
        results = [thread.wait() for thread in threads]
        for result in results:
            if isinstance(result, RowsUnavailable):
                raise result
        self.rounds += max(rounds for _, rounds in results)
        return [rows for rows, _ in results]

    def _read_one(self, query):
        try:
            return self.reader.rows(
                self.hidden if query.hidden else self.user, query)
        except RowsUnavailable as error:
            return error
