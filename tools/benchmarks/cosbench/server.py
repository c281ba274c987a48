# SPDX-License-Identifier: Apache-2.0
"""The server of the benchmark: as little work as HTTP/1.1 allows.

Any GET has a body of as many bytes as its path says (``/1024``), any PUT is
read to its end. It has no timers, no log, and must not be the bottleneck:
the clients' CPU is what counts, so if it is, figures stay right.
"""

import asyncio
import re

import uvloop

_LENGTH = re.compile(rb'\r\ncontent-length: *(\d+)', re.IGNORECASE)
_SIZE = re.compile(rb'GET [^ ]*?/(\d+) ')
_CREATED = b'HTTP/1.1 201 Created\r\n%bContent-Length: 0\r\n\r\n'
_OK = b'HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b'
#: What a Swift proxy-server says besides.
_HEADERS = (
    b'Content-Type: application/octet-stream\r\n'
    b'Etag: d41d8cd98f00b204e9800998ecf8427e\r\n'
    b'Last-Modified: Sat, 21 Nov 2026 12:00:00 GMT\r\n'
    b'X-Timestamp: 1795262400.00000\r\nAccept-Ranges: bytes\r\n'
    b'X-Trans-Id: tx0123456789abcdef01234-0123456789\r\n'
    b'X-Openstack-Request-Id: tx0123456789abcdef01234-0123456789\r\n'
    b'Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n')


class Server(asyncio.Protocol):
    """One connection."""

    def __init__(self):
        self._transport = None
        self._buffer = b''
        #: Bytes of the body of a PUT that are still to come.
        self._left = 0
        self._answers = {}

    def connection_made(self, transport):
        self._transport = transport

    def data_received(self, data):
        if self._left:
            taken = min(self._left, len(data))
            self._left -= taken
            if self._left:
                return
            self._transport.write(_CREATED % _HEADERS)
            data = data[taken:]
        self._buffer += data
        while not self._left:
            end = self._buffer.find(b'\r\n\r\n')
            if end < 0:
                return
            head, rest = self._buffer[:end], self._buffer[end + 4:]
            self._buffer = b''
            if head.startswith(b'PUT'):
                self._left = int(_LENGTH.search(head)[1])
                self.data_received(rest)
                return
            self._buffer = rest
            self._transport.write(self._answer(
                int(_SIZE.match(head)[1])))

    def _answer(self, size):
        if size not in self._answers:
            self._answers[size] = _OK % (_HEADERS, size, b'x' * size)
        return self._answers[size]


async def _serve(pipe):
    server = await asyncio.get_running_loop().create_server(
        Server, '127.0.0.1', 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def main(pipe):
    """
    Serve until the process is ended.

    :param pipe: the port is sent there
    """
    uvloop.run(_serve(pipe))
