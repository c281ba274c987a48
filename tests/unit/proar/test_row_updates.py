# SPDX-License-Identifier: Apache-2.0
"""Rows of primary-role writes: swift_lightsync/proar/server/row_updates.py."""

import os
import pickle
import shutil
import time
import unittest
from unittest import mock
from urllib.parse import quote

from swift.common.concurrency import Event, listen
from swift.common.swob import Request
from swift.common.utils import Timestamp, hash_path
from swift.obj.diskfile import get_async_dir

from swift_lightsync.common.records import RecordError
from swift_lightsync.proar.core.row import Row
from swift_lightsync.proar.log.segment import Segment
from swift_lightsync.proar.names import SLOT_HEADER
from swift_lightsync.proar.server import row_updates
from tests.unit.proar.converging import HERE, PEERS, ConvergerTestCase
from tests.unit.proar.logs import entries_of
from tests.unit.sync.fixtures import PARTITION, wait_for


class RowsTestCase(ConvergerTestCase):
    """A device with peers, and three container servers."""

    def setUp(self):
        super().setUp()
        # Who answers is waited for, however busy the machine is.
        self.conf.update(dict.fromkeys((
            'container_update_timeout', 'conn_timeout', 'node_timeout'),
            '1000'))
        self.app = type(self.app)(self.conf, logger=self.logger)
        self.addCleanup(self.close_logs)
        self.asked = []
        self.hung = Event()

    def close_logs(self):
        self.app._log(os.getpid(), self.path).close()

    def container_server(self, status):
        """:returns: the address of one; status None: it hangs"""
        def app(env, start_response):
            self.asked.append((env['REQUEST_METHOD'], env['PATH_INFO']))
            if status is None:
                self.hung.wait()
            start_response('%d x' % (status or 500),
                           [('Content-Length', '0')])
            return []
        return '127.0.0.1:%d' % self.enterContext(self.served(app))

    def nobody(self):
        listener = listen(('127.0.0.1', 0))
        address = '127.0.0.1:%d' % listener.getsockname()[1]
        listener.close()
        return address

    def write(self, hosts, method='PUT', name='o', **headers):
        self.stamp += 1
        request = Request.blank(
            '/%s/%d/a/c/%s' % (HERE, PARTITION, quote(name)), method=method,
            body=b'body' if method == 'PUT' else None, headers={
                'X-Timestamp': Timestamp.now().internal, SLOT_HEADER: '0',
                'Content-Type': 'text/plain', 'X-Container-Partition': '7',
                'X-Container-Host': ','.join(hosts),
                'X-Container-Device': ','.join('d' for _ in hosts),
                **headers})
        return request.get_response(self.app).status_int

    def kept(self, device=HERE, name=('a', 'c', 'o')):
        """:returns: the updates of an object that a device is to repeat"""
        path_hash = hash_path(*name)
        directory = os.path.join(self.devices_dir, device, get_async_dir(
            self.policy), path_hash[-3:])
        found = []
        for each in os.listdir(directory) if os.path.isdir(
                directory) else []:
            if each.startswith(path_hash):
                with open(os.path.join(directory, each), 'rb') as file:
                    found.append(pickle.load(file))
        return found

    def converge(self):
        self.close_logs()
        self.app._log.cache_clear()
        self.run_once()
        self.assertTrue(self.is_converged())

    def ops(self):
        return [each.op.name for each in entries_of(self.path)]


class TestServer(RowsTestCase):

    def test_all_are_updated_and_nothing_is_kept(self):
        hosts = [self.container_server(201) for _ in range(3)]
        self.assertEqual(201, self.write(hosts))
        wait_for(lambda: len(self.asked) == 3, 'all are asked')
        self.assertEqual([('PUT', '/d/7/a/c/o')] * 3, self.asked)
        self.assertEqual(([], ['MODIFY']), (self.kept(), self.ops()))
        wait_for(lambda: not self.app._updates, 'it is forgotten')

    def test_the_last_is_asked_when_a_majority_has_answered(self):
        self.enterContext(mock.patch.object(row_updates, 'PATIENCE', 1000))
        asked, wait = [], row_updates.Turns.wait

        def noted(turns, updates):
            wait(turns, updates)
            asked.append(updates.is_durable)
        hosts = [self.container_server(201) for _ in range(3)]
        with mock.patch.object(row_updates.Turns, 'wait', noted):
            self.assertEqual(201, self.write(hosts))
            wait_for(lambda: len(self.asked) == 3, 'all are asked')
        self.assertEqual([False, False, True], asked)

    def test_one_that_is_down_costs_no_flush(self):
        hosts = [self.nobody(), *(self.container_server(201)
                                  for _ in range(2))]
        self.assertEqual(201, self.write(hosts))
        wait_for(self.kept, 'its update is kept')
        self.assertEqual(['MODIFY'], self.ops())

    def test_one_that_hangs_is_not_waited_for(self):
        hosts = [self.container_server(status) for status in (None, 201, 201)]
        self.assertEqual(201, self.write(hosts))
        self.assertFalse(self.hung.ready())
        self.assertGreater(self.app._turns._all_until, time.monotonic())
        self.hung.send()
        wait_for(self.kept, 'its update is kept')
        wait_for(lambda: not self.app._updates, 'it is forgotten')

    def test_without_a_majority_it_is_kept_and_logged(self):
        hosts = [self.container_server(201), self.nobody(), self.nobody()]
        for method, status in (('PUT', 201), ('POST', 202),
                               ('DELETE', 204)):
            self.assertEqual(status, self.write(hosts, method))
        self.assertEqual(['MODIFY', 'ROW', 'MODIFY', 'ROW', 'DELETE', 'ROW'],
                         self.ops())
        self.assertEqual({'PUT', 'DELETE'},
                         {each['op'] for each in self.kept()})

    def keep(self, path):
        """Return the update that is kept where all container servers hang.

        :param path: account/container of the shard, as the proxy has it
        """
        self.app.container_update_timeout = 0.2
        hosts = [self.container_server(None) for _ in range(3)]
        self.assertEqual(201, self.write(
            hosts, **{'X-Backend-Container-Path': path}))
        kept, = self.kept()
        self.assertEqual(['MODIFY', 'ROW'], self.ops())
        self.hung.send()
        wait_for(lambda: not self.app._updates, 'it is forgotten')
        return kept

    def test_it_is_kept_before_the_answer_though_they_hang(self):
        kept = self.keep('.shards_a/c-1')
        self.assertEqual(
            ('PUT', 'a', 'c', 'o', '4', '.shards_a/c-1'),
            (kept['op'], kept['account'], kept['container'], kept['obj'],
             kept['headers']['x-size'], kept['container_path']))

    def test_what_is_kept_for_no_shard_is_for_the_root(self):
        """As Swift's own update is, which says so."""
        self.assertNotIn('container_path', self.keep('no-path'))

    def test_a_row_that_cannot_be_logged_is_counted(self):
        sync = Segment.sync
        times = iter((sync, mock.Mock(side_effect=OSError(5, 'EIO'))))
        with mock.patch.object(Segment, 'sync',
                               lambda segment: next(times)(segment)):
            self.assertEqual(201, self.write([self.nobody()] * 3))
        self.assertEqual(1, self.logger.counters['proar.rows.errors'])

    def test_requests_without_a_slot_are_stock_swifts(self):
        self.assertEqual(201, self.write([self.nobody()] * 3, **{
            'X-Backend-Replication': 'true'}))
        self.assertEqual(1, len(self.kept()))
        self.assertEqual([], self.ops())


class TestConverged(RowsTestCase):

    def test_rows_outlive_the_disk_of_the_primary_role(self):
        names = ['o%d' % number for number in range(4)] + ['ö']
        for name in names:
            self.assertEqual(201, self.write([self.nobody()] * 3, name=name))
        self.converge()
        shutil.rmtree(os.path.join(self.devices_dir, HERE))
        for device in PEERS:
            for name in names:
                kept, = self.kept(device, ('a', 'c', name))
                self.assertEqual(('PUT', 'a', 'c', name, '4'), (
                    kept['op'], kept['account'], kept['container'],
                    kept['obj'], kept['headers']['x-size']))

    def test_a_deleted_row_does_too(self):
        down = [self.nobody()] * 3
        self.write([self.container_server(201) for _ in range(3)])
        self.assertEqual(204, self.write(down, 'DELETE'))
        self.converge()
        for device in PEERS:
            self.assertEqual(['DELETE'], [
                each['op'] for each in self.kept(device)])

    def test_what_the_object_updater_has_done_needs_no_push(self):
        self.write([self.nobody()] * 3)
        shutil.rmtree(os.path.join(self.path, get_async_dir(self.policy)))
        self.converge()
        self.assertEqual([[], []], [self.kept(device) for device in PEERS])

    def test_what_is_no_update_is_aside(self):
        self.write([self.nobody()] * 3)
        for top, _, names in os.walk(os.path.join(
                self.path, get_async_dir(self.policy))):
            for name in names:
                with open(os.path.join(top, name), 'wb') as file:
                    pickle.dump({'op': 'PUT'}, file)
        self.close_logs()
        self.run_once()
        self.assertEqual(['CONVERGED', 'ASIDE'], self.states())


class TestExpiry(RowsTestCase):
    """The notes of when an object expires."""

    at = 4 * 10 ** 9

    def put(self, hosts, at=at):
        """:returns: the status of a PUT of an object that expires"""
        container = self.container_of(at)
        return self.write(
            [self.container_server(201) for _ in range(3)], **{
                'X-Delete-At': str(at), 'X-Delete-At-Container': container,
                'X-Delete-At-Partition': '9',
                'X-Delete-At-Host': ','.join(hosts),
                'X-Delete-At-Device': ','.join('e' for _ in hosts)})

    def container_of(self, at):
        return self.app.expirer_config.get_expirer_container(
            at, 'a', 'c', 'o')

    def noted(self, device=HERE, at=at):
        """:returns: the ops of the notes that a device is to repeat"""
        return [each['op'] for each in self.kept(device, (
            '.expiring_objects', self.container_of(at), '%d-a/c/o' % at))]

    def test_a_majority_is_awaited_and_no_more(self):
        hosts = [self.container_server(status) for status in (201, None, 201)]
        self.assertEqual(201, self.put(hosts))
        self.assertFalse(self.hung.ready())
        self.assertEqual(['MODIFY'], self.ops())
        self.hung.send()
        wait_for(self.noted, 'its note is kept')
        wait_for(lambda: not self.app._updates, 'it is forgotten')

    def test_without_a_majority_they_outlive_the_disk(self):
        self.app.container_update_timeout = 0.2
        for hosts in ([self.container_server(201), self.nobody(),
                       self.nobody()],
                      [self.container_server(None) for _ in range(3)]):
            self.assertEqual(201, self.put(hosts))
            self.assertEqual({'PUT'}, set(self.noted()))
        self.hung.send()
        self.assertEqual(['MODIFY', 'ROW'] * 2, self.ops())
        self.converge()
        for device in PEERS:
            self.assertEqual(['PUT'], self.noted(device))

    def test_what_removes_one_is_carried_too(self):
        self.assertEqual(201, self.put(
            [self.container_server(201) for _ in range(3)]))
        self.assertEqual(204, self.write(
            [self.container_server(201) for _ in range(3)], 'DELETE'))
        self.assertEqual(['DELETE'], self.noted())
        self.assertEqual(['MODIFY', 'ROW', 'DELETE'], self.ops())
        self.converge()
        for device in PEERS:
            self.assertEqual(['DELETE'], self.noted(device))


class TestRow(unittest.TestCase):

    row = Row('PUT', 'a', 'c', 'ö', {'x-size': '1'}, 'unsharded', 'a/c')

    def test_a_row_is_what_was_encoded(self):
        for row in self.row, Row('DELETE', 'a', 'c', 'o', {}):
            self.assertEqual(row, Row.parse(row.encode(), 1000))
            self.assertEqual(row, Row.from_json(row.data()))
        self.assertNotIn('container_path', Row(
            'DELETE', 'a', 'c', 'o', {}).data())

    def test_what_is_none_is_an_error(self):
        for change in ({'op': 'POST'}, {'account': 1}, {'obj': ''},
                       {'headers': []}, {'headers': {'a': 1}},
                       {'db_state': 1}, {'container_path': 2}):
            with self.assertRaises(RecordError):
                Row.from_json({**self.row.data(), **change})
        for body in b'', b'[]', b'[' * 10000, b'\xff':
            with self.assertRaises(RecordError):
                Row.parse(body, 20000)


