# SPDX-License-Identifier: Apache-2.0
"""The files of the hashes that stand in a range of an index."""

from unittest import mock

from swift_losf.index import entry_reader
from swift_losf.index.call_arguments import InvalidArgument
from tests.unit.losf.index_world import NAME, OTHER, IndexTest, location_of

META = '1700000000.00003.meta'
TOMBSTONE = '1700000000.00001.ts'
END = (2 ** 62, 0)


class TestListings(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()

    def enter(self, number, **places):
        """:param number: of a hash, and of its partition
        :param places: of its files: volume and offset
        :returns: (partition, hash, its files)
        """
        files = {name: location_of(name, offset, volume)
                 for name, (volume, offset) in places.items()}
        hash_ = number.to_bytes(16, 'big')
        for name, location in files.items():
            self.index.register(number, hash_, name, location, 4096)
        return number, hash_, files

    def enter_many(self, count):
        return [self.enter(number, **{NAME: (1 + number % 2,
                                             4096 + 512 * number)})
                for number in range(count)]

    def files(self, first=(0, 0), end=END):
        """:returns: what is on all pages"""
        found, after = self.index.reader.list_files(first, end)
        while after:
            page, after = self.index.reader.list_files(first, end, after)
            found += page
        return found

    def flat(self, *hashes):
        return [(partition, hash_, *file)
                for partition, hash_, files in hashes
                for file in files.items()]

    def test_those_of_all_partitions_are_listed(self):
        hashes = self.enter_many(10)
        self.assertEqual(self.flat(*hashes), self.files())

    def test_a_range_is_from_the_first_to_below_the_end(self):
        hashes = self.enter_many(10)
        for first, end in (((1, 0), (2, 0)), ((1, 5120), (2, 5632)),
                           ((2, 4608), (2, 4609)), ((2, 4608), (2, 4608)),
                           ((3, 0), END)):
            self.assertEqual(
                [each for each in self.flat(*hashes)
                 if first <= each[3].spot < end], self.files(first, end))

    def test_a_hash_stands_where_its_newest_data_file_does(self):
        each = self.enter(1, **{NAME: (1, 4096), META: (1, 8192),
                                OTHER: (3, 4096)})
        files = each[2]
        self.assertEqual(
            [(OTHER, files[OTHER]), (NAME, files[NAME]),
             (META, files[META])],
            [file[2:] for file in self.files((3, 0), (3, 8192))])
        self.assertEqual([], self.files((1, 0), (3, 0)))

    def test_one_without_data_stands_where_its_first_file_does(self):
        each = self.enter(1, **{META: (1, 8192), TOMBSTONE: (2, 4096)})
        self.assertEqual([META, TOMBSTONE],
                         [file[2] for file in self.files((1, 0), (2, 0))])
        self.assertEqual([], self.files((2, 0), (3, 0)))
        self.index.remove(*each[:2], [META])
        self.assertEqual([TOMBSTONE],
                         [file[2] for file in self.files((2, 0), (3, 0))])

    def test_an_answer_is_bounded_whatever_is_wanted(self):
        hashes = self.enter_many(20)
        with mock.patch.object(entry_reader, 'SEARCHED', 4):
            page, after = self.index.reader.list_files((1, 0), (2, 0))
            self.assertEqual(2, len(page))
            self.assertTrue(after)
            page, after = self.index.reader.list_files((7, 0), (8, 0))
            self.assertEqual([], page)
            self.assertTrue(after)
            self.assertEqual(self.flat(*hashes), self.files())

    def test_the_files_of_a_hash_are_on_one_page(self):
        each = self.enter(1, **{NAME: (1, 4096), META: (1, 8192),
                                OTHER: (1, 12288)})
        last = self.enter(2, **{NAME: (1, 16384)})
        with mock.patch.object(entry_reader, 'SEARCHED', 1):
            page, after = self.index.reader.list_files((0, 0), END)
            self.assertEqual(3, len(page))
            self.assertEqual({each[1]}, {file[1] for file in page})
            page, after = self.index.reader.list_files((0, 0), END, after)
        self.assertEqual((self.flat(last), b''), (page, after))

    def test_what_is_in_quarantine_or_removed_is_not_listed(self):
        hashes = self.enter_many(3)
        self.index.quarantine(*hashes[0][:2])
        self.index.remove(*hashes[1][:2])
        self.assertEqual(self.flat(hashes[2]), self.files())

    def test_what_came_behind_the_page_is_on_the_next(self):
        self.enter_many(4)
        with mock.patch.object(entry_reader, 'SEARCHED', 2):
            _, after = self.index.reader.list_files((0, 0), END)
            new = self.enter(9, **{NAME: (1, 65536)})
            self.index.remove(2, (2).to_bytes(16, 'big'))
            page, after = self.index.reader.list_files((0, 0), END, after)
        self.assertEqual([3, 9], [each[0] for each in page])
        self.assertEqual(self.flat(new), page[1:])

    def test_what_is_no_page_or_place_is_refused(self):
        for first, end, after, message in (
                ((0, 0), END, b'x', "after '78': must be empty or what"),
                ((2 ** 63, 0), END, b'', 'volume 9223372036854775808: must'),
                ((0, 0), (1, 2 ** 63), b'', 'offset 9223372036854775808')):
            with self.assertRaisesRegex(InvalidArgument, message):
                self.index.reader.list_files(first, end, after)
