# SPDX-License-Identifier: Apache-2.0
"""
Builds a cluster's rings in this process: the same spec, the same rings.

Accounts and containers are on the first device of every node.
"""

import os

from swift.common.ring import RingBuilder

from tools.cluster.layout import device_name

SEED = 'saio'
DB_PART_POWER = 8
MAX_DB_REPLICAS = 3


def build(spec, layout, network):
    """
    Write the builder and ring files of every service of the spec.

    :param spec: a ClusterSpec
    :param layout: its Layout
    :param network: its network, which knows the addresses
    """
    if 'object' in spec.services:
        for policy in spec.policies:
            _build(spec, layout, network, policy.ring_name, policy.part_power,
                   policy.replicas, policy.devices or spec.devices,
                   'object-server', 'replication-server')
    for kind in ('container', 'account'):
        if kind in spec.services:
            _build(spec, layout, network, kind, DB_PART_POWER,
                   min(MAX_DB_REPLICAS, spec.nodes), 1,
                   kind + '-server', kind + '-server')


def _build(spec, layout, network, name, part_power, replicas, devices,
           server, replication_server):
    builder = RingBuilder(part_power, replicas, 0)
    for node in spec.node_numbers():
        for k in range(1, devices + 1):
            builder.add_dev({
                'region': (node - 1) % spec.regions + 1,
                'zone': node,
                'ip': network.node_ip(node),
                'port': spec.port(server, node),
                'replication_ip': network.node_ip(node),
                'replication_port': spec.port(replication_server, node),
                'device': device_name(node, k),
                'weight': 100.0,
                'meta': ''})
    builder.rebalance(seed=SEED)
    builder.validate()
    os.makedirs(layout.etc, exist_ok=True)
    builder.save(layout.builder(name))
    builder.get_ring().save(layout.ring(name))
