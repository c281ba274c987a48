# SPDX-License-Identifier: Apache-2.0
"""Two regions, and what goes from one to the other."""

import os
from collections import Counter

from swift_lightsync.sync.recon_records import read
from tests.functional.clusters import SyncCase, play_round, with_options
from tools.cluster import Policy


class TestRegions(SyncCase):
    """One sync message a partition, so that those can be counted."""

    policy = Policy('gold', 0, 4, part_power=5)
    fields = {'nodes': 4, 'regions': 2, 'policies': (policy,),
              'options': with_options(sync_batch_partitions=1)}

    def region(self, place):
        """:returns: the region of an (IP, port, device)"""
        device, = [each for each in self.objects.ring.devs
                   if each['device'] == place[2]]
        return device['region']

    def messages(self):
        """:returns: sync messages of the last pass by (from, to) regions"""
        found = Counter()
        for node in self.cluster.spec.node_numbers():
            pairs, _ = read(os.path.join(
                self.cluster.layout.cache_dir(node), 'lightsync.recon'))
            for pair in pairs.values():
                found[self.region(pair.device),
                      self.region(pair.neighbour)] += pair.partitions
        return found

    def test_a_round_crosses_each_region_boundary_once_a_partition(self):
        names = ['o-%d' % number for number in range(80)]
        self.acknowledged.put_everywhere(names)
        play_round(self.cluster)
        partitions = len({self.objects.nodes(name)[0] for name in names})
        # Two replicas in each region: one asks inside, one outside.
        self.assertEqual({(a, b): partitions for a in (1, 2) for b in (1, 2)},
                         self.messages())

    def test_single_copies_are_in_both_regions_in_three_rounds(self):
        for number in range(40):
            name = 'single-%d' % number
            _, nodes = self.objects.nodes(name)
            self.acknowledged.put(name, [nodes[number % 4]])
        self.converge(3)

    def test_writes_to_one_region_are_in_the_other_in_two_rounds(self):
        names = ['local-%d' % number for number in range(40)]
        self.acknowledged.put_everywhere(names)
        for name in names:
            self.acknowledged.put(name, [
                node for node in self.objects.nodes(name)[1]
                if node['region'] == 1])
        self.converge(2)
