# SPDX-License-Identifier: Apache-2.0
"""Connections to container servers that are kept between requests, and as much
of HTTP as the verb VERSION needs.

1. A connection has one request at a time. It is kept only if its answer has
   been read to the end, and the server keeps it, too.
2. A kept one is used only while it is quiet: bytes that nobody asked for, or
   the end of the stream, are the last that is heard of it.
3. Where a kept one breaks before a byte of the answer has come, the server
   may have closed it a moment ago: ``Stale``.
"""

import os
import socket as sockets
import time
from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import quote

from swift.common.concurrency import socket

#: Connections to one server that one process keeps; each takes one of the
#: server's ``max_clients``.
MOST = 16
#: Seconds for which one is kept that nobody uses: less than a server's
#: ``client_timeout``.
SECONDS = 20
#: Milliseconds after which a host that acknowledges no packet is silent.
SILENCE = 2000
#: Bytes of an answer's head.
MAX_HEAD = 1 << 13
_AT_ONCE = 1 << 16

_Address = tuple[str, int]


class Stale(OSError):
    """A kept connection that its server has closed meanwhile."""


class Exchange:
    """A request and its answer, on a connection of its own.

    :param socket: connected
    :param is_kept: whether it was used before
    """

    def __init__(self, pool: 'Connections', address: _Address,
                 sock: 'socket.socket', is_kept: bool) -> None:
        self._pool = pool
        self._address = address
        self._socket = sock
        self._is_kept = is_kept
        self._received = bytearray()

    def send(self, data: bytes) -> None:
        """Send the request, head and body.

        :raises OSError: if the connection broke
        """
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as err:
            raise self._broken(err) from err

    def receive(self, most: int) -> tuple[int, bytes]:
        """Wait for the answer. Who was interrupted may call this again.

        :param most: bytes that its body may have
        :returns: (status, body)
        :raises OSError: if the connection broke
        :raises ValueError: if it is no answer
        """
        end = -1
        while end < 0:
            if len(self._received) > MAX_HEAD:
                raise ValueError('the head of an answer does not end')
            self._more()
            end = self._received.find(b'\r\n\r\n')
        status, length, keeps = parsed_head(bytes(self._received[:end]))
        if length > most:
            raise ValueError('an answer has %d bytes, at most %d are allowed'
                             % (length, most))
        size = end + 4 + length
        while len(self._received) < size:
            self._more()
        if keeps and len(self._received) == size:
            self._pool.keep(self._address, self._socket)
        else:
            self._socket.close()
        return status, bytes(self._received[end + 4:size])

    def _more(self) -> None:
        try:
            data = self._socket.recv(_AT_ONCE)
        except ConnectionResetError as err:
            raise self._broken(err) from err
        if not data:
            raise self._broken('the server closed the connection')
        self._received += data

    def _broken(self, why: object) -> OSError:
        self._socket.close()
        if self._is_kept and not self._received:
            return Stale(str(why))
        return ConnectionError(str(why))


def parsed_head(head: bytes) -> tuple[int, int, bool]:
    """Read the head of an answer.

    :returns: (status, length of the body, whether the server keeps the
        connection)
    :raises ValueError: if it is none, or does not tell the length
    """
    first, *lines = head.decode('latin-1').split('\r\n')
    version, _, rest = first.partition(' ')
    fields = {}
    for line in lines:
        name, _, value = line.partition(':')
        fields[name.strip().lower()] = value.strip().lower()
    length = fields.get('content-length', '')
    if version != 'HTTP/1.1' or not rest[:3].isdigit() or \
            not length.isdigit() or 'transfer-encoding' in fields:
        raise ValueError('an answer begins with %.200r, must be one of '
                         'HTTP/1.1 with a content-length' % head)
    return int(rest[:3]), int(length), fields.get('connection') != 'close'


def request_of(address: _Address, method: str, path: str,
               headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the bytes of a request.

    :param path: unquoted text
    :param headers: without ends of lines
    """
    lines = ['%s %s HTTP/1.1' % (method, quote(path.encode('utf-8'))),
             'Host: %s:%s' % address, 'Content-Length: %d' % len(body)]
    lines += ['%s: %s' % each for each in headers.items()]
    return '\r\n'.join(lines + ['', '']).encode('latin-1') + body


class Connections:
    """The connections that one process keeps."""

    def __init__(self) -> None:
        self._process = os.getpid()
        #: (when it was used last, socket), by the server that it leads to
        self._idle: dict[_Address, list[tuple[float, socket.socket]]] = \
            defaultdict(list)

    def idle(self, address: _Address) -> Exchange | None:
        """Return a kept connection, if there is a quiet one.

        :param address: (ip, port)
        """
        if self._process != os.getpid():
            # The parent goes on using them.
            self._process = os.getpid()
            self._idle.clear()
        idle = self._idle[address]
        before = time.monotonic() - SECONDS
        while idle:
            since, sock = idle.pop()
            if since > before and _is_quiet(sock):
                return Exchange(self, address, sock, True)
            sock.close()
        return None

    def open(self, address: _Address) -> Exchange:
        """Make a connection.

        :param address: (ip, port)
        :raises OSError: if there is none
        """
        sock = socket.create_connection(address)
        sock.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        if hasattr(sockets, 'TCP_USER_TIMEOUT'):
            sock.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_USER_TIMEOUT,
                            SILENCE)
        return Exchange(self, address, sock, False)

    def keep(self, address: _Address, sock: 'socket.socket') -> None:
        """Keep a connection whose answer has been read."""
        idle, now = self._idle[address], time.monotonic()
        idle.append((now, sock))
        while len(idle) > MOST or idle[0][0] < now - SECONDS:
            idle.pop(0)[1].close()


def _is_quiet(sock: 'socket.socket') -> bool:
    try:
        sock.fd.recv(1, sockets.MSG_PEEK | sockets.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
