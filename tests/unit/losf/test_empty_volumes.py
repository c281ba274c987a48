# SPDX-License-Identifier: Apache-2.0
"""Volumes that nothing is in any more."""

import fcntl
import itertools
import os
import shutil
from dataclasses import replace
from unittest import mock

from swift_losf.format.header import VolumeType
from swift_losf.upkeep import empty_volumes
from swift_losf.upkeep.empty_volumes import KEPT, EmptyVolumes
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.appender import Appender
from swift_losf.volumes.volume import mark_quarantined
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.index_world import HASH, NAME, OTHER, PARTITION, IndexTest
from tests.unit.losf.test_giving_back import World
from tests.unit.losf.volumes import Options, bytes_of

#: of these tests: a volume with any record is full
FULL = 4097


class Crash(Exception):
    pass


class EmptyVolumesTest(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()

    def sweep(self, max_volume_size=FULL):
        """Until nothing is left to be given back."""
        sweeper = Sweeper(self.layout, self.index, 1, None, max_volume_size)
        self.index.reclaim.pending.set()
        while self.index.reclaim.pending.is_set():
            self.index.reclaim.pending.clear()
            self.assertEqual(0, sweeper.sweep())

    def emptied(self, number=1, **kwargs):
        """Make a volume whose only file was removed."""
        self.put(self.index, number=number, **kwargs)
        self.index.remove(PARTITION, HASH)
        self.release(number)

    def numbers(self):
        """:returns: the volumes: files, and in the index"""
        return ([int(name[1:]) for name in sorted(
            os.listdir(self.layout.volumes))],
            [number for number, _ in self.index.list_volumes()])


class TestRemoval(EmptyVolumesTest):

    def test_a_full_volume_is_removed_with_its_last_file(self):
        self.put(self.index, number=1)
        self.put(self.index, OTHER, number=1)
        self.release(1)
        self.index.remove(PARTITION, HASH, [NAME])
        self.sweep()
        self.assertEqual(([1], [1]), self.numbers())
        self.index.remove(PARTITION, HASH)
        self.sweep()
        self.assertEqual(([], []), self.numbers())
        self.assertEqual(2, self.index.new_volume(1))

    def test_a_sync_does_not_bring_its_state_back(self):
        self.emptied()
        real = self.index.db._sync_logs

        def drop_meanwhile():
            real()
            with self.index.db.change() as change:
                change.drop_volume(1)

        with mock.patch.object(self.index.db, '_sync_logs', drop_meanwhile):
            self.index.sync()
        self.assertEqual(([1], []), self.numbers())

    def test_one_that_is_locked_is_kept(self):
        self.put(self.index, number=1)
        self.index.remove(PARTITION, HASH)
        self.sweep()
        self.assertEqual(([1], [1]), self.numbers())
        self.release(1)
        self.sweep()
        self.assertEqual(([], []), self.numbers())

    def test_one_with_a_quarantined_file_is_kept(self):
        location = self.put(self.index)
        mark_quarantined(self.layout, location)
        self.index.quarantine(PARTITION, HASH)
        self.release(1)
        before = self.bytes_at(location)
        self.sweep()
        self.assertEqual(([1], [1]), self.numbers())
        self.assertEqual(before, self.bytes_at(location))

    def test_one_with_bytes_that_it_cannot_account_for_is_kept(self):
        # the index has lost count: it says that there is no file
        location = self.put(self.index)
        self.release(1)
        with self.index.db.change() as change:
            change.put_volume(1, replace(change.volume(1), files=0))
        before = self.bytes_at(location)
        self.sweep()
        self.assertEqual(([1], [1]), self.numbers())
        self.assertEqual(before, self.bytes_at(location))

    def test_a_few_that_may_be_appended_to_are_kept(self):
        for number in range(1, KEPT + 4):
            self.emptied(number)
        self.sweep(10 ** 9)
        kept = list(range(1, KEPT + 1))
        self.assertEqual((kept, kept), self.numbers())

    def test_what_was_never_registered_is_given_back_then(self):
        self.write(OTHER)
        volume = self.volumes[1]
        volume.write_at([os.urandom(100000)], volume.end)
        volume.end = volume.align(volume.end + 100000)
        self.emptied()
        self.sweep()
        self.assertEqual(([], []), self.numbers())

    def test_what_is_no_volume_is_left_to_recovery(self):
        self.emptied()
        self.overwrite(1, 5000, b'x')
        Sweeper(self.layout, self.index, 1, None, FULL).sweep()
        with open(self.layout.volume(1), 'r+b') as volume:
            volume.write(b'x')
            volume.seek(8000)
            volume.write(b'x')
        EmptyVolumes(self.layout, self.index, FULL).remove()
        self.assertEqual(([1], [1]), self.numbers())


class TestCrash(EmptyVolumesTest):

    def crash_at(self, owner, name):
        self.emptied()
        self.put(self.index, OTHER, number=7)
        with mock.patch.object(owner, name, side_effect=Crash), \
                self.assertRaises(Crash):
            self.sweep()
        with mock.patch.object(self.index.db, 'sync'):
            self.index.close()
        self.index = self.recover()

    def test_between_the_index_and_the_file_it_is_removed_again(self):
        self.crash_at(empty_volumes.os, 'unlink')
        self.assertEqual(([1, 7], [1, 7]), self.numbers())
        self.sweep()
        self.assertEqual(([7], [7]), self.numbers())

    def test_before_the_directory_is_synced_either_is_possible(self):
        self.crash_at(empty_volumes, 'fsync')
        self.assertEqual(([7], [7]), self.numbers())
        self.assertEqual([OTHER], list(self.index.reader.files(
            PARTITION, HASH)))
        self.assertGreaterEqual(self.index.new_volume(1), 8)

    def test_a_state_that_came_back_without_its_file_does_no_harm(self):
        self.emptied()
        copy = self.layout.index + '.copy'
        self.index.sync()
        shutil.copytree(self.layout.index, copy)
        self.sweep()
        self.index.close()
        shutil.rmtree(self.layout.index)
        os.rename(copy, self.layout.index)
        self.index = self.recover()
        self.sweep()
        self.assertEqual([], self.numbers()[0])
        self.assertEqual(2, self.index.new_volume(1))


class TestWriters(EmptyVolumesTest):

    def appender(self, **options):
        numbers = itertools.count(50)
        made = Appender(self.layout, VolumeType.DATA, Options(**options),
                        lambda: next(numbers))
        self.addCleanup(made.close)
        return made

    def test_one_that_is_removed_while_it_is_taken_is_not_used(self):
        self.emptied()
        steps = [self.sweep]
        flock = fcntl.flock

        def remove_before(*args):
            while steps:
                steps.pop()()
            return flock(*args)

        with mock.patch('swift_losf.volumes.writable.fcntl.flock',
                        remove_before):
            self.assertIsNone(WritableVolume.take(self.layout.volume(1)))
        self.assertEqual([], self.numbers()[0])

    def test_a_pool_that_saw_it_goes_on_with_another(self):
        self.emptied()
        listdir = os.listdir

        def list_and_remove(path):
            names = listdir(path)
            if path == self.layout.volumes and names == ['v0000000001']:
                self.index.drop_volume(1)
                os.unlink(self.layout.volume(1))
            return names

        with mock.patch('swift_losf.volumes.volume_pool.os.listdir',
                        list_and_remove):
            held = self.appender(max_volume_count=1).pool.take()
        self.assertEqual(50, held.number)

    def test_puts_and_removals_and_rounds_at_once_lose_nothing(self):
        world = World(self.make_device())
        self.addCleanup(world.close)
        options = Options(max_volume_size=20000)
        world.appender = Appender(world.layout, VolumeType.DATA, options,
                                  lambda: world.index.new_volume(1))
        sweeper = Sweeper(world.layout, world.index, 1, None, 20000)
        most = 0
        for number in range(120):
            world.put(number, 3000)
            if number >= 10:
                world.remove(number - 10)
            sweeper.sweep()
            most = max(most, len(os.listdir(world.layout.volumes)))
        for number, location in world.files.items():
            self.assertEqual(bytes_of(number, 3000),
                             world.read(number, location))
        self.assertLess(most, 9)
