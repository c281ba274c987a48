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
"""
Circular Hash Checking: the replica ring of a partition.

LightSync §5.3, Fig. 21. Every node derives the same ring from the object
ring alone, so there is nothing to agree upon.
"""


def replica_ring(part_nodes):
    """
    Put the devices that hold a partition into the order of its replica ring.

    The order is that of the object ring's rows, with the devices of one
    region drawn together: a round crosses each region boundary once.

    :param part_nodes: the devices, dicts with ``region``, in row order, as
        ``Ring.get_part_nodes`` returns them
    :returns: a list of the same devices
    """
    return sorted(part_nodes, key=lambda node: node['region'])


def clockwise(part_nodes, device_id):
    """
    The other devices of a replica ring, nearest clockwise neighbour first.

    A device whose clockwise neighbour failed takes the next one: the ring
    closes over the failed (§5.4.2, Fig. 23).

    :param part_nodes: as for :func:`replica_ring`
    :param device_id: the ``id`` of the device that looks round
    :returns: a list of devices, r - 1 of them
    :raises ValueError: if the device does not hold the partition
    """
    ring = replica_ring(part_nodes)
    here = [node['id'] for node in ring].index(device_id)
    return ring[here + 1:] + ring[:here]
