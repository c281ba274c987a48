# SPDX-License-Identifier: Apache-2.0
"""UnaryConnection against a peer that is built on h2, which is strict."""

import socket
import threading
import time
import unittest
from unittest import mock

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from swift_losf.index import grpc_unary
from swift_losf.index.grpc_unary import CallError, Status, UnaryConnection
from swift_losf.index.http2 import PREFIX

DEADLINE = 120
PATH = b'/package.Service/Echo'


class Peer:
    """A server that gives each message back, and can be told to be difficult.

    :param sock: connected
    :param settings: of its end
    :param pings: before each reply
    :param chunk: bytes of a DATA frame
    """

    def __init__(self, sock, settings=None, pings=0, chunk=1000):
        self.sock = sock
        self.settings = settings or {}
        self.pings = pings
        self.chunk = chunk
        self.acknowledged = []
        self.requests = []
        self.error = None
        self._bodies = {}
        self._http = H2Connection(H2Configuration(
            client_side=False, header_encoding='utf8'))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def end(self):
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def _serve(self):
        self._http.local_settings = Settings(
            client=False, initial_values=self.settings)
        self._http.initiate_connection()
        with self.sock:
            try:
                self._exchange()
            except (BrokenPipeError, ConnectionResetError):
                pass  # as the end of a test may be
            except Exception as err:
                self.error = err

    def _exchange(self):
        while True:
            self.sock.sendall(self._http.data_to_send())
            data = self.sock.recv(65536)
            if not data:
                return
            for event in self._http.receive_data(data):
                self._take(event)

    def _take(self, event):
        if isinstance(event, events.RequestReceived):
            self.requests.append(dict(event.headers))
        elif isinstance(event, events.DataReceived):
            body = self._bodies.setdefault(event.stream_id, bytearray())
            body += event.data
            self._http.acknowledge_received_data(
                event.flow_controlled_length, event.stream_id)
        elif isinstance(event, events.PingAckReceived):
            self.acknowledged.append(event.ping_data)
        elif isinstance(event, events.StreamEnded):
            self._answer(event.stream_id)

    def _answer(self, stream):
        for number in range(self.pings):
            self._http.ping(b'%08d' % number)
        body = bytes(self._bodies.pop(stream))
        self._http.send_headers(stream, [
            (':status', '200'), ('content-type', 'application/grpc')])
        for start in range(0, len(body), self.chunk):
            self._http.send_data(stream, body[start:start + self.chunk])
        self._http.send_headers(stream, [
            ('grpc-status', '0')], end_stream=True)


class TestUnaryConnection(unittest.TestCase):

    def connect(self, **difficulties):
        ours, theirs = socket.socketpair()
        self.peer = Peer(theirs, **difficulties)
        self.connection = UnaryConnection(ours)
        self.addCleanup(self.end)
        return self.connection

    def end(self):
        self.connection.close()
        self.peer.end()
        self.assertIsNone(self.peer.error)

    def call(self, message):
        return self.connection.call(PATH, message,
                                    time.monotonic() + DEADLINE)

    def test_messages_of_all_sizes_come_back(self):
        self.connect()
        for size in (0, 1, 16379, 16380, 65530, 65531, 3000000):
            message = (bytes(range(251)) * (1 + size // 251))[:size]
            self.assertEqual(message, self.call(message))
            self.assertTrue(self.connection.usable)

    def test_one_that_is_longer_than_allowed_is_refused(self):
        self.connect()
        with mock.patch.object(grpc_unary, 'MAX_REPLY', 3005):
            self.assertEqual(b'x' * 3000, self.call(b'x' * 3000))
            with self.assertRaisesRegex(CallError, 'longer than 3005 bytes'):
                self.call(b'x' * 3001)
        self.assertFalse(self.connection.usable)

    def test_a_request_has_the_headers_of_a_grpc_call(self):
        self.connect()
        self.call(b'')
        self.call(b'')
        self.assertEqual([{
            ':method': 'POST', ':scheme': 'http', ':authority': 'localhost',
            ':path': PATH.decode(), 'te': 'trailers',
            'content-type': 'application/grpc'}] * 2, self.peer.requests)

    def test_no_more_is_sent_than_the_server_has_room_for(self):
        self.connect(settings={SettingCodes.INITIAL_WINDOW_SIZE: 100})
        message = b'x' * 5000
        self.assertEqual(b'', self.call(b''))
        self.assertEqual(message, self.call(message))

    def test_pings_are_answered(self):
        self.connect(pings=2)
        for _ in range(3):
            self.assertEqual(b'x', self.call(b'x'))
        self.assertGreaterEqual(self.peer.acknowledged,
                                [b'00000000', b'00000001'] * 2)

    def test_many_calls_leave_the_connection_as_it_was(self):
        self.connect(pings=1)
        for number in range(500):
            message = b'%d' % number
            self.assertEqual(message, self.call(message))
            self.assertTrue(self.connection.is_alive())


class TestPeersThatBreakTheRules(unittest.TestCase):

    SETTINGS = b'\0\0\0\4\0\0\0\0\0'

    def setUp(self):
        self.connect()

    def connect(self):
        ours, self.peer = socket.socketpair()
        self.connection = UnaryConnection(ours)
        self.addCleanup(self.connection.close)
        self.addCleanup(self.peer.close)

    @staticmethod
    def frame(kind, flags, stream, payload=b''):
        return (len(payload).to_bytes(3, 'big') + bytes([kind, flags])
                + stream.to_bytes(4, 'big') + payload)

    def answer(self, *frames):
        self.peer.sendall(self.SETTINGS + b''.join(frames))
        return self.connection.call(PATH, b'', time.monotonic() + DEADLINE)

    def good(self, stream=1):
        """The frames of an answer to the first call."""
        headers = b'\x20\x88\x00\x0bgrpc-status\x010'
        return (self.frame(1, 4, stream, headers),
                self.frame(0, 1, stream, PREFIX.pack(0, 1) + b'x'))

    def test_the_good_answer_is_one(self):
        self.assertEqual(b'x', self.answer(*self.good()))
        self.assertTrue(self.connection.is_alive())

    def test_headers_and_data_may_come_in_pieces_and_padded(self):
        headers = b'\x20\x88\x00\x0bgrpc-status\x010'
        self.assertEqual(b'x', self.answer(
            self.frame(1, 0x28, 1, b'\2\0\0\0\0\7' + headers[:4] + b'..'),
            self.frame(9, 4, 1, headers[4:]),
            self.frame(0, 8, 1, b'\3' + PREFIX.pack(0, 1) + b'...'),
            self.frame(0, 1, 1, b'x')))

    def test_frames_that_mean_nothing_here_are_passed_over(self):
        self.assertEqual(b'x', self.answer(
            self.frame(0xbe, 0, 7, b'unknown'),
            self.frame(2, 0, 1, b'\0\0\0\0\0'), *self.good()))

    def test_data_after_the_call(self):
        self.assertEqual(b'x', self.answer(*self.good()))
        self.peer.sendall(self.good()[1])
        self.assertFalse(self.connection.is_alive())

    def test_what_breaks_the_rules_ends_the_connection(self):
        frame, (head, data) = self.frame, self.good()
        for what, reason, frames in (
                ('data of another stream', 'data of stream 3',
                 self.good(3)[1:]),
                ('data after the end of the stream', 'which has ended',
                 [head, data, data]),
                ('a frame that is too long', 'a frame of 16385 bytes',
                 [frame(0, 0, 1, b'x' * 16385)]),
                ('headers that do not end', 'headers that do not end',
                 [frame(1, 0, 1, b'\x20\x88'), data]),
                ('headers without end', 'headers of more than 65536',
                 [frame(1, 0, 1)] + 5 * [frame(9, 0, 1, bytes(2 ** 14))]),
                ('headers that go on without a begin',
                 'headers that go on, of stream 1', [frame(9, 4, 1)]),
                ('padding longer than its frame', 'more padding',
                 [head, frame(0, 8, 1, b'\5xxx')]),
                ('settings that are not', 'settings of 5 bytes',
                 [frame(4, 0, 0, b'short')]),
                ('a window that is no number', 'a number of 5 bytes',
                 [frame(8, 0, 0, b'short')]),
                ('headers that do not decode', 'breaks HTTP/2',
                 [frame(1, 4, 1, b'\xff' * 9)]),
                ('headers with state, which it was told not to use',
                 'breaks HTTP/2', [frame(1, 4, 1, b'\x88\x40\x01a\x01b')]),
                ('a ping that is not', 'a ping of 5 bytes',
                 [frame(6, 0, 0, b'short')]),
                ('a push', 'a push',
                 [frame(5, 4, 1, b'\0\0\0\2\x20\x88')])):
            with self.subTest(what):
                self.connect()
                with self.assertRaisesRegex(CallError, reason) as caught:
                    self.answer(*frames)
                self.assertIsNone(caught.exception.status)
                self.assertFalse(self.connection.usable)

    def test_a_status_leaves_the_connection_usable(self):
        headers = b'\x20\x88\x00\x0bgrpc-status\x015'
        with self.assertRaisesRegex(CallError, 'NOT_FOUND: ') as caught:
            self.answer(self.frame(1, 5, 1, headers))
        self.assertIs(Status.NOT_FOUND, caught.exception.status)
        self.assertTrue(self.connection.is_alive())

    def test_silence_ends_at_the_deadline(self):
        started = time.monotonic()
        with self.assertRaises(socket.timeout):
            self.connection.call(PATH, b'', started + 0.1)
        self.assertLess(time.monotonic() - started, DEADLINE)
        self.assertFalse(self.connection.usable)

    def test_a_server_that_reads_nothing_costs_the_deadline_and_no_more(self):
        with self.assertRaises(socket.timeout):
            self.peer.sendall(self.SETTINGS + self.frame(
                8, 0, 0, b'\x7f\0\0\0') + self.frame(
                4, 0, 0, b'\0\4\x7f\xff\xff\xff'))
            self.connection.is_alive()
            self.connection.call(PATH, b'x' * 10 ** 7,
                                 time.monotonic() + 0.1)
