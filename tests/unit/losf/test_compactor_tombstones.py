# SPDX-License-Identifier: Apache-2.0
"""Tombstones outlive what they have deleted, also amid compaction."""

from unittest import mock

from swift_losf.index.mover import Mover
from tests.unit.losf.compactor_world import CompactorTest
from tests.unit.losf.index_world import HASH, NAME, PARTITION, TOMBSTONE


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
