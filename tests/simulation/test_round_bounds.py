# SPDX-License-Identifier: Apache-2.0
"""LightSync §6.1: how many rounds a write needs to reach all replicas."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.cluster import (
    LIGHTSYNC,
    QUICK,
    rounds_until_equal,
    world,
)

SEEDS = st.integers(0, 2 ** 16)


class TestRoundBounds(unittest.TestCase):

    def rounds(self, protocol, seed, replicas, copies, regions=1):
        where = world(protocol, seed=seed, nodes=2 * replicas,
                      replicas=replicas, regions=regions)
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 2, 5, where.rng.sample(
                list(row), copies))
        return rounds_until_equal(where, replicas)

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(1, 3))
    def test_a_quorum_write_at_r_3_needs_one_round(
            self, protocol, seed, regions):
        self.assertEqual(1, self.rounds(protocol, seed, 3, 2, regions))

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(1, 3))
    def test_a_quorum_write_at_r_5_needs_two_rounds_at_most(
            self, protocol, seed, regions):
        self.assertIn(self.rounds(protocol, seed, 5, 3, regions), (1, 2))

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 9))
    def test_a_single_copy_needs_r_minus_1_rounds_at_most(
            self, protocol, seed, replicas):
        self.assertIn(self.rounds(protocol, seed, replicas, 1),
                      range(1, replicas))

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS)
    def test_one_round_is_enough_at_r_5_where_nobody_fails(self, protocol,
                                                           seed):
        # Some quorum leaves two neighbours without: who pushes goes on.
        where = world(protocol, seed=seed, nodes=10, replicas=5,
                      partitions=64)
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 2, 5, row[:1])
        where.run_round()
        self.assertEqual(0, where.differing())

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5))
    def test_a_stable_system_pushes_nothing(self, protocol, seed, replicas):
        where = world(protocol, seed=seed, replicas=replicas)
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 1, 3, row)
        for _ in range(3):
            result = where.run_round()
            self.assertEqual({'LIGHTSYNC'}, set(result.kinds))
