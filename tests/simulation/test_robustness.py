# SPDX-License-Identifier: Apache-2.0
"""LightSync §5.4: failures that last, that end, and that are made up."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.failure_table import ERROR_SUPPRESSION_INTERVAL
from swift_lightsync.sync.wire.notice import Notice
from tests.simulation.cluster import (
    CALM_ROUNDS,
    LIGHTSYNC,
    QUICK,
    calm,
    failures,
    rounds_until_equal,
    suffer,
    world,
    write,
)
from tools.simulation.network import Reach

SEEDS = st.integers(0, 2 ** 16)
#: Rounds after which a cut pair of nodes has been found, told and replaced;
#: of refusals it takes ESL.
CUT_ROUNDS = {Reach.SILENT: 8, Reach.UNANSWERED: 8, Reach.REFUSED: 14}


def halves(where):
    nodes = range(len(where.nodes))
    return nodes[:len(nodes) // 2], nodes[len(nodes) // 2:]


def split(where):
    low, high = halves(where)
    where.network.cut(low, high)
    where.network.cut(high, low)


def flood(where, times=4):
    """Tell every node, over and over, that no node reaches any other."""
    for node in where.nodes:
        for reporter in where.nodes:
            for failed in where.nodes:
                if failed is not reporter:
                    data = Notice(
                        reporter.neighbours.endpoint,
                        failed.neighbours.endpoint).encode()
                    for second in range(times):
                        where.events.at(
                            where.events.now + second,
                            node.neighbours.answers.take_notice, data)


class TestAPartitionOfTheNetwork(unittest.TestCase):

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(3, 5),
           st.sets(st.integers(0, 23)))
    def test_after_it_heals_there_is_no_storm_of_messages(
            self, protocol, seed, replicas, written):
        where = world(protocol, seed=seed, replicas=replicas, nodes=8)
        where.run_round()
        stable = where.run_round().most_messages
        split(where)
        for partition in written:
            row = where.placement.rows[partition]
            where.disks.write(partition, 1, 7, row[:1])
        for _ in range(3):
            where.run_round()
        where.network.heal()
        for _ in range(CALM_ROUNDS):
            differing = where.differing()
            # Three stages of two messages; a check, three requests of an
            # exchange; and a notice to each node.
            self.assertLessEqual(
                where.run_round().most_messages,
                6 * stable + 4 * differing + len(where.nodes))
        self.assertEqual(0, where.differing())

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(3, 5),
           st.sampled_from(sorted(CUT_ROUNDS, key=str)), st.booleans(),
           st.data())
    def test_two_nodes_that_cannot_talk_do_not_cut_the_ring(
            self, protocol, seed, replicas, how, both_ways, data):
        where = world(protocol, seed=seed, replicas=replicas)
        one, other = data.draw(st.permutations(range(6)))[:2]
        where.network.cut([one], [other], how)
        if both_ways:
            where.network.cut([other], [one], how)
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 1, 7, [data.draw(
                st.sampled_from(row))])
        self.assertIsNotNone(rounds_until_equal(where, CUT_ROUNDS[how]))

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(3, 5))
    def test_where_passes_are_too_far_apart_the_full_exchange_bridges_them(
            self, protocol, seed, replicas):
        where = world(protocol, seed=seed, replicas=replicas,
                      interval=ERROR_SUPPRESSION_INTERVAL + 1,
                      full_exchange=4 * ERROR_SUPPRESSION_INTERVAL)
        where.network.cut([0], [1])
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 1, 7, [0 if 0 in row else row[0]])
        self.assertIsNotNone(rounds_until_equal(where, 10))


class TestForgedNotices(unittest.TestCase):

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5))
    def test_a_flood_does_not_slow_convergence(
            self, protocol, seed, replicas):
        where = world(protocol, seed=seed, replicas=replicas)
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 1, 7, row[:1])
        for _ in range(replicas - 1):
            flood(where)
            where.run_round()
        self.assertEqual(0, where.differing())

    @QUICK
    @given(failures(), st.sampled_from(LIGHTSYNC), SEEDS)
    def test_a_flood_among_failures_does_not_stop_convergence(
            self, trace, protocol, seed):
        where = world(protocol, seed=seed)
        for events in trace:
            flood(where, 1)
            suffer(where, [events])
        calm(where)
        for _ in range(CALM_ROUNDS):
            if not where.differing():
                break
            flood(where, 1)
            where.run_round()
        self.assertEqual(0, where.differing())


class TestBesideStock(unittest.TestCase):
    """The same failures, one after the other, happen to both."""

    def reached(self, where, trace, rounds):
        """How many nodes that are up in the end hold each of the writes.

        :param rounds: how many there are between two failures
        """
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 1, 7, row[:1])
        for cut, down in trace:
            where.network.heal()
            for number in range(len(where.nodes)):
                where.restart(number)
            if cut:
                split(where)
            for number in down:
                where.crash(number)
            for _ in range(rounds):
                where.run_round()
        return [sum(where.disks.replica(node, partition).versions.get(1) == 7
                    for node in row if node not in where.network.down)
                for partition, row in enumerate(where.placement.rows)]

    def assert_reaches_as_many(self, trace, protocol, seed, replicas, rounds,
                               **kwargs):
        stock, ours = (world(name, seed=seed, replicas=replicas, **kwargs)
                       for name in ('stock', protocol))
        for less, more in zip(self.reached(stock, trace, 1),
                              self.reached(ours, trace, rounds)):
            self.assertLessEqual(less, more)

    TRACES = st.lists(st.tuples(st.booleans(), st.sets(
        st.integers(0, 5), max_size=3)), min_size=1, max_size=4)

    @QUICK
    @given(TRACES, st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5))
    def test_r_minus_1_rounds_reach_as_many_replicas_as_one_of_stock(
            self, trace, protocol, seed, replicas):
        # Passes that are further apart than a failure is remembered.
        self.assert_reaches_as_many(
            trace, protocol, seed, replicas, replicas - 1,
            interval=ERROR_SUPPRESSION_INTERVAL + 1)

    @QUICK
    @given(TRACES, st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5))
    def test_and_so_they_do_once_earlier_failures_are_forgotten(
            self, trace, protocol, seed, replicas):
        interval = 30
        self.assert_reaches_as_many(
            trace, protocol, seed, replicas, replicas - 1 + int(
                ERROR_SUPPRESSION_INTERVAL / interval), interval=interval)

    @QUICK
    @given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5))),
           st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5))
    def test_the_full_exchange_reaches_what_cuts_leave_in_reach(
            self, cuts, protocol, seed, replicas):
        reached = []
        for name, rounds in (('stock', replicas), (protocol, 14)):
            where = world(name, seed=seed, replicas=replicas,
                          full_exchange=90)
            for one, other in cuts:
                where.network.cut([one], [other])
            for partition, row in enumerate(where.placement.rows):
                write(where, partition, 1, copies=1)
            for _ in range(rounds):
                where.run_round()
            reached.append(where.disks.state())
        self.assertEqual(*reached)
