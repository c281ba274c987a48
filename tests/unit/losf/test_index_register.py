# SPDX-License-Identifier: Apache-2.0
"""The index: what is registered."""

from swift_losf.format.values import Location
from swift_losf.index.call_arguments import InvalidArgument
from swift_losf.index.index import Refused
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    IndexTest,
    location_of,
)


class TestRegister(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()

    def register(self, name=NAME, offset=4096, watermark=4096):
        return self.index.register(PARTITION, HASH, name,
                                   location_of(name, offset), watermark)

    def test_it_answers_with_all_files_of_the_hash(self):
        self.register(OTHER)
        self.assertEqual([(NAME, location_of(NAME, 8192)),
                          (OTHER, location_of(OTHER))],
                         self.register(NAME, 8192))

    def test_doing_it_again_changes_nothing(self):
        first = self.register()
        before = self.index.statistics()
        self.assertEqual(first, self.register())
        self.assertEqual(before, self.index.statistics())

    def test_a_watermark_never_goes_down(self):
        for watermark, expected in ((4096, 4096), (12288, 12288),
                                    (8192, 12288)):
            self.register(watermark=watermark)
            self.assertEqual(expected, self.index.db.volumes[1].watermark)

    def test_a_file_of_the_same_name_gives_way(self):
        self.register()
        self.register(offset=8192)
        self.assertEqual([(NAME, location_of(NAME, 8192))],
                         self.index.reader.list_hash(PARTITION, HASH))
        self.assertTrue(self.index.reclaim.has(location_of(NAME)))
        self.assert_counted(self.index)

    def test_a_late_repetition_does_not_revive_what_was_removed(self):
        self.register()
        self.index.remove(PARTITION, HASH)
        with self.assertRaisesRegex(Refused, 'volume 1, offset 4096'):
            self.register()
        self.assertEqual([], self.index.reader.list_hash(PARTITION, HASH))

    def test_a_late_repetition_does_not_undo_a_rename(self):
        self.register()
        self.index.rename(PARTITION, HASH, NAME, OTHER)
        self.register()
        self.assertEqual([OTHER], [
            name for name, _ in self.index.reader.list_hash(PARTITION, HASH)])

    def test_a_late_repetition_does_not_end_a_quarantine(self):
        self.register()
        self.index.quarantine(PARTITION, HASH)
        self.assertEqual([], self.register())

    def test_what_makes_no_sense_is_refused_with_what_is_allowed(self):
        good = location_of(NAME)
        for arguments, message in (
                ((2 ** 32, HASH, NAME, good, 4096), 'partition 4294967296'),
                ((1, b'x', NAME, good, 4096), "hash '78': must be 16 bytes"),
                ((1, HASH, 'a/b', good, 4096), "name 'a/b'"),
                ((1, HASH, NAME, location_of(NAME, 4097), 4096),
                 'offset 4097: must be a multiple of 512'),
                ((1, HASH, NAME, location_of(NAME, 0), 4096),
                 'offset 0: must be from 4096'),
                ((1, HASH, NAME, location_of(NAME, volume=0), 4096),
                 'volume 0: must be from 1'),
                ((1, HASH, NAME, location_of(OTHER + 'x'), 4096),
                 'name_length 22: must be 21'),
                ((1, HASH, NAME, Location(1, 4096, 1, 2 ** 20 + 1, 21),
                  4096), 'metadata_length 1048577'),
                ((1, HASH, NAME, good, 0), 'watermark 0: must be from')):
            with self.assertRaisesRegex(InvalidArgument, message):
                self.index.register(*arguments)
        self.assertEqual([], self.index.reader.list_partitions())
        self.assertEqual({}, self.index.db.volumes)
