# SPDX-License-Identifier: Apache-2.0
"""Connections to the replication ports of object-servers, which are kept.

In a stable cluster a sync message is a few dozen bytes; making a connection
for each would cost more than the message does.
"""

import os
import socket
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from swift.common.bufferedhttp import (
    BufferedHTTPConnection,
    BufferedHTTPResponse,
)
from swift.common.concurrency import Timeout, green_http_client
from swift.common.http import HTTP_CONTINUE, HTTP_INSUFFICIENT_STORAGE

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import NEXT, Answer, Next
from swift_lightsync.sync.keys import endpoint
from swift_lightsync.sync.names import PATIENCE_HEADER
from swift_lightsync.sync.wire.sync_message import MAX_BYTES

#: Connection time-outs without a packet acknowledged: a silent host.
SILENCE = 4


#: What statuses other than 200 mean; UNSUPPORTED are those of an
#: object-server that does not know the verb, or not this message, BUSY those
#: of one that cannot answer now.
REFUSALS: dict[int, Answer] = {
    HTTP_INSUFFICIENT_STORAGE: Answer.UNMOUNTED,
    **dict.fromkeys((400, 404, 405, 501), Answer.UNSUPPORTED),
    **dict.fromkeys((408, 429, 502, 503, 504), Answer.BUSY)}


class ConnectFailure(Exception):
    """No connection: the node, not just the device, is out of reach.

    :param answer: Answer.REFUSED or Answer.TIMEOUT
    """

    def __init__(self, answer: Answer, reason: object) -> None:
        super().__init__(str(reason))
        self.answer = answer


class Refusal(Exception):
    """The device was reached, and answered with an error, or put us off.

    :param answer: an :class:`Answer`
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer

    @property
    def is_postponement(self) -> bool:
        """Whether to ask again later."""
        return NEXT[self.answer] is Next.POSTPONE


class _Response(BufferedHTTPResponse):

    def _read_status(self) -> tuple[Any, int, str]:
        found: tuple[Any, int, str] = super()._read_status()
        if found[1] == HTTP_CONTINUE:
            # We never ask for it; a stream of them would block the hub.
            raise green_http_client.HTTPException('100 Continue')
        return found


class _Connection(BufferedHTTPConnection):
    response_class = _Response


class Connections:
    """Sends LIGHTSYNC requests, and keeps the connections for the next ones.

    :param conn_timeout: seconds a connection may take
    :param http_timeout: seconds an answer may take: the peer may have
        suffixes to hash first
    """

    def __init__(self, conn_timeout: float, http_timeout: float) -> None:
        self.conn_timeout = conn_timeout
        self.http_timeout = http_timeout
        #: How many requests were sent.
        self.requests = 0
        #: Connections that are not in use, by the node they lead to.
        self._idle: dict[NodeTuple, list[_Connection]] = defaultdict(list)

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            for conn in self._idle.popitem()[1]:
                conn.close()

    def request(self, node: RingDevice, what: str,
                headers: Mapping[str, object], message: bytes
                ) -> tuple[BufferedHTTPResponse, bytes]:
        """Send a request to a device, and return its answer.

        :param node: the device
        :param what: what the request is about, the end of its path
        :param headers: its headers
        :param message: its body
        :returns: the response, and its body
        :raises ConnectFailure: if the node cannot be reached
        :raises Timeout: if no answer comes in time
        :raises OSError, HTTPException: if the connection broke
        """
        self.requests += 1
        path = '/%s/%s' % (quote(node['device'], safe=''), what)
        idle = self._idle[endpoint(node)]
        while idle:
            conn = idle.pop()
            if not _is_quiet(conn):
                conn.close()
                continue
            try:
                return self._converse(conn, idle, path, headers, message)
            except (green_http_client.RemoteDisconnected, BrokenPipeError,
                    ConnectionResetError):
                # The server closed the idle connection; asking twice does no
                # harm.
                continue
        conn = self._connect(node)
        return self._converse(conn, idle, path, headers, message)

    def _connect(self, node: RingDevice) -> _Connection:
        conn = _Connection('%s:%s' % (
            node['replication_ip'], node['replication_port']))
        try:
            with Timeout(self.conn_timeout):
                conn.connect()
        except Timeout as err:
            conn.close()
            raise ConnectFailure(Answer.TIMEOUT, err)
        except OSError as err:
            raise ConnectFailure(Answer.REFUSED, err)
        if hasattr(socket, 'TCP_USER_TIMEOUT'):
            # A host that falls silent under a kept connection acknowledges
            # no packets; a busy one does, and may take http_timeout.
            conn.sock.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT,
                int(SILENCE * self.conn_timeout * 1000))
        return conn

    def _converse(self, conn: _Connection, idle: list[_Connection], path: str,
                  headers: Mapping[str, object], message: bytes
                  ) -> tuple[_Response, bytes]:
        keep = False
        try:
            with Timeout(self.http_timeout):
                _send(conn, path, {
                    PATIENCE_HEADER: int(self.http_timeout), **headers},
                    message)
                resp = conn.getresponse()
                # http.client allocates as much as is asked for.
                body = resp.read(MAX_BYTES if resp.length is None
                                 else min(resp.length, MAX_BYTES))
                keep = not resp.will_close and resp.isclosed()
                return resp, body
        except TimeoutError as err:
            raise ConnectFailure(Answer.TIMEOUT, err)
        finally:
            if keep:
                idle.append(conn)
            else:
                conn.close()


def _is_quiet(conn: _Connection) -> bool:
    """Return whether a kept connection can be used again.

    It cannot if the peer has closed it, or has sent bytes that nobody asked
    for: they would be taken for the answer to the next message.
    """
    try:
        conn.sock.fd.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _send(conn: _Connection, path: str, headers: Mapping[str, object],
          message: bytes) -> None:
    """Send a request, in one packet if its headers and body fit."""
    cork = getattr(socket, 'TCP_CORK', None)
    if cork is not None:
        conn.sock.setsockopt(socket.IPPROTO_TCP, cork, 1)
    conn.putrequest('LIGHTSYNC', path, skip_accept_encoding=True)
    conn.putheader('Content-Length', str(len(message)))
    for name, value in headers.items():
        conn.putheader(name, str(value))
    # Logged like the other replication verbs, at debug level.
    conn.putheader('X-Backend-Replication', 'true')
    conn.putheader('User-Agent', 'object-replicator %d' % os.getpid())
    conn.endheaders(message)
    if cork is not None:
        conn.sock.setsockopt(socket.IPPROTO_TCP, cork, 0)
