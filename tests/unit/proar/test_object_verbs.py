# SPDX-License-Identifier: Apache-2.0
"""object_verbs: which writes an object-server logs, which it refuses."""

import errno
import os
import time
from unittest import mock

from swift.common.swob import Request
from swift.common.utils import Timestamp, hash_path
from swift.obj import server

from swift_lightsync.common.options import OptionError
from swift_lightsync.object_server import ObjectController
from swift_lightsync.proar.core.oplog import State
from swift_lightsync.proar.log import device_log
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.segment import Segment
from swift_lightsync.proar.names import (
    FAILOVER_HEADER,
    REFUSED_HEADER,
    SLOT_HEADER,
)
from swift_lightsync.proar.server import lag_bounds
from tests.unit.proar.server_world import ServerTestCase


def unread(verb='PUT'):
    """Return a request with a slot, and its body, which notes who reads it."""
    body = mock.Mock()
    return Request.blank(
        '/sda/3/a/c/o', {'REQUEST_METHOD': verb, 'wsgi.input': body},
        headers={'X-Timestamp': Timestamp.now().internal,
                 'Content-Type': 'text/plain', 'Content-Length': '9',
                 SLOT_HEADER: '1'}), body


class TestWhatIsLogged(ServerTestCase):

    def test_put_post_and_delete_with_a_slot(self):
        self.assertEqual([201, 202, 204], [
            self.write(verb, '2').status_int
            for verb in ('PUT', 'POST', 'DELETE')])
        self.assertEqual(
            [('MODIFY', 2, 'COMMITTED'), ('MODIFY', 2, 'COMMITTED'),
             ('DELETE', 2, 'COMMITTED')],
            [(entry.op.name, entry.slot, entry.state.name)
             for entry in self.entries()])

    def test_an_entry_names_the_object_and_its_timestamp(self):
        self.write()
        entry, = self.entries()
        self.assertEqual(hash_path('a', 'c', 'o', raw_digest=True),
                         entry.path_hash)
        self.assertEqual(self.clock * 100000, entry.timestamp)
        self.assertAlmostEqual(time.time(), entry.logged / 1e6, delta=60)

    def test_each_device_has_its_log_of_all_policies_and_partitions(self):
        self.write(device='sdb', partition=9)
        self.write(policy=2)
        self.assertEqual([], self.entries())
        self.assertEqual([9], [each.partition for each
                               in self.entries('sdb')])
        self.assertEqual([2], [each.policy for each
                               in self.entries(policy=2)])
        self.assertEqual(['1.log'], os.listdir(self.path() + '/proar'))

    def test_a_fail_over_write_is_logged(self):
        response = self.request('PUT', {SLOT_HEADER: '0',
                                        FAILOVER_HEADER: 'true'})
        self.assertEqual(201, response.status_int)
        self.assertEqual(1, len(self.entries()))

    def test_a_tombstone_where_there_was_nothing_is_logged(self):
        self.assertEqual(404, self.write('DELETE').status_int)
        self.assertEqual(['DELETE'], [entry.op.name
                                      for entry in self.entries()])

    def test_requests_without_a_slot_are_stock_swifts(self):
        self.assertEqual([201, 202, 200, 204], [
            self.request(verb).status_int
            for verb in ('PUT', 'POST', 'GET', 'DELETE')])
        self.assertEqual({'objects'}, set(os.listdir(
            self.devices_dir + '/sda')) - {'tmp'})

    def test_neither_reads_nor_replication_are_logged(self):
        headers = {SLOT_HEADER: '1', 'X-Backend-Replication': 'true'}
        self.assertEqual(201, self.request('PUT', headers).status_int)
        for verb in 'GET', 'HEAD':
            self.assertEqual(200, self.write(verb).status_int)
        self.assertEqual(204, self.request('DELETE', headers).status_int)
        self.assertEqual([], self.entries())

    def test_what_swift_refuses_is_not_logged(self):
        self.write()
        for status, request in (
                (409, {'X-Timestamp': '1'}), (412, {'If-None-Match': '*'})):
            self.assertEqual(status, self.request(
                'PUT', {SLOT_HEADER: '1', **request}).status_int)
        self.assertEqual(404, self.write('POST', name='no').status_int)
        self.assertEqual(1, len(self.entries()))

    def test_what_is_refused_after_the_body_is_logged_as_nothing(self):
        self.assertEqual(422, self.request('PUT', {
            SLOT_HEADER: '1', 'ETag': 'other'}).status_int)
        self.assertLessEqual({each.state.name for each in self.entries()},
                             {'ABORTED'})

    def test_a_write_after_a_write_with_a_slot_needs_its_own(self):
        self.write()
        self.request('PUT')
        self.assertEqual(1, len(self.entries()))

    def test_the_verbs_are_timed_once(self):
        self.write()
        self.assertEqual(1, self.logger.timings.count('PUT.timing'))
        self.assertEqual(1, self.logger.timings.count('proar.intent.timing'))


class TestWhatIsNoSlot(ServerTestCase):

    def test_it_is_400_and_says_what_may_be(self):
        for slot in ('', '-1', '255', '1.0', 'one', '1_0', '+1', '\u0661',
                     '9' * 5000):
            for verb in 'PUT', 'POST', 'DELETE':
                response = self.write(verb, slot)
                self.assertEqual(400, response.status_int, slot[:9])
                self.assertIn(b'X-Backend-Proar-Slot: ', response.body)
                self.assertIn(b'0 to 254', response.body)
        self.assertEqual(404, self.request('GET').status_int)

    def test_those_at_the_ends_are_taken(self):
        self.assertEqual([201, 201], [self.write(slot=slot).status_int
                                      for slot in ('0', '254')])

    def test_a_policy_without_replicas_has_none(self):
        for verb in 'PUT', 'POST', 'DELETE':
            response = self.write(verb, policy=1)
            self.assertEqual(400, response.status_int)
            self.assertIn(b'policy ec is of type erasure_coding',
                          response.body)

    def test_a_partition_that_is_no_number_has_none(self):
        response = self.write(partition='p')
        self.assertEqual(400, response.status_int)
        self.assertIn(b'partition: p, must be', response.body)

    def test_a_device_that_is_not_there_has_none(self):
        app = ObjectController(dict(self.conf, mount_check='true'),
                               logger=self.logger)
        with mock.patch.object(self, 'app', app):
            self.assertEqual(507, self.write().status_int)
        self.assertEqual([], os.listdir(self.devices_dir + '/sda'))


class TestLag(ServerTestCase):

    options = {'max_lag_entries': '3', 'max_lag_seconds': '100'}

    def expose(self, count):
        for number in range(count):
            self.assertEqual(201, self.write(name='e%d' % number).status_int)

    def assert_refused(self, reason):
        for verb in 'PUT', 'POST', 'DELETE':
            response = self.write(verb, name='e0')
            self.assertEqual(503, response.status_int)
            self.assertEqual('lag', response.headers[REFUSED_HEADER])
            self.assertIn(reason, response.body)

    def test_more_than_may_be_are_refused_until_a_peer_holds_some(self):
        self.expose(3)
        self.assert_refused(b'3 operations, max_lag_entries is 3')
        self.assertEqual(3, len(self.entries()))
        self.assertEqual({'proar.refused.lag.sda': 3}, self.logger.counters)
        self.note(State.HELD, 1)
        self.expose(1)
        self.assert_refused(b'3 operations')

    def test_no_byte_of_the_body_is_read(self):
        self.expose(3)
        request, body = unread()
        self.assertEqual(503, request.get_response(self.app).status_int)
        self.assertEqual([], body.mock_calls)

    def test_an_old_one_is_enough(self):
        with mock.patch('time.time', return_value=time.time() - 101):
            self.expose(1)
        self.assert_refused(b'an operation of 101 s ago, max_lag_seconds')
        self.note(State.HELD, 1)
        self.expose(1)

    def test_what_can_be_pushed_to_nobody_does_not_count(self):
        self.expose(3)
        self.note(State.ASIDE, 3)
        self.expose(1)

    def test_other_devices_take_writes(self):
        self.expose(3)
        self.assertEqual(201, self.write(device='sdb').status_int)

    def test_fail_over_writes_and_those_without_a_slot_are_taken(self):
        self.expose(3)
        self.assertEqual([201, 201], [
            self.request('PUT', headers).status_int for headers in (
                {}, {SLOT_HEADER: '1', FAILOVER_HEADER: 'true'})])

    def test_a_device_that_takes_a_write_alone_obeys_the_bounds(self):
        self.expose(3)
        self.assertEqual(503, self.request('PUT', {
            SLOT_HEADER: '1', FAILOVER_HEADER: 'alone'}).status_int)


class TestLogs(ServerTestCase):

    def test_what_cannot_be_logged_is_507_before_the_body_is_read(self):
        for number in (errno.EACCES, errno.EROFS, errno.EIO, errno.ENOSPC,
                       errno.ENOMEM, errno.EMFILE):
            for verb in 'PUT', 'POST', 'DELETE':
                request, body = unread(verb)
                with mock.patch.object(DeviceLog, 'begin', side_effect=OSError(
                        number, os.strerror(number))):
                    self.assertEqual(507, request.get_response(
                        self.app).status_int)
                self.assertEqual([], body.mock_calls)
        self.assertEqual(18, self.logger.counters['proar.refused.log.sda'])
        self.assertEqual(6, len(self.logger.at('ERROR')))

    def test_what_cannot_be_synced_is_507(self):
        self.write()
        for verb in 'PUT', 'POST', 'DELETE':
            with mock.patch.object(Segment, 'sync', side_effect=OSError(
                    errno.EIO, 'Input/output error')):
                self.assertEqual(507, self.write(verb).status_int)
        self.assertEqual(201, self.write().status_int)

    def test_a_log_that_cannot_be_read_for_its_exposure_is_507(self):
        with mock.patch.object(DeviceLog, 'exposure', side_effect=OSError(
                errno.EIO, 'Input/output error')):
            self.assertEqual(507, self.write().status_int)

    def test_the_log_is_measured_beside_the_writes(self):
        self.write()
        with mock.patch.object(device_log, 'FRESH', -1), \
                mock.patch.object(lag_bounds, 'SOON', 0), \
                mock.patch.object(lag_bounds, 'spawn_n') as later, \
                mock.patch.object(DeviceLog, 'exposure') as exposure:
            for _ in range(3):
                self.assertEqual(201, self.write().status_int)
            exposure.assert_not_called()
            (measure, log), = (call.args for call in later.call_args_list)
            measure(log)
            exposure.assert_called_once()
            self.write()
            self.assertEqual(2, later.call_count)


class TestNoBounds(ServerTestCase):

    options = {'max_lag_entries': '0', 'max_lag_seconds': '0'}

    def test_nothing_is_refused(self):
        with mock.patch('time.time', return_value=1000):
            self.write()
        with mock.patch('time.time', return_value=1e10):
            self.assertEqual(201, self.write().status_int)

    def test_bounds_that_cannot_be_are_an_error_that_names_them(self):
        for name, value in (('max_lag_entries', '-1'),
                            ('max_lag_entries', 'few'),
                            ('max_lag_seconds', 'inf'),
                            ('max_lag_seconds', '-0.1')):
            with self.assertRaisesRegex(OptionError, '%s = %s' % (
                    name, value)):
                ObjectController(dict(self.conf, **{name: value}),
                                 logger=self.logger)

    def test_the_stock_server_takes_a_slot_for_nothing(self):
        with mock.patch.object(self, 'app', server.ObjectController(
                self.conf, logger=self.logger)):
            self.assertEqual(201, self.write().status_int)
        self.assertEqual([], self.entries())
