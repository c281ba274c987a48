# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""verb: LIGHTSYNC, asked of the real object-server."""

import contextlib
import io
import os
import shutil
import socket
import time
import unittest
from unittest import mock

from swift.common import storage_policy
from swift.common.concurrency import sleep, socket as green_socket, spawn
from swift.common.storage_policy import StoragePolicy, \
    StoragePolicyCollection
from swift.common.swob import Request
from swift.common.utils import lock_path
from swift.obj.diskfile import invalidate_hash

from swift_lightsync.object_server import ObjectController
from swift_lightsync.sync import fingerprint, merkle, sync_message
from swift_lightsync.sync.fingerprint import Fingerprints
from swift_lightsync.sync.sync_message import decode_differing, encode_roots
from tests.unit.sync.fixtures import SwiftTestCase, served, wait_for

EMPTY = merkle.root({})
OTHER = 'ab' * 16


class VerbTestCase(SwiftTestCase):

    devices = ('sda', 'sdb')

    def setUp(self):
        super().setUp()
        self.app = self.controller()
        self.disk = self.manager()

    def controller(self, **conf):
        return ObjectController(dict(self.conf, **conf), logger=self.logger)

    def root_of(self, partition, device='sda'):
        return merkle.root(self.disk._get_hashes(
            device, partition, self.policy)[1])

    def request(self, body, path='/sda/roots', app=None, **headers):
        headers = {name.replace('_', '-'): value
                   for name, value in headers.items() if value is not None}
        headers.setdefault('X-Backend-Storage-Policy-Index', '0')
        environ = {'REQUEST_METHOD': 'LIGHTSYNC'}
        if hasattr(body, 'read'):
            environ['wsgi.input'] = body
        request = Request.blank(path, environ, headers=headers)
        if not hasattr(body, 'read'):
            request.body = body
            if 'Content-Length' in headers:
                request.headers['Content-Length'] = headers['Content-Length']
        return request.get_response(app or self.app)

    def differing(self, roots, **kwargs):
        response = self.request(encode_roots(roots), **kwargs)
        self.assertEqual(200, response.status_int, response.body)
        self.assertEqual('application/octet-stream', response.content_type)
        return decode_differing(response.body, roots)

    def refused(self, status, body, reason='^', **kwargs):
        response = self.request(body, **kwargs)
        self.assertEqual(status, response.status_int, response.body)
        self.assertRegex(response.body.decode(), reason)
        self.assertEqual([], self.logger.at('ERROR'))


class TestAnswer(VerbTestCase):

    def test_an_equal_root_is_not_named(self):
        self.put(self.disk, 'sda', 'o')
        self.assertEqual(set(), self.differing({0: self.root_of(0)}))

    def test_another_root_is_named(self):
        self.put(self.disk, 'sda', 'o')
        self.assertEqual({0}, self.differing({0: OTHER}))
        self.assertEqual({0}, self.differing({0: EMPTY}))

    def test_a_write_is_seen_at_once(self):
        self.put(self.disk, 'sda', 'o')
        root = self.root_of(0)
        self.assertEqual(set(), self.differing({0: root}))
        self.put(self.disk, 'sda', 'o', stamp=2)
        self.assertEqual({0}, self.differing({0: root}))
        self.assertEqual(set(), self.differing({0: self.root_of(0)}))

    def test_devices_are_told_apart(self):
        self.put(self.disk, 'sdb', 'o')
        root = self.root_of(0, 'sdb')
        self.assertEqual({0}, self.differing({0: root}))
        self.assertEqual(set(), self.differing({0: root},
                                               path='/sdb/roots'))

    def test_a_missing_partition_is_empty_and_stays_missing(self):
        self.assertEqual({8}, self.differing({7: EMPTY, 8: OTHER}))
        self.assertEqual([], os.listdir(
            os.path.join(self.devices_dir, 'sda')))

    def test_a_message_of_none_is_answered_with_none(self):
        self.assertEqual(set(), self.differing({}))

    def test_a_message_of_many_partitions(self):
        suffix = {}
        for partition in range(0, 200, 7):
            suffix[partition] = self.put(self.disk, 'sda', 'o',
                                         partition=partition)
        roots = {partition: self.root_of(partition) if partition % 2
                 else OTHER for partition in range(200)}
        roots.update({partition: EMPTY for partition in range(1, 200, 2)
                      if partition not in suffix})
        self.assertEqual(set(range(0, 200, 2)), self.differing(roots))

    def test_as_many_partitions_as_allowed(self):
        roots = dict.fromkeys(range(sync_message.MAX_PARTITIONS), EMPTY)
        roots[65535] = OTHER
        self.assertEqual({65535}, self.differing(roots))

    def test_the_hub_runs_while_it_works(self):
        self.put(self.disk, 'sda', 'o')
        ticks = []

        def slow(fingerprints, device, partition):
            deadline = time.monotonic() + 5
            while not ticks and time.monotonic() < deadline:
                time.sleep(0.001)
            return genuine(fingerprints, device, partition)

        genuine = Fingerprints.get
        with mock.patch.object(Fingerprints, 'get', slow):
            spawn(lambda: ticks.append(1))
            self.assertEqual({0}, self.differing({0: OTHER}))
        self.assertEqual([1], ticks)

    def test_policies_are_told_apart(self):
        policies = StoragePolicyCollection([
            self.policy, StoragePolicy(1, 'one')])
        with mock.patch.object(storage_policy, '_POLICIES', policies):
            app = self.controller()
            self.put(self.disk, 'sda', 'o')
            root = self.root_of(0)
            self.assertEqual(set(), self.differing({0: root}, app=app))
            self.assertEqual({0}, self.differing(
                {0: root}, app=app, X_Backend_Storage_Policy_Index='1'))

    def test_an_error_in_one_partition_is_a_500_and_no_answer(self):
        self.put(self.disk, 'sda', 'o')
        with mock.patch('swift_lightsync.sync.fingerprint.is_current',
                        side_effect=OSError(5, 'EIO')):
            self.differing({0: OTHER})
            response = self.request(encode_roots({0: OTHER}))
        self.assertEqual(500, response.status_int)

    def test_a_damaged_fingerprint_is_logged_and_answered(self):
        self.put(self.disk, 'sda', 'o')
        with open(os.path.join(self.part_path(), 'changed.pkl'), 'w'):
            pass
        self.assertEqual(set(), self.differing({0: self.root_of(0)}))
        self.assertEqual(1, len(self.logger.at('WARNING')))

    def test_invalidation_alone_does_not_make_a_difference(self):
        suffix = self.put(self.disk, 'sda', 'o')
        root = self.root_of(0)
        invalidate_hash(os.path.join(self.part_path(), suffix))
        self.assertEqual(set(), self.differing({0: root}))


class TestRefusal(VerbTestCase):

    def test_an_unmounted_device_is_a_507(self):
        self.refused(507, encode_roots({0: OTHER}), path='/sdz/roots')
        app = self.controller(mount_check='true')
        self.refused(507, encode_roots({0: OTHER}), app=app)

    def test_a_device_that_goes_during_the_work_is_a_507(self):
        message = encode_roots(dict.fromkeys(range(100), EMPTY))
        manager = self.app._diskfile_router[self.policy]
        looks = iter([True] * 70)

        def get_dev_path(device, mount_check=None):
            return next(looks, None) and os.path.join(self.devices_dir,
                                                      device)

        with mock.patch.object(manager, 'get_dev_path', get_dev_path):
            self.refused(507, message)

    def test_a_device_that_is_a_path_is_a_400(self):
        for device in ('..', '.'):
            self.refused(400, encode_roots({0: OTHER}),
                         path='/%s/roots' % device)
        self.refused(507, encode_roots({0: OTHER}), path='/%2e%2ex/roots')

    def test_a_path_of_another_shape_is_refused(self):
        message = encode_roots({0: OTHER})
        for path in ('/sda', '/sda/', '/sda/roots/0', '/', '/sda/0'):
            self.refused(400, message, path=path)
        self.refused(400, message, path='/sda/leaves',
                     reason='LIGHTSYNC of .*leaves.* must be .*roots')

    def test_an_unknown_policy_is_a_503(self):
        for index in ('7', 'x', '-1'):
            self.refused(503, encode_roots({0: OTHER}),
                         reason='No policy with index',
                         X_Backend_Storage_Policy_Index=index)

    def test_no_length_is_a_411(self):
        self.refused(411, io.BytesIO(encode_roots({0: OTHER})))
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
        message = encode_roots({0: OTHER})
        self.refused(400, io.BytesIO(message[:-1]),
                     Content_Length=str(len(message)))
        self.refused(400, b'', 'at least')

    def test_garbage_is_a_400_that_says_why(self):
        self.refused(400, b'x' * 100, 'magic')
        self.refused(400, sync_message.encode_differing([1]), 'kind')
        flipped = bytearray(encode_roots({0: OTHER}))
        flipped[20] ^= 1
        self.refused(400, bytes(flipped), 'CRC32')

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
        self.send(sock, encode_roots({0: OTHER})[:9], 36)
        self.assertEqual(408, self.status(sock))

    def test_a_negative_length_does_not_wait_for_the_end(self):
        sock = self.connect()
        self.send(sock, b'', -5)
        self.assertEqual(400, self.status(sock))

    def test_a_client_that_leaves_half_way_leaves_no_trace(self):
        sock = self.connect()
        self.send(sock, encode_roots({0: OTHER})[:9], 36)
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual(400, self.status(sock))
        self.assertEqual([], self.logger.at('ERROR'))

    def test_one_connection_carries_many_messages(self):
        sock = self.connect()
        answers = sock.makefile('rb')
        for _ in range(3):
            self.send(sock, encode_roots({0: EMPTY}), 36)
            self.assertIn(b'200', answers.readline())
            while answers.readline() not in (b'\r\n', b''):
                pass
            self.assertEqual(set(), decode_differing(answers.read(16), [0]))

    def test_chunked_is_a_411(self):
        sock = self.connect()
        sock.sendall(b'LIGHTSYNC /sda/roots HTTP/1.1\r\nHost: x\r\n'
                     b'X-Backend-Storage-Policy-Index: 0\r\n'
                     b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n')
        self.assertEqual(411, self.status(sock))


class TestPartitionThatGoes(VerbTestCase):

    def test_a_partition_that_is_removed_meanwhile_is_empty(self):
        self.put(self.disk, 'sda', 'o')
        self.differing({0: OTHER})
        genuine = fingerprint.load

        def removed(path):
            shutil.rmtree(path)
            return genuine(path)

        with mock.patch.object(fingerprint, 'load', removed):
            self.assertEqual(set(), self.differing({0: EMPTY}))

    def test_the_server_answers_others_while_a_partition_is_locked(self):
        self.put(self.disk, 'sda', 'o')
        self.put(self.disk, 'sda', 'o', partition=1)
        answers = []
        with lock_path(self.part_path()):
            waiting = spawn(lambda: answers.append(
                self.differing({0: OTHER})))
            sleep()
            self.assertEqual({1}, self.differing({1: OTHER}))
            self.assertEqual([], answers)
        wait_for(lambda: answers, 'an answer once the lock was free')
        self.assertEqual([{0}], answers)
        waiting.wait()


if __name__ == '__main__':
    unittest.main()
