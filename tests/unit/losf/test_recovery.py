# SPDX-License-Identifier: Apache-2.0
"""What an index server does before it serves."""

import os
from unittest import mock

from swift_losf.format.values import Location
from swift_losf.index.adopter import Adopter
from swift_losf.upkeep import recovery as recovery_module
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    RecoveryTest,
)

FRAGMENT = '1700000000.00001#2.data'
DURABLE = '1700000000.00001#2#d.data'


class TestRecovery(RecoveryTest):

    def test_an_index_that_is_lost_is_made_anew_from_the_volumes(self):
        index = self.open_index()
        expected = {name: self.put(index, name)
                    for name in (NAME, OTHER, TOMBSTONE)}
        before = index.list_volumes()
        self.lose_index(index)
        self.release(1), self.release(2)
        index = self.recover()
        self.assertEqual(sorted(expected.items()),
                         index.reader.list_hash(PARTITION, HASH))
        self.assertEqual(3, index.statistics().recovered)
        self.assertEqual(['e0f'], sorted(set(self.invalidations())))
        self.assertEqual(3, index.new_volume(1))
        self.assert_counted(index)
        for (number, old), (same, new) in zip(before, index.list_volumes()):
            self.assertEqual(
                (number, old.type, old.files, old.bytes,
                 os.path.getsize(self.layout.volume(number))),
                (same, new.type, new.files, new.bytes, new.checkpoint))

    def test_after_a_clean_stop_nothing_is_scanned(self):
        index = self.open_index()
        for _ in range(3):
            location = self.put(index)
        end = self.volumes[1].end
        index.register(PARTITION, HASH, NAME, location, end)
        index.close()
        self.release(1)
        with mock.patch.object(recovery_module, 'iter_records',
                               return_value=[]) as scan:
            self.recover()
        self.assertEqual(end, scan.mock_calls[0].args[2])

    def test_what_was_written_but_not_registered_is_entered(self):
        index = self.open_index()
        self.put(index)
        location = self.write(OTHER)
        index = self.after_crash(index)
        self.assertEqual([NAME, OTHER], self.names(index))
        self.assertEqual(1, index.statistics().recovered)
        self.assertIn(location, dict(index.reader.list_hash(PARTITION, HASH)
                                     ).values())
        self.assertEqual(['e0f'], self.invalidations())

    def test_what_was_registered_since_the_checkpoint_is_hashed_anew(self):
        # Swift does not sync hashes.invalid, and a power cut may have lost it.
        index = self.open_index()
        self.put(index)
        index = self.after_crash(index)
        self.assertEqual(0, index.statistics().recovered)
        self.assertEqual(['e0f'], self.invalidations())

    def test_it_is_entered_after_sync_and_invalidation(self):
        self.open_index().close()
        self.write()
        steps = []
        fdatasync = os.fdatasync
        with mock.patch.object(recovery_module.os, 'fdatasync',
                               lambda fd: steps.append('sync')
                               or fdatasync(fd)), \
                mock.patch.object(recovery_module, 'invalidate',
                                  lambda *_: steps.append('invalidate')), \
                mock.patch.object(Adopter, 'adopt',
                                  lambda *_: steps.append('adopt')):
            self.recover()
        self.assertEqual(['sync', 'invalidate', 'adopt'], steps)

    def test_what_was_removed_does_not_come_back(self):
        index = self.open_index()
        self.put(index)
        self.put(index, OTHER)
        index.remove(PARTITION, HASH, [NAME])
        self.assertEqual([OTHER], self.names(self.after_crash(index)))

    def test_what_was_punched_does_not_come_back_to_a_new_index(self):
        index = self.open_index()
        self.put(index)
        self.put(index, OTHER)
        index.remove(PARTITION, HASH, [NAME])
        self.sweep_once(index)
        self.assertEqual([OTHER], self.names(self.after_loss(index)))

    def test_a_quarantine_that_was_begun_is_ended(self):
        index = self.open_index()
        mark_quarantined(self.layout, self.put(index))
        self.crash(index)
        for _ in range(2):
            index = self.recover()
            self.assertEqual([], self.names(index))
            self.assertEqual(1, index.statistics().quarantined)
            self.assert_counted(index)
            self.crash(index)

    def test_a_renamed_fragment_is_known_by_its_place(self):
        index = self.open_index()
        location = self.put(index, FRAGMENT)
        mark_durable(self.layout, location)
        index.rename(PARTITION, HASH, FRAGMENT, DURABLE)
        index = self.after_crash(index)
        self.assertEqual([DURABLE], self.names(index))
        index = self.after_loss(index)
        self.assertEqual([(DURABLE, location)],
                         index.reader.list_hash(PARTITION, HASH))

    def test_of_two_copies_of_a_fragment_the_durable_one_stays(self):
        index = self.open_index()
        location = self.put(index, FRAGMENT)
        self.clock -= 1  # as the compactor copies it
        self.write(FRAGMENT, number=3)
        mark_durable(self.layout, location)
        index.rename(PARTITION, HASH, FRAGMENT, DURABLE)
        for end in (self.crash, self.lose_index):
            end(index)
            index = self.recover()
            self.assertEqual([(DURABLE, location)],
                             index.reader.list_hash(PARTITION, HASH))
            self.assert_counted(index)

    def test_of_two_of_one_name_the_one_written_later_stays(self):
        for numbers in ((3, 4), (6, 5)):
            name = '17000000%02d.00001.data' % numbers[0]
            old, new = (self.write(name, number=number)
                        for number in numbers)
            index = self.recover()
            self.assertEqual(new, dict(index.reader.list_hash(
                PARTITION, HASH))[name])
            self.assertTrue(index.reclaim.has(old))
            self.lose_index(index)

    def test_a_torn_record_is_skipped_and_the_next_one_found(self):
        torn = self.write(data=b'x' * 10000)
        after = self.write(OTHER)
        self.overwrite(1, torn.footer_offset, bytes(10))
        self.assertEqual([(OTHER, after)],
                         self.recover().reader.list_hash(PARTITION, HASH))

    def test_the_watermark_of_a_volume_in_use_is_left_to_its_owner(self):
        self.write()
        index = self.recover()
        self.assertEqual(8192, index.db.volumes[1].watermark)
        self.crash(index)
        self.release(1)
        index = self.recover()
        self.assertEqual(os.path.getsize(self.layout.volume(1)),
                         index.db.volumes[1].watermark)

    def test_a_volume_that_became_shorter_is_scanned_from_its_beginning(self):
        index = self.open_index()
        self.put(index)
        self.write(OTHER)
        index.register(PARTITION, bytes(16), 'x',
                       Location(1, 2 ** 30, 1, 1, 1), 2 ** 30)
        index.close()
        self.assertEqual([NAME, OTHER], self.names(self.recover()))

    def test_many_records_are_entered_in_batches(self):
        self.open_index().close()
        with mock.patch.object(recovery_module, 'BATCH', 3):
            names = ['17000000%02d.00001.data' % n for n in range(8)]
            for name in names:
                self.write(name)
            states = []
            index = self.recover(states.append)
        self.assertEqual(names, self.names(index))
        self.assertIn('6 files recovered', states)

    def test_partition_directories_are_made_again(self):
        index = self.open_index()
        self.put(index)
        index.close()
        self.recover()
        self.assertTrue(os.path.isdir(self.layout.partition(PARTITION)))


class TestQuarantineOfALostIndex(RecoveryTest):
    """What the quarantined file had superseded does not come back."""

    def rebuilt(self, *records):
        """:param records: (name, number of the volume, quarantined) each
        :returns: the index of nothing but these
        """
        locations = {}
        for name, number, quarantined in records:
            locations[name] = self.write(name, number=number)
            if quarantined:
                mark_quarantined(self.layout, locations[name])
        index = self.recover()
        self.assert_counted(index)
        return index, locations

    def test_the_older_version_is_given_back_whichever_is_found_first(self):
        for first, second in ((3, 4), (6, 5)):
            index, locations = self.rebuilt(
                (NAME, first, False), (OTHER, second, True))
            self.assertEqual([], self.names(index))
            self.assertEqual([OTHER], [each[2] for each in
                                       index.reader.list_quarantine()[0]])
            self.assertTrue(index.reclaim.has(locations[NAME]))
            self.assertFalse(index.reclaim.has(locations[OTHER]))
            self.sweep_once(index)
            self.lose_index(index)
            for number in (first, second):
                self.release(number)
                os.unlink(self.layout.volume(number))

    def test_a_newer_version_is_a_file(self):
        for first, second in ((3, 4), (6, 5)):
            index, _ = self.rebuilt((NAME, first, True),
                                    (OTHER, second, False))
            self.assertEqual([OTHER], self.names(index))
            self.lose_index(index)

    def test_what_quarantined_metadata_was_of_is_a_file(self):
        index, _ = self.rebuilt((NAME, 1, False),
                                (OTHER.replace('.data', '.meta'), 1, True))
        self.assertEqual([NAME], self.names(index))

    def test_a_fragment_that_was_not_durable_has_superseded_nothing(self):
        newer = FRAGMENT.replace('00001', '00009')
        index, locations = self.rebuilt((FRAGMENT, 1, False),
                                        (newer, 1, True))
        self.assertEqual([FRAGMENT], self.names(index))
        mark_durable(self.layout, locations[newer])
        self.assertEqual([], self.names(self.after_loss(index)))
