# SPDX-License-Identifier: Apache-2.0
"""UnaryServer against a client that is built on h2, which is strict."""

import errno
import os
import socket
import threading
import unittest
from unittest import mock

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from swift_losf.index import grpc_server, http2
from swift_losf.index.grpc_server import Refusal, UnaryServer
from swift_losf.index.grpc_unary import Status
from swift_losf.index.http2 import PREFIX
from tests.unit.losf.kv_world import listening
from tests.waiting import wait_for

DEADLINE = 120
PATH = '/package.Service/Echo'


class Service:
    """Gives each message back, but b'no'."""
    paths = {PATH.encode()}

    def __init__(self):
        self.under_way = 0
        self.answered = []

    def begin(self):
        self.under_way += 1

    def end(self):
        self.under_way -= 1

    def answer(self, path, message):
        if path not in self.paths:
            raise Refusal(Status.UNIMPLEMENTED, 'method not found')
        if message == b'no':
            raise Refusal(Status.NOT_FOUND, '100 % … nothing')
        self.answered.append(message)
        return message


class Client:
    """A client of any number of streams.

    :param sock: connected
    :param settings: of its end
    """

    def __init__(self, sock, settings=None):
        self.sock = sock
        self.http = H2Connection(H2Configuration(header_encoding='utf8'))
        if settings:
            self.http.local_settings = Settings(initial_values=settings)
        self.http.initiate_connection()
        self.bodies, self.headers, self.resets = {}, {}, {}
        self.ended = []

    def begin(self, path=PATH, **headers):
        """Begin a call; return its stream."""
        stream = self.http.get_next_available_stream_id()
        self.http.send_headers(stream, [
            (':method', 'POST'), (':scheme', 'http'), (':path', path),
            (':authority', 'x'), *headers.items()])
        return stream

    def send(self, stream, message):
        """Send a whole message, as far as there is room for it."""
        body = PREFIX.pack(0, len(message)) + message
        while body:
            room = min(self.http.local_flow_control_window(stream), 16384)
            if room:
                self.http.send_data(stream, body[:room])
                body = body[room:]
            else:
                self.receive()
        self.http.end_stream(stream)

    def receive(self):
        self.sock.sendall(self.http.data_to_send())
        data = self.sock.recv(1000)
        if not data:
            raise EOFError()
        for event in self.http.receive_data(data):
            self._take(event)
        self.sock.sendall(self.http.data_to_send())

    def _take(self, event):
        stream = getattr(event, 'stream_id', None)
        if isinstance(event, (events.ResponseReceived,
                              events.TrailersReceived)):
            self.headers.setdefault(stream, {}).update(event.headers)
        elif isinstance(event, events.DataReceived):
            self.bodies[stream] = self.bodies.get(stream, b'') + event.data
            self.http.acknowledge_received_data(
                event.flow_controlled_length, stream)
        elif isinstance(event, events.StreamEnded):
            self.ended.append(stream)
        elif isinstance(event, events.StreamReset):
            self.resets[stream] = event.error_code

    def reply(self, stream):
        """Return (status, message or None) when there is an answer."""
        while stream not in self.ended:
            self.receive()
        body = self.bodies.get(stream)
        return self.headers[stream]['grpc-status'], body and body[5:]

    def call(self, message, **headers):
        stream = self.begin(**headers)
        self.send(stream, message)
        return self.reply(stream)


class TestUnaryServer(unittest.TestCase):

    def setUp(self):
        # A name that is in no filesystem.
        self.address = b'\0losf-test-%d-%d' % (os.getpid(), id(self))
        self.service = Service()
        self.server = UnaryServer(listening(self.address), self.service)
        self.server.start()
        self.addCleanup(self.server.close, DEADLINE)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(DEADLINE)
        sock.connect(self.address)
        self.addCleanup(sock.close)
        return sock

    def client(self, **settings):
        return Client(self.connect(), **settings)

    def assert_closed(self, sock):
        while True:
            try:
                if not sock.recv(65536):
                    return
            except ConnectionResetError:
                return

    def test_messages_of_all_sizes_come_back(self):
        for settings in (None, {SettingCodes.INITIAL_WINDOW_SIZE: 100},
                         {SettingCodes.HEADER_TABLE_SIZE: 0}):
            client = self.client(settings=settings)
            for size in (0, 1, 16379, 16380, 65531, 2 ** 20):
                message = (bytes(range(251)) * (1 + size // 251))[:size]
                self.assertEqual(('0', message), client.call(message))
        self.assertEqual(0, self.service.under_way)

    def test_what_is_too_long_or_not_understood_is_refused(self):
        client = self.client()
        self.assertEqual('8', client.call(bytes(2 ** 20 + 1))[0])
        stream = client.begin()
        client.http.send_data(stream, b'\1\0\0\0\0', end_stream=True)
        self.assertEqual('13', client.reply(stream)[0])
        stream = client.begin('/nothing')
        client.send(stream, b'')
        self.assertEqual('12', client.reply(stream)[0])
        self.assertEqual(('0', b'x'), client.call(b'x'))

    def test_a_refusal_has_a_text(self):
        client = self.client()
        self.assertEqual(('5', None), client.call(b'no'))
        self.assertEqual('100 %25 %E2%80%A6 nothing',
                         client.headers[1]['grpc-message'])

    def test_calls_of_one_connection_are_answered_in_their_order(self):
        client = self.client()
        streams = [client.begin() for _ in range(50)]
        for stream in reversed(streams):
            client.send(stream, b'%d' % stream)
        for stream in streams:
            self.assertEqual(('0', b'%d' % stream), client.reply(stream))
        self.assertEqual(list(reversed(streams)), client.ended)

    def test_more_calls_than_allowed_are_reset(self):
        client = self.client()
        client.http.remote_settings.max_concurrent_streams = 200
        streams = [client.begin() for _ in range(101)]
        while not client.resets:
            client.receive()
        self.assertEqual({streams[-1]: 7}, client.resets)
        client.send(streams[0], b'x')
        self.assertEqual(('0', b'x'), client.reply(streams[0]))

    def test_what_was_reset_is_not_answered(self):
        client = self.client()
        stream = client.begin()
        client.http.send_data(stream, PREFIX.pack(0, 1))
        client.http.reset_stream(stream)
        self.assertEqual(('0', b'x'), client.call(b'x'))
        self.assertEqual([b'x'], self.service.answered)

    def test_headers_with_state_and_of_several_frames(self):
        client = self.client()
        for _ in range(3):
            self.assertEqual(('0', b'x'), client.call(b'x', x=20000 * 'y'))

    def test_a_client_may_send_without_end(self):
        with mock.patch.object(http2, 'WINDOW', 2000):
            client = self.client()
            for _ in range(10):
                client.call(bytes(999))
        self.assertGreater(client.http.outbound_flow_control_window,
                           2 ** 31 - 4000)

    def test_what_breaks_the_rules_is_closed_and_others_are_served(self):
        client = self.client()
        for what in (b'GET / HTTP/1.1\r\n\r\n', http2.PREFACE + http2.frame(
                http2.DATA, 0, 1),
                     http2.PREFACE + http2.frame(http2.HEADERS, 4, 2),
                     http2.PREFACE + http2.frame(http2.HEADERS, 4, 1, b'\xff'),
                     http2.PREFACE + b'\xff' * 9):
            with self.subTest(what):
                sock = self.connect()
                sock.sendall(what)
                self.assert_closed(sock)
        broken = self.client()
        stream = broken.begin()
        broken.send(stream, b'x')
        broken.sock.sendall(broken.http.data_to_send() + http2.frame(
            http2.GOAWAY, 0, 0, bytes(8)))
        self.assert_closed(broken.sock)
        self.assertEqual(('0', b'x'), client.call(b'x'))

    def test_one_byte_at_a_time_is_understood(self):
        client = self.client()
        stream = client.begin()
        client.send(stream, b'x')
        for byte in client.http.data_to_send():
            client.sock.sendall(bytes([byte]))
        self.assertEqual(('0', b'x'), client.reply(stream))

    def test_more_connections_than_allowed_are_told_to_go(self):
        client = self.client()
        client.call(b'x')
        with mock.patch.object(grpc_server, 'MAX_CONNECTIONS', 1):
            self.assert_closed(self.connect())
        self.assertEqual(('0', b'x'), client.call(b'x'))

    def test_who_cannot_be_accepted_waits(self):
        failures = [OSError(errno.EMFILE, 'Too many open files'),
                    RuntimeError("can't start new thread")]
        real = threading.Thread.start

        def start(thread):
            if failures:
                raise failures.pop()
            real(thread)
        with mock.patch.object(threading.Thread, 'start', start), \
                self.assertLogs(grpc_server.logger, 'WARNING'):
            for _ in range(2):
                self.assert_closed(self.connect())
            self.assertEqual(('0', b'x'), self.client().call(b'x'))

    def test_at_the_end_connections_are_closed_and_no_thread_is_left(self):
        clients = [self.client() for _ in range(3)]
        for each in clients:
            each.call(b'x')
        self.server.close(DEADLINE)
        for each in clients:
            self.assert_closed(each.sock)
        wait_for(lambda: not [
            each for each in threading.enumerate()
            if each.name in ('calls', 'accept')], 'threads end', DEADLINE)
