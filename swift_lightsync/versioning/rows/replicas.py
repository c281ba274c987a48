# SPDX-License-Identifier: Apache-2.0
"""Sends requests of the verb VERSION to the replicas of a container: to one of
them, to a majority, or to all (VERSIONING.md §4).
"""

import os
from collections.abc import Sequence
from random import sample
from typing import Any

from swift.common.concurrency import Empty, Queue, Timeout, sleep, spawn_n
from swift.common.exceptions import ConnectionTimeout
from swift.common.http import (
    HTTP_CONFLICT,
    HTTP_INSUFFICIENT_STORAGE,
    HTTP_METHOD_NOT_ALLOWED,
    HTTP_NOT_FOUND,
    is_server_error,
)

from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.rows.connections import (
    Connections,
    Exchange,
    Stale,
    request_of,
)
from swift_lightsync.versioning.rows.replies import (
    NO_ANSWER,
    ClockRefused,
    Reply,
    VerbMissing,
    count_of,
    majority,
    name_of,
    reply_of,
    unavailable,
)

#: Those of this process.
CONNECTIONS = Connections()
#: Bytes of a request that a connection takes at once.
SMALL = 1 << 14
#: Seconds after which a replica that has not answered is slow.
SLOW = 0.1
#: Seconds after which a replica that missed a write is asked again.
RETRY_AFTER = (1, 10)


class Replicas:
    """The replicas of all containers.

    :param app: has ``container_ring``, ``conn_timeout``, ``node_timeout``
        (seconds) and, in a proxy, ``error_limiter``
    :param connections: ``Connections``, those of this process by default
    """

    def __init__(self, app, logger, trans_id=None, connections=None):
        self.app = app
        self.ring = app.container_ring
        self.logger = logger
        self.limiter = getattr(app, 'error_limiter', None)
        self.connections = connections or CONNECTIONS
        self.headers = {
            'User-Agent': 'versioning %d' % os.getpid(),
            'X-Trans-Id': trans_id or '-'}

    def begin(self, place, request, first: Sequence[int] = ()):
        """Ask a majority, and another replica for each that fails or is slow.

        :param place: (account, container)
        :param request: a ``verb.Request`` that writes nothing but what mends
        :param first: ids of nodes that are asked before others
        :returns: an ``Asked``, to wait for
        """
        return Asked(self, place, request, first)

    def tell(self, place, request, again):
        """Ask all replicas, until a majority has done what they are asked.
        Those that have not are asked again later, in the background.

        :param again: the ``verb.Request`` that they are asked then
        :returns: the good replies
        :raises RowsUnavailable: if too few replicas took it; some may have
        :raises ClockRefused: if a majority says that the clock is wrong
        """
        part, nodes = self.ring.get_nodes(*place)
        needed = majority(len(nodes))
        queue: Queue = Queue()
        replies: list[Reply] = []
        body = verb.encoded(request)
        refused: list[str] = []
        for node in nodes:
            spawn_n(self._deliver, queue, refused, node, part, place, body,
                    again)
        while len(replies) < len(nodes):
            replies.append(queue.get())
            good = [reply for reply in replies if reply.good]
            if len(good) >= needed:
                return good
            if count_of(replies, HTTP_CONFLICT) >= needed:
                refused.extend(filter(None, (
                    reply.error for reply in replies)))
                raise ClockRefused('; '.join(refused))
            if count_of(replies, HTTP_NOT_FOUND) >= needed:
                break
        raise unavailable(place, replies, needed)

    def one(self, place, request, node=None):
        """Return the ``verb.Answer`` of a node, or of the first replica that
        gives one; None if there is none.
        """
        part, nodes = self.ring.get_nodes(*place)
        body = verb.encoded(request)
        replies = (self.request(each, part, place, body) for each in
                   ([node] if node else sample(nodes, len(nodes))))
        return next((each.answer for each in replies if each.good), None)

    def all(self, place, request, is_right):
        """Ask one replica after the other; return whether all give an answer
        that is right.
        """
        _, nodes = self.ring.get_nodes(*place)
        answers = (self.one(place, request, node) for node in nodes)
        return all(answer is not None and is_right(answer)
                   for answer in answers)

    def check_verb(self, place):
        """Check that all replicas of a container are on servers with the verb.

        :raises VerbMissing: if one says that it does not have it
        """
        part, nodes = self.ring.get_nodes(*place)
        body, queue = verb.encoded(verb.Request()), Queue()
        for node in nodes:
            spawn_n(self.put_reply, queue, node, part, place, body)
        without = [reply.node for reply in (queue.get() for _ in nodes)
                   if reply.status == HTTP_METHOD_NOT_ALLOWED]
        if without:
            raise VerbMissing(
                'container servers without egg:swift-lightsync#container: ' +
                ', '.join(sorted(map(name_of, without))))

    def put_reply(self, queue, node, *what, **options):
        """Put the ``Reply`` of a node into a queue."""
        reply = Reply(node, NO_ANSWER)
        try:
            reply = self.request(node, *what, **options)
        finally:
            # Who waits must not wait for ever, whatever went wrong.
            queue.put(reply)
        return reply

    def _deliver(self, queue, refused, node, part, place, body, again):
        if self.put_reply(queue, node, part, place, body, again=False).good:
            return
        for seconds in RETRY_AFTER:
            sleep(seconds)
            if refused or self.is_limited(node) or \
                    self.request(node, part, place,
                                 verb.encoded(again)).good:
                return

    def request(self, node, part, place, body, exchange=None, again=True):
        """Return the ``Reply`` of one node; a node's error is one, too.

        :param exchange: that has sent the request already, if one has
        :param again: whether it may be sent once more, where the server has
            closed a kept connection
        """
        try:
            with Timeout(self.app.node_timeout):
                try:
                    exchange = exchange or self.sent(node, part, place, body)
                    status, text = exchange.receive(verb.MAX_ANSWER)
                except Stale:
                    if not again:
                        raise
                    exchange = self.sent(node, part, place, body, kept=False)
                    status, text = exchange.receive(verb.MAX_ANSWER)
            reply = reply_of(node, status, text)
        except (OSError, Timeout, ValueError) as error:
            self._failed(node, place, error)
            return Reply(node, NO_ANSWER)
        if is_server_error(reply.status):
            self._failed(node, place, reply.status)
        return reply

    def sent(self, node, part, place, body, kept=None):
        """Send a request; return the ``Exchange``, or None if none is kept.

        :param kept: whether on a kept connection, not a new one; None: on any
        """
        address = node['ip'], node['port']
        exchange = None if kept is False else self.connections.idle(address)
        if exchange is None and not kept:
            with ConnectionTimeout(self.app.conn_timeout):
                exchange = self.connections.open(address)
        if exchange is not None:
            exchange.send(request_of(
                address, 'VERSION', '/%s/%s/%s/%s' % (
                    node['device'], part, *place), self.headers, body))
        return exchange

    def _failed(self, node, place, what):
        self.logger.warning('Rows: VERSION %r of %s: %s',
                            '/%s/%s' % place, name_of(node), what)
        if self.limiter is not None:
            (self.limiter.limit if what == HTTP_INSUFFICIENT_STORAGE
             else self.limiter.increment)(node)

    def is_limited(self, node):
        """Check whether a node is left alone, after many errors."""
        return self.limiter is not None and self.limiter.is_limited(node)


class Asked:
    """A request to a majority, under way. What kept connections take is sent
    at once, and answered without another thread.

    :param replicas: ``Replicas``
    """

    def __init__(self, replicas, place, request, first):
        self._replicas = replicas
        self._place = place
        part, nodes = replicas.ring.get_nodes(*place)
        self._what = part, place, verb.encoded(request)
        self._needed = majority(len(nodes))
        # Who failed often of late is asked last.
        self._rest = sorted(sample(nodes, len(nodes)), key=lambda node: (
            replicas.is_limited(node), node['id'] not in first))
        self._queue: Queue = Queue()
        self._pending = 0
        #: (node, its ``Exchange``) of those that are waited for here
        self._sent: list[tuple[Any, Exchange]] = []
        for _ in range(self._needed):
            self._begin(self._rest.pop(0))

    def _begin(self, node):
        if len(self._what[-1]) <= SMALL:
            try:
                exchange = self._replicas.sent(node, *self._what,
                                               kept=True)
            except OSError:
                exchange = None
            if exchange is not None:
                self._sent.append((node, exchange))
                return
        self._spawn(node)

    def _spawn(self, node, **options):
        spawn_n(self._replicas.put_reply, self._queue, node, *self._what,
                **options)
        self._pending += 1

    def replies(self):
        """Wait for the answers; to be called once.

        :returns: the good replies, as many as a majority
        :raises RowsUnavailable: if too few replicas answered
        """
        good: list[Reply] = []
        failed: list[Reply] = []
        with Timeout(SLOW, False):
            while self._sent:
                reply = self._received(*self._sent[0])
                node = self._sent.pop(0)[0]
                if reply is None:
                    self._spawn(node)
                else:
                    (good if reply.good else failed).append(reply)
        slow = len(self._sent)
        for node, exchange in self._sent:
            self._spawn(node, exchange=exchange)
        while len(good) < self._needed:
            while self._rest and self._pending < \
                    self._needed - len(good) + slow:
                self._spawn(self._rest.pop(0))
            if not self._pending:
                raise unavailable(self._place, good + failed, self._needed)
            try:
                reply = self._queue.get(timeout=SLOW if self._rest else None)
            except Empty:
                slow += 1
                continue
            self._pending -= 1
            (good if reply.good else failed).append(reply)
        return good

    def _received(self, node, exchange):
        """Return the ``Reply``; None: it has to be asked once more."""
        try:
            reply = reply_of(node, *exchange.receive(verb.MAX_ANSWER))
        except (OSError, ValueError):
            return None
        return None if is_server_error(reply.status) else reply
