# SPDX-License-Identifier: Apache-2.0
"""Sends the state of an object on a device to a peer that has to hold it.

It makes its own requests: they wait for no lock of the partition or the
device, and each answer tells the outcome. PROTOCOL.md, "Convergence".
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote

from swift.common.bufferedhttp import BufferedHTTPConnection
from swift.common.concurrency import Timeout, green_http_client
from swift.common.exceptions import ConnectionTimeout, MessageTimeout
from swift.common.http import (
    HTTP_CONFLICT,
    HTTP_CONTINUE,
    HTTP_METHOD_NOT_ALLOWED,
    HTTP_NOT_FOUND,
    HTTP_OK,
    HTTP_UNPROCESSABLE_ENTITY,
    is_server_error,
    is_success,
)
from swift.common.utils import Timestamp

from swift_lightsync.common.records import RecordError
from swift_lightsync.proar.converger.object_state import UnreadableError
from swift_lightsync.proar.core.push_message import decode_answers

#: of a peer that does not know the verb
NO_VERB = HTTP_NOT_FOUND, HTTP_METHOD_NOT_ALLOWED
#: A body of so many bytes is sent only if the peer asks for it.
EXPECT_FROM = 65536
USER_AGENT = 'object-converger'


class Outcome(Enum):
    """The outcome of a push."""
    APPLIED = 'applied'
    #: The peer has as new a version, or a newer one.
    NEWER = 'newer'
    #: There is no object here any more.
    GONE = 'gone'
    #: This object could not be pushed; others may be.
    FAILED = 'failed'
    #: ... since its body is not what its ETag says.
    DAMAGED = 'damaged'
    #: The peer takes nothing now.
    UNAVAILABLE = 'unavailable'


_REFUSALS = {HTTP_UNPROCESSABLE_ENTITY: Outcome.DAMAGED}


@dataclass(frozen=True)
class Result:
    """What a push has come to.

    :param outcome: the kind
    :param reason: why it failed, '' if it did not
    """
    outcome: Outcome
    reason: str = ''

    @property
    def is_applied(self):
        """Whether the peer needs no more."""
        return self.outcome in (Outcome.APPLIED, Outcome.NEWER, Outcome.GONE)


def judge(method, answer, is_newer):
    """Return the Result that an answer means.

    :param is_newer: whether the peer has said that it has a newer object or
        tombstone
    """
    if is_success(answer.status):
        return Result(Outcome.APPLIED)
    if answer.status == HTTP_CONFLICT:
        return Result(Outcome.NEWER)
    if answer.status == HTTP_NOT_FOUND and method == 'DELETE':
        # A tombstone, where no object was.
        return Result(Outcome.APPLIED)
    if answer.status == HTTP_NOT_FOUND and method == 'POST' and is_newer:
        return Result(Outcome.NEWER)
    outcome = Outcome.UNAVAILABLE if is_server_error(answer.status) else \
        _REFUSALS.get(answer.status, Outcome.FAILED)
    return Result(outcome, '%s: %s' % (method, answer.reason))


@dataclass(frozen=True)
class PushOptions:
    """How long a peer may take, and how fast a body may be sent.

    :param conn_timeout: seconds in which a peer has taken a connection
    :param node_timeout: seconds in which it has taken each part of a request,
        and has answered
    :param throttle: takes how many bytes of a body are sent next, and returns
        when they may be sent
    :param throttle_objects: the same for a number of small objects
    """
    conn_timeout: float
    node_timeout: float
    throttle: Callable[[int], None]
    throttle_objects: Callable[[int], None] = lambda count: None


@dataclass(frozen=True)
class _Answer:
    status: int
    timestamp: Timestamp
    reason: str
    body: bytes = b''


class Pusher:
    """One connection to a peer, for one push after the other.

    :param node: the peer, a device of the ring, a dict
    :param options: PushOptions
    """

    def __init__(self, node, options):
        self.node = node
        self.options = options
        self._connection = None

    def push(self, source, partition, path_hash, next_part_power=None):
        """Send the present state of an object.

        :param source: a Source
        :param partition: of the object
        :param path_hash: of the object, 16 bytes
        :param next_part_power: of the ring
        :returns: a Result
        """
        def send():
            try:
                with source.opened(partition, path_hash) as state:
                    return self._send(state, partition, _headers(
                        source.policy, next_part_power))
            except UnreadableError as err:
                # The peer may have half of it: it has to see an end.
                self.close()
                return Result(Outcome.FAILED, str(err))
        return self._tried(send)

    def push_many(self, policy, objects, next_part_power=None):
        """Send the present states of small objects with one request.

        :param policy: a StoragePolicy
        :param objects: a list of SentObjects
        :param next_part_power: of the ring
        :returns: a list of Results, or a Result if the peer takes nothing;
            None if it takes objects one by one only
        """
        return self._tried(lambda: self._send_many(
            objects, _headers(policy, next_part_power)))

    def _tried(self, send):
        """Return what a function returns; anew if the connection was old."""
        while True:
            fresh = self._connection is None
            try:
                return send()
            except Timeout as err:
                self.close()
                return Result(Outcome.UNAVAILABLE, str(err))
            except (OSError, green_http_client.HTTPException) as err:
                self.close()
                # One that was kept may have been closed by the peer.
                if fresh:
                    return Result(Outcome.UNAVAILABLE, _reason(err))

    def close(self):
        """End the connection; the next push makes one."""
        connection, self._connection = self._connection, None
        if connection:
            connection.close()

    def _send(self, state, partition, headers):
        result = Result(Outcome.GONE)
        is_newer = False
        path = quote('/%s/%d%s' % (self.node['device'], partition,
                                   state.path))
        for change in state.changes:
            answer = self._ask(change, path, headers)
            result = judge(change.method, answer, is_newer)
            if not result.is_applied:
                break
            is_newer = answer.timestamp > change.timestamp
        return result

    def _send_many(self, objects, headers):
        self.options.throttle_objects(len(objects))
        body = b''.join(each.encoded for each in objects)
        answer = self._request('PROAR', '/%s/push' % self.node['device'], {
            **headers, 'Content-Length': str(len(body))}, len(body),
            lambda: [body])
        if answer.status in NO_VERB:
            return None
        if answer.status != HTTP_OK:
            return Result(Outcome.UNAVAILABLE, 'PROAR: ' + answer.reason)
        try:
            answers = decode_answers(answer.body, len(objects))
        except RecordError as err:
            return Result(Outcome.UNAVAILABLE, 'PROAR: %s' % err)
        return [_judged(each, found)
                for each, found in zip(objects, answers)]

    def _ask(self, change, path, headers):
        """Make the request of one change, and return its _Answer."""
        return self._request(change.method, path, dict(
            change.headers(), **headers), change.length, change.body)

    def _request(self, method, path, headers, length, body):
        connection = self._connected()
        expects = length >= EXPECT_FROM
        if expects:
            headers['Expect'] = '100-continue'
        with self._deadline('the headers of a %s' % method):
            connection.putrequest(method, path)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
        if expects:
            with self._deadline('100-continue'):
                response = connection.getexpect()
            if response.status != HTTP_CONTINUE:
                return self._read(response, keep=False)
        if body:
            self._send_body(connection, body())
        with self._deadline('the answer to a %s' % method):
            response = connection.getresponse()
        return self._read(response, not response.will_close)

    def _connected(self):
        if self._connection is None:
            connection = BufferedHTTPConnection(
                self.node['replication_ip'], self.node['replication_port'])
            with ConnectionTimeout(self.options.conn_timeout):
                connection.connect()
            self._connection = connection
        return self._connection

    def _send_body(self, connection, chunks):
        for chunk in chunks:
            self.options.throttle(len(chunk))
            with self._deadline('a part of a body'):
                connection.send(chunk)

    def _read(self, response, keep):
        with self._deadline('the body of an answer'):
            body = response.read()
        if not keep:
            self.close()
        return _Answer(
            response.status,
            Timestamp(response.getheader('X-Backend-Timestamp', 0)),
            '%d %s' % (response.status, body[:200].decode('utf8', 'replace')),
            body)

    def _deadline(self, what):
        return MessageTimeout(self.options.node_timeout, what)


def _reason(err):
    number = getattr(err, 'errno', None)
    return os.strerror(number) if number else str(err) or repr(err)


def _headers(policy, next_part_power):
    return {'User-Agent': USER_AGENT,
            'X-Backend-Storage-Policy-Index': str(int(policy)),
            **({} if next_part_power is None else {
                'X-Backend-Next-Part-Power': str(next_part_power)})}


def _judged(sent, answers):
    """Return the Result of a SentObject, as Pusher._send does."""
    result, is_newer = Result(Outcome.GONE), False
    for change, answer in zip(sent.changes, answers):
        try:
            timestamp = Timestamp(answer.timestamp or 0)
        except ValueError:
            timestamp = Timestamp(0)
        result = judge(change.method, _Answer(
            answer.status, timestamp, answer.reason), is_newer)
        if not result.is_applied:
            return result
        is_newer = timestamp > Timestamp(change.headers['X-Timestamp'])
    if len(answers) != len(sent.changes):
        return Result(Outcome.FAILED, '%d of %d changes were answered' % (
            len(answers), len(sent.changes)))
    return result
