# SPDX-License-Identifier: Apache-2.0
"""The auditor's walk over volumes, with a real index and Swift's auditor."""

import json
import os
from functools import partial
from unittest import mock

from swift.common.utils import Timestamp
from swift.obj import diskfile

from swift_losf.diskfile import audit, audit_order
from swift_losf.index.channel import Channel
from tests.unit.losf.auditing import LATER, AuditTest
from tests.unit.losf.kv_world import PARTITION


class TestOrder(AuditTest):

    def test_all_are_visited_once_in_the_order_of_their_places(self):
        names = self.fill(30)
        order = list(names)
        for name in names[3:20:5]:
            self.write(b'new', 2, name)
            order.append(order.pop(order.index(name)))
        for name in names[::4]:
            self.diskfile(name=name).write_metadata(
                {'X-Timestamp': Timestamp(3).internal, 'key': 'value'})
        self.assertEqual(self.hashes_of(order), self.hashes())
        self.assertEqual([], self.hashes())
        self.assertEqual(self.hashes_of(order), self.hashes('ZBF'))
        self.assert_sound(self.audit([]), 0)

    def test_a_location_says_what_stock_says(self):
        name, = self.fill(1)
        location, = self.locations()
        self.assertEqual(
            (self.diskfile(name=name)._datadir, 'd1', PARTITION, self.policy),
            (location.path, location.device, location.partition,
             location.policy))
        self.assertEqual(location.path, str(location))

    def test_many_are_visited_in_passes_of_bounded_memory(self):
        names = self.fill(50)
        pages, begun = [], []

        def list_files(client, first, end, after=b''):
            begun.append(not after)
            return original(client, first, end, after)
        client = type(self.store().index)
        original = client.list_files
        add = audit_order.Nearest.add

        def counted(nearest, page):
            add(nearest, page)
            pages.append(len(nearest._packed))
        with mock.patch('swift_losf.diskfile.kvmanager.Walk',
                        partial(audit.Walk, most=20)), \
                mock.patch.object(client, 'list_files', list_files), \
                mock.patch.object(audit_order.Nearest, 'add', counted):
            self.assertEqual(self.hashes_of(names), self.hashes())
        self.assertGreaterEqual(sum(begun), 3)
        self.assertLessEqual(max(pages), 20)

    def test_devices_that_are_not_there_are_passed_over(self):
        names = self.fill(2)
        os.mkdir(self.world.path('empty'))
        self.assertEqual(self.hashes_of(names), self.hashes(
            device_dirs=['d1', 'd1', 'd9', 'empty']))
        self.assertEqual([], self.hashes(device_dirs=['empty']))
        self.manager.mount_check = True
        self.assertEqual([], self.hashes())

    def test_records_are_read_ahead_before_they_are_visited(self):
        names = self.fill(20)
        self.short_stretches(4)
        told = []
        with mock.patch.object(audit, '_read_ahead', side_effect=lambda path,
                               ranges: told.extend(ranges)) as read_ahead:
            for visited, location in enumerate(self.locations()):
                (at,) = location.files.values()
                self.assertTrue(any(
                    offset <= at.offset and
                    at.offset + at.length <= offset + length
                    for offset, length in told))
                self.assertEqual(visited // 4 + 1, read_ahead.call_count)
        self.assertEqual(len(names), visited + 1)

    def test_all_of_a_range_is_read_ahead(self):
        names = self.fill(40, 100000)
        path = self.store().layout.volume(1)
        with mock.patch.object(os, 'preadv', wraps=os.preadv) as preadv:
            list(self.locations())
        read = [(call.args[2], len(call.args[1][0]))
                for call in preadv.mock_calls]
        self.assertLess(len(read), 10)
        for name in names:
            _, at = self.only_file(name)
            self.assertEqual(1, at.volume, path)
            left = {*range(at.offset, at.offset + at.length)}
            for offset, length in read:
                left.difference_update(range(offset, offset + length))
            self.assertEqual(set(), left)

    def test_what_cannot_be_read_ahead_is_visited(self):
        hashes = self.hashes_of(self.fill(3))
        for failing in ('os.open', 'os.preadv'):
            self.manager.clear_auditor_status(self.policy)
            with mock.patch('swift_losf.diskfile.audit.' + failing,
                            side_effect=OSError(5, 'test')):
                self.assertEqual(hashes, self.hashes())


class TestResumption(AuditTest):

    def status(self, auditor_type='ALL'):
        path = os.path.join(self.store().layout.objects,
                            'auditor_status_%s.json' % auditor_type)
        with open(path) as lines:
            return json.load(lines)['partitions']

    def test_a_walk_goes_on_where_one_ended(self):
        self.short_stretches(3)
        hashes = self.hashes_of(self.fill(10))
        walk = self.locations()
        for _ in range(5):
            next(walk)
        walk.close()
        _, at = self.only_file(self.object + '-3')
        self.assertEqual(['v%010d+%d' % at.spot], self.status())
        self.assertEqual(hashes[3:], self.hashes())
        self.assertEqual([], self.status())
        self.assertEqual([], self.hashes())
        self.assertEqual(hashes, self.hashes('ZBF'))
        self.manager.clear_auditor_status(self.policy)
        self.assertEqual(hashes, self.hashes())

    def test_what_came_in_new_volumes_meanwhile_is_left_to_the_next(self):
        first, = self.fill(1)
        walk = self.locations()
        next(walk)
        walk.close()
        other = self.object + '-other'
        self.diskfile(name=other).delete(Timestamp(LATER))
        self.assertEqual([self.hash(first)], self.hashes())
        self.manager.clear_auditor_status(self.policy)
        self.assertEqual(self.hashes_of([first, other]), self.hashes())

    def test_the_status_of_stock_begins_anew(self):
        hashes = self.hashes_of(self.fill(3))
        diskfile.update_auditor_status(
            self.store().layout.objects, self.logger, [PARTITION], 'ALL')
        self.assertEqual(hashes, self.hashes())

    def test_a_damaged_status_begins_anew(self):
        hashes = self.hashes_of(self.fill(3))
        with open(os.path.join(self.store().layout.objects,
                               'auditor_status_ALL.json'), 'w') as status:
            status.write('{')
        self.assertEqual(hashes, self.hashes())


class TestIndex(AuditTest):

    index_timeout = 2

    def test_what_was_listed_is_opened_without_asking_it(self):
        names = self.fill(5)
        worker = self.worker()
        manager = worker.diskfile_router[self.policy]
        calls = []
        call = Channel.call
        with mock.patch.object(
                Channel, 'call', lambda channel, method, message: (
                    calls.append(method), call(channel, method, message))[1]):
            for location in manager.object_audit_location_generator(
                    self.policy):
                worker.failsafe_object_audit(location)
        self.assert_sound(worker, len(names))
        self.assertEqual(3, len(calls), calls)

    def test_what_is_shown_to_watchers_is_asked_for(self):
        name, = self.fill(1)
        location, = self.locations()
        for watchers, listed in (('', True), ('dark_data', False)):
            worker = self.worker(watchers=watchers)
            df = worker.diskfile_router[
                self.policy].get_diskfile_from_audit_location(location)
            self.assertEqual(listed, df.listed is not None)

    def test_when_it_dies_the_walk_of_the_device_ends(self):
        self.short_stretches(2)
        self.fill(10)
        self.add_device('d2')
        df = self.diskfile('d2', 'other')
        with df.create(size=0) as writer:
            writer.put({'X-Timestamp': Timestamp(1).internal,
                        'ETag': 'd41d8cd98f00b204e9800998ecf8427e',
                        'Content-Type': 'text/plain', 'Content-Length': '0'})
        found = []
        with mock.patch.object(self.manager.complaints, 'of') as told:
            for location in self.locations():
                found.append(location)
                if location.device == 'd1' and 'd1' in self.world.servers:
                    self.world.kill('d1')
        self.assertEqual({'d1', 'd2'}, {each.device for each in found})
        self.assertEqual(
            2, len([each for each in found if each.device == 'd1']))
        self.assertIn('/d1/', str(told.call_args.args[0]))

    def test_nothing_is_quarantined_while_it_is_dead(self):
        names = self.fill(3)
        walk = self.locations()
        first = next(walk)
        self.overwrite(self.only_file(names[1])[1], 0, b'\x55' * 4)
        self.world.kill('d1')
        worker = self.audit([first, *walk])
        self.assertEqual((0, 1), (worker.quarantines, worker.errors))
        self.world.serve('d1')
        self.assertEqual(1, len(self.files(names[1])))

    def test_a_walk_goes_on_after_it_has_come_back(self):
        self.short_stretches(2)
        hashes = self.hashes_of(self.fill(6))
        walk = self.locations()
        self.assertEqual(hashes[0], os.path.basename(next(walk).path))
        self.world.kill('d1')
        self.assertEqual(1, len(list(walk)))
        self.world.serve('d1')
        self.assertEqual(hashes[2:], self.hashes()[-4:])
