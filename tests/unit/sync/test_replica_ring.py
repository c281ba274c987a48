# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""replica_ring: who is whose clockwise neighbour."""

import unittest

from hypothesis import given, strategies as st

from swift_lightsync.sync.replica_ring import clockwise, replica_ring


def nodes(*regions):
    return [{'id': 100 - row, 'region': region}
            for row, region in enumerate(regions)]


REGIONS = st.lists(st.integers(0, 5), min_size=1, max_size=12)


class TestReplicaRing(unittest.TestCase):

    def test_within_a_region_the_order_is_that_of_the_rows(self):
        part_nodes = nodes(2, 1, 2, 1)
        self.assertEqual([part_nodes[row] for row in (1, 3, 0, 2)],
                         replica_ring(part_nodes))

    def test_the_argument_is_left_as_it_was(self):
        part_nodes = nodes(2, 1)
        replica_ring(part_nodes)
        self.assertEqual(nodes(2, 1), part_nodes)

    def test_no_device_makes_an_empty_ring(self):
        self.assertEqual([], replica_ring([]))

    @given(REGIONS)
    def test_it_is_a_stable_sort_by_region(self, regions):
        part_nodes = nodes(*regions)
        ring = replica_ring(part_nodes)
        self.assertCountEqual(range(len(regions)),
                              [part_nodes.index(node) for node in ring])
        keys = [(node['region'], part_nodes.index(node)) for node in ring]
        self.assertEqual(sorted(keys), keys)


class TestClockwise(unittest.TestCase):

    def test_the_last_one_s_neighbour_is_the_first(self):
        part_nodes = nodes(1, 1, 1)
        self.assertEqual([part_nodes[0], part_nodes[1]],
                         clockwise(part_nodes, part_nodes[2]['id']))

    def test_a_device_alone_has_no_neighbour(self):
        self.assertEqual([], clockwise(nodes(1), 100))

    def test_a_device_that_does_not_hold_the_partition_is_refused(self):
        with self.assertRaises(ValueError):
            clockwise(nodes(1, 1), 7)

    @given(REGIONS, st.data())
    def test_all_others_follow_each_once_in_ring_order(self, regions, data):
        part_nodes = nodes(*regions)
        ring = replica_ring(part_nodes)
        here = data.draw(st.integers(0, len(ring) - 1))
        others = clockwise(part_nodes, ring[here]['id'])
        self.assertEqual(
            [ring[(here + step) % len(ring)]
             for step in range(1, len(ring))], others)


if __name__ == '__main__':
    unittest.main()
