# SPDX-License-Identifier: Apache-2.0
"""
Makes unary gRPC calls over one connected socket.

grpcio's own client blocks eventlet's hub, or fails in its threads; this one
waits in the socket it is given and nowhere else, so a green socket makes it
green and an ordinary one makes it blocking. It speaks the subset of *gRPC over
HTTP/2* that a unary call needs: no compression, no metadata, one call at a
time on a connection.

Frames are coded by hyperframe and headers by hpack, on which h2 is built. With
one stream at a time most of what h2 does would be in vain: it takes four times
the CPU. The server is asked for headers without state (a dynamic table of size
0), so that those that come again and again are decoded once.
"""

import functools
import socket
import time

from hpack import Decoder, Encoder, HPACKError
from hyperframe.exceptions import HyperframeError
from hyperframe.frame import (
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from swift_losf.index.grpc_reply import PREFIX, CallError, Reply

_PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
#: what the server may send on a connection, for which it never has to wait:
#: the connection is not used again when half of it is gone
_WINDOW = 2 ** 31 - 1
_INITIAL_WINDOW = 65535
_MAX_FRAME = 16384
_MAX_STREAM = 2 ** 20
_MAX_HEADERS = 65536
_READ = 65536
_FRAME_HEADER = 9


@functools.lru_cache(64)
def _request_headers(path):
    """Return the header block of a request, which needs no state."""
    return Encoder().encode([(name, value, True) for name, value in (
        (b':method', b'POST'), (b':scheme', b'http'), (b':path', path),
        (b':authority', b'localhost'), (b'te', b'trailers'),
        (b'content-type', b'application/grpc'))])


class UnaryConnection:
    """
    A connection to a gRPC server.

    :param sock: a connected socket, which belongs to it from now on
    """

    def __init__(self, sock):
        self._sock = sock
        self._stream = -1
        self._received = 0
        self._buffer = bytearray()
        decoder = Decoder(_MAX_HEADERS)
        decoder.max_allowed_table_size = 0
        self._decode = functools.lru_cache(64)(
            functools.partial(decoder.decode, raw=True))
        # What may be sent, on the connection and on the stream.
        self._window = self._stream_window = _INITIAL_WINDOW
        self._first_window = _INITIAL_WINDOW
        self._max_frame = _MAX_FRAME
        self._output = _PREFACE + SettingsFrame(settings={
            SettingsFrame.HEADER_TABLE_SIZE: 0,
            SettingsFrame.ENABLE_PUSH: 0,
            SettingsFrame.INITIAL_WINDOW_SIZE: _WINDOW,
            SettingsFrame.MAX_HEADER_LIST_SIZE: _MAX_HEADERS,
        }).serialize() + WindowUpdateFrame(
            0, window_increment=_WINDOW - _INITIAL_WINDOW).serialize()
        #: whether the next call can use it: all of the last one was read
        self.usable = True

    def close(self):
        """Close the connection, which is not usable any more."""
        self.usable = False
        self._sock.close()

    def is_alive(self):
        """
        Return whether the server seems to have left the connection open.

        What the server has sent since the last call is taken in.
        """
        nothing = Reply()
        nothing.ended = True
        self._sock.settimeout(0)
        try:
            while self.usable:
                self._take(self._sock.recv(_READ), nothing)
        except (BlockingIOError, InterruptedError):
            pass
        except (CallError, OSError):
            self.usable = False
        return self.usable

    def call(self, path, message, deadline):
        """
        Make a call, and wait for its reply.

        :param path: of the method, such as b'/package.Service/Method'
        :param message: the bytes of the request
        :param deadline: when it must be done, in the time of time.monotonic
        :returns: the bytes of the reply
        :raises CallError: if the server says so, or gives no valid answer
        :raises OSError: of the socket; socket.timeout at the deadline
        """
        self.usable = False
        reply = Reply()
        self._send(path, message, reply, deadline)
        while not reply.ended:
            self._receive(reply, deadline)
        self.usable = (self._stream < _MAX_STREAM
                       and self._received < _WINDOW // 2
                       and self._acknowledge(deadline))
        return reply.message()

    def _acknowledge(self, deadline):
        """
        Answer what the server has asked; return whether that was possible.
        """
        try:
            self._flush(deadline)
        except OSError:
            return False
        return True

    def _send(self, path, message, reply, deadline):
        self._stream += 2
        self._stream_window = self._first_window
        self._output += HeadersFrame(
            self._stream, _request_headers(path),
            flags=('END_HEADERS',)).serialize()
        body = PREFIX.pack(0, len(message)) + message
        while body and not reply.ended:
            room = min(self._window, self._stream_window, self._max_frame)
            if room <= 0:
                self._flush(deadline)
                self._receive(reply, deadline)
                continue
            self._output += DataFrame(
                self._stream, body[:room],
                flags=('END_STREAM',) if room >= len(body) else ()
            ).serialize()
            self._window -= len(body[:room])
            self._stream_window -= len(body[:room])
            body = body[room:]
        self._flush(deadline)

    def _flush(self, deadline):
        while self._output:
            self._limit(deadline)
            self._output = self._output[self._sock.send(self._output):]

    def _receive(self, reply, deadline):
        self._limit(deadline)
        self._take(self._sock.recv(_READ), reply)

    def _limit(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout('timed out')
        self._sock.settimeout(left)

    def _take(self, data, reply):
        if not data:
            raise CallError('the server closed the connection')
        self._received += len(data)
        self._buffer += data
        try:
            for frame in self._frames():
                take = self._TAKERS.get(type(frame))
                if take:
                    take(self, frame, reply)
        except (HyperframeError, HPACKError) as err:
            raise _broken(err) from err

    def _frames(self):
        buffer = self._buffer
        while len(buffer) >= _FRAME_HEADER:
            frame, length = Frame.parse_frame_header(
                memoryview(bytes(buffer[:_FRAME_HEADER])))
            if length > _MAX_FRAME:
                raise _broken('a frame of %d bytes' % length)
            end = _FRAME_HEADER + length
            if len(buffer) < end:
                return
            frame.parse_body(memoryview(bytes(buffer[_FRAME_HEADER:end])))
            del buffer[:end]
            yield frame

    def _check_stream(self, frame, reply):
        if frame.stream_id != self._stream or reply.ended:
            raise _broken('%s of stream %d' % (type(frame).__name__,
                                               frame.stream_id))

    def _take_headers(self, frame, reply):
        self._check_stream(frame, reply)
        if 'END_HEADERS' not in frame.flags:
            raise _broken('headers of more than %d bytes' % _MAX_FRAME)
        reply.headers.update(self._decode(frame.data))
        reply.ended = 'END_STREAM' in frame.flags

    def _take_data(self, frame, reply):
        self._check_stream(frame, reply)
        reply.add_data(frame.data)
        reply.ended = 'END_STREAM' in frame.flags

    def _take_reset(self, frame, reply):
        if frame.stream_id == self._stream and not reply.ended:
            raise CallError('the server reset the stream (error %d)'
                            % frame.error_code)

    def _take_go_away(self, frame, reply):
        raise CallError('the server ends the connection (error %d)'
                        % frame.error_code)

    def _take_settings(self, frame, reply):
        if 'ACK' in frame.flags:
            return
        first = frame.settings.get(SettingsFrame.INITIAL_WINDOW_SIZE,
                                   self._first_window)
        self._stream_window += first - self._first_window
        self._first_window = first
        self._max_frame = frame.settings.get(SettingsFrame.MAX_FRAME_SIZE,
                                             self._max_frame)
        self._output += SettingsFrame(flags=('ACK',)).serialize()

    def _take_ping(self, frame, reply):
        if 'ACK' not in frame.flags:
            self._output += PingFrame(opaque_data=frame.opaque_data,
                                      flags=('ACK',)).serialize()

    def _take_window_update(self, frame, reply):
        if not frame.stream_id:
            self._window += frame.window_increment
        elif frame.stream_id == self._stream:
            self._stream_window += frame.window_increment

    def _take_push(self, frame, reply):
        raise _broken('a push, which it was told not to make')

    #: what is not here, such as priorities, means nothing to a client
    _TAKERS = {HeadersFrame: _take_headers, DataFrame: _take_data,
               RstStreamFrame: _take_reset, GoAwayFrame: _take_go_away,
               SettingsFrame: _take_settings, PingFrame: _take_ping,
               WindowUpdateFrame: _take_window_update,
               PushPromiseFrame: _take_push}


def _broken(what):
    return CallError('the server breaks HTTP/2: %s' % what)
