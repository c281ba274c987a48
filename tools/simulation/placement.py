# SPDX-License-Identifier: Apache-2.0
"""Which nodes hold which partitions, whom they check, what is simulated.

If a world has more partitions than the sample, only the sample is simulated.
The rest are aggregated: each partition of the sample stands for ``weight``
partitions, all of which fare as it does.
"""

import math
import random
from dataclasses import dataclass, replace
from functools import cached_property

from swift.common.ring import RingBuilder

from swift_lightsync.sync.core import replica_ring
from swift_lightsync.sync.core.conversation import SMALL
from swift_lightsync.sync.core.shared_set import SECTION


@dataclass(frozen=True)
class Placement:
    """The partitions of each node.

    :param devices: as in the ring, node by node
    :param rows: the numbers of the devices that hold each partition
    :param weight: how many partitions each of them stands for
    :param pairs: how many pairs of neighbouring nodes each pair of the sample
        stands for
    """
    devices: tuple
    rows: tuple
    weight: float
    pairs: float

    @cached_property
    def held(self):
        """The partitions of each node."""
        held = [[] for _ in self.devices]
        for partition, row in enumerate(self.rows):
            for node in row:
                held[node].append(partition)
        return held

    @cached_property
    def _sharing(self):
        sharing = [set() for _ in self.devices]
        for row in self.rows:
            for node in row:
                sharing[node].update(row)
        return sharing

    def sharing(self, node):
        """The nodes that share partitions with a node."""
        return sorted(self._sharing[node] - {node})

    def part_nodes(self, partition):
        """Return what ``Ring.get_part_nodes`` returns."""
        return [self.devices[node] for node in self.rows[partition]]

    def more_nodes(self, partition):
        """Yield what ``Ring.get_more_nodes`` does: the hand-offs, which are
        all other nodes, in an order that depends on the partition.
        """
        passed = set(self.rows[partition])
        rng = random.Random(partition)
        while len(passed) < len(self.devices):
            node = rng.randrange(len(self.devices))
            if node not in passed:
                passed.add(node)
                yield self.devices[node]

    def rebalanced(self, fraction, rng):
        """Return another ring, in which some partitions have one replica
        elsewhere.

        :param fraction: of the partitions
        :param rng: a random.Random
        """
        rows = list(self.rows)
        for partition, row in enumerate(rows):
            if len(row) < len(self.devices) and rng.random() < fraction:
                moved = list(row)
                moved[rng.randrange(len(row))] = next(
                    self.more_nodes(partition))['id']
                rows[partition] = tuple(moved)
        return replace(self, rows=tuple(rows))


def _device(number, regions, disks):
    node, disk = divmod(number, disks)
    return {'id': number, 'region': 1 + node % regions,
            'device': 'sd%d' % disk if disk else 'sda',
            'replication_ip': '10.%d.%d.%d' % (
                node >> 16, node >> 8 & 255, node & 255),
            'replication_port': 6200}


def _pairs(nodes, partition_replicas):
    """Return how many pairs of neighbours so many replicas make by chance."""
    all_pairs = nodes * (nodes - 1)
    return all_pairs * -math.expm1(-partition_replicas / all_pairs)


def _dealt(nodes, replicas, partitions, rng, regions, disks):
    """Return rows by chance; all nodes hold equally many first replicas."""
    firsts = [number % nodes for number in range(partitions)]
    rng.shuffle(firsts)
    for first in firsts:
        others = rng.sample(range(nodes - 1), replicas - 1)
        row = (first, *((first + 1 + other) % nodes for other in others))
        # Each replica on a node of its own, on any of its disks.
        yield row if disks == 1 else tuple(
            node * disks + rng.randrange(disks) for node in row)


def _built(nodes, replicas, partitions, rng, regions, disks):
    """Return rows as Swift's ring builder makes them."""
    builder = RingBuilder((partitions - 1).bit_length() or 1, replicas, 1)
    for number in range(nodes * disks):
        device = _device(number, regions, disks)
        builder.add_dev(dict(device, zone=1, weight=100.0, port=6200,
                             ip=device['replication_ip']))
    builder.rebalance(seed=rng.getrandbits(32))
    for partition in range(partitions):
        yield tuple(device['id']
                    for device in builder.get_part_devices(partition))


#: How the replicas are placed: name -> function.
RINGS = {'dealt': _dealt, 'built': _built}


def place(nodes, replicas, partitions, sample, rng, regions=1, ring='dealt',
          disks=1):
    """Place partitions on nodes.

    :param rng: a random.Random
    :param ring: a key of RINGS
    :param disks: of each node
    :returns: a :class:`Placement`
    """
    simulated = min(partitions, sample)
    weight = partitions / simulated
    pairs = 1.0
    if weight > 1:
        pairs = (_pairs(nodes, partitions * replicas)
                 / _pairs(nodes, simulated * replicas))
    return Placement(
        tuple(_device(number, regions, disks)
              for number in range(nodes * disks)),
        tuple(RINGS[ring](nodes, replicas, simulated, rng, regions, disks)),
        weight, pairs)


@dataclass(frozen=True)
class Sample:
    """What a message about some partitions of the sample stands for.

    :param weight: see :class:`Placement`
    :param messages: how many messages
    :param at_once: how many of them are under way at once
    """
    weight: float
    messages: float
    at_once: int = 1

    @property
    def turns(self):
        """How many times the sender waits for answers."""
        return max(1.0, self.messages / self.at_once)

    def root_bytes(self, message, with_list, size, differ):
        """Return the bytes of the bodies of a sync message and its answer.

        :param message: a ``conversation.Ask``
        :param with_list: whether the set itself was sent, rather than its
            digest
        :param size: bytes of the body as encoded
        :param differ: how many of its slices differ
        :returns: a pair; the encoded sizes, if nothing is aggregated
        """
        if self.weight == 1:
            return size, 4 * differ
        slices = len(message.roots)
        simulated = len(message.partitions)
        real = simulated * self.weight / self.messages
        grown = slices
        if slices == simulated:
            grown = 1 if real > SMALL and not differ else real
        elif slices > 1:
            grown = math.sqrt(real)
        size += 16 * (grown - slices)
        if with_list:
            items = message.partitions
            # Devices do not become more: what is said of each once stays.
            once = sum(SECTION.size + len(name) for name in items.devices)
            size += (len(items.encoded) - once) * (real / simulated - 1)
        return round(size), round(4 * differ * grown / slices)


# Each topology (a ring, and what §6.4 compares it with) returns the lists of
# devices that a device of a partition checks. On each a sync round is played,
# so that a device that has failed is passed over in all of them. Star and
# chain take the devices in the order of the object ring's rows.

def ring(part_nodes, partition, device_id, has_failed):
    """Circular Hash Checking: the clockwise neighbour."""
    return [replica_ring.clockwise(part_nodes, partition, device_id)]


def star(part_nodes, partition, device_id, has_failed):
    """Primary and backups: all backups check the primary, and it checks them
    all. The first device that has not failed is the primary.
    """
    others = [device for device in part_nodes if device['id'] != device_id]
    primary = next(device for device in part_nodes
                   if device['id'] == device_id or not has_failed(device))
    if primary['id'] == device_id:
        return [[device] for device in others]
    return [[primary]]


def chain(part_nodes, partition, device_id, has_failed):
    """A chain without a head: a device checks the next one and the one before.
    """
    here = [device['id'] for device in part_nodes].index(device_id)
    ways = [part_nodes[here + 1:], part_nodes[:here][::-1]]
    return [way for way in ways if way]
