# SPDX-License-Identifier: Apache-2.0
"""object_verbs: what fails before the body, and what an answer waits for."""

import os
import time
from contextlib import ExitStack
from unittest import mock

from swift.common.concurrency import LightQueue, patcher
from swift.common.swob import Response

from swift_lightsync.proar.log import segment_writer
from swift_lightsync.proar.names import REFUSED_HEADER, SLOT_HEADER
from tests.unit.proar.logs import LogTestCase, entry
from tests.unit.proar.server_world import ServerTestCase
from tests.unit.sync.fixtures import node, ring_of, served

threading = patcher.original('threading')


class TestWithoutALog(ServerTestCase):

    def test_a_file_in_the_place_of_the_directory_is_507(self):
        with open(os.path.join(self.devices_dir, 'sda', 'proar'), 'w'):
            for verb in 'PUT', 'POST', 'DELETE':
                response = self.write(verb)
                self.assertEqual(507, response.status_int)
                self.assertEqual('log', response.headers[REFUSED_HEADER])
        self.assertEqual(1, len(self.logger.at('ERROR')))
        self.assertEqual(3, self.logger.counters['proar.refused.log.sda'])


class TestFlushes(ServerTestCase):

    def flushes(self, write, **kwargs):
        """:returns: how many there are before the answer"""
        with ExitStack() as stack:
            calls = [stack.enter_context(mock.patch.object(
                os, name, side_effect=getattr(os, name)))
                for name in ('fsync', 'fdatasync')]
            self.assertEqual(2, write(**kwargs).status_int // 100)
        return sum(call.call_count for call in calls)

    def test_a_write_has_one_more_than_stock_swifts(self):
        self.write(name='first')
        for verb in 'PUT', 'POST', 'DELETE':
            self.assertEqual(
                1 + self.flushes(self.request, verb=verb, name='stock'),
                self.flushes(self.write, verb=verb, name='ours'))


class TestSegments(LogTestCase):

    def test_a_request_does_not_wait_while_one_is_made(self):
        """It would wait in the thread of all requests."""
        self.append()
        made, making = threading.Event(), threading.Event()

        def make(directory):
            making.set()
            assert made.wait(60)
        with mock.patch.object(segment_writer, 'new_segment', make):
            thread = threading.Thread(target=self.log._writer._prepare)
            thread.start()
            self.assertTrue(making.wait(60))
            begun = []
            request = threading.Thread(target=lambda: begun.append(
                self.log.begin_now(entry(2))))
            request.start()
            request.join(10)
            made.set()
            thread.join()
        self.assertIsNotNone(begun[0])


class TestPartitions(ServerTestCase):

    def setUp(self):
        super().setUp()
        ring_of(self.root, [node(0, 6200)])

    def test_one_outside_the_ring_is_400_and_leaves_no_log(self):
        for partition, status in ((1, 201), (2, 400), (4294967295, 400)):
            self.assertEqual(status, self.write(
                partition=partition).status_int)
        self.assertEqual([1], [entry.partition for entry in self.entries()])

    def test_the_partitions_of_a_coming_part_power_count(self):
        self.policy.load_ring(self.root)
        self.policy.object_ring._next_part_power = \
            self.policy.object_ring.part_power + 1
        self.assertEqual([201, 400], [
            self.write(partition=partition).status_int
            for partition in (3, 4)])


class TestContainerUpdates(ServerTestCase):
    """A hung container server delays no answer."""

    options = {'container_update_timeout': '3600', 'conn_timeout': '3600',
               'node_timeout': '3600'}

    def updated(self, asked, **headers):
        """Return the status of a PUT while one of three servers hangs."""
        def serve(env, start_response):
            asked.append(env['PATH_INFO'])
            if '/hung/' in env['PATH_INFO']:
                LightQueue().get()
            return Response(status=201)(env, start_response)
        with served(serve) as port:
            hosts = ','.join(['127.0.0.1:%d' % port] * 3)
            return self.request('PUT', {
                SLOT_HEADER: '1', 'X-Container-Partition': '1',
                'X-Container-Host': hosts,
                'X-Container-Device': 'hung,sdb,sdc',
                **{name: value or hosts for name, value in headers.items()}
            }).status_int

    def test_the_answer_waits_for_a_majority(self):
        asked = []
        self.assertEqual(201, self.updated(asked))
        self.assertLessEqual({'/sdb/1/a/c/o', '/sdc/1/a/c/o'}, set(asked))

    def test_so_does_it_for_the_rows_of_expiry(self):
        asked = []
        at = str(int(time.time()) + 9000)
        self.assertEqual(201, self.updated(asked, **{
            'X-Delete-At': at, 'X-Delete-At-Container': at,
            'X-Delete-At-Host': '', 'X-Delete-At-Partition': '2',
            'X-Delete-At-Device': 'hung,sdb,sdc'}))
        self.assertLessEqual(2, len([path for path in asked
                                     if '/.expiring_objects/' in path]))
