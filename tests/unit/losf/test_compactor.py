# SPDX-License-Identifier: Apache-2.0
"""Volumes that are compacted, and removed when nothing is left in them."""

import errno
import os
import threading
from contextlib import suppress
from unittest import mock

from swift_losf.diskfile.vfile import (
    VFileReader,
    VFileWriter,
    read_metadata,
)
from swift_losf.format.header import SMALL, VolumeType
from swift_losf.index.index import Index, Refused
from swift_losf.index.mover import Mover
from swift_losf.upkeep import compactor as compactor_module
from swift_losf.upkeep.compactor import Stopped
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes import copier
from swift_losf.volumes.appender import Appender
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    RecoveryTest,
)
from tests.unit.losf.volumes import Options, bytes_of, hash_of

FIRST = 100


class Crash(Exception):
    pass


class CompactorTest(RecoveryTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()
        # What is appended to in these tests is not what copies go to.
        self.index.skip_volumes(FIRST - 1)

    def compact(self, **limits):
        made = self.compactor(self.index, **limits)
        self.addCleanup(made.stop)
        made.compact_all()
        for target in made._targets.values():
            target.close()
        return made

    def fill(self, lengths, number=1):
        """:returns: the data of files, by hash; the volume is unlocked"""
        data = {}
        for each, length in enumerate(lengths):
            hash_ = hash_of(each)
            data[hash_] = bytes_of(each, length)
            self.put(self.index, NAME, hash_, data=data[hash_],
                     number=number)
        self.release(number)
        return data

    def read(self, hash_, name=NAME):
        location = self.index.reader.files(PARTITION, hash_)[name]
        with VFileReader.open(self.layout, location, hash_, name) as file:
            return file.read()

    def assert_readable(self, data):
        for hash_, expected in data.items():
            self.assertEqual(expected, self.read(hash_))

    def numbers(self):
        """:returns: the volumes: files, and in the index"""
        return ([int(name[1:]) for name in sorted(
            os.listdir(self.layout.volumes))],
            [number for number, _ in self.index.list_volumes()])

    def restart(self):
        self.crash(self.index)
        self.index = self.recover()


class TestMoving(CompactorTest):

    def test_what_is_there_is_moved_and_the_volume_removed(self):
        data = self.fill([0, 1, 100, 65536, 70000, SMALL, SMALL + 1, 10 ** 6])
        made = self.compact()
        self.assertEqual(([FIRST], [FIRST]), self.numbers())
        self.assert_readable(data)
        self.assertEqual((8, 1), (self.index.statistics().moved, made.removed))
        self.assert_counted(self.index)
        self.assertEqual(0, self.index.statistics().dead_bytes)

    def test_metadata_and_when_it_was_written_stay(self):
        location = self.put(self.index)
        before = read_metadata(self.layout, location, HASH, NAME)
        self.release(1)
        self.compact()
        self.assertEqual(before, read_metadata(
            self.layout, self.index.reader.files(PARTITION, HASH)[NAME],
            HASH, NAME))

    def test_what_is_dead_is_left_behind(self):
        data = self.fill([3000] * 20)
        gone = list(data)[::2]
        for hash_ in gone:
            self.index.remove(PARTITION, hash_)
            del data[hash_]
        self.compact()
        self.assert_readable(data)
        self.assertEqual(([FIRST], [FIRST]), self.numbers())
        self.assertLess(os.path.getsize(self.layout.volume(FIRST)),
                        8192 + 10 * 3400)
        self.assertEqual(0, self.index.statistics().dead_bytes)

    def test_tombstones_stay_among_their_like(self):
        self.put(self.index, TOMBSTONE)
        self.put(self.index, OTHER, hash_of(1))
        for number in (1, 2):
            self.release(number)
        self.compact()
        self.assertEqual(
            {VolumeType.DATA: 1, VolumeType.TOMBSTONES: 1},
            {state.type: state.files
             for _, state in self.index.list_volumes()})

    def test_what_was_never_registered_goes_with_the_volume(self):
        self.write(OTHER)
        volume = self.volumes[1]
        volume.write_at([os.urandom(100000)], volume.end)
        self.release(1)
        self.index.register(PARTITION, HASH, NAME, self.write(
            NAME, number=3), 4096)
        with self.index.db.change() as change:
            change.raise_watermark(1, VolumeType.DATA, 4096)
        self.compact()
        self.assertEqual([3], self.numbers()[0])

    def test_one_that_is_locked_is_left_alone(self):
        self.put(self.index)
        self.compact()
        self.assertEqual(([1], [1]), self.numbers())

    def test_copies_fill_several_volumes(self):
        data = self.fill([3000] * 20)
        with mock.patch.object(compactor_module, 'BATCH', 5):
            self.compact(max_volume_size=12000)
        self.assert_readable(data)
        self.assertEqual([100, 101, 102, 103], self.numbers()[0])

    def test_a_reader_goes_on_where_it_is(self):
        data = self.fill([10 ** 6])
        (hash_, expected), = data.items()
        location = self.index.reader.files(PARTITION, hash_)[NAME]
        with VFileReader.open(self.layout, location, hash_, NAME) as file:
            self.compact()
            self.assertEqual([FIRST], self.numbers()[0])
            self.assertEqual(expected, file.read())

    def test_flags_go_along(self):
        name = '1700000000.00001#1.data'
        mark_durable(self.layout, self.put(self.index, name))
        self.index.rename(PARTITION, HASH, name, name.replace('#1', '#1#d'))
        mark_quarantined(self.layout, self.put(self.index, hash_=hash_of(1)))
        self.index.quarantine(PARTITION, hash_of(1))
        self.release(1)
        self.compact()
        self.lose_index(self.index)
        self.index = self.recover()
        self.assertEqual([name.replace('#1', '#1#d')], self.names(self.index))
        (_, hash_, _, location), = self.index.reader.list_quarantine()[0]
        self.assertEqual((hash_of(1), FIRST), (hash_, location.volume))
        self.assertEqual({}, self.index.reader.files(PARTITION, hash_of(1)))

    def test_a_damaged_record_stays_and_the_others_go(self):
        data = self.fill([3000] * 3)
        damaged = list(data)[1]
        location = self.index.reader.files(PARTITION, damaged)[NAME]
        self.overwrite(1, location.data_offset + 7, b'?????')
        before = self.bytes_at(location)
        with self.assertLogs(compactor_module.logger, 'WARNING') as logs:
            made = self.compact()
            self.compact()
        self.assertRegex(logs.output[0], '1 files cannot be moved')
        self.assertEqual(before, self.bytes_at(location))
        self.assertEqual(location, self.index.reader.files(
            PARTITION, damaged)[NAME])
        del data[damaged]
        self.assert_readable(data)
        # It is not tried again until something has changed.
        with mock.patch.object(made, '_compact') as tried:
            made.compact_all()
            self.assertNotIn(mock.call(1), tried.mock_calls)
            self.index.quarantine(PARTITION, damaged)
            made.compact_all()
            self.assertIn(mock.call(1), tried.mock_calls)

    def test_a_volume_that_is_gone_is_forgotten(self):
        self.put(self.index)
        self.index.remove(PARTITION, HASH)
        os.unlink(self.layout.volume(1))
        self.compact()
        self.assertEqual(([], []), self.numbers())
        self.assertEqual(0, self.index.statistics().dead_bytes)


class TestLeaks(CompactorTest):

    def upload_and_die(self, kept):
        """
        An object-server registers a file, and is killed amid long uploads.

        :param kept: the number of the file
        """
        appender = Appender(
            self.layout, VolumeType.DATA, Options(),
            lambda: self.index.new_volume(VolumeType.DATA))
        for _ in range(2):
            VFileWriter(appender).write(bytes_of(kept, 3 * 2 ** 20))
        writer = VFileWriter(appender)
        writer.write(b'kept')
        pending = writer.finish(NAME, {}, PARTITION, hash_of(kept))
        self.index.register(PARTITION, hash_of(kept), NAME, pending.location,
                            pending.watermark())
        # Its locks go with it, and nothing is cut off.
        appender.pool.close(inherited=True)

    def test_what_killed_uploads_have_left_is_given_back_online(self):
        for kept in range(3):
            self.upload_and_die(kept)
        self.assertGreater(self.allocated(), 12 * 2 ** 20)
        made = self.compactor(self.index, garbage=0.2, extents=500,
                              slack=2 ** 16)
        self.addCleanup(made.stop)
        made.compact_all()
        self.assertLess(self.allocated(), 2 ** 16)
        for kept in range(3):
            self.assertEqual(b'kept', self.read(hash_of(kept)))

    def allocated(self):
        return sum(os.stat(entry).st_blocks * 512
                   for entry in os.scandir(self.layout.volumes))


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
        self.lose_index(self.index)
        self.index = self.recover()
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
        sweeper = Sweeper(self.layout, self.index, 1, self.fail)
        left = []
        with mock.patch.object(
                compactor_module.Compactor, '_remove',
                lambda *args: left.append(sweeper.sweep())):
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
        self.lose_index(self.index)
        self.index = self.recover()
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
