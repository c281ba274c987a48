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
import fcntl
import io
import os
import shutil
import socket
import struct
import threading
import time
import unittest
from unittest import mock
from zlib import crc32

from swift.common import storage_policy
from swift.common.concurrency import sleep, socket as green_socket, spawn
from swift.common.exceptions import LockTimeout
from swift.common.storage_policy import StoragePolicy, \
    StoragePolicyCollection
from swift.common.swob import Request
from swift.common.utils import lock_path
from swift.obj.diskfile import invalidate_hash

from swift_lightsync.object_server import ObjectController
from swift_lightsync.sync import activity, fingerprint, fingerprints, \
    merkle, sync_message, verb
from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.comparison import compare, slice_roots
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.names import IDLE_HEADER
from swift_lightsync.sync.notice import Notice
from swift_lightsync.sync.options import OptionError
from swift_lightsync.sync.partition_set import PartitionSet
from swift_lightsync.sync.sync_message import Verdict, decode_reply, \
    encode_roots
from tests.unit.sync import documented
from tests.unit.sync.fixtures import SwiftTestCase, served, wait_for

EMPTY = merkle.root({})
OTHER = 'ab' * 16


def message(roots, slices=None, with_list=True):
    """
    :param roots: a dict, partition to root
    :param slices: how many; default: one for each partition
    """
    partitions = PartitionSet(roots)
    return encode_roots(
        partitions, slice_roots(partitions, slices or len(roots), roots),
        with_list)


ONE = message({0: OTHER})


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

    def reply(self, body, slices, **kwargs):
        response = self.request(body, **kwargs)
        self.assertEqual(200, response.status_int, response.body)
        self.assertEqual('application/octet-stream', response.content_type)
        return decode_reply(response.body, slices)

    def differing(self, roots, **kwargs):
        """The partitions that differ, asked of in one message."""
        verdict, found = self.reply(message(roots), len(roots), **kwargs)
        self.assertIs(Verdict.COMPARED, verdict)
        return {PartitionSet(roots)[index] for index in found}

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
        roots[65536] = OTHER
        with mock.patch.object(verb, 'PATIENCE', 60):
            self.assertEqual((Verdict.COMPARED, [1]), self.reply(
                message(roots, slices=4), 4))

    def test_the_hub_runs_while_it_works(self):
        self.put(self.disk, 'sda', 'o')
        ticks = []

        def slow(prints, device, partitions, deadline):
            deadline = time.monotonic() + 5
            while not ticks and time.monotonic() < deadline:
                time.sleep(0.001)
            return genuine(prints, device, partitions, deadline)

        genuine = Fingerprints.get_many
        with mock.patch.object(Fingerprints, 'get_many', slow):
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

    def test_a_partition_that_cannot_be_read_counts_as_differing(self):
        roots = {}
        for partition in range(3):
            self.put(self.disk, 'sda', 'o', partition=partition)
            roots[partition] = self.root_of(partition)
        genuine = fingerprint.load
        for error in (OSError(5, 'EIO'), LockTimeout(None, 'lock')):
            def load(path):
                if path == self.part_path(partition=1):
                    raise error
                return genuine(path)

            with mock.patch.object(fingerprint, 'load', load):
                self.assertEqual({1}, self.differing(
                    roots, app=self.controller()))
            self.assertIn('partition 1 on sda',
                          self.logger.at('ERROR')[-1])
        self.assertEqual(set(), self.differing(roots))

    def test_partition_after_partition_is_found_as_a_sender_does(self):
        ours = {}
        for partition in range(0, 400, 5):
            self.put(self.disk, 'sda', 'o', partition=partition)
            ours[partition] = self.root_of(partition)
        ours.update({5: OTHER, 200: OTHER, 3: OTHER})
        comparing, answer, asked = compare(ours), None, 0
        with self.assertRaises(StopIteration) as end:
            while True:
                ask = comparing.send(answer)
                answer = self.reply(encode_roots(ask.partitions, ask.roots),
                                    len(ask.roots))[1]
                asked += 1
        self.assertEqual(({5, 200, 3}, 3), (end.exception.value, asked))

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


class TestSets(VerbTestCase):

    roots = dict.fromkeys(range(0, 300, 3), EMPTY)

    def ask(self, with_list, app=None, roots=None):
        return self.reply(message(roots or self.roots, 1, with_list), 1,
                          app=app)

    def test_a_set_is_named_once_its_list_was_sent(self):
        self.assertEqual((Verdict.UNKNOWN_SET, []), self.ask(False))
        self.assertEqual((Verdict.COMPARED, []), self.ask(True))
        for _ in range(3):
            self.assertEqual((Verdict.COMPARED, []), self.ask(False))
        self.assertEqual((Verdict.COMPARED, [0]), self.ask(
            False, roots={**self.roots, 3: OTHER}))

    def test_another_process_has_to_be_told_itself(self):
        self.ask(True)
        self.assertIs(Verdict.UNKNOWN_SET,
                      self.ask(False, self.controller())[0])

    def test_devices_and_policies_share_the_sets(self):
        policies = StoragePolicyCollection([
            self.policy, StoragePolicy(1, 'one')])
        with mock.patch.object(storage_policy, '_POLICIES', policies):
            app = self.controller()
            self.ask(True, app)
            for device in ('sda', 'sdb'):
                for policy in ('0', '1'):
                    self.assertIs(Verdict.COMPARED, self.reply(
                        message(self.roots, 1, False), 1, app=app,
                        path='/%s/roots' % device,
                        X_Backend_Storage_Policy_Index=policy)[0])

    def test_an_unknown_set_costs_no_look_at_the_disk(self):
        with mock.patch.object(Fingerprints, 'get_many') as get_many:
            self.ask(False)
        self.assertFalse(get_many.called)

    def test_a_name_with_another_count_is_a_400(self):
        self.ask(True)
        data = bytearray(message(self.roots, 1, False)[:-4])
        data[8] += 1
        self.refused(400, bytes(data) + struct.pack('<I', crc32(data)),
                     'for 101 partitions')


class TestPatience(VerbTestCase):

    def test_what_was_not_looked_at_differs_and_later_messages_go_on(self):
        count = 5 * fingerprints.PORTION
        roots = dict.fromkeys(range(count), EMPTY)
        genuine, seen = Fingerprints._get, set()

        def get(prints, dev_path, device, partition):
            seen.add(partition)
            return genuine(prints, dev_path, device, partition)

        def clock():
            # What is seen for the first time takes a tenth of a second.
            return len(seen) / 10

        with mock.patch.object(Fingerprints, '_get', get), \
                mock.patch.object(fingerprints.time, 'monotonic', clock):
            self.assertEqual([220, 120, 20, 0, 0], [
                len(self.differing(roots)) for _ in range(5)])

    def test_it_is_the_documented_one(self):
        self.assertEqual(verb.PATIENCE, int(documented.found(
            r'did not find within (\d+) seconds')))


class TestIdle(VerbTestCase):

    def idle(self, device, **kwargs):
        response = self.request(ONE, path='/%s/roots' % device, **kwargs)
        self.assertEqual(200, response.status_int)
        return int(response.headers[IDLE_HEADER])

    def test_it_is_since_the_rounds_of_each_device_were_played(self):
        played = Activity(self.conf, self.logger)
        for device, age in (('sda', 1000), ('sdb', 5000)):
            played.note(device)
            then = time.time() - age
            os.utime(played._path(device), (then, then))
        self.assertIn(self.idle('sda'), range(1000, 1060))
        self.assertIn(self.idle('sdb'), range(5000, 5060))
        played.note('sdb')
        self.assertIn(self.idle('sda'), range(1000, 1060))
        self.assertIn(self.idle('sdb'), range(60))

    def test_if_they_never_were_it_is_since_the_server_began(self):
        app = self.controller()
        self.assertIn(self.idle('sda', app=app), range(60))
        with mock.patch.object(activity.time, 'time',
                               return_value=time.time() + 7000):
            self.assertIn(self.idle('sda', app=app), range(7000, 7060))

    def test_its_header_is_the_documented_one(self):
        self.assertEqual(IDLE_HEADER, documented.found(
            r'^    (X-Backend-\S+): <seconds, 1 to 10 digits>$'))


class TestNotice(VerbTestCase):

    reporter, failed = ('10.0.0.1', 6200), ('10.0.0.2', 6200, 'sda')

    def failures(self):
        """The failure table as the node's replicator sees it."""
        return FailureStore(self.conf, self.logger)

    def notify(self, data, **kwargs):
        return self.request(data, path='/sda/notice', **kwargs)

    def test_it_is_noted_for_all_processes_and_stops_nothing(self):
        response = self.notify(Notice(self.reporter, self.failed).encode())
        self.assertEqual((204, b''), (response.status_int, response.body))
        found = self.failures()
        self.assertTrue(found.is_reported(self.reporter, self.failed))
        self.assertFalse(found.has_failed(self.failed))
        self.assertTrue(found.record(self.failed, 2))

    def test_it_needs_no_policy(self):
        response = self.notify(Notice(self.reporter, self.failed).encode(),
                               X_Backend_Storage_Policy_Index='7')
        self.assertEqual(204, response.status_int)

    def test_what_is_none_is_refused_and_not_noted(self):
        for body, reason in ((b'', 'notice'), (b'x', 'notice'),
                             (b'{"version": 1}', 'reporter')):
            self.refused(400, body, reason, path='/sda/notice')
        self.refused(413, b' ' * 1025, '1025 bytes, at most 1024',
                     path='/sda/notice')
        self.refused(507, b'x', path='/sdz/notice')
        self.assertFalse(os.path.exists(self.failures().path))

    def test_a_message_of_who_had_failed_lets_the_next_time_out_decide(self):
        self.failures().record(self.reporter, 10)
        self.differing({0: EMPTY}, app=self.controller(),
                       X_Backend_Lightsync_Sender='10.0.0.1:6200')
        found = self.failures()
        self.assertFalse(found.has_failed(self.reporter))
        self.assertEqual({self.reporter}, set(found.rejoined()))
        self.assertTrue(found.record(self.reporter, 2))

    def test_a_message_of_a_device_that_had_failed_takes_it_back(self):
        other = self.failed[:2] + ('sdb',)
        for sender, taken_back in (('10.0.0.2:6200', False),
                                   ('10.0.0.2:6200/sd', False),
                                   ('10.0.0.2:6200/sda', True)):
            with self.subTest(sender):
                for key in (self.failed, other):
                    self.failures().record(key, 10)
                self.differing({0: EMPTY}, app=self.controller(),
                               X_Backend_Lightsync_Sender=sender)
                found = self.failures()
                self.assertEqual(not taken_back,
                                 found.has_failed(self.failed))
                self.assertTrue(found.has_failed(other))

    def test_others_are_answered_while_the_failure_table_is_locked(self):
        self.failures().record(self.failed, 10)
        app, done = self.controller(), []

        def notify():
            self.notify(Notice(self.reporter, ('10.0.0.3', 6200)).encode(),
                        app=app)
            done.append('notice')

        def ask():
            self.differing({0: EMPTY}, app=app,
                           X_Backend_Lightsync_Sender='10.0.0.2:6200/sda')
            done.append('message')

        with open(self.failures().path + '.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tasks = [spawn(notify), spawn(ask)]
            for _ in range(20):
                # Would hang if the hub waited for the lock.
                sleep(0.005)
            self.assertEqual([], done)
        for task in tasks:
            task.wait()
        self.assertEqual(['message', 'notice'], sorted(done))
        found = self.failures()
        self.assertFalse(found.has_failed(self.failed))
        self.assertTrue(found.is_reported(self.reporter, ('10.0.0.3', 6200)))

    def test_a_sender_that_is_none_is_passed_over(self):
        for sender in ('', 'x', ':', 'a:b', '1.2.3.4:99999999', '/sda',
                       '1.2.3.4:6200/', '1.2.3.4:6200/' + 'a' * 256):
            self.assertEqual(set(), self.differing(
                {0: EMPTY}, X_Backend_Lightsync_Sender=sender))


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


class TestTurns(VerbTestCase):

    def setUp(self):
        super().setUp()
        self.entered, self.most, self.go = 0, 0, threading.Event()
        self.addCleanup(self.go.set)
        patcher = mock.patch.object(Fingerprints, 'get_many', self.held())
        patcher.start()
        self.addCleanup(patcher.stop)

    def held(self):
        genuine, lock = Fingerprints.get_many, threading.Lock()

        def get_many(prints, device, partitions, deadline):
            with lock:
                self.entered += 1
                self.most = max(self.most, self.entered)
            self.go.wait(10)
            with lock:
                self.entered -= 1
            return genuine(prints, device, partitions, deadline)

        return get_many

    def ask_at_once(self, count, app):
        answers = []
        for _ in range(count):
            spawn(lambda: answers.append(self.request(ONE, app=app)))
        return answers

    def impatient(self, **conf):
        with mock.patch.object(verb, 'TURN_PATIENCE', 0.05):
            return self.controller(**conf)

    def test_so_many_are_answered_at_the_same_time_and_all_in_the_end(self):
        for conf, expected in (({}, 4), ({'replication_concurrency': ''}, 4),
                               ({'replication_concurrency': '2'}, 2),
                               ({'replication_concurrency': '0'}, 9)):
            with self.subTest(conf):
                self.most = 0
                self.go.clear()
                answers = self.ask_at_once(9, self.controller(**conf))
                wait_for(lambda: self.most == expected, 'work on messages')
                self.go.set()
                wait_for(lambda: len(answers) == 9, 'answers')
                self.assertEqual({200}, {answer.status_int
                                         for answer in answers})
                self.assertEqual(expected, self.most)

    def test_one_whose_turn_does_not_come_is_a_503_that_says_why(self):
        app = self.impatient(replication_concurrency='2')
        answers = self.ask_at_once(2, app)
        wait_for(lambda: self.entered == 2, 'work on messages')
        for what in ('roots', 'suffixes', 'missing', 'rehash'):
            self.refused(503, ONE, r'^2 messages are being answered '
                         r'\(replication_concurrency\), and no turn came in '
                         r'0.05 seconds$', app=app, path='/sda/' + what)
        self.assertEqual([], answers)
        self.go.set()
        wait_for(lambda: len(answers) == 2, 'answers')
        self.assertEqual({0}, self.differing({0: OTHER}, app=app))

    def test_a_notice_needs_no_turn(self):
        app = self.impatient(replication_concurrency='1')
        self.ask_at_once(1, app)
        wait_for(lambda: self.entered == 1, 'work on a message')
        body = Notice(('10.0.0.1', 6200), ('10.0.0.2', 6200)).encode()
        self.assertEqual(204, self.request(
            body, path='/sda/notice', app=app).status_int)

    def test_what_is_refused_gives_its_turn_back(self):
        app = self.impatient(replication_concurrency='1')
        self.go.set()
        for _ in range(3):
            self.refused(400, b'x' * 100, 'magic', app=app)
            self.refused(507, ONE, app=app, path='/sdz/roots')
        self.assertEqual({0}, self.differing({0: OTHER}, app=app))

    def test_a_long_body_is_not_read_before_its_turn(self):
        app = self.impatient(replication_concurrency='1')
        self.ask_at_once(1, app)
        wait_for(lambda: self.entered == 1, 'work on a message')
        for more, read in ((0, True), (1, False)):
            body = mock.Mock(spec=['read', 'close'])
            body.read.return_value = b''
            self.refused(503, body, app=app, Content_Length=str(
                verb.SHORT_BODY + more))
            self.assertEqual(read, body.read.called)

    def slow(self, length):
        """A body that comes once ``self.go`` is set."""
        def read(size):
            while not self.go.is_set():
                sleep(0.005)
            return b'x' * size

        body = mock.Mock(spec=['read', 'close'])
        body.read.side_effect = read
        return {'body': body, 'Content_Length': str(length)}

    def test_a_slow_short_body_takes_no_turn(self):
        app = self.impatient(replication_concurrency='1')
        waiting = spawn(lambda: self.request(app=app, **self.slow(100)))
        sleep(0)
        self.refused(400, b'x' * 100, 'magic', app=app)
        self.assertFalse(waiting.dead)
        self.go.set()
        self.assertEqual(400, waiting.wait().status_int)

    def test_a_slow_long_body_has_a_turn_for_a_while_only(self):
        app = self.controller(replication_concurrency='1')
        with mock.patch.object(verb, 'PATIENCE', 0.1):
            begin = time.monotonic()
            self.refused(408, app=app, **self.slow(verb.SHORT_BODY + 1))
        self.assertLess(time.monotonic() - begin, 5)
        self.go.set()
        self.assertEqual({0}, self.differing({0: OTHER}, app=app))

    def test_the_hub_runs_while_a_message_is_decoded(self):
        self.go.set()
        self.not_held(sync_message, 'decode_roots')

    def test_the_hub_runs_while_a_set_is_looked_up(self):
        self.go.set()
        self.not_held(verb.KnownSets, 'find')

    def not_held(self, owner, name):
        ticks, genuine = [], getattr(owner, name)

        def slow(*args):
            deadline = time.monotonic() + 5
            while not ticks and time.monotonic() < deadline:
                time.sleep(0.001)
            seen.extend(ticks)
            return genuine(*args)

        seen = []
        with mock.patch.object(owner, name, slow):
            spawn(lambda: ticks.append(1))
            self.assertEqual({0}, self.differing({0: OTHER}))
        self.assertEqual([1], seen)

    def test_a_bad_number_is_refused_by_name(self):
        for value in ('-1', 'x', '1.5'):
            with self.assertRaisesRegex(
                    OptionError, 'replication_concurrency = %s: ' % value):
                self.controller(replication_concurrency=value)

    def test_what_is_documented_holds(self):
        self.assertEqual(verb.DEFAULT_TURNS, int(documented.found(
            r'`replication_concurrency` \((\d+); 0: any number\)')))
        self.assertEqual(verb.TURN_PATIENCE, int(documented.found(
            r'(\d+) seconds at most: up to')))
        self.assertEqual(verb.SHORT_BODY >> 10, int(documented.found(
            r'at most: up to (\d+) KiB in memory')))


class TestPartitionThatGoes(VerbTestCase):

    def test_a_partition_that_is_removed_meanwhile_is_empty(self):
        self.put(self.disk, 'sda', 'o')
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
