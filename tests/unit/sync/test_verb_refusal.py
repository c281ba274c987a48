# SPDX-License-Identifier: Apache-2.0
"""verb: what is refused, and bad clients of a real server."""

import contextlib
import io
import os
import socket
import threading
from unittest import mock

from swift.common.concurrency import socket as green_socket

from swift_lightsync.sync import fingerprints
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.wire import sync_message
from swift_lightsync.sync.wire.sync_message import Verdict, decode_reply
from tests.unit.sync.fixtures import served
from tests.unit.sync.verbs import EMPTY, ONE, VerbTestCase, message


class TestRefusal(VerbTestCase):

    def test_an_unmounted_device_is_a_507(self):
        self.refused(507, ONE, path='/sdz/roots')
        app = self.controller(mount_check='true')
        self.refused(507, ONE, app=app)

    def test_a_device_that_goes_during_the_work_is_a_507(self):
        many = message(dict.fromkeys(range(100), EMPTY))
        manager = self.app._diskfile_router[self.policy]
        looks = iter([True] * 2)

        def get_dev_path(device, mount_check=None):
            return next(looks, None) and os.path.join(self.devices_dir,
                                                      device)

        with mock.patch.object(manager, 'get_dev_path', get_dev_path):
            self.refused(507, many)

    def test_a_device_that_is_a_path_is_a_400(self):
        for device in ('..', '.'):
            self.refused(400, ONE,
                         path='/%s/roots' % device)
        self.refused(507, ONE, path='/%2e%2ex/roots')

    def test_a_path_of_another_shape_is_refused(self):
        body = ONE
        for path in ('/sda', '/sda/', '/sda/roots/0', '/', '/sda/0'):
            self.refused(400, body, path=path)
        self.refused(400, body, path='/sda/leaves',
                     reason='LIGHTSYNC of .*leaves.* must be .*roots')

    def test_an_unknown_policy_is_a_503(self):
        for index in ('7', 'x', '-1'):
            self.refused(503, ONE,
                         reason='No policy with index',
                         X_Backend_Storage_Policy_Index=index)

    def test_no_length_is_a_411(self):
        self.refused(411, io.BytesIO(ONE))
        self.refused(411, io.BytesIO(b''), Transfer_Encoding='chunked')

    def test_too_long_is_a_413_and_not_read(self):
        body = mock.Mock(spec=['read', 'close'])
        self.refused(413, body, '%d bytes, at most %d'
                     % (sync_message.MAX_BYTES + 1, sync_message.MAX_BYTES),
                     Content_Length=str(sync_message.MAX_BYTES + 1))
        self.assertFalse(body.read.called)

    def test_a_bad_length_is_a_400_and_not_read(self):
        for length in ('x', '1.5', '-5', '0x10', '1 2'):
            body = mock.Mock(spec=['read', 'close'])
            self.refused(400, body, Content_Length=length)
            self.assertFalse(body.read.called)

    def test_another_transfer_encoding_is_a_400(self):
        self.refused(400, io.BytesIO(b''), Transfer_Encoding='gzip')

    def test_a_short_body_is_a_400(self):
        body = ONE
        self.refused(400, io.BytesIO(body[:-1]),
                     Content_Length=str(len(body)))
        self.refused(400, b'', '0 bytes, must be')

    def test_garbage_is_a_400_that_says_why(self):
        self.refused(400, b'x' * 100, 'magic')
        self.refused(400, sync_message.encode_reply(
            Verdict.COMPARED, range(9)), 'kind')
        flipped = bytearray(ONE)
        flipped[-20] ^= 1
        self.refused(400, bytes(flipped), 'CRC-32')

    def test_what_is_refused_creates_nothing(self):
        self.refused(400, b'x' * 100)
        self.assertEqual([], os.listdir(
            os.path.join(self.devices_dir, 'sda')))


class TestOnTheWire(VerbTestCase):

    def setUp(self):
        super().setUp()
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.port = stack.enter_context(served(self.controller(
            client_timeout='0.2')))

    def connect(self):
        sock = green_socket.create_connection(('127.0.0.1', self.port))
        self.addCleanup(sock.close)
        return sock

    def send(self, sock, body, length):
        sock.sendall(b'LIGHTSYNC /sda/roots HTTP/1.1\r\nHost: x\r\n'
                     b'X-Backend-Storage-Policy-Index: 0\r\n'
                     b'Content-Length: %d\r\n\r\n' % length + body)

    def status(self, sock):
        line = sock.makefile('rb').readline()
        return int(line.split()[1])

    def test_a_body_that_stops_arriving_is_a_408(self):
        sock = self.connect()
        self.send(sock, ONE[:9], len(ONE))
        self.assertEqual(408, self.status(sock))

    def test_a_negative_length_does_not_wait_for_the_end(self):
        sock = self.connect()
        self.send(sock, b'', -5)
        self.assertEqual(400, self.status(sock))

    def test_a_client_that_leaves_half_way_leaves_no_trace(self):
        sock = self.connect()
        self.send(sock, ONE[:9], len(ONE))
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual(400, self.status(sock))
        self.assertEqual([], self.logger.at('ERROR'))

    def test_one_connection_carries_many_messages(self):
        sock = self.connect()
        answers = sock.makefile('rb')
        for _ in range(3):
            self.send(sock, message({0: EMPTY}), len(ONE))
            self.assertIn(b'200', answers.readline())
            while answers.readline() not in (b'\r\n', b''):
                pass
            self.assertEqual((Verdict.COMPARED, []), decode_reply(
                answers.read(16), 1))

    def test_others_are_answered_while_a_set_is_hashed(self):
        answered = threading.Event()
        genuine = Fingerprints.get_many

        def get_many(prints, device, partitions, deadline):
            if device == 'sda':
                # It blocks a thread, not the server.
                waited.append(answered.wait(5))
            return genuine(prints, device, partitions, deadline)

        waited = []
        roots = dict.fromkeys(range(3 * fingerprints.PORTION), EMPTY)
        first, second = self.connect(), self.connect()
        with mock.patch.object(Fingerprints, 'get_many', get_many):
            body = message(roots)
            self.send(first, body, len(body))
            second.sendall(b'LIGHTSYNC /sdb/roots HTTP/1.1\r\nHost: x\r\n'
                           b'Content-Length: %d\r\n\r\n' % len(ONE) + ONE)
            self.assertEqual(200, self.status(second))
            self.assertEqual([], waited)
            answered.set()
            self.assertEqual(200, self.status(first))
        self.assertEqual([True] * 3, waited)

    def test_chunked_is_a_411(self):
        sock = self.connect()
        sock.sendall(b'LIGHTSYNC /sda/roots HTTP/1.1\r\nHost: x\r\n'
                     b'X-Backend-Storage-Policy-Index: 0\r\n'
                     b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
        self.assertEqual(411, self.status(sock))
