# SPDX-License-Identifier: Apache-2.0
"""Which volumes are compacted, and how fast."""

import unittest
from dataclasses import replace

from swift_losf.upkeep.compaction_plan import Limits, Rates, VolumeUse, plan

MIB = 2 ** 20
LIMITS = Limits(garbage=0.2, extents=500, reserve=256 * MIB)
PLENTY = 2 ** 40


def use(number, garbage, allocated=100 * MIB, **kwargs):
    """:returns: the VolumeUse of a volume with a part of garbage"""
    live = int(allocated * (1 - garbage)) - 8192
    return VolumeUse(number, 1, 10, live, allocated, allocated,
                     kwargs.pop('extents', 1), **kwargs)


class TestPlan(unittest.TestCase):

    def test_most_garbage_goes_first_until_what_is_left_is_allowed(self):
        volumes = [use(1, 0.15), use(2, 0.5), use(3, 0.3), use(4, 0.18)]
        # 113 of 400; without 2: 63 of 350, which is 18 percent
        self.assertEqual([2], plan(volumes, LIMITS, PLENTY))
        self.assertEqual([2, 3, 4, 1], plan(volumes, replace(
            LIMITS, garbage=0.01), PLENTY))

    def test_nothing_is_done_while_the_garbage_is_allowed(self):
        self.assertEqual([], plan([use(1, 0.19), use(2, 0.2)], LIMITS,
                                  PLENTY))

    def test_less_garbage_is_allowed_on_a_disk_that_is_nearly_full(self):
        volumes = [use(1, 0.12), use(2, 0.03), use(3, 0.02)]
        limits = replace(LIMITS, scarce=PLENTY)
        self.assertEqual([], plan(volumes, limits, PLENTY))
        self.assertEqual([1], plan(volumes, limits, PLENTY - 1))

    def test_what_has_no_files_goes_first_whatever_is_free(self):
        empty = replace(use(7, 1.0), files=0, live=0)
        self.assertEqual([7], plan([use(1, 0.9), empty], LIMITS, 0))

    def test_one_that_somebody_has_counts_and_is_left_alone(self):
        self.assertEqual([2], plan([
            use(1, 0.9, is_free=False), use(2, 0.15),
            use(3, 0.05)], LIMITS, PLENTY))
        self.assertEqual([], plan([replace(
            use(1, 1.0, is_free=False), files=0)], LIMITS, PLENTY))

    def test_copies_leave_the_reserve_free(self):
        volume = use(1, 0.5)
        needed = volume.live + LIMITS.reserve
        self.assertEqual([], plan([volume], LIMITS, needed - 1))
        self.assertEqual([1], plan([volume], LIMITS, needed))

    def test_one_in_many_pieces_is_compacted_if_it_has_some_garbage(self):
        self.assertEqual([2], plan([
            use(1, 0.11), use(2, 0.11, extents=501),
            use(3, 0.09, extents=501)], LIMITS, PLENTY))

    def test_a_little_garbage_is_what_filesystems_allocate(self):
        small = VolumeUse(1, 1, 1, 0, 73728, 73728, 1)
        self.assertEqual(65536, small.garbage)
        self.assertEqual([], plan([small], LIMITS, PLENTY))
        self.assertEqual([1], plan([replace(small, allocated=77824)], LIMITS,
                                   PLENTY))

    def test_a_volume_that_takes_nothing_has_no_garbage(self):
        self.assertEqual(0.0, VolumeUse(1, 1, 1, 0, 0, 0, 0).garbage_share)


class TestRates(unittest.TestCase):

    def test_work_takes_a_quarter_of_the_time_while_somebody_is_served(self):
        self.assertEqual(3.0, Rates(100, 1000).pause(1.0, 200, True))

    def test_bytes_take_their_time(self):
        rates = Rates(100, 1000)
        self.assertEqual(9.0, rates.pause(1.0, 1000, True))
        self.assertEqual(1.0, rates.pause(1.0, 2000, False))
        self.assertEqual(0.0, rates.pause(1.0, 200, False))
