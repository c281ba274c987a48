# SPDX-License-Identifier: Apache-2.0
"""world and nodes: what a round takes, beside what it should."""

import math
import unittest

from tools import ToolError
from tools.simulation.costs import (
    HASHES_BASE,
    HASHES_EACH,
    REPLICATE_HEADS,
    TODAY,
    on_wire,
)
from tools.simulation.disks import Disks
from tools.simulation.network import Reach
from tools.simulation.placement import Placement
from tools.simulation.world import PROTOCOLS, Settings, World


def world(protocol, **kwargs):
    return World(Settings(**dict(
        dict(protocol=protocol, nodes=5, replicas=5, partitions=100,
             objects=8, full_exchange=None), **kwargs)))


class TestRound(unittest.TestCase):

    def test_stock_sends_r_times_r_minus_1_messages_a_partition(self):
        result = world('stock').run_round()
        self.assertEqual({'REPLICATE': 100 * 5 * 4}, result.kinds)
        self.assertAlmostEqual(
            100 * 4 * 2 * on_wire(REPLICATE_HEADS, 0, HASHES_BASE
                                  + 8 * HASHES_EACH, False), result.bytes)

    def test_each_protocol_sends_its_number_of_messages(self):
        for protocol, messages in (
                ('lightsync-unbatched', 100 * 5), ('star', 100 * 2 * 4),
                ('chain', 100 * 2 * 4),
                # a pair of neighbours, once they know each other
                ('lightsync', 5 * 4)):
            where = world(protocol)
            if protocol == 'lightsync':
                where.run_round()
            self.assertEqual({'LIGHTSYNC': messages}, where.run_round().kinds)

    def test_stock_waits_for_a_silent_node_in_each_partition(self):
        where = world('stock')
        before = where.run_round().delay
        where.crash(4)
        self.assertAlmostEqual(
            100 * TODAY.silence, where.run_round().delay - before
            * 3 / 4, delta=1)

    def test_lightsync_waits_for_a_silent_node_five_times(self):
        for protocol in ('lightsync', 'lightsync-unbatched'):
            where = world(protocol)
            before = where.run_round().delay
            where.crash(4)
            self.assertLessEqual(where.run_round().delay - before,
                                 5 * TODAY.conn_timeout + 0.1)

    def test_exchanges_of_many_partitions_take_a_few_messages(self):
        where = world('lightsync', nodes=10, replicas=2, partitions=200)
        for partition, row in enumerate(where.placement.rows):
            where.disks.write(partition, 1, 7, row[:1])
        result = where.run_round()
        self.assertEqual(0, result.differing)
        # One rsync for each pair of nodes, each way, at most.
        self.assertLessEqual(result.kinds['push'], 10 * 9)
        self.assertNotIn('REPLICATE', result.kinds)

    def test_a_batch_does_not_push_what_is_older(self):
        where = world('lightsync', nodes=2, replicas=2, partitions=1)
        where.disks.write(0, 1, 7, [0])
        result = where.run_round()
        self.assertEqual(1, result.kinds['push'])

    def test_hand_offs_are_brought_home_together(self):
        messages = {}
        for protocol in 'lightsync', 'lightsync-unbatched':
            world = World(Settings(nodes=4, partitions=256,
                                   protocol=protocol, seed=1))
            world.rebalance(0.5)
            world.deliver_ring(range(4))
            self.assertGreater(world.hand_offs(), 80)
            messages[protocol] = sum(
                world.run_round().messages for _ in range(2))
            self.assertEqual((0, 0), (world.hand_offs(), world.differing()))
        self.assertLess(messages['lightsync'],
                        messages['lightsync-unbatched'] / 10)

    def test_stock_pushes_to_a_hand_off_for_a_disk_that_is_missing(self):
        where = world('stock', nodes=8, replicas=3, partitions=50)
        where.disks.write(0, 1, 7, where.placement.rows[0])
        where.unmount(where.placement.rows[0][0])
        self.assertEqual(2, where.copies(0))
        where.run_round()
        self.assertEqual(3, where.copies(0))

    def test_a_slow_node_takes_longer_and_so_do_those_that_ask_it(self):
        for protocol in ('stock', 'lightsync-unbatched'):
            where = world(protocol)
            before = where.run_round()
            where.network.slow[0] = 10
            self.assertGreater(where.run_round().delay, 2 * before.delay)

    def test_a_hanging_node_answers_nothing_and_runs_no_pass(self):
        where = world('lightsync')
        where.network.slow[0] = math.inf
        result = where.run_round()
        self.assertEqual(0, where.nodes[0].pass_seconds)
        self.assertGreaterEqual(result.slowest, TODAY.http_timeout)

    def test_a_crash_ends_a_pass(self):
        where = world('stock')
        where.events.at(31, where.crash, 0)
        where.run_round()
        self.assertIsNone(where.nodes[0].pass_seconds)
        self.assertIsNotNone(where.nodes[1].pass_seconds)

    def test_rounds_follow_from_the_seed(self):
        for protocol in PROTOCOLS:
            first, second = ([], [])
            for results in (first, second):
                where = world(protocol, loss=0.1, seed=5)
                where.disks.write(3, 1, 7, where.placement.rows[3][:1])
                results += [where.run_round() for _ in range(3)]
            self.assertEqual(first, second)

    def test_an_aggregated_world_measures_as_the_whole_does(self):
        for protocol in PROTOCOLS:
            whole, part = (
                world(protocol, partitions=2000, sample=sample)
                for sample in (2000, 400))
            for where in (whole, part):
                where.run_round()
            results = whole.run_round(), part.run_round()
            for field in ('delay', 'messages', 'bytes'):
                expected, found = (getattr(each, field) for each in results)
                self.assertAlmostEqual(1, found / expected, delta=0.05,
                                       msg='%s %s' % (protocol, field))

    def test_a_setting_that_is_not_allowed_is_named(self):
        for kwargs, message in (
                ({'nodes': 1}, 'nodes is 1; allowed: 2 to 10000'),
                ({'replicas': 6}, 'replicas is 6; allowed: at most the 5'),
                ({'loss': 2}, 'loss is 2; allowed: 0 to 0.9'),
                ({'protocol': 'x'}, "protocol is 'x'; allowed: stock")):
            with self.assertRaises(ToolError) as caught:
                Settings(nodes=kwargs.pop('nodes', 5), **kwargs)
            self.assertIn(message, str(caught.exception))


class TestReach(unittest.TestCase):

    def test_a_cut_is_of_one_direction(self):
        where = world('stock')
        where.network.cut([0], [1])
        self.assertIs(Reach.SILENT, where.network.reach(0, 1))
        self.assertIs(Reach.ANSWERED, where.network.reach(1, 0))

    def test_losses_are_as_frequent_as_wanted(self):
        where = world('stock', loss=0.2)
        found = [where.network.reach(0, 1) for _ in range(10000)]
        self.assertAlmostEqual(2000, found.count(Reach.LOST), delta=200)
        self.assertAlmostEqual(1600, found.count(Reach.UNANSWERED),
                               delta=200)


def two_disks():
    return Disks(Placement(({'id': 0}, {'id': 1}), ((0, 1),), 1, 1), 4)


class TestDisks(unittest.TestCase):

    def test_the_newest_version_stays(self):
        disks = two_disks()
        self.assertTrue(disks.replica(0, 0).store(2, 5))
        self.assertFalse(disks.replica(0, 0).store(2, 4))
        self.assertTrue(disks.differs(0, [0, 1]))
        self.assertFalse(disks.differs(0, [0]))

    def test_a_replica_that_comes_later_has_nothing(self):
        disks = Disks(Placement(tuple({'id': n} for n in range(3)),
                                ((0, 1),), 1, 1), 4)
        self.assertEqual({0: 0, 1: 0, 2: 0, 3: 0}, disks.lacking(0, 2, 0))
        self.assertEqual(0, disks.suffixes(2, 0))
        disks.store(2, 0, disks.lacking(0, 2, 0))
        self.assertFalse(disks.differs(0, [0, 1, 2]))
        disks.remove(0, 0)
        self.assertTrue(disks.differs(0, [0, 1, 2]))

    def test_an_old_version_is_pushed_and_not_kept(self):
        disks = two_disks()
        disks.write(0, 2, 5, [1])
        self.assertEqual({2: 0}, disks.lacking(0, 1, 0))
        self.assertFalse(disks.replica(1, 0).store(2, 0))
        self.assertEqual({2: 5}, disks.lacking(1, 0, 0))

    def test_a_new_object_is_lacking_on_one_side_only(self):
        disks = two_disks()
        disks.write(0, 9, 5, [1])
        self.assertEqual({}, disks.lacking(0, 1, 0))
        self.assertEqual(5, disks.suffixes(1, 0))

    def test_suffixes_are_hashed_once(self):
        disks = two_disks()
        disks.write(0, 2, 5, [0])
        self.assertEqual([1, 0], [disks.replica(0, 0).hash()
                                  for _ in range(2)])
