# SPDX-License-Identifier: Apache-2.0
"""The connections to one server: reuse, time-outs, errors with a class.

A request takes the connection that was used last, or makes one. One timer
looks after all: no request pays for a timer of its own; a time-out may come
up to an eighth of it late.

Nothing is tried twice, with one exception that is none: a server may close
a connection that it finds idle just when a request is on its way (RFC 9112
§9.3.1). A request on a used connection that ended before a byte of the
response came goes out once more on a new one, and ``resent`` counts it.
"""

import asyncio
import re
import ssl
from typing import Any

from cosbench.adaptors.core.http_grammar import header_lines
from cosbench.adaptors.core.http_response import Response
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.http1.connection import Connection, clock
from cosbench.tasks import within

#: Seconds after which a connection that nobody uses is closed.
IDLE = 30
#: Seconds between two looks at the connections, at most.
MAX_PERIOD = 1
#: May be sent again: nothing else is.
IDEMPOTENT = (b'GET', b'HEAD', b'PUT', b'DELETE')
_TARGET = re.compile(rb'[!-~]+')


class Client:
    """Belongs to the event loop that its first request runs on.

    :param url: a ``Url``; its path is of no importance
    :param timeout: seconds without a byte, and for a connection; 0: no
        limit
    :param context: of ``tls.trust``
    :param via: the ``Url`` of a proxy that takes the connections (http
        only), or None
    """

    def __init__(self, url, timeout, context=None, via=None):
        self.url = url
        self.timeout = timeout
        self.resent = 0
        self._context = context
        self._server = via or url
        self._before = b''
        if via is not None:
            self._before = ('%s://%s' % (url.scheme, url.netloc)).encode()
        self._host = header_lines([('Host', url.netloc)])
        self._idle = []
        self._connections = set()
        self._timer = None
        #: That the first request ran on.
        self._loop: Any = None

    async def request(self, method, target, headers=b'', body=None,
                      sink=None):
        """Send a request, and wait for its response.

        :param method: bytes
        :param target: bytes: path and query, quoted
        :param headers: of ``header_lines``, without Host and framing
        :param body: None, or blocks as ``Storage.put`` has them
        :param sink: see ``Response``
        :returns: a complete ``Response``, of any status
        :raises OperationError: if there is none
        """
        head = self._head(method, target, headers, body)
        bodiless = method == b'HEAD'
        connection = self._reused()
        if connection is not None:
            response = Response(bodiless, sink)
            try:
                await connection.exchange(head, body, response)
                self._keep(connection)
                return response
            except OperationError as err:
                if err.kind != 'closed' or response.started or \
                        method not in IDEMPOTENT:
                    raise
            self.resent += 1
        connection = await self._connect()
        response = Response(bodiless, sink)
        await connection.exchange(head, body, response)
        self._keep(connection)
        return response

    async def close(self):
        """Close all connections; requests that are under way fail."""
        for connection in list(self._connections):
            connection.fail(OperationError('closed', 'by this side'))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Transports close in the next iteration.
        await asyncio.sleep(0)

    @property
    def connections(self):
        """How many are open."""
        return len(self._connections)

    def _head(self, method, target, headers, body):
        if not _TARGET.fullmatch(target):
            raise ValueError('%r is not quoted' % target)
        if body is None:
            if method == b'GET':
                # Most requests: one thing less to write.
                return b'GET %b%b HTTP/1.1\r\n%b%b\r\n' % (
                    self._before, target, self._host, headers)
            framing = b'Content-Length: 0\r\n' if method in (
                b'PUT', b'POST') else b''
        elif body.chunked:
            framing = b'Transfer-Encoding: chunked\r\n'
        else:
            framing = b'Content-Length: %d\r\n' % body.size
        return b'%b %b%b HTTP/1.1\r\n%b%b%b\r\n' % (
            method, self._before, target, self._host, headers, framing)

    def _reused(self):
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
        return None

    def _keep(self, connection):
        if not connection.closed:
            self._idle.append(connection)

    async def _connect(self):
        loop = self._loop = asyncio.get_running_loop()
        try:
            return await within(self.timeout or None, self._connected(loop))
        except (asyncio.TimeoutError, TimeoutError):
            raise self._failure(
                'timeout', 'no connection in %g s' % self.timeout) from None
        except (ssl.SSLError, ssl.CertificateError) as err:
            raise self._failure('tls', err) from None
        except (OSError, UnicodeError) as err:
            raise self._failure('connect', err) from None

    async def _connected(self, loop):
        _, connection = await loop.create_connection(
            lambda: Connection(loop, self._connections.discard),
            self._server.host, self._server.port, ssl=self._context,
            server_hostname=self.url.host if self._context else None)
        if not connection.closed:
            self._connections.add(connection)
            self._watch()
        return connection

    def _failure(self, kind, reason):
        return OperationError(kind, '%s: %s' % (
            self._server.netloc, ' '.join(str(reason).split())))

    def _watch(self):
        if self._timer is None and self._connections:
            period = min(self.timeout / 8 or MAX_PERIOD, MAX_PERIOD)
            self._timer = self._loop.call_later(period, self._look)

    def _look(self):
        self._timer, now = None, clock()
        for connection in list(self._connections):
            unsent = connection.waiting_bytes()
            if unsent != connection.unsent:
                connection.unsent, connection.progress = unsent, now
            quiet = now - connection.progress
            if connection.busy:
                if self.timeout and quiet >= self.timeout:
                    connection.fail(OperationError(
                        'timeout', 'nothing came or went for %g s'
                        % self.timeout))
            elif quiet >= IDLE:
                connection.close()
        # What the server, or this, has closed is not waited for.
        self._idle = [each for each in self._idle if not each.closed]
        self._watch()
