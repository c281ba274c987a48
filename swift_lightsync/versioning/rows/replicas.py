# SPDX-License-Identifier: Apache-2.0
"""
Sends requests of the verb VERSION to the replicas of a container: to one of
them, to a majority, or to all (VERSIONING.md §4).
"""

import os
from dataclasses import dataclass
from random import sample
from typing import Annotated, Any, List, Optional, Sequence, Tuple

from swift.common.concurrency import Empty, Queue, Timeout, sleep, spawn_n
from swift.common.exceptions import ConnectionTimeout
from swift.common.http import (
    HTTP_CONFLICT,
    HTTP_INSUFFICIENT_STORAGE,
    HTTP_METHOD_NOT_ALLOWED,
    HTTP_NOT_FOUND,
    HTTP_OK,
    is_server_error,
)

from swift_lightsync.common.records import Between, Length, Record
from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.rows.connections import (
    Connections,
    Exchange,
    Stale,
    request_of,
)

#: Those of this process.
CONNECTIONS = Connections()
#: Bytes of a request that a connection takes at once.
SMALL = 1 << 14
#: Where a node did not answer.
NO_ANSWER = 0
#: Seconds after which a replica that has not answered is slow.
SLOW = 0.1
#: Seconds after which a replica that missed a write is asked again.
RETRY_AFTER = (1, 10)


@dataclass(frozen=True)
class Refusal(Record):
    """What a container server says of a clock that differs from its own."""
    error: Annotated[str, Length(10000)]
    clock: Annotated[float, Between(0, 1e10)]


@dataclass(frozen=True)
class Reply:
    """
    What came of a request to one replica.

    :param node: the node's dict from the ring
    :param status: of HTTP, or ``NO_ANSWER``
    :param answer: if the status is 200
    :param error: what the server says of a wrong clock
    """
    node: dict
    status: int
    answer: Optional[verb.Answer] = None
    error: str = ''

    @property
    def good(self):
        """Whether the replica did what it was asked."""
        return self.answer is not None


class RowsUnavailable(Exception):
    """
    Too few replicas of a container answered, or they do not agree.

    :param container: its path
    :param statuses: a list of all answers, 0 for a node without an answer
    :param needed: how many good answers are needed
    :param missing: whether a majority says that there is no such container
    """

    def __init__(self, container, statuses, needed, missing=False,
                 reason=''):
        super().__init__(
            'rows of %r: %d good answers of its replicas are needed, all '
            'answers are: %s%s' % (
                container, needed, ', '.join(map(str, statuses)) or 'none',
                reason and '; ' + reason))
        self.container = container
        self.statuses = statuses
        self.needed = needed
        self.missing = missing


class ClockRefused(Exception):
    """A majority of the replicas says that the clock of this node is wrong."""


class VerbMissing(Exception):
    """Some container servers do not have the verb VERSION."""


def majority(replicas):
    """Return how many of some replicas are more than half of them."""
    return replicas // 2 + 1


def unavailable(place, replies, needed, reason=''):
    """Return the ``RowsUnavailable`` that describes some replies."""
    missing = _count(replies, HTTP_NOT_FOUND) >= needed
    return RowsUnavailable('/%s/%s' % place,
                           [reply.status for reply in replies], needed,
                           missing, reason)


def _count(replies, status):
    return sum(reply.status == status for reply in replies)


class Replicas:
    """
    The replicas of all containers.

    :param app: has ``container_ring``, ``conn_timeout``, ``node_timeout``
        (seconds) and, in a proxy, ``error_limiter``
    :param connections: ``Connections``, those of this process by default
    """

    def __init__(self, app, logger, policy_index, trans_id=None,
                 connections=None):
        self.app = app
        self.ring = app.container_ring
        self.logger = logger
        self.limiter = getattr(app, 'error_limiter', None)
        self.connections = connections or CONNECTIONS
        self.headers = {
            'User-Agent': 'versioning %d' % os.getpid(),
            'X-Trans-Id': trans_id or '-',
            'X-Backend-Allow-Reserved-Names': 'true',
            'X-Backend-Storage-Policy-Index': str(policy_index)}

    def ask(self, place, request, first: Sequence[int] = ()):
        """
        Ask a majority, and another replica for each that fails or is slow.

        :param place: (account, container)
        :param request: a ``verb.Request`` that writes nothing but what mends
        :param first: ids of nodes that are asked before others
        :returns: the good replies, as many as a majority
        :raises RowsUnavailable: if too few replicas answered
        """
        return self.begin(place, request, first).replies()

    def begin(self, place, request, first: Sequence[int] = ()):
        """
        Ask a majority, as ``ask`` does, and do not wait for the answers.

        :returns: an ``Asked``
        """
        return Asked(self, place, request, first)

    def tell(self, place, request, again):
        """
        Ask all replicas, until a majority has done what they are asked. Those
        that have not are asked again later, in the background.

        :param place: (account, container)
        :param request: a ``verb.Request``
        :param again: the request that they are asked then
        :returns: the good replies
        :raises RowsUnavailable: if too few replicas took it; some may have
        :raises ClockRefused: if a majority says that the clock is wrong
        """
        part, nodes = self.ring.get_nodes(*place)
        needed = majority(len(nodes))
        queue: Queue = Queue()
        replies: List[Reply] = []
        refused: List[str] = []
        for node in nodes:
            spawn_n(self._deliver, queue, refused, node, part, place,
                    verb.encoded(request), verb.encoded(again))
        while len(replies) < len(nodes):
            replies.append(queue.get())
            good = [reply for reply in replies if reply.good]
            if len(good) >= needed:
                return good
            if _count(replies, HTTP_CONFLICT) >= needed:
                refused.extend(filter(None, (
                    reply.error for reply in replies)))
                raise ClockRefused('; '.join(refused))
            if _count(replies, HTTP_NOT_FOUND) >= needed:
                break
        raise unavailable(place, replies, needed)

    def one(self, place, request, node=None):
        """
        Return the ``verb.Answer`` of a node, or of the first replica that
        gives one; None if there is none.
        """
        part, nodes = self.ring.get_nodes(*place)
        body = verb.encoded(request)
        replies = (self.request(each, part, place, body) for each in
                   ([node] if node else sample(nodes, len(nodes))))
        return next((each.answer for each in replies if each.good), None)

    def check_verb(self, place):
        """
        Check that all replicas of a container are on servers with the verb.

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
                ', '.join(sorted(map(_name, without))))

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
                    self.request(node, part, place, again).good:
                return

    def request(self, node, part, place, body, exchange=None, again=True):
        """
        Return the ``Reply`` of one node; a node's error is one, too.

        :param exchange: that has sent the request already, if one has
        :param again: whether it may be sent once more, where the server has
            closed a kept connection
        """
        try:
            with Timeout(self.app.node_timeout):
                try:
                    exchange = exchange or self._sent(node, part, place, body)
                    status, text = exchange.receive(verb.MAX_ANSWER)
                except Stale:
                    if not again:
                        raise
                    exchange = self._sent(node, part, place, body, True)
                    status, text = exchange.receive(verb.MAX_ANSWER)
            reply = reply_of(node, status, text)
        except (OSError, Timeout, ValueError) as error:
            self._failed(node, place, error)
            return Reply(node, NO_ANSWER)
        if is_server_error(reply.status):
            self._failed(node, place, reply.status)
        return reply

    def _sent(self, node, part, place, body, is_new=False):
        """Send a request; return the ``Exchange``."""
        exchange = None if is_new else self.sent_on_kept(
            node, part, place, body)
        if exchange is None:
            with ConnectionTimeout(self.app.conn_timeout):
                exchange = self.connections.open(_address(node))
            exchange.send(self._bytes(node, part, place, body))
        return exchange

    def sent_on_kept(self, node, part, place, body):
        """
        Send a request if there is a kept connection.

        :returns: the ``Exchange``, or None
        """
        exchange = self.connections.idle(_address(node))
        if exchange is not None:
            exchange.send(self._bytes(node, part, place, body))
        return exchange

    def _bytes(self, node, part, place, body):
        return request_of(_address(node), 'VERSION', '/%s/%s/%s/%s' % (
            node['device'], part, *place), self.headers, body)

    def _failed(self, node, place, what):
        self.logger.warning('Rows: VERSION %r of %s: %s',
                            '/%s/%s' % place, _name(node), what)
        if self.limiter is None:
            return
        if what == HTTP_INSUFFICIENT_STORAGE:
            self.limiter.limit(node)
        else:
            self.limiter.increment(node)

    def is_limited(self, node):
        """
        Check whether a node has had so many errors that it is left alone.
        """
        return self.limiter is not None and self.limiter.is_limited(node)


class Asked:
    """
    A request to a majority, under way. What kept connections take is sent at
    once, and answered without another thread.

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
        self._sent: List[Tuple[Any, Exchange]] = []
        for _ in range(self._needed):
            self._begin(self._rest.pop(0))

    def _begin(self, node):
        if len(self._what[-1]) <= SMALL:
            try:
                exchange = self._replicas.sent_on_kept(node, *self._what)
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
        """
        Wait for the answers; to be called once.

        :returns: the good replies, as many as a majority
        :raises RowsUnavailable: if too few replicas answered
        """
        good: List[Reply] = []
        failed: List[Reply] = []
        with Timeout(SLOW, False):
            while self._sent:
                reply = self._received(*self._sent[0])
                node, _ = self._sent.pop(0)
                if reply is None:
                    self._spawn(node)
                else:
                    (good if reply.good else failed).append(reply)
        slow = len(self._sent)
        while self._sent:
            node, exchange = self._sent.pop()
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


def reply_of(node, status, text):
    """
    Read what a node has answered.

    :raises ValueError: if it is no answer of the verb
    """
    if status == HTTP_OK:
        return Reply(node, status, verb.Answer.parse(text, verb.MAX_ANSWER))
    if status == HTTP_CONFLICT:
        refusal = Refusal.parse(text, verb.MAX_BODY)
        return Reply(node, status, error='%s: %s (its clock: %.3f)' % (
            _name(node), refusal.error, refusal.clock))
    return Reply(node, status)


def _address(node):
    return node['ip'], node['port']


def _name(node):
    return '%s:%s/%s' % (node['ip'], node['port'], node['device'])
