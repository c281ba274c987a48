# SPDX-License-Identifier: Apache-2.0
"""The part power of the ring changes, and the index is as it was."""

import hashlib
import os
import shutil
from unittest import mock

from swift.obj.diskfile import read_hashes, write_hashes

from swift_losf.format import keys
from swift_losf.format.keys import partition_of, suffix_of
from swift_losf.format.partition_view import PartitionView
from swift_losf.index.call_arguments import InvalidArgument
from swift_losf.index.index import Index
from swift_losf.upkeep import lost_index, partitions
from swift_losf.upkeep.partitions import tidy
from tests.unit.losf.index_world import (
    NAME,
    OTHER,
    IndexTest,
    RecoveryTest,
    all_files,
    location_of,
)

KEYED = 4
POWERS = (3, 4, 5, 6, 12, 1)
FEW = 8


def hash_of(number):
    """:returns: one of few suffixes, so that many hashes are of each"""
    digest = bytearray(hashlib.md5(b'%d' % number).digest())
    digest[-2:] = (number % 5 * 1023).to_bytes(2, 'big')
    return bytes(digest)


HASHES = [hash_of(number) for number in range(300)]


class TestView(IndexTest):
    """What is listed by any part power is what a dict would list."""

    def setUp(self):
        super().setUp()
        self.index = self.open_index()
        self.index.part_power.set(KEYED)
        for number, hash_ in enumerate(HASHES):
            # Whatever the caller takes the partition to be.
            self.index.register(number, hash_, NAME, location_of(
                NAME, 4096 * (number + 1)), 4096)

    def hashes(self, power, partition, suffix=None):
        return sorted((each for each in HASHES
                       if partition_of(each, power) == partition
                       and suffix in (None, suffix_of(each))),
                      key=lambda each: (suffix_of(each), each))

    def listed(self, partition, first, last, limit):
        found, after, more = [], b'', True
        while more:
            page, more = self.index.reader.list_suffix(
                partition, first, after, limit, last)
            found += [hash_ for hash_, _ in page]
            after = page[-1][0] if page else after
        return found

    def assert_listed(self, power):
        reader = self.index.reader
        expected = sorted({partition_of(each, power) for each in HASHES})
        self.assertEqual(expected, reader.list_partitions())
        for partition in expected[:40]:
            wanted = self.hashes(power, partition)
            self.assertEqual(sorted(set(map(suffix_of, wanted))),
                             reader.list_partition(partition))
            self.assertEqual(wanted, self.listed(
                partition, 0, keys.MAX_SUFFIX, 7))
            for suffix in set(map(suffix_of, wanted)):
                for limit in (2, 0):
                    self.assertEqual(
                        self.hashes(power, partition, suffix),
                        self.listed(partition, suffix, suffix, limit))
        self.assertEqual(
            sorted((partition_of(each, power), each) for each in HASHES),
            sorted(each[:2] for each in all_files(reader)))

    def test_each_partition_has_its_hashes_by_each_part_power(self):
        for power in POWERS:
            with self.subTest(power=power):
                self.index.part_power.set(power)
                self.assert_listed(power)

    def test_what_a_key_begins_with_tells_partition_and_suffix(self):
        for keyed in POWERS:
            for power in (*POWERS, 0, 32):
                view = PartitionView(keyed, power)
                self.assertEqual(
                    [(partition_of(each, power), suffix_of(each))
                     for each in HASHES],
                    [view.split_place(keys.place_of(
                        partition_of(each, keyed), each))
                     for each in HASHES])
        self.assertEqual((7, suffix_of(HASHES[3])), PartitionView(
            ).split_place(keys.place_of(7, HASHES[3])))

    def test_there_is_nothing_in_what_is_no_partition(self):
        for power in POWERS:
            self.index.part_power.set(power)
            for partition in (2 ** power, 2 ** 31, 2 ** 32 - 1):
                self.assertEqual(
                    [], self.index.reader.list_partition(partition))
                self.assertEqual(([], False), self.index.reader.list_suffix(
                    partition, suffix_of(HASHES[0])))

    def test_it_is_known_when_the_index_is_opened_again(self):
        self.index.part_power.set(6)
        self.index.close()
        self.index = self.open_index()
        self.assert_listed(6)

    def test_a_hash_is_found_whatever_its_partition_is_taken_to_be(self):
        self.index.part_power.set(7)
        for partition in (0, 5, 2 ** 31):
            found, = self.index.reader.list_hash(partition, HASHES[3])
            self.assertEqual(NAME, found[0])
        self.index.remove(77, HASHES[3])
        self.assertEqual([], self.index.reader.list_hash(1, HASHES[3]))

    def test_files_and_quarantine_tell_the_partition_of_the_ring(self):
        self.index.part_power.set(6)
        suffix = suffix_of(HASHES[0])
        partition = partition_of(HASHES[0], 6)
        held = self.hashes(6, partition, suffix)
        self.assertEqual(len(held), self.index.quarantine(
            partition, suffix=suffix))
        self.assertEqual(
            [partition] * len(held),
            [each[0] for each in self.index.reader.list_quarantine()[0]])
        files, _ = self.index.reader.list_files((0, 0), (9, 0))
        self.assertEqual({partition_of(each[1], 6) for each in files},
                         {each[0] for each in files})

    def test_a_change_elsewhere_is_invalidated_where_the_file_is(self):
        seen = []
        self.index.part_power.invalidate = lambda *args: seen.append(args)
        hash_, before = HASHES[0], partition_of(HASHES[0], KEYED)
        self.index.register(before, hash_, OTHER, location_of(
            OTHER, 4096 * 400), 4096)
        self.assertEqual([], seen)
        self.index.part_power.set(KEYED + 1)
        self.index.rename(before, hash_, OTHER, '1.00000.data')
        self.index.remove(before, hash_, [NAME])
        self.index.quarantine(before, hash_)
        self.assertEqual(3 * [(partition_of(hash_, KEYED + 1),
                               [suffix_of(hash_)])], seen)

    def test_only_a_part_power_is_taken(self):
        for power in (-1, 33):
            with self.assertRaisesRegex(InvalidArgument, 'part power'):
                self.index.part_power.set(power)
        self.assert_listed(KEYED)


class Killed(BaseException):
    """The server is killed at a step."""


class DirectoriesTest(RecoveryTest):
    """Partition directories, with hashes that Swift has computed."""

    def setUp(self):
        super().setUp()
        for hash_ in HASHES[:FEW]:
            self.write(NAME, hash_, partition=partition_of(hash_, KEYED))
        self.release(1)
        self.recover(part_power=KEYED).close()
        self.compute()

    def compute(self):
        for name in os.listdir(self.layout.objects):
            path = self.path(name)
            write_hashes(path, {'valid': True, 'abc': 'computed'})
            for each in ('hashes.invalid', 'changed.pkl'):
                with open(os.path.join(path, each), 'w') as file:
                    file.write('abc\n')

    def path(self, name):
        return os.path.join(self.layout.objects, str(name))

    def assert_tidy(self, index, power):
        self.assertEqual(power, index.statistics().part_power)
        self.assertEqual(
            sorted({partition_of(each, power) for each in HASHES[:FEW]}),
            sorted(map(int, os.listdir(self.layout.objects))))
        for name in os.listdir(self.layout.objects):
            self.assertFalse(read_hashes(self.path(name))['valid'])


class TestDirectories(DirectoriesTest):

    def test_they_stay_while_the_part_power_does(self):
        index = self.recover(part_power=KEYED)
        for name in os.listdir(self.layout.objects):
            self.assertTrue(read_hashes(self.path(name))['valid'])
        index.part_power.set(KEYED)
        self.assertTrue(index.part_power.is_tidy)

    def test_they_follow_a_server_that_is_started_with_another(self):
        for power in (KEYED + 1, KEYED + 2, KEYED):
            index = self.recover(part_power=power)
            self.assert_tidy(index, power)
            index.close()
            self.compute()

    def test_they_follow_a_server_that_runs(self):
        index = self.recover()
        index.part_power.set(KEYED + 1)
        self.assertEqual(0, index.statistics().part_power)
        tidy(self.layout, index)
        self.assert_tidy(index, KEYED + 1)

    def test_one_that_is_told_of_meanwhile_is_not_forgotten(self):
        index = self.recover()
        index.part_power.set(KEYED + 1)
        done = index.part_power.note_tidied
        with mock.patch.object(index.part_power, 'note_tidied', lambda power: (
                index.part_power.set(KEYED + 2), done(power))):
            tidy(self.layout, index)
        self.assertEqual(KEYED + 2, index.part_power.view.power)
        self.assertEqual(0, index.statistics().part_power)
        tidy(self.layout, index)
        self.assert_tidy(index, KEYED + 2)

    def test_one_that_is_told_to_stop_leaves_the_rest(self):
        index = self.recover()
        index.part_power.set(KEYED + 1)
        tidy(self.layout, index, lambda: True)
        self.assertEqual(0, index.statistics().part_power)
        tidy(self.layout, index)
        self.assert_tidy(index, KEYED + 1)

    def test_a_kill_at_each_step_is_made_up_for(self):
        """Steps are all that opens, replaces, makes or removes something."""
        step, was_killed = 0, True
        while was_killed:
            step, was_killed = step + 1, False
            power = KEYED + 1 + step % 2
            self.compute()
            index = Index(self.layout.index)
            index.part_power.set(power)
            left = [step]

            def counted(name, left=left):
                real = getattr(os, name)

                def call(path, *args, **kwargs):
                    if str(path).startswith(self.layout.objects):
                        left[0] -= 1
                        if left[0] == 0:
                            raise Killed()
                    return real(path, *args, **kwargs)
                return mock.patch.object(os, name, call)
            try:
                with counted('open'), counted('unlink'), counted('rmdir'), \
                        counted('makedirs'), counted('replace'):
                    tidy(self.layout, index)
            except Killed:
                was_killed = True
            index = self.after_crash(index)
            self.assert_tidy(index, power)
            index.close()
        self.assertGreater(step, 5 * FEW)

    def test_hashes_that_are_being_computed_are_not_kept(self):
        """Swift keeps them only where hashes.pkl is what it has read."""
        index = self.recover()
        partition = index.reader.list_partitions()[0]
        for valid in (True, False):
            write_hashes(self.path(partition), {'valid': valid})
            read = read_hashes(self.path(partition))
            index.part_power.set(index.part_power.view.power + 1)
            with mock.patch.object(partitions, '_remove',
                                   partitions._forget_hashes):
                tidy(self.layout, index)
            self.assertNotEqual(read, read_hashes(self.path(partition)))

    def test_what_is_not_of_a_partition_keeps_its_directory(self):
        os.makedirs(self.path('4095/abc'))
        self.recover(part_power=KEYED + 1)
        self.assertEqual(['abc'], os.listdir(self.path('4095')))

    def test_a_full_disk_leaves_them_for_later(self):
        index = self.recover()
        index.part_power.set(KEYED + 1)
        with mock.patch.object(partitions, 'replace_file',
                               side_effect=OSError(28, 'No space')), \
                mock.patch.object(partitions, '_remove',
                                  side_effect=OSError(28, 'No space')), \
                self.assertLogs(partitions.logger, 'ERROR'):
            tidy(self.layout, index)
        self.assertEqual(0, index.statistics().part_power)
        tidy(self.layout, index)
        self.assert_tidy(index, KEYED + 1)


class TestLost(DirectoriesTest):

    def test_one_that_is_lost_meanwhile_is_made_by_the_new_one(self):
        shutil.rmtree(self.layout.index)
        index = self.recover(part_power=KEYED + 1)
        self.assertEqual(KEYED + 1, index.part_power.view.keyed)
        self.assert_tidy(index, KEYED + 1)
        self.assert_counted(index)

    def test_one_that_is_damaged_keeps_the_keys_that_can_be_read(self):
        index = Index(self.layout.index)
        index.part_power.set(KEYED + 1)
        index.close()
        lost_index.set_damaged_aside(self.layout, 'as the test wants it')
        index = self.recover(part_power=KEYED + 2)
        self.assertEqual((KEYED, KEYED + 2), (
            index.part_power.view.keyed, index.part_power.view.power))
        self.assert_tidy(index, KEYED + 2)
        self.assertEqual(0, index.adopter.recovered)

    def test_what_was_not_synced_is_entered_where_it_belongs(self):
        index = Index(self.layout.index)
        index.part_power.set(KEYED + 1)
        self.write(OTHER, HASHES[0], number=9)
        self.release(9)
        index = self.after_crash(index)
        self.assertEqual([NAME, OTHER], self.names(index, HASHES[0]))
        self.assert_tidy(index, KEYED + 1)

    def test_compaction_moves_what_is_there(self):
        index = self.recover(part_power=KEYED + 2)
        self.compact_all(index)
        self.assertEqual(FEW, index.statistics().moved)
        self.assert_counted(index)
