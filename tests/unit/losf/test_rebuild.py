# SPDX-License-Identifier: Apache-2.0
"""An index that was lost is made anew by several processes, and serves."""

import os
import random
import shutil
from unittest import mock

from swift_losf.format import keys
from swift_losf.index.known import NotKnownYet
from swift_losf.upkeep import rebuild
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    RecoveryTest,
)
from tests.unit.losf.volumes import hash_of

FRAGMENT = '1700000000.00004#2.data'
NAMES = (NAME, OTHER, TOMBSTONE, FRAGMENT, '1700000000.00005.meta')


def content(index):
    """:returns: all entries but the states of the index"""
    return [entry for entry in index.db.scan(b'', b'\xff')
            if entry[0][:1] in (keys.FILE, keys.QUARANTINED, keys.DEAD)]


class TestRebuild(RecoveryTest):

    def fill(self, seed):
        """Write records of few hashes, in all states, to some volumes."""
        chance = random.Random(seed)
        for _ in range(60):
            name = chance.choice(NAMES)
            number = chance.randrange(1, 4) + 3 * (name == TOMBSTONE)
            location = self.write(
                name, hash_of(chance.randrange(8)), number=number,
                data=chance.randbytes(chance.choice((0, 9, 5000, 70000))))
            if chance.random() < 0.2:
                mark_quarantined(self.layout, location)
            if name == FRAGMENT and chance.random() < 0.5:
                mark_durable(self.layout, location)
        for number in range(1, 7):
            self.release(number)

    def one_by_one(self):
        """:returns: what recovery makes of the records, one by one"""
        self.open_index().close()
        index = self.recover()
        found = content(index)
        states = index.list_volumes()
        self.lose_index(index)
        return found, states

    def test_it_is_as_recovery_makes_it_record_by_record(self):
        for seed in range(20):
            self.fill(seed)
            expected = self.one_by_one()
            index = self.recover()
            self.assertEqual(expected, (content(index), [
                (number, state) for number, state in index.list_volumes()]))
            self.assert_counted(index)
            self.lose_index(index)
            shutil.rmtree(self.layout.volumes)
            os.mkdir(self.layout.volumes)

    def test_pieces_and_processes_find_the_same(self):
        self.fill(1)
        expected, _ = self.one_by_one()
        with mock.patch.object(rebuild, 'LARGE', 0), \
                mock.patch.object(rebuild, 'PIECE', 10000), \
                mock.patch.object(rebuild, 'BATCH', 3):
            self.assertEqual(expected, content(self.recover()))
        self.assertEqual([], [name for name in os.listdir(self.layout.root)
                              if name.endswith('.runs')])

    def test_runs_of_few_records_are_merged(self):
        self.fill(2)
        expected, _ = self.one_by_one()
        with mock.patch('swift_losf.upkeep.scan_worker.MOST', 7):
            self.assertEqual(expected, content(self.recover()))

    def test_a_process_that_dies_ends_it_and_the_next_begins_again(self):
        self.fill(3)
        expected, _ = self.one_by_one()
        with mock.patch.object(rebuild, 'LARGE', 0), \
                mock.patch.object(rebuild.sys, 'executable', '/bin/false'), \
                self.assertRaises(OSError):
            self.recover()
        self.assertEqual(expected, content(self.recover()))

    def test_one_that_was_interrupted_is_begun_again(self):
        self.fill(4)
        expected, _ = self.one_by_one()
        with mock.patch.object(rebuild, 'BATCH', 2):
            for stop in range(1, 5):
                left = [stop]

                def progress(state, left=left):
                    if state.endswith('files recovered'):
                        left[0] -= 1
                        if not left[0]:
                            raise KeyboardInterrupt()
                with self.assertRaises(KeyboardInterrupt):
                    self.recover(progress)
        self.assertEqual(expected, content(self.recover()))


class TestServing(RecoveryTest):

    def test_what_is_known_is_served_and_the_rest_is_not_known_yet(self):
        hashes = sorted((hash_of(number) for number in range(20)),
                        key=lambda each: keys.place_of(PARTITION, each))
        for hash_ in hashes:
            self.write(NAME, hash_)
        self.release(1)
        served, seen = [], []

        def known(index, hash_):
            try:
                return bool(index.reader.list_hash(PARTITION, hash_))
            except NotKnownYet:
                return False

        def look(state):
            if served and state != 'partitions':
                index = served[0]
                seen.append([known(index, each) for each in hashes])
                for whole in (lambda: index.reader.list_partition(PARTITION),
                              index.reader.list_partitions,
                              index.reader.list_quarantine,
                              index.db.known.require_all):
                    self.assertRaises(NotKnownYet, whole)
                if known(index, hashes[0]):
                    index.remove(PARTITION, hashes[0])
        with mock.patch.object(rebuild, 'BATCH', 5):
            index = self.recover(look, served.append)
        self.assertEqual([False] * 20, seen[0])
        self.assertEqual([False] + [True] * 9 + [False] * 10, seen[2])
        self.assertEqual([], index.reader.list_hash(PARTITION, hashes[0]))
        self.assert_counted(index)
        self.assertEqual(19, index.statistics().files)


class TestPartPower(RecoveryTest):

    def test_a_lost_index_has_the_partitions_of_the_part_power(self):
        location = self.write(NAME, HASH, partition=1)
        self.write(OTHER, HASH, partition=2)
        self.release(1)
        for power in (8, 16, 9):
            shutil.rmtree(self.layout.index, ignore_errors=True)
            index = self.recover(part_power=power)
            partition = int.from_bytes(HASH[:4], 'big') >> 32 - power
            self.assertEqual([partition], index.reader.list_partitions())
            self.assertIn((NAME, location),
                          index.reader.list_hash(partition, HASH))
            self.compact_all(index)
            self.assertEqual(2, index.statistics().moved)
            location = index.reader.files(partition, HASH)[NAME]
            index.close()

    def test_what_is_behind_the_checkpoint_has_them_too(self):
        self.open_index().close()
        self.write(NAME, HASH, partition=77)
        index = self.recover(part_power=16)
        self.assertEqual([int.from_bytes(HASH[:2], 'big')],
                         index.reader.list_partitions())
