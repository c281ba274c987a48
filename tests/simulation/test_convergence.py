# SPDX-License-Identifier: Apache-2.0
"""LightSync §6.1: eventual consistency, whatever fails for a while."""

import unittest

from hypothesis import given, note
from hypothesis import strategies as st

from tests.simulation.cluster import (
    CALM_ROUNDS,
    LIGHTSYNC,
    QUICK,
    calm,
    failures,
    newest,
    rounds_until_equal,
    rounds_until_quiet,
    suffer,
    world,
    write,
)
from tools.simulation.network import Reach


class TestConvergence(unittest.TestCase):

    def assert_converges(self, where):
        calm(where)
        expected = newest(where)
        rounds = rounds_until_equal(where, CALM_ROUNDS)
        self.assertIsNotNone(rounds, 'seed %d: %d partitions differ' % (
            where.settings.seed, where.differing()))
        self.assertEqual(expected, newest(where))
        return rounds

    def assert_rests(self, where):
        """Nothing is pushed for ever between replicas that are equal."""
        self.assertIsNotNone(rounds_until_quiet(where, CALM_ROUNDS))
        for _ in range(2):
            self.assertEqual({'LIGHTSYNC'}, set(where.run_round().kinds))
        self.assertEqual(0, where.hand_offs())

    @QUICK
    @given(failures(), st.sampled_from(LIGHTSYNC), st.integers(2, 5),
           st.integers(0, 2 ** 16))
    def test_replicas_become_equal_once_failures_stop(
            self, trace, protocol, replicas, seed):
        where = world(protocol, replicas=replicas, seed=seed)
        suffer(where, trace)
        note('rounds: %s' % self.assert_converges(where))
        self.assert_rests(where)

    @QUICK
    @given(failures(), st.integers(0, 2 ** 16))
    def test_nothing_that_was_written_is_lost(self, trace, seed):
        where = world(seed=seed)
        for partition in range(24):
            write(where, partition, 0, copies=2, version=9)
        suffer(where, trace)
        self.assert_converges(where)
        for partition in range(24):
            for node in where.placement.rows[partition]:
                self.assertLessEqual(9, where.disks.replica(
                    node, partition).versions[0])

    @QUICK
    @given(failures(), st.integers(0, 2 ** 16))
    def test_batched_and_unbatched_reach_the_same_state(self, trace, seed):
        # Only what does not depend on the order of events: writes.
        writes = [args for events in trace for _, args in events
                  if args[0] == 'write']
        states = []
        for protocol in LIGHTSYNC:
            where = world(protocol, seed=seed)
            for version, (_, *args) in enumerate(writes, 1):
                write(where, *args, version=version)
            suffer(where, [[each for each in events if each[1][0] != 'write']
                           for events in trace])
            self.assert_converges(where)
            states.append(newest(where))
        self.assertEqual(*states)

    def test_a_flapping_node_that_settles_is_brought_up_to_date(self):
        for protocol in LIGHTSYNC:
            for period in (1, 7, 20, 61):
                where = world(protocol, seed=period)
                for partition in range(24):
                    write(where, partition, 1, copies=2)
                suffer(where, [[
                    (second, ('restart', 0) if second // period % 2 else
                     ('crash', 0, Reach.SILENT))
                    for second in range(0, 90, period)]] * 4)
                self.assert_converges(where)
