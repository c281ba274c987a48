# SPDX-License-Identifier: Apache-2.0
"""What an audit finds damaged, and what has changed meanwhile instead."""

import os
from unittest import mock

from swift.common.utils import Timestamp

from swift_losf.format.header import BLOCK
from tests.unit.losf.auditing import LATER, AuditTest
from tests.unit.losf.kv_world import LONG, PARTITION, bytes_of


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
        """:param change: called with the name of an object after it was listed
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
