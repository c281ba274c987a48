# SPDX-License-Identifier: Apache-2.0
"""The subset of HTTP/2 (RFC 9113) that unary gRPC needs, for both of its ends.

A Connection sends messages within the windows of its peer, and gathers what
arrives by stream. It waits in the socket it is given and nowhere else, so a
green socket makes it green. Headers that are sent need no state, and a peer is
asked for such (a dynamic table of size 0), so that those that come again and
again are coded once.
"""

import struct
import time

from hpack import HPACKError

(DATA, HEADERS, _PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY,
 WINDOW_UPDATE, CONTINUATION) = range(10)
END_STREAM = ACK = 1
END_HEADERS = 4
_PADDED = 8
_WITH_PRIORITY = 0x20
#: settings
(HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, FIRST_WINDOW, MAX_FRAME_SIZE,
 MAX_HEADER_LIST_SIZE) = range(1, 7)

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
#: what a peer may send on a connection, for which it never has to wait: the
#: connection is not used again when half of it is gone
WINDOW = 2 ** 31 - 1
INITIAL_WINDOW = 65535
MAX_FRAME = 16384
MAX_HEADERS = 65536
READ = 65536
#: before a message of gRPC: whether it is compressed, and its length
PREFIX = struct.Struct('>BI')

_FRAME = struct.Struct('>BHBBI')
_SETTING = struct.Struct('>HI')
_NUMBER = struct.Struct('>I')


class ProtocolError(Exception):
    """What the peer does that ends the connection, with a verb."""


def broken(what):
    """Return the error of a peer that does not keep to HTTP/2."""
    return ProtocolError('breaks HTTP/2: %s' % what)


def frame(kind, flags, stream, payload=b''):
    """Return the bytes of a frame. REQUIRES: no more than 2^24 - 1 of them."""
    length = len(payload)
    return _FRAME.pack(length >> 16, length & 0xffff, kind, flags,
                       stream) + payload


def settings(values):
    """Return the frame of some settings, a dict of numbers."""
    return frame(SETTINGS, 0, 0, b''.join(
        _SETTING.pack(*each) for each in values.items()))


def window_update(increment):
    """Return the frame that lets the peer send so much more."""
    return frame(WINDOW_UPDATE, 0, 0, _NUMBER.pack(increment))


def reset(number, code):
    """Return the frame that ends a stream for a reason of the RFC."""
    return frame(RST_STREAM, 0, number, _NUMBER.pack(code))


def _number(payload):
    if len(payload) != _NUMBER.size:
        raise broken('a number of %d bytes' % len(payload))
    return _NUMBER.unpack(payload)[0]


def _unpadded(flags, payload):
    if flags & _PADDED:
        if not payload or payload[0] >= len(payload):
            raise broken('more padding than there is of a frame')
        payload = payload[1:len(payload) - payload[0]]
    return payload


class Stream:
    """What has arrived of one call, and what may be sent for it.

    :param window: bytes that may be sent
    """

    def __init__(self, window):
        self.window = window
        self.headers = {}
        self.body = bytearray()
        #: whether all has arrived
        self.ended = False
        #: whether nothing is to be sent any more
        self.done = False

    def add_data(self, data):
        """Take in more of the body."""
        self.body += data


class Connection:
    """One end of a connection.

    :param sock: a connected socket, which belongs to it from now on
    :param opening: bytes that are sent before all others
    :param decode: returns the headers of a block, pairs of bytes
    """

    def __init__(self, sock, opening, decode):
        self._sock = sock
        self._decode = decode
        self._buffer = b''
        self._output = opening
        self._received = 0
        #: those that are open, by number
        self._streams = {}
        #: of headers that go on in the next frame: stream, flags, bytes
        self._unfinished = None
        # What may be sent, on the connection and on new streams.
        self._window = self._first_window = INITIAL_WINDOW
        self._max_frame = MAX_FRAME

    def close(self):
        """Close the connection."""
        self._sock.close()

    def _unknown(self, number, kind):
        """Return the Stream that begins, or None if that is to be ignored."""
        raise NotImplementedError

    def _arrived(self, number, stream):
        """Note that all of a stream has arrived."""
        raise NotImplementedError

    def _reset(self, number, code):
        """Note that the peer has reset a stream."""
        raise NotImplementedError

    def _send_message(self, number, stream, message, flags, deadline=None):
        """Send a message of gRPC, unless the stream is done before."""
        body = PREFIX.pack(0, len(message)) + message
        while body and not stream.done:
            room = min(self._window, stream.window, self._max_frame)
            if room <= 0:
                self._flush(deadline)
                self._receive(deadline)
                continue
            piece, body = body[:room], body[room:]
            self._output += frame(DATA, 0 if body else flags, number, piece)
            self._window -= len(piece)
            stream.window -= len(piece)

    def _flush(self, deadline=None):
        while self._output:
            self._limit(deadline)
            self._output = self._output[self._sock.send(self._output):]

    def _receive(self, deadline=None):
        self._limit(deadline)
        self._take(self._sock.recv(READ))

    def _limit(self, deadline):
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError('timed out')
            self._sock.settimeout(left)

    def _take(self, data):
        """Take in what has arrived.

        :raises ConnectionResetError: if the other side has closed it
        :raises ProtocolError: if that ends the connection
        """
        if not data:
            raise ConnectionResetError('closed the connection')
        buffer = self._buffer + data if self._buffer else data
        at, size = 0, len(buffer)
        try:
            while size - at >= _FRAME.size:
                high, low, kind, flags, number = _FRAME.unpack_from(buffer,
                                                                    at)
                end = at + _FRAME.size + (high << 16 | low)
                if end - at - _FRAME.size > MAX_FRAME:
                    raise broken('a frame of %d bytes' % (
                        end - at - _FRAME.size))
                if end > size:
                    break
                self._take_frame(kind, flags, number & 0x7fffffff,
                                 buffer[at + _FRAME.size:end])
                at = end
        except HPACKError as err:
            raise broken(str(err)) from err
        self._buffer = buffer[at:]

    def _take_frame(self, kind, flags, number, payload):
        if self._unfinished and kind != CONTINUATION:
            raise broken('headers that do not end')
        take = self._TAKERS.get(kind)
        if take:
            take(self, flags, number, payload)

    def _take_headers(self, flags, number, payload):
        block = _unpadded(flags, payload)
        if flags & _WITH_PRIORITY:
            block = block[5:]
        self._add_headers(flags & END_STREAM, flags, number, block)

    def _take_continuation(self, flags, number, payload):
        if not self._unfinished or self._unfinished[0] != number:
            raise broken('headers that go on, of stream %d' % number)
        _, ends, block = self._unfinished
        self._add_headers(ends, flags, number, block + payload)

    def _add_headers(self, ends, flags, number, block):
        if len(block) > MAX_HEADERS:
            raise broken('headers of more than %d bytes' % MAX_HEADERS)
        self._unfinished = None if flags & END_HEADERS else (
            number, ends, block)
        if not self._unfinished:
            headers = self._decode(block)
            stream = self._open_stream(number, 'headers')
            if stream:
                stream.headers.update(headers)
                self._end_if(ends, number, stream)

    def _take_data(self, flags, number, payload):
        self._received += len(payload)
        stream = self._open_stream(number, 'data')
        if stream:
            stream.add_data(_unpadded(flags, payload))
            self._end_if(flags & END_STREAM, number, stream)

    def _open_stream(self, number, kind):
        stream = self._streams.get(number)
        if stream is None:
            return self._unknown(number, kind)
        if stream.ended:
            raise broken('%s of stream %d, which has ended' % (
                kind, number))
        return stream

    def _end_if(self, ends, number, stream):
        if ends:
            stream.ended = True
            self._arrived(number, stream)

    def _take_reset(self, flags, number, payload):
        self._reset(number, _number(payload))

    def _take_go_away(self, flags, number, payload):
        raise ProtocolError('ends the connection (error %d)' % _number(
            payload[4:8]))

    def _take_settings(self, flags, number, payload):
        if flags & ACK:
            return
        if len(payload) % _SETTING.size:
            raise broken('settings of %d bytes' % len(payload))
        found = dict(_SETTING.iter_unpack(payload))
        first = found.get(FIRST_WINDOW, self._first_window)
        for stream in self._streams.values():
            stream.window += first - self._first_window
        self._first_window = first
        self._max_frame = min(found.get(MAX_FRAME_SIZE, self._max_frame),
                              MAX_FRAME)
        self._output += frame(SETTINGS, ACK, 0)

    def _take_ping(self, flags, number, payload):
        if len(payload) != 8:
            raise broken('a ping of %d bytes' % len(payload))
        if not flags & ACK:
            self._output += frame(PING, ACK, 0, payload)

    def _take_window_update(self, flags, number, payload):
        increment = _number(payload)
        if not number:
            self._window += increment
        elif number in self._streams:
            self._streams[number].window += increment

    def _take_push(self, flags, number, payload):
        raise broken('a push, which it was told not to make')

    #: what is not here, such as priorities, means nothing to unary calls
    _TAKERS = {DATA: _take_data, HEADERS: _take_headers,
               RST_STREAM: _take_reset, SETTINGS: _take_settings,
               PUSH_PROMISE: _take_push, PING: _take_ping,
               GOAWAY: _take_go_away, WINDOW_UPDATE: _take_window_update,
               CONTINUATION: _take_continuation}
