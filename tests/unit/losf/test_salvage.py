# SPDX-License-Identifier: Apache-2.0
"""Of a damaged index what can be read is kept, and the rest made anew."""

import os
import random
import shutil
from contextlib import closing, suppress
from pathlib import Path
from unittest import mock

import plyvel

from swift_losf.index.index import Index
from swift_losf.index.known import NotKnownYet
from swift_losf.upkeep import rebuild, recovery
from swift_losf.upkeep.lost_index import set_damaged_aside
from swift_losf.upkeep.recovery import recover
from swift_losf.upkeep.salvage import NothingLeft, Salvage, read_around
from swift_losf.volumes.volume import mark_quarantined
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.index_world import NAME, OTHER, PARTITION, RecoveryTest
from tests.unit.losf.test_rebuild import content
from tests.unit.losf.volumes import hash_of

HASHES = 1500


class SalvageTest(RecoveryTest):

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(WritableVolume, 'sync'))

    def fill(self, seed=1):
        """Leave an index of two tables, the newer with deletions."""
        self.chance = random.Random(seed)
        index = Index(self.layout.index)
        for number in range(HASHES):
            self.put(index, hash_=hash_of(number), number=1 + number % 3)
        index.close()
        index = Index(self.layout.index)
        # All older states of the volumes are in the table, too.
        index.db._db.compact_range()
        for number in self.chance.sample(range(HASHES), HASHES // 2):
            self.change(index, hash_of(number))
        index.close()
        for number in range(1, 4):
            self.release(number)
        self.expected = self.state()

    def change(self, index, hash_):
        kind = self.chance.randrange(10)
        if kind == 0:
            location = index.reader.files(PARTITION, hash_)[NAME]
            mark_quarantined(self.layout, location)
            index.quarantine(PARTITION, hash_)
        elif kind < 5:
            location = self.write(OTHER, hash_, number=3)
            index.register(PARTITION, hash_, OTHER, location,
                           location.offset, [NAME])
        else:
            index.remove(PARTITION, hash_)

    def state(self):
        with closing(Index(self.layout.index)) as index:
            return content(index), [
                (number, state.files, state.bytes, state.dead_bytes,
                 state.held, state.held_bytes)
                for number, state in index.list_volumes()]

    def tables(self):
        return sorted(Path(self.layout.index).glob('*.ldb'))

    def damage(self, path, letter=b'o'):
        """Change some bytes of a table.

        :param letter: of the entries that cannot be read any more
        """
        sound = path.read_bytes()
        while set(self.unreadable()) != {letter}:
            at = self.chance.randrange(len(sound) - 16)
            path.write_bytes(sound[:at] + 16 * b'\xa5' + sound[at + 16:])

    def unreadable(self):
        """:returns: letters of the keys before and behind what is damaged"""
        found, before = [], b'd'
        with closing(plyvel.DB(self.layout.index)) as database, \
                suppress(NothingLeft):
            for key, value in read_around(database):
                if value is None:
                    found += [before, key[:1]]
                before = key[:1]
        return found

    def recover_damaged(self, **arguments):
        set_damaged_aside(self.layout, plyvel.CorruptionError(b'a block'))
        recover(self.layout, **arguments).close()
        return self.state()

    def left(self):
        return [name for name in os.listdir(self.layout.root)
                if name.startswith('index.')]


class TestSalvage(SalvageTest):

    def test_what_a_damaged_block_had_comes_back_and_nothing_else(self):
        self.fill()
        shutil.copytree(self.layout.root, self.layout.root + '.kept')
        for table in (0, 1):
            for _ in range(8):
                shutil.rmtree(self.layout.root)
                shutil.copytree(self.layout.root + '.kept', self.layout.root)
                self.damage(self.tables()[table])
                with self.assertLogs('swift_losf', 'WARNING') as logs:
                    self.assertEqual(self.expected, self.recover_damaged())
                self.assertIn('1 ranges of hashes are made anew',
                              ''.join(logs.output))
                self.assertEqual(1, len(self.left()))
                self.assertIn('index.broken-', self.left()[0])

    def test_blocks_of_both_tables(self):
        self.fill()
        damaged = []
        for path in self.tables():
            sound = path.read_bytes()
            self.damage(path)
            damaged.append(path.read_bytes())
            path.write_bytes(sound)
        for path, data in zip(self.tables(), damaged):
            path.write_bytes(data)
        self.assertEqual(self.expected, self.recover_damaged())

    def test_a_damage_that_is_not_found_again_costs_nothing(self):
        self.fill()
        with mock.patch.object(recovery, 'Rebuild') as never:
            self.assertEqual(self.expected, self.recover_damaged())
        never.assert_not_called()

    def test_an_entry_that_makes_no_sense_is_made_anew(self):
        self.fill()
        key, value = next(entry for entry in self.expected[0]
                          if entry[0][:1] == b'o')
        with mock.patch.object(plyvel, 'CorruptionError', Exception):
            database = plyvel.DB(self.layout.index)
            database.put(key, b'\xff')
            database.close()
        self.assertEqual(self.expected, self.recover_damaged())

    def test_what_is_written_behind_the_checkpoint_is_found(self):
        self.fill()
        self.damage(self.tables()[0])
        hashes = [hash_of(HASHES + number) for number in range(50)]
        locations = [self.write(hash_=each, number=9) for each in hashes]
        self.release(9)
        self.recover_damaged()
        index = self.open_index()
        for hash_, location in zip(hashes, locations):
            self.assertEqual([(NAME, location)],
                             index.reader.list_hash(PARTITION, hash_))
        self.assert_counted(index)

    def test_it_may_be_interrupted_at_each_step(self):
        self.fill()
        self.damage(self.tables()[0])
        set_damaged_aside(self.layout, plyvel.CorruptionError(b'a block'))
        for stop in range(1, 100):
            left = [stop]

            def progress(state, left=left):
                left[0] -= 1
                if not left[0]:
                    raise KeyboardInterrupt()
            try:
                recover(self.layout, progress).close()
                break
            except KeyboardInterrupt:
                pass
        self.assertGreater(stop, 5)
        self.assertEqual(self.expected, self.state())

    def test_copying_that_was_interrupted_begins_again(self):
        self.fill()
        with mock.patch.object(Salvage, '_end_group', autospec=True,
                               side_effect=plyvel.IOError(b'full')), \
                self.assertRaises(plyvel.IOError):
            self.recover_damaged()
        # Its server may say that the copy is damaged, too.
        self.assertEqual(self.expected, self.recover_damaged())


class TestServing(SalvageTest):

    def test_what_could_be_read_is_served_meanwhile(self):
        self.fill()
        self.damage(self.tables()[0])
        served, seen = [], []

        def is_known(index, number):
            try:
                index.reader.list_hash(PARTITION, hash_of(number))
                return True
            except NotKnownYet:
                return False

        def look(state):
            if served and not seen:
                seen.append(sum(is_known(served[0], number)
                                for number in range(HASHES)))
                self.assertRaises(NotKnownYet,
                                  served[0].db.known.require_all)
        self.recover_damaged(progress=look, serve=served.append)
        self.assertGreater(seen[0], HASHES / 2)
        self.assertLess(seen[0], HASHES)


class TestNothingLeft(SalvageTest):
    """More than files is damaged: all is made anew, as of a lost index."""

    def assert_made_anew(self):
        with self.assertLogs('swift_losf', 'ERROR') as logs, \
                mock.patch.object(rebuild.Rebuild, 'run', autospec=True,
                                  side_effect=rebuild.Rebuild.run) as run:
            self.recover_damaged()
        self.assertIn('made anew as a whole', ''.join(logs.output))
        run.assert_called_once()
        index = self.open_index()
        self.assert_counted(index)
        self.assertEqual(1, len(self.left()))

    def test_the_space_that_is_to_be_given_back_is_damaged(self):
        self.fill()
        self.damage(self.tables()[1], b'd')
        self.assert_made_anew()

    def test_the_states_of_volumes_are_damaged(self):
        self.fill()
        index = Index(self.layout.index)
        with index.db.change() as change:
            change.put(b'v' + bytes(8), b'\xff')
        with mock.patch.object(index.db, 'sync'):
            index.close()
        self.assert_made_anew()

    def test_no_table_can_be_found(self):
        self.fill()
        for name in os.listdir(self.layout.index):
            if name.startswith(('MANIFEST', 'CURRENT')):
                os.unlink(os.path.join(self.layout.index, name))
        self.assert_made_anew()

    def test_one_that_was_unfinished_itself(self):
        self.fill()
        index = Index(self.layout.index)
        index.db.begin()
        index.close()
        with self.assertRaisesRegex(NothingLeft, 'being made anew'):
            Salvage(self.layout.index, mock.Mock()).run()
        self.assert_made_anew()
