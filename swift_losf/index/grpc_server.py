# SPDX-License-Identifier: Apache-2.0
"""Serves unary gRPC calls, each connection in a thread of its own.

A call takes some ten microseconds of LevelDB: to hand it from one thread to
another, and back, costs more. So the thread that reads a call answers it, and
the calls of one connection are answered one after the other. Any client of
gRPC may call; the headers of ours are known, and not decoded.
"""

import contextlib
import logging
import socket
import threading
import time
from collections import deque
from urllib.parse import quote

from hpack import Decoder, Encoder

from swift_losf.index import http2
from swift_losf.index.grpc_unary import Status, request_headers

#: bytes of a message, calls that wait on a connection, and connections; more
#: are refused
MAX_REQUEST = 2 ** 20
MAX_STREAMS = 100
MAX_CONNECTIONS = 4096
#: seconds until the next attempt to accept, for want of descriptors or memory
_PAUSE = 0.1
_REFUSED_STREAM = 7
_OPENING = http2.settings({
    http2.MAX_STREAMS: MAX_STREAMS, http2.FIRST_WINDOW: http2.WINDOW,
    http2.MAX_HEADER_LIST_SIZE: http2.MAX_HEADERS,
}) + http2.window_update(http2.WINDOW - http2.INITIAL_WINDOW)
#: before all headers: there is no dynamic table
_NO_TABLE = b'\x20'
_HEADERS = _NO_TABLE + Encoder().encode([
    (b':status', b'200'), (b'content-type', b'application/grpc', True)])
#: of the text of an error; what else it has is coded with %
_PLAIN = ''.join(map(chr, range(0x20, 0x7f))).replace('%', '')
_MAX_TEXT = 2048

logger = logging.getLogger(__name__)


def _trailers(status, text):
    return Encoder().encode([
        (b'grpc-status', b'%d' % status, True),
        (b'grpc-message', quote(text[:_MAX_TEXT], safe=_PLAIN).encode(),
         True)])


_TRAILERS = _trailers(Status.OK, '')


class Refusal(Exception):
    """A call that gets no message.

    :param status: a Status
    :param text: why
    """

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Request(http2.Stream):
    """What has arrived of a call."""

    def add_data(self, data):
        if len(self.body) <= http2.PREFIX.size + MAX_REQUEST:
            self.body += data

    def message(self):
        """Return the bytes of the message.

        :raises Refusal: if it is too long, or not coded as it should be
        """
        length = len(self.body) - http2.PREFIX.size
        if length > MAX_REQUEST:
            raise Refusal(Status.RESOURCE_EXHAUSTED,
                          'a message larger than max, %d bytes' % MAX_REQUEST)
        if length < 0 or http2.PREFIX.unpack_from(self.body) != (0, length):
            raise Refusal(Status.INTERNAL, 'not one message that is not '
                          'compressed')
        return bytes(self.body[http2.PREFIX.size:])


class Peer(http2.Connection):
    """A client.

    :param sock: a connected socket, which belongs to it from now on
    :param service: of a UnaryServer
    :param known: blocks of headers to what they say
    """

    def __init__(self, sock, service, known):
        super().__init__(sock, _OPENING, self._decode_block)
        self._service = service
        self._known = known
        self._decoder = Decoder(http2.MAX_HEADERS)
        self._waiting: deque[tuple[int, _Request]] = deque()
        self._last = 0

    def serve(self):
        """Answer calls.

        :raises ProtocolError: when the client breaks HTTP/2
        :raises OSError: when it goes, and of the socket
        """
        self._take_preface()
        while True:
            while self._waiting:
                self._answer(*self._waiting.popleft())
            if self._received > http2.WINDOW // 2:
                self._output += http2.window_update(self._received)
                self._received = 0
            self._flush()
            self._receive()

    def shut(self):
        """Let serve raise an error."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def _take_preface(self):
        data = b''
        while len(data) < len(http2.PREFACE):
            piece = self._sock.recv(http2.READ)
            data += piece
            if not piece or not data.startswith(
                    http2.PREFACE[:len(data)]):
                raise http2.broken('it begins with %r' % data[:24])
        if len(data) > len(http2.PREFACE):
            self._take(data[len(http2.PREFACE):])

    def _decode_block(self, block):
        # The blocks of our own client leave the state of the decoder alone.
        return self._known.get(block) or self._decoder.decode(block, raw=True)

    def _unknown(self, number, kind):
        if number <= self._last:
            # It was reset.
            return None
        if kind != 'headers' or not number % 2:
            raise http2.broken('%s of stream %d' % (kind, number))
        self._last = number
        if len(self._streams) >= MAX_STREAMS:
            self._output += http2.reset(number, _REFUSED_STREAM)
            return None
        return self._streams.setdefault(number, _Request(self._first_window))

    def _arrived(self, number, request):
        self._waiting.append((number, request))

    def _reset(self, number, code):
        request = self._streams.pop(number, None)
        if request:
            request.done = True

    def _answer(self, number, request):
        if request.done:
            return
        self._service.begin()
        try:
            self._reply(number, request)
            self._flush()
        finally:
            self._service.end()
        self._streams.pop(number, None)

    def _reply(self, number, request):
        try:
            reply = self._service.answer(
                request.headers.get(b':path'), request.message())
        except Refusal as err:
            self._output += http2.frame(
                http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, number,
                _HEADERS + _trailers(err.status, str(err)))
            return
        self._output += http2.frame(
            http2.HEADERS, http2.END_HEADERS, number, _HEADERS)
        self._send_message(number, request, reply, 0)
        if not request.done:
            self._output += http2.frame(
                http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, number,
                _TRAILERS)


class UnaryServer:
    """Accepts connections, and serves each.

    :param sock: a socket that listens; it belongs to the server from now on
    :param service: with ``paths``, those of its methods; ``answer(path,
        message)``, which returns the bytes of a reply or raises a Refusal;
        and ``begin()`` and ``end()``, called around each answer
    """

    def __init__(self, sock, service):
        self._sock = sock
        self._service = service
        self._known = {
            request_headers(path): ((b':path', path),)
            for path in service.paths}
        #: of those that are connected: their threads
        self._peers = {}
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._accept, name='accept',
                                        daemon=True)

    def start(self):
        """Begin to accept connections."""
        self._thread.start()

    def close(self, seconds):
        """End all connections, with the calls that are under way.

        :param seconds: for which threads are waited for at most
        """
        deadline = time.monotonic() + seconds
        self._closed = True
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._sock.close()
        with self._lock:
            peers = dict(self._peers)
        for peer in peers:
            peer.shut()
        for thread in peers.values():
            thread.join(max(0, deadline - time.monotonic()))

    def _accept(self):
        while not self._closed:
            try:
                sock, _ = self._sock.accept()
                self._begin(sock)
            except (OSError, RuntimeError) as err:
                # Who wants to connect waits meanwhile, in the backlog.
                if not self._closed:
                    logger.warning('cannot accept a connection: %s', err)
                    time.sleep(_PAUSE)

    def _begin(self, sock):
        peer = Peer(sock, self._service, self._known)
        thread = threading.Thread(target=self._serve, args=(peer,),
                                  name='calls', daemon=True)
        with self._lock:
            full = len(self._peers) >= MAX_CONNECTIONS
            if not full:
                self._peers[peer] = thread
        if full:
            peer.close()
            return
        try:
            thread.start()
        except BaseException:
            self._end(peer)
            raise

    def _serve(self, peer):
        try:
            peer.serve()
        except (http2.ProtocolError, OSError) as err:
            logger.debug('a client %s', err)
        except Exception:
            logger.exception('a connection is given up')
        finally:
            self._end(peer)

    def _end(self, peer):
        with self._lock:
            self._peers.pop(peer, None)
        peer.close()
