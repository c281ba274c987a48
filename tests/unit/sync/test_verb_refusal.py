# SPDX-License-Identifier: Apache-2.0
"""verb: what is refused, and bad clients of a real server."""

import io
import os
import socket
from unittest import mock

from swift.common.concurrency import socket as green_socket

from swift_lightsync.sync.wire import sync_message
from swift_lightsync.sync.wire.exchange_message import encode_suffixes
from swift_lightsync.sync.wire.sync_message import Verdict
from tests.unit.sync.fixtures import served
from tests.unit.sync.verbs import ONE, SUFFIXES, VerbTestCase


class TestRefusal(VerbTestCase):

    def test_an_unmounted_device_is_a_507(self):
        self.refused(507, SUFFIXES, path='/sdz/suffixes')
        app = self.controller(mount_check='true')
        self.refused(507, SUFFIXES, path='/sda/suffixes', app=app)

    def test_a_device_that_goes_during_the_work_is_a_507(self):
        many = encode_suffixes(range(100))
        manager = self.app._diskfile_router[self.policy]
        looks = iter([True] * 2)

        def get_dev_path(device, mount_check=None):
            return next(looks, None) and os.path.join(self.devices_dir,
                                                      device)

        with mock.patch.object(manager, 'get_dev_path', get_dev_path):
            self.refused(507, many, path='/sda/suffixes')

    def test_a_device_that_is_a_path_is_a_400(self):
        for device, status in (('..', 400), ('.', 400), ('%2e%2ex', 507)):
            self.refused(status, SUFFIXES, path='/%s/suffixes' % device)

    def test_a_path_of_another_shape_is_refused(self):
        for path in ('/sda', '/sda/', '/sda/roots/0', '/', '/sda/0'):
            self.refused(400, ONE, path=path)
        self.refused(400, ONE, 'LIGHTSYNC of .*leaves.* must be .*roots',
                     path='/sda/leaves')

    def test_an_unknown_policy_is_a_503(self):
        for index in ('7', 'x', '-1'):
            self.refused(503, SUFFIXES, 'No policy with index',
                         path='/sda/suffixes',
                         X_Backend_Storage_Policy_Index=index)

    def test_no_length_is_a_411_and_another_transfer_encoding_a_400(self):
        self.refused(411, io.BytesIO(ONE))
        for encoding, status in (('chunked', 411), ('gzip', 400)):
            self.refused(status, io.BytesIO(b''), Transfer_Encoding=encoding)

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

    def test_a_short_body_is_a_400(self):
        self.refused(400, io.BytesIO(ONE[:-1]), Content_Length=str(len(ONE)))
        self.refused(400, b'', '0 bytes, must be')

    def test_garbage_is_a_400_that_says_why(self):
        self.refused(400, b'x' * 100, 'magic')
        self.refused(400, sync_message.encode_reply(
            Verdict.COMPARED, range(9)), 'kind')
        flipped = bytearray(ONE)
        flipped[-20] ^= 1
        self.refused(400, bytes(flipped), 'CRC-32')
        self.assertEqual([], os.listdir(
            os.path.join(self.devices_dir, 'sda')))


class TestOnTheWire(VerbTestCase):

    def send_half(self, client_timeout):
        port = self.enterContext(served(self.controller(
            client_timeout=client_timeout)))
        sock = self.enterContext(green_socket.create_connection(
            ('127.0.0.1', port)))
        sock.sendall(b'LIGHTSYNC /sda/roots HTTP/1.1\r\nHost: x\r\n'
                     b'X-Backend-Storage-Policy-Index: 0\r\n'
                     b'Content-Length: %d\r\n\r\n' % len(ONE) + ONE[:9])
        return sock

    def status(self, sock):
        line = sock.makefile('rb').readline()
        return int(line.split()[1])

    def test_a_body_that_stops_arriving_is_a_408(self):
        sock = self.send_half('0.2')
        self.assertEqual(408, self.status(sock))

    def test_a_client_that_leaves_half_way_leaves_no_trace(self):
        sock = self.send_half('60')
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual(400, self.status(sock))
        self.assertEqual([], self.logger.at('ERROR'))
