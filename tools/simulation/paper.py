# SPDX-License-Identifier: Apache-2.0
"""The paper's results in numbers, and the shapes of its clusters.

LightSync, IEEE TPDS 29(9), 2018: §3, §6.2, §6.3 and Table 3. Delays in
minutes, network overhead in MB a node, for r = 5 and 4M objects a node.
"""

import math
from dataclasses import dataclass

LAB_NODES, LARGE_NODES = 5, 64
MAX_PARTITIONS = 1 << 18
REPLICAS = (2, 3, 4, 5)
OBJECTS = (1000, 10000, 100000, 1000000, 2000000, 3000000, 4000000)
#: Those of the figures of this simulator; the paper's two come first.
PROTOCOLS = ('stock', 'lightsync-unbatched', 'lightsync')
SCENARIOS = ('stable', 'create', 'delete', 'dead', 'rejoin')

#: (nodes, scenario, protocol) -> (minutes, MB); None: not in the text.
NUMBERS = {
    (5, 'stable', 'stock'): (58, 3630),
    (5, 'stable', 'lightsync-unbatched'): (14.18, 500),
    (5, 'dead', 'stock'): (220 * 60, None),
    (5, 'rejoin', 'stock'): (230.31, 4811),
    (5, 'rejoin', 'lightsync-unbatched'): (205.89, 1614),
    (64, 'stable', 'stock'): (4.92, 1758),
    (64, 'stable', 'lightsync-unbatched'): (1.19, 37),
    (64, 'create', 'stock'): (96.20, 1709),
    (64, 'create', 'lightsync-unbatched'): (68.95, 38),
    (64, 'delete', 'stock'): (90.2, 1720),
    (64, 'delete', 'lightsync-unbatched'): (76.53, 40),
    (64, 'dead', 'stock'): (1680, 1680),
    (64, 'dead', 'lightsync-unbatched'): (2, 34),
    (64, 'rejoin', 'stock'): (47.62, 2115),
    (64, 'rejoin', 'lightsync-unbatched'): (30, 153),
}


@dataclass(frozen=True)
class Shape:
    """The shape of a cluster's data.

    :param partitions: how many partitions hold objects, p
    :param objects: objects of each, h
    """
    partitions: int
    objects: int


def shape(nodes, replicas, objects_a_node):
    """Return how objects spread over partitions (Fig. 7). They fall into
    partitions by chance; p approaches 2^18.

    :returns: a :class:`Shape`
    """
    objects = objects_a_node * nodes / replicas
    partitions = MAX_PARTITIONS * -math.expm1(-objects / MAX_PARTITIONS)
    return Shape(round(partitions), max(1, round(objects / partitions)))
