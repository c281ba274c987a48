# SPDX-License-Identifier: Apache-2.0
"""audit_order: the order of an audit, and what is read ahead of it."""

import random
import unittest
from unittest import mock

from swift_losf.diskfile import audit_order
from swift_losf.diskfile.audit_order import (
    GAP,
    LONGEST,
    STRETCH,
    HashFiles,
    Nearest,
    first_end,
    format_left,
    parse_left,
    stretches,
)
from swift_losf.format.header import SMALL
from swift_losf.format.values import Location
from swift_losf.index.index_client import Volume

NAME = '1700000000.00001.data'
END = (2 ** 62, 0)


def files_of(number, volume=1, offset=None, data_length=100):
    """:returns: HashFiles of a hash with that number"""
    offset = 4096 + 1024 * number if offset is None else offset
    return HashFiles(7, number.to_bytes(16, 'big'), {
        NAME: Location(volume, offset, data_length, 200, len(NAME))})


def raw(each):
    return each.partition, each.hash, each.files


class TestHashFiles(unittest.TestCase):

    def test_what_is_packed_is_unpacked(self):
        each = HashFiles(2 ** 32 - 1, b'\xff' * 16, {
            NAME: Location(2 ** 63 - 1, 2 ** 63 - 512, 2 ** 63 - 1,
                           2 ** 20, 255),
            'x' * 255: Location(1, 4096, 0, 0, 1)})
        unpacked = HashFiles.unpack(each.pack())
        self.assertEqual(each, unpacked)
        self.assertEqual(list(each.files), list(unpacked.files))

    def test_it_is_small(self):
        self.assertLess(len(files_of(1).pack()), 90)

    def test_what_is_packed_has_the_order_of_the_places(self):
        places = [(volume, offset) for volume in (1, 255, 256, 2 ** 40)
                  for offset in (4096, 65536, 2 ** 33, 2 ** 50)]
        packed = {files_of(number, *place).pack(): place for number, place
                  in enumerate(random.Random(1).sample(places, len(places)))}
        self.assertEqual(places, [packed[each] for each in sorted(packed)])


class TestNearest(unittest.TestCase):

    def collect(self, hashes, most, page=7):
        """:returns: those of each pass over the hashes"""
        passes, first = [], (0, 0)
        while first < END:
            nearest = Nearest(END, most)
            for at in range(0, len(hashes), page):
                nearest.add([raw(each) for each in hashes[at:at + page]
                             if first <= each.location.spot < nearest.end])
                self.assertLessEqual(len(nearest._packed), most)
            passes.append(list(nearest.take()))
            first = nearest.end
        return passes

    def test_all_come_once_and_in_order_in_bounded_memory(self):
        rng = random.Random(2)
        places = rng.sample([(volume, 4096 + 512 * at) for volume in
                             range(1, 5) for at in range(200)], 500)
        hashes = [files_of(number, *place)
                  for number, place in enumerate(places)]
        for most, least in ((1, 500), (2, 250), (40, 13), (499, 2),
                            (500, 1), (10000, 1)):
            passes = self.collect(hashes, most)
            self.assertEqual(
                sorted(hashes, key=lambda each: each.location.spot),
                [each for found in passes for each in found])
            self.assertGreaterEqual(len(passes), least)
            self.assertTrue(most < 500 or len(passes) == 1)


class TestFirstEnd(unittest.TestCase):

    def end(self, first, most, counts=(4, 4, 4)):
        return first_end(
            [Volume(number + 1, 1, 4096, count, 0, 0, 0, 0)
             for number, count in enumerate(counts)], first, (4, 0), most)

    def test_volumes_are_taken_as_long_as_they_have_no_more_files(self):
        self.assertEqual((4, 0), self.end((1, 0), 12))
        self.assertEqual((3, 0), self.end((1, 0), 11))
        self.assertEqual((2, 0), self.end((1, 0), 4))
        self.assertEqual((4, 0), self.end((2, 0), 8))

    def test_one_that_has_more_is_taken_alone(self):
        self.assertEqual((2, 0), self.end((1, 0), 1))
        self.assertEqual((4, 0), self.end((3, 8192), 1))


class TestStretches(unittest.TestCase):

    def stretches(self, hashes, all_data=True):
        found = list(stretches(hashes, all_data))
        self.assertEqual(hashes, [each for stretch in found
                                  for each in stretch.hashes])
        return found

    def test_what_lies_together_is_read_at_once(self):
        hashes = [files_of(number) for number in range(100)]
        (stretch,) = self.stretches(hashes)
        last = hashes[-1].location
        self.assertEqual(
            ((4096, last.offset + last.length - 4096),), stretch.ranges)
        self.assertEqual((1, 4096), stretch.spot)

    def test_what_lies_far_apart_is_read_by_itself(self):
        first = files_of(0)
        end = first.location.offset + first.location.length
        for gap, count in ((GAP, 1), (GAP + 1, 2)):
            (stretch,) = self.stretches([first, files_of(
                1, offset=end + gap)])
            self.assertEqual(count, len(stretch.ranges))

    def test_a_stretch_is_of_one_volume(self):
        found = self.stretches([files_of(0), files_of(1, volume=2)])
        self.assertEqual([(1, 4096), (2, 5120)],
                         [each.spot for each in found])

    def test_a_stretch_has_so_many_bytes_and_hashes_at_most(self):
        with mock.patch.object(audit_order, 'STRETCH_HASHES', 3):
            found = self.stretches([files_of(each) for each in range(8)])
        self.assertEqual([3, 3, 2], [len(each.hashes) for each in found])
        length = SMALL - 4096
        found = self.stretches([
            files_of(each, offset=4096 + each * SMALL, data_length=length)
            for each in range(40)])
        for each in found:
            self.assertLess(sum(length for _, length in each.ranges),
                            STRETCH + SMALL)

    def test_of_a_long_record_both_ends_are_read_and_some_of_its_data(self):
        each = files_of(0, data_length=10 * LONGEST)
        at = each.location
        for all_data, head in ((True, LONGEST), (False, 4096)):
            (stretch,) = self.stretches([each], all_data)
            self.assertEqual(
                ((at.offset, head),
                 (at.footer_offset,
                  at.offset + at.length - at.footer_offset)),
                stretch.ranges)

    def test_short_records_are_read_whole_also_for_zero_byte_files(self):
        at = files_of(0, data_length=SMALL).location
        (stretch,) = self.stretches([files_of(0, data_length=SMALL)], False)
        self.assertEqual(((at.offset, at.length),), stretch.ranges)

    def test_of_nothing_there_is_none(self):
        self.assertEqual([], self.stretches([]))


class TestLeft(unittest.TestCase):

    def test_what_is_left_is_found_again(self):
        self.assertEqual([(2, 8192), (5, 0)], parse_left(
            format_left([1, 2, 5], (2, 8192))))
        self.assertEqual([(5, 0)], parse_left(
            format_left([1, 2, 5], (3, 8192))))
        self.assertEqual([], parse_left(format_left([1, 2], (3, 0))))

    def test_it_names_volumes(self):
        self.assertEqual(['v0000000002+512', 'v0000000005'],
                         format_left([1, 2, 5], (2, 512)))

    def test_anything_else_is_nothing_that_is_left(self):
        for left in (['7'], ['v0000000001', 'auditor_status_ALL.json'],
                     ['v1'], ['v0000000001+'], ['v0000000001+x'], [1],
                     ['v0000000001\n']):
            self.assertIsNone(parse_left(left), left)
