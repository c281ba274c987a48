# SPDX-License-Identifier: Apache-2.0
"""
Sends the state of an object on a device to a peer that has to hold it.

It makes its own requests: they wait for no lock of the partition or the
device, and each answer tells the outcome. PROTOCOL.md, "Convergence".
"""

import os
from dataclasses import dataclass
from enum import Enum
from typing import Callable
from urllib.parse import quote

from swift.common.bufferedhttp import BufferedHTTPConnection
from swift.common.concurrency import Timeout, green_http_client
from swift.common.exceptions import ConnectionTimeout, MessageTimeout
from swift.common.http import (
    HTTP_CONFLICT,
    HTTP_CONTINUE,
    HTTP_NOT_FOUND,
    HTTP_UNPROCESSABLE_ENTITY,
    is_server_error,
    is_success,
)
from swift.common.utils import Timestamp

from swift_lightsync.proar.converger.object_state import UnreadableError

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
    """
    What a push has come to.

    :param outcome: the kind
    :param reason: why it failed, '' if it did not
    """
    outcome: Outcome
    reason: str = ''

    @property
    def is_applied(self):
        """Whether the peer needs no more."""
        return self.outcome in (Outcome.APPLIED, Outcome.NEWER, Outcome.GONE)


@dataclass(frozen=True)
class PushOptions:
    """
    How long a peer may take, and how fast a body may be sent.

    :param conn_timeout: seconds in which a peer has taken a connection
    :param node_timeout: seconds in which it has taken each part of a request,
        and has answered
    :param throttle: takes how many bytes of a body are sent next, and returns
        when they may be sent
    """
    conn_timeout: float
    node_timeout: float
    throttle: Callable[[int], None]


@dataclass(frozen=True)
class _Answer:
    status: int
    timestamp: Timestamp
    reason: str


class Pusher:
    """
    One connection to a peer, for one push after the other.

    :param node: the peer, a device of the ring, a dict
    :param options: PushOptions
    """

    def __init__(self, node, options):
        self.node = node
        self.options = options
        self._connection = None

    def push(self, source, partition, path_hash, next_part_power=None):
        """
        Send the present state of an object.

        :param source: a Source
        :param partition: of the object
        :param path_hash: of the object, 16 bytes
        :param next_part_power: of the ring
        :returns: a Result
        """
        while True:
            fresh = self._connection is None
            try:
                with source.opened(partition, path_hash) as state:
                    result = self._send(state, partition, {
                        'User-Agent': USER_AGENT,
                        'X-Backend-Storage-Policy-Index':
                        str(int(source.policy)),
                        **_relinked(next_part_power)})
            except UnreadableError as err:
                # The peer may have half of it: it has to see an end.
                self.close()
                return Result(Outcome.FAILED, str(err))
            except Timeout as err:
                self.close()
                return Result(Outcome.UNAVAILABLE, str(err))
            except (OSError, green_http_client.HTTPException) as err:
                self.close()
                # One that was kept may have been closed by the peer.
                if fresh:
                    return Result(Outcome.UNAVAILABLE, _reason(err))
            else:
                if result.outcome is Outcome.DAMAGED:
                    source.check(partition, path_hash)
                return result

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
            result = _judge(change.method, answer, is_newer)
            if not result.is_applied:
                break
            is_newer = answer.timestamp > change.timestamp
        return result

    def _ask(self, change, path, headers):
        """Make one request, and return its _Answer."""
        connection = self._connected()
        expects = change.length >= EXPECT_FROM
        headers = dict(change.headers(), **headers)
        if expects:
            headers['Expect'] = '100-continue'
        with self._deadline('the headers of a %s' % change.method):
            connection.putrequest(change.method, path)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
        if expects:
            with self._deadline('100-continue'):
                response = connection.getexpect()
            if response.status != HTTP_CONTINUE:
                return self._read(response, keep=False)
        if change.body:
            self._send_body(connection, change.body())
        with self._deadline('the answer to a %s' % change.method):
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
            '%d %s' % (response.status, body[:200].decode('utf8', 'replace')))

    def _deadline(self, what):
        return MessageTimeout(self.options.node_timeout, what)


def _reason(err):
    number = getattr(err, 'errno', None)
    return os.strerror(number) if number else str(err) or repr(err)


def _relinked(next_part_power):
    return {} if next_part_power is None else {
        'X-Backend-Next-Part-Power': str(next_part_power)}


def _judge(method, answer, is_newer):
    """
    Return the Result that an answer means.

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
