# SPDX-License-Identifier: Apache-2.0
"""Compaction beside reads, deletes and audits, after crashes, in trouble."""

import errno
import os
import threading
from contextlib import suppress
from unittest import mock

from swift_losf.index.index import Index, Refused
from swift_losf.index.mover import Mover
from swift_losf.upkeep import compactor as compactor_module
from swift_losf.upkeep.compactor import Stopped
from swift_losf.volumes import copier
from swift_losf.volumes.volume import mark_quarantined
from tests.unit.losf.compactor_world import FIRST, CompactorTest, Crash
from tests.unit.losf.index_world import HASH, NAME, PARTITION
from tests.unit.losf.volumes import bytes_of, hash_of


class TestMeanwhile(CompactorTest):
    """What is done between the copy and the move wins."""

    def compact_and(self, action):
        move = self.index.mover.move

        def moved(*args):
            action()
            return move(*args)

        with mock.patch.object(self.index.mover, 'move', moved):
            self.compact()

    def test_a_delete(self):
        self.fill([3000] * 2)
        self.compact_and(lambda: self.index.remove(PARTITION, hash_of(0)))
        self.assertEqual({}, self.index.reader.files(PARTITION, hash_of(0)))
        self.restart()
        self.assertEqual({}, self.index.reader.files(PARTITION, hash_of(0)))
        self.assertEqual(bytes_of(1, 3000), self.read(hash_of(1)))

    def test_an_overwrite_of_the_same_name(self):
        self.fill([3000])
        self.compact_and(lambda: self.put(
            self.index, NAME, hash_of(0), data=b'new', number=5))
        self.assertEqual(b'new', self.read(hash_of(0)))
        self.restart()
        self.assertEqual(b'new', self.read(hash_of(0)))

    def test_a_quarantine(self):
        self.fill([3000])

        def quarantine():
            mark_quarantined(self.layout, self.index.reader.files(
                PARTITION, hash_of(0))[NAME])
            self.index.quarantine(PARTITION, hash_of(0))

        self.compact_and(quarantine)
        self.index = self.after_loss(self.index)
        self.assertEqual({}, self.index.reader.files(PARTITION, hash_of(0)))

    def test_a_mark_alone(self):
        self.fill([3000])
        location = self.index.reader.files(PARTITION, hash_of(0))[NAME]
        self.compact_and(lambda: mark_quarantined(self.layout, location))
        self.assertEqual(location, self.index.reader.files(
            PARTITION, hash_of(0))[NAME])

    def test_a_late_registration_is_refused_once_the_volume_is_removed(self):
        late = self.write()
        self.put(self.index, hash_=hash_of(1))
        self.index.remove(PARTITION, hash_of(1))
        self.release(1)
        self.compact()
        self.assertEqual([], self.numbers()[0])
        with self.assertRaisesRegex(Refused, 'volume 1 is removed'):
            self.index.register(PARTITION, HASH, NAME, late, 4096)

    def test_one_just_before_keeps_the_volume(self):
        late = self.write()
        self.put(self.index, hash_=hash_of(1))
        self.release(1)
        made = self.compactor(self.index)
        remove = made._remove

        def register(number):
            self.index.register(PARTITION, HASH, NAME, late, 4096)
            remove(number)

        with mock.patch.object(made, '_remove', register):
            made.compact_all()
        self.assertEqual(b'some data', self.read(HASH))
        self.assertIn(1, self.numbers()[0])

    def test_the_sweeper_leaves_the_volume_alone(self):
        self.fill([3000])
        left = []
        with mock.patch.object(
                compactor_module.Compactor, '_remove',
                lambda *args: left.append(self.sweep_once(self.index))):
            self.compact()
        self.assertEqual([1], left)

    def test_it_stops_amid_a_volume_and_goes_on_later(self):
        data = self.fill([3000] * 50)
        made = self.compactor(self.index)
        with mock.patch.object(compactor_module, 'BATCH', 5), \
                mock.patch.object(made, '_move', wraps=made._move) as moved:
            moved.side_effect = [mock.DEFAULT, mock.DEFAULT, Stopped]
            made.compact_all()
        self.assertEqual((10, 40), tuple(
            state.files for number, state in sorted(
                self.index.list_volumes(), reverse=True)))
        self.assert_readable(data)
        self.compact()
        self.assert_readable(data)
        self.assertNotIn(1, self.numbers()[0])

    def test_the_thread_compacts_and_stops(self):
        data = self.fill([3000] * 5)
        made = self.compactor(self.index)
        made.start()
        self.wait_for(lambda: made.removed)
        made.stop()
        self.assertFalse(made.is_alive())
        self.assert_readable(data)
        # Others may have the volume that the copies are in.
        self.assertIsNotNone(self.volume_is_free(FIRST))

    def volume_is_free(self, number):
        volume = copier.WritableVolume.take(self.layout.volume(number))
        volume.close()
        return volume

    def test_a_thread_that_fails_says_so(self):
        failures = []
        made = self.compactor(self.index)
        made._fail = failures.append
        with mock.patch.object(made, 'compact_all',
                               side_effect=ZeroDivisionError):
            made.start()
            self.wait_for(lambda: failures)
        made.stop()
        self.assertIsInstance(failures[0], ZeroDivisionError)


class TestCrashes(CompactorTest):

    def crash_at(self, owner, name, before=True):
        """Die at each call of a function, before or after it."""
        real = getattr(owner, name)

        def die(*args, **kwargs):
            if not before:
                real(*args, **kwargs)
            raise Crash()

        with mock.patch.object(owner, name, die), suppress(Crash):
            self.compact()
        self.restart()

    def test_at_each_step_all_is_there_and_nothing_twice(self):
        for owner, name in (
                (copier.WritableVolume, 'create'),
                (copier.WritableVolume, 'write_at'),
                (copier.WritableVolume, 'sync'),
                (Mover, 'move'), (Index, 'retire'), (Index, 'sync'),
                (compactor_module.os, 'unlink'),
                (compactor_module, 'sync_directory'),
                (Index, 'drop_volume')):
            for before in (True, False):
                with self.subTest(name, before=before):
                    self.check_crash(owner, name, before)

    def check_crash(self, owner, name, before):
        self.index.close()
        self.device = self.make_device()
        self.layout = type(self.layout)(self.device, 0)
        os.makedirs(self.layout.volumes)
        self.index = self.open_index()
        self.index.skip_volumes(FIRST - 1)
        data = self.fill([3000, 300000, 10])
        gone = hash_of(3)
        self.put(self.index, NAME, gone, number=2)
        self.index.remove(PARTITION, gone)
        self.release(2)
        self.crash_at(owner, name, before)
        self.assert_readable(data)
        self.assert_counted(self.index)
        self.compact()
        self.assert_readable(data)
        self.assertEqual({}, self.index.reader.files(PARTITION, gone))
        self.assertEqual(3, self.index.statistics().files)
        self.assertEqual(1, len([
            number for number, state in self.index.list_volumes()
            if state.files]))
        self.index = self.after_loss(self.index)
        self.assert_readable(data)


class TestTrouble(CompactorTest):

    def test_a_full_disk_is_waited_for(self):
        data = self.fill([3000] * 3)
        with mock.patch.object(
                copier.WritableVolume, 'write_at', side_effect=OSError(
                    errno.ENOSPC, 'the disk is full')), \
                self.assertLogs(compactor_module.logger, 'ERROR') as logs:
            made = self.compact()
        self.assertRegex(logs.output[0], 'compaction waits.*full')
        self.assert_readable(data)
        made.compact_all()
        self.assert_readable(data)
        self.assertEqual(1, made.removed)

    def test_sectors_that_cannot_be_read_end_nothing(self):
        data = self.fill([3000] * 3)
        with mock.patch.object(
                compactor_module, 'iter_records', side_effect=OSError(
                    errno.EIO, 'the disk is damaged')), \
                self.assertLogs(compactor_module.logger, 'ERROR') as logs:
            self.compact()
        self.assertRegex(logs.output[0], 'broken off.*damaged')
        self.assert_readable(data)

    def test_a_disk_that_turns_read_only_ends_nothing(self):
        data = self.fill([3000] * 3)
        with mock.patch('swift_losf.volumes.writable.os.ftruncate',
                        side_effect=OSError(errno.EROFS, 'read-only')):
            self.compact()
        self.assert_readable(data)

    def test_copies_that_cannot_be_moved_are_cut_off(self):
        data = self.fill([3000] * 3)
        with mock.patch.object(self.index.mover, 'move', side_effect=OSError(
                errno.EIO, 'the disk is damaged')), \
                self.assertLogs(compactor_module.logger, 'ERROR'):
            self.compact()
        self.assertEqual(8192, os.path.getsize(self.layout.volume(FIRST)))
        self.assert_readable(data)

    def test_readers_see_one_or_the_other_at_all_times(self):
        data = self.fill([3000] * 200)
        failures, done = [], threading.Event()

        def read_all():
            while not done.is_set():
                for hash_, expected in data.items():
                    try:
                        found = self.read(hash_)
                    except FileNotFoundError:
                        # As Swift does, which asks the index again.
                        found = self.read(hash_)
                    if found != expected:
                        failures.append(hash_)
        readers = [threading.Thread(target=read_all) for _ in range(3)]
        for each in readers:
            each.start()
        try:
            for _ in range(10):
                self.compact()
        finally:
            done.set()
            for each in readers:
                each.join()
        self.assertEqual([], failures)
