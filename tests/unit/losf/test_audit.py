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
"""The auditor's walk over volumes, with a real index and Swift's auditor."""

import json
import os
import unittest
from functools import partial
from unittest import mock

from swift.common.utils import Timestamp
from swift.obj import diskfile
from swift.obj.auditor import AuditorWorker

from swift_losf import audit, audit_order
from swift_losf.format.header import BLOCK
from swift_losf.index.channel import Channel
from tests.unit.losf.kv_world import LONG, PARTITION, KVTest, World, bytes_of

LATER = 2000000000
UNLIMITED = 10 ** 9


class AuditTest(KVTest):
    """A device of its own for each test; nothing is given back meanwhile."""

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.add_device('d1')
        super().setUp()
        patch = mock.patch.object(diskfile,
                                  'MIN_TIME_UPDATE_AUDITOR_STATUS', 0)
        patch.start()
        self.addCleanup(patch.stop)

    def add_device(self, device):
        os.mkdir(self.world.path(device))
        self.world.serve(device, '--sweep-interval', '1000')

    def fill(self, count, length=10):
        """:returns: names of objects, in the order of their places"""
        names = ['%s-%d' % (self.object, number) for number in range(count)]
        for number, name in enumerate(names):
            self.write(bytes_of(length, number), 1, name)
        return names

    def locations(self, auditor_type='ALL', **kwargs):
        return self.manager.object_audit_location_generator(
            self.policy, auditor_type=auditor_type, **kwargs)

    def hashes(self, *args, **kwargs):
        return [os.path.basename(each.path)
                for each in self.locations(*args, **kwargs)]

    def hashes_of(self, names):
        return [self.hash(name) for name in names]

    def short_stretches(self, hashes):
        patch = mock.patch.object(audit_order, 'STRETCH_HASHES', hashes)
        patch.start()
        self.addCleanup(patch.stop)

    def worker(self, zero_byte=False, **options):
        worker = AuditorWorker(
            self.conf(files_per_second=UNLIMITED,
                      bytes_per_second=UNLIMITED,
                      recon_cache_path=self.world.root, **options),
            self.logger, os.path.join(self.world.root, 'recon'), None,
            zero_byte_only_at_fps=UNLIMITED if zero_byte else 0)
        return worker

    def audit(self, locations=None, **kwargs):
        """
        :param locations: audited, or None: all, as the auditor does
        :returns: the worker, with its counts
        """
        worker = self.worker(**kwargs)
        if locations is None:
            locations = worker.diskfile_router[
                self.policy].object_audit_location_generator(
                    self.policy, auditor_type=worker.auditor_type)
        for each in locations:
            worker.failsafe_object_audit(each)
        return worker

    def assert_sound(self, worker, passes):
        self.assertEqual((passes, 0, 0), (
            worker.passes, worker.quarantines, worker.errors))
        self.assertEqual(0, self.store().index.statistics().quarantined)


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

    def test_tombstones_are_visited(self):
        name, = self.fill(1)
        self.diskfile(name=name).delete(Timestamp(LATER))
        self.assertEqual([self.hash(name)], self.hashes())

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
        with mock.patch('swift_losf.kvmanager.Walk',
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
            with mock.patch('swift_losf.audit.' + failing,
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


class TestDamage(AuditTest):

    #: length of the object -> what is damaged -> where
    PLACES = {'magic': lambda at: 0, 'header': lambda at: 20,
              'metadata': lambda at: at.footer_offset - at.offset + 30,
              'data': lambda at: at.data_offset - at.offset}

    def damage(self, what, location):
        self.overwrite(location, self.PLACES[what](location), b'\x55' * 4)

    def check(self, length, places, **kwargs):
        names = self.fill(len(places) + 2, length)
        damaged = dict(zip(names[1:], places))
        for name, what in damaged.items():
            self.damage(what, self.only_file(name)[1])
        worker = self.audit(**kwargs)
        self.assertEqual((len(names), len(places), 0), (
            worker.passes, worker.quarantines, worker.errors))
        for name in names:
            self.assertEqual(name not in damaged, bool(self.files(name)))
            self.assertEqual(name in damaged, bool(self.quarantined(name)))

    def test_that_of_short_objects_is_found(self):
        self.check(100, list(self.PLACES))

    def test_that_of_long_objects_is_found(self):
        self.check(LONG, list(self.PLACES))

    def test_that_of_short_objects_is_found_in_the_zero_byte_pass(self):
        self.check(100, list(self.PLACES), zero_byte=True)

    def test_an_object_without_its_volume_is_found(self):
        names = self.fill(3)
        os.unlink(self.store().layout.volume(1))
        self.assertEqual(3, self.audit().quarantines)
        self.assertEqual(1, len(self.quarantined(names[0])))

    def test_that_of_metadata_that_was_posted_is_found(self):
        name, = self.fill(1)
        self.diskfile(name=name).write_metadata(
            {'X-Timestamp': Timestamp(3).internal, 'key': 'value'})
        self.damage('metadata', next(
            at for file, at in self.files(name).items()
            if file.endswith('.meta')))
        self.assertEqual(1, self.audit().quarantines)
        self.assertEqual(2, len(self.quarantined(name)))

    def test_all_but_the_damaged_are_served(self):
        names = self.fill(3)
        self.damage('header', self.only_file(names[1])[1])
        self.audit()
        self.assert_status(404, 'GET', name=names[1])
        self.assert_status(200, 'GET', name=names[2])


class TestChanges(AuditTest):
    """What changes behind the back of a walk that has listed it."""

    def changed(self, change, length=10, **kwargs):
        """
        :param change: called with the name of an object after it was listed
        :returns: the worker that has audited all, and the name
        """
        names = self.fill(3, length)
        walk = self.locations(**kwargs)
        first = next(walk)
        change(names[1])
        return self.audit([first, *walk]), names[1]

    def gone(self, name):
        """Have the space of an object given back, as the server does."""
        at = self.only_file(name)[1]
        self.give_back(at)
        return at

    def put(self, name, timestamp=LATER, length=5):
        self.write(bytes_of(length, 9), timestamp, name)

    def test_an_object_is_overwritten(self):
        def change(name):
            self.gone(name)
            self.put(name)
        worker, name = self.changed(change)
        self.assert_sound(worker, 3)
        self.assertIn('%d.00000.data' % LATER, self.files(name))

    def test_what_is_damaged_was_overwritten(self):
        for at in (0, 64, 20):
            with self.subTest(at=at):
                def change(name):
                    location = self.only_file(name)[1]
                    self.put(name, LATER + at)
                    self.overwrite(location, at, b'\x55' * 4)
                self.object += 'x'
                self.manager.clear_auditor_status(self.policy)
                worker, name = self.changed(change)
                self.assertEqual((0, 0),
                                 (worker.quarantines, worker.errors))
                self.assertEqual(1, len(self.files(name)))
                self.assertEqual([], self.quarantined(name))

    def test_what_is_damaged_far_behind_was_overwritten(self):
        def change(name):
            location = self.only_file(name)[1]
            self.put(name)
            self.overwrite(location, 64 + 3 * BLOCK, b'\x55' * 4)
        worker, name = self.changed(change, LONG)
        self.assert_sound(worker, 3)
        self.assertEqual(1, len(self.files(name)))

    def test_what_is_damaged_came_back_under_its_name(self):
        def change(name):
            file, location = self.only_file(name)
            self.overwrite(location, 64 + 3 * BLOCK, b'\x55' * 4)
            self.store().remove(int(PARTITION), self.hash(name))
            self.write(bytes_of(LONG, 1), 1, name)
            self.assertEqual(file, self.only_file(name)[0])
        worker, name = self.changed(change, LONG)
        self.assert_sound(worker, 3)
        self.assertEqual(1, len(self.files(name)))

    def test_what_has_another_etag_was_overwritten(self):
        name = self.object + '-bad'
        self.write(bytes_of(100), 1, name, ETag='0' * 32)
        location, = self.locations()
        self.put(name)
        with mock.patch.object(self.logger, 'error') as error:
            self.assert_sound(self.audit([location]), 1)
        self.assertFalse(error.called)
        self.assertEqual(1, len(self.files(name)))

    def test_what_has_another_etag_is_found(self):
        name = self.object + '-bad'
        self.write(bytes_of(100), 1, name, ETag='0' * 32)
        self.assertEqual(1, self.audit().quarantines)
        self.assertEqual(1, len(self.quarantined(name)))

    def test_an_object_is_deleted(self):
        def change(name):
            self.gone(name)
            self.diskfile(name=name).delete(Timestamp(LATER))
        worker, name = self.changed(change)
        self.assert_sound(worker, 3)
        self.assertEqual(['%d.00000.ts' % LATER], list(self.files(name)))

    def test_an_object_is_gone_altogether(self):
        def change(name):
            self.gone(name)
            self.store().remove(int(PARTITION), self.hash(name))
        worker, _ = self.changed(change)
        self.assert_sound(worker, 3)

    def test_the_new_version_is_damaged(self):
        def change(name):
            self.gone(name)
            self.put(name)
            self.overwrite(self.only_file(name)[1], 0, b'\x55' * 4)
        worker, name = self.changed(change)
        self.assertEqual((1, 0), (worker.quarantines, worker.errors))
        self.assertEqual({}, self.files(name))

    def test_metadata_is_posted(self):
        def post(name):
            self.diskfile(name=name).write_metadata(
                {'X-Timestamp': Timestamp(3).internal, 'key': 'value'})
        worker, _ = self.changed(post)
        self.assert_sound(worker, 3)

    def test_metadata_is_posted_again(self):
        names = self.fill(1)

        def post(timestamp):
            self.diskfile(name=names[0]).write_metadata(
                {'X-Timestamp': Timestamp(timestamp).internal, 'a': 'b'})
        post(3)
        location, = self.locations()
        old = next(at for name, at in self.files(names[0]).items()
                   if name.endswith('.meta'))
        post(4)
        self.give_back(old)
        worker = self.audit([location])
        self.assert_sound(worker, 1)


class TestIndex(AuditTest):

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
        with mock.patch.object(self.logger, 'error') as error:
            for location in self.locations():
                found.append(location)
                if location.device == 'd1' and 'd1' in self.world.servers:
                    self.world.kill('d1')
        self.assertEqual({'d1', 'd2'}, {each.device for each in found})
        self.assertEqual(
            2, len([each for each in found if each.device == 'd1']))
        self.assertTrue(any('broken off' in call.args[0] and
                            'd1' in call.args for call in error.mock_calls))

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


if __name__ == '__main__':
    unittest.main()
