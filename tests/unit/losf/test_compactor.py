# SPDX-License-Identifier: Apache-2.0
"""Volumes that are compacted, and removed when nothing is left in them.

Tombstones outlive what they have deleted, also amid compaction.
"""

import os
from unittest import mock

from swift_losf.diskfile.vfile import VFileReader, VFileWriter, read_metadata
from swift_losf.format.header import SMALL, VolumeType
from swift_losf.index.mover import Mover
from swift_losf.upkeep import compactor as compactor_module
from swift_losf.upkeep.compaction_plan import Rates
from swift_losf.volumes.appender import Appender
from swift_losf.volumes.ballast import Space
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.compactor_world import FIRST, CompactorTest
from tests.unit.losf.index_world import HASH, NAME, OTHER, PARTITION, TOMBSTONE
from tests.unit.losf.volumes import Options, bytes_of, hash_of


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
        self.index = self.after_loss(self.index)
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
        """An object-server registers a file, and is killed amid long uploads.

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
        self.compact(garbage=0.2, extents=500, slack=2 ** 16)
        self.assertLess(self.allocated(), 2 ** 16)
        for kept in range(3):
            self.assertEqual(b'kept', self.read(hash_of(kept)))

    def allocated(self):
        return sum(os.stat(entry).st_blocks * 512
                   for entry in os.scandir(self.layout.volumes))


class TestPace(CompactorTest):

    def test_where_little_is_free_clients_are_waited_for_no_more(self):
        for free, waits in ((2 ** 40, True), (2 ** 30, False)):
            self.fill([3000] * 9, number=len(self.numbers()[0]) + 1)
            made = self.compactor(self.index, max_volume_size=2 ** 29 + 1)
            made._is_busy = lambda: True
            with mock.patch.object(
                    compactor_module.Space, 'of', return_value=Space(
                        free, 99)), mock.patch.object(
                    compactor_module, 'PIECE', 0), mock.patch.object(
                    Rates, 'pause', return_value=0.0) as pause:
                made.compact_all()
            self.assertEqual({waits}, {
                each.args[2] for each in pause.call_args_list})

    def test_what_was_waited_for_before_is_no_work(self):
        self.fill([3000] * 9)
        made = self.compactor(self.index)
        made._begun -= 2 ** 30
        with mock.patch.object(compactor_module, 'PIECE', 0), \
                mock.patch.object(Rates, 'pause', return_value=0.0) as pause:
            made.compact_all()
        self.assertLess(max(each.args[0] for each in pause.call_args_list),
                        2 ** 29)

    def test_of_a_volume_without_files_nothing_is_read(self):
        for hash_ in self.fill([3000] * 3):
            self.index.remove(PARTITION, hash_)
        with mock.patch.object(compactor_module, 'iter_records') as read:
            self.assertEqual(1, self.compact().removed)
        self.assertEqual([], read.call_args_list)


class TestTombstones(CompactorTest):
    """They stay until nobody can find what they have deleted."""

    def test_their_volume_stays_while_dead_data_is_not_buried(self):
        self.put(self.index)
        self.put(self.index, TOMBSTONE)
        self.release(1), self.release(2)
        self.index.remove(PARTITION, HASH)
        with mock.patch.object(self.index.reclaim, 'emptied', 1):
            made = self.compactor(self.index)
            with mock.patch.object(made, '_set_emptied'), \
                    mock.patch.object(made, '_survey', self.only(made, 2)):
                made.compact_all()
        self.assertIn(2, self.numbers()[0])
        self.sweep_once(self.index)
        self.compact()
        self.assertEqual(([], []), self.numbers())

    @staticmethod
    def only(made, number):
        survey = made._survey
        return lambda untried: [each for each in survey(untried)
                                if each.number == number]

    def test_one_stays_while_its_hash_is_copied(self):
        self.put(self.index)
        self.put(self.index, TOMBSTONE)
        with self.index.mover.copying([HASH]):
            removed, left = self.index.remove(PARTITION, HASH)
            self.assertEqual(([NAME], 1), (removed, left))
        self.assertEqual(([TOMBSTONE], 0),
                         self.index.remove(PARTITION, HASH))

    def test_one_goes_when_the_copy_of_what_it_deleted_is_known_dead(self):
        self.put(self.index)
        self.release(1)
        real = Mover.move

        def move(mover, copies, *args):
            self.index.remove(PARTITION, HASH)
            self.index.sync()
            return real(mover, copies, *args)
        with mock.patch.object(Mover, 'move', move):
            made = self.compactor(self.index)
            with mock.patch.object(made, '_remove'):
                made.compact_all()
        self.assertTrue(self.index.db.has_unsynced_removal(HASH))
