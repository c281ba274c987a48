# SPDX-License-Identifier: Apache-2.0
"""Makes unary gRPC calls over one connected socket.

grpcio's own client blocks eventlet's hub, or fails in its threads; this one
waits in the socket it is given and nowhere else, so a green socket makes it
green and an ordinary one makes it blocking. It speaks the subset of *gRPC over
HTTP/2* that a unary call needs: no compression, no metadata, one call at a
time on a connection.
"""

import enum
import functools
from urllib.parse import unquote

from hpack import Decoder, Encoder

from swift_losf.index import http2

#: so many bytes of one reply are taken
MAX_REPLY = 64 * 2 ** 20
_MAX_STREAM = 2 ** 20
_OPENING = http2.PREFACE + http2.settings({
    http2.HEADER_TABLE_SIZE: 0, http2.ENABLE_PUSH: 0,
    http2.FIRST_WINDOW: http2.WINDOW,
    http2.MAX_HEADER_LIST_SIZE: http2.MAX_HEADERS,
}) + http2.window_update(http2.WINDOW - http2.INITIAL_WINDOW)


class Status(enum.IntEnum):
    """The codes of gRPC that a server may answer with."""
    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class CallError(Exception):
    """A call that failed.

    :param reason: what happened
    :param status: the Status that the server answered with; None if it gave
        no valid answer
    """

    def __init__(self, reason, status=None):
        super().__init__(reason)
        self.status = status


class Reply(http2.Stream):
    """What has arrived of the reply to one call."""

    def add_data(self, data):
        """Take in more of the body.

        :raises CallError: if the reply becomes too long
        """
        self.body += data
        if len(self.body) > MAX_REPLY:
            raise CallError('the reply is longer than %d bytes' % MAX_REPLY)

    def message(self):
        """Return the bytes of the message.

        :raises CallError: if the call failed or the reply is malformed
        """
        self._check_status()
        if len(self.body) < http2.PREFIX.size:
            raise CallError('the reply has no message')
        compressed, length = http2.PREFIX.unpack_from(self.body)
        if compressed:
            raise CallError('the reply is compressed')
        if length != len(self.body) - http2.PREFIX.size:
            raise CallError('the reply has %d bytes, not the %d it names' % (
                len(self.body) - http2.PREFIX.size, length))
        return bytes(self.body[http2.PREFIX.size:])

    def _check_status(self):
        if self.headers.get(b':status') != b'200':
            raise CallError('HTTP status %r' % self.headers.get(b':status'))
        try:
            status = Status(int(self.headers[b'grpc-status']))
        except (KeyError, ValueError) as err:
            raise CallError('grpc-status %r' % self.headers.get(
                b'grpc-status')) from err
        if status is not Status.OK:
            text = unquote(self.headers.get(b'grpc-message', b'').decode(
                'latin-1'), errors='replace')
            raise CallError('%s: %s' % (status.name, text), status)


@functools.lru_cache(64)
def request_headers(path):
    """Return the header block of a request, which needs no state."""
    return Encoder().encode([(name, value, True) for name, value in (
        (b':method', b'POST'), (b':scheme', b'http'), (b':path', path),
        (b':authority', b'localhost'), (b'te', b'trailers'),
        (b'content-type', b'application/grpc'))])


def _decoder():
    """Return what decodes headers without state."""
    decoder = Decoder(http2.MAX_HEADERS)
    decoder.max_allowed_table_size = 0
    return functools.lru_cache(64)(
        functools.partial(decoder.decode, raw=True))


class UnaryConnection(http2.Connection):
    """A connection to a gRPC server.

    :param sock: a connected socket, which belongs to it from now on
    """

    def __init__(self, sock):
        super().__init__(sock, _OPENING, _decoder())
        self._number = -1
        #: whether the next call can use it: all of the last one was read
        self.usable = True

    def close(self):
        """Close the connection, which is not usable any more."""
        self.usable = False
        super().close()

    def is_alive(self):
        """Return whether the server seems to have left the connection open.

        What the server has sent since the last call is taken in.
        """
        self._sock.settimeout(0)
        try:
            while self.usable:
                self._take(self._sock.recv(http2.READ))
        except (BlockingIOError, InterruptedError):
            pass
        except (CallError, http2.ProtocolError, OSError):
            self.usable = False
        return self.usable

    def call(self, path, message, deadline):
        """Make a call, and wait for its reply.

        :param path: of the method, such as b'/package.Service/Method'
        :param message: the bytes of the request
        :param deadline: when it must be done, in the time of time.monotonic
        :returns: the bytes of the reply
        :raises CallError: if the server says so, or gives no valid answer
        :raises OSError: of the socket; socket.timeout at the deadline
        """
        self.usable = False
        reply = Reply(self._first_window)
        self._number += 2
        self._streams = {self._number: reply}
        try:
            self._output += http2.frame(
                http2.HEADERS, http2.END_HEADERS, self._number,
                request_headers(path))
            self._send_message(self._number, reply, message,
                               http2.END_STREAM, deadline)
            self._flush(deadline)
            while not reply.ended:
                self._receive(deadline)
        except http2.ProtocolError as err:
            raise CallError('the server %s' % err) from err
        self.usable = (self._number < _MAX_STREAM
                       and self._received < http2.WINDOW // 2
                       and self._acknowledge(deadline))
        return reply.message()

    def _acknowledge(self, deadline):
        """Answer what the server has asked; return whether that was possible.
        """
        try:
            self._flush(deadline)
        except OSError:
            return False
        return True

    def _arrived(self, number, reply):
        reply.done = True

    def _unknown(self, number, kind):
        raise http2.broken('%s of stream %d' % (kind, number))

    def _reset(self, number, code):
        if number in self._streams and not self._streams[number].ended:
            raise http2.ProtocolError('reset the stream (error %d)' % code)
