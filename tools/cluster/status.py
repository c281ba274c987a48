# SPDX-License-Identifier: Apache-2.0
"""What is seen of a cluster from outside, and how `status` prints it."""

import os
from dataclasses import dataclass

from tools.cluster.network import Reachability

CLIENT_DAEMONS = ('proxy-server', 'memcached')


@dataclass(frozen=True)
class NodeStatus:
    """
    What is seen of a node.

    ``daemons`` maps a daemon's name to its pids, ``devices`` a device to
    whether it is there (mounted, if devices are images).
    """

    node: int
    ip: str
    daemons: dict
    devices: dict
    reachability: Reachability


def observe(cluster):
    """:returns: a list of NodeStatus of a Cluster"""
    found = cluster.daemons.all()
    return [_observe_node(cluster, node, found)
            for node in cluster.spec.node_numbers()]


def _observe_node(cluster, node, found):
    daemons = {}
    for process in cluster.daemons.of_node(node, found):
        daemons.setdefault(cluster.daemons.name(process),
                           []).append(process.pid)
    there = (cluster.disks.mounted if cluster.disks.images else
             lambda *which: os.path.isdir(cluster.device_path(*which)))
    return NodeStatus(
        node, cluster.node_ip(node), daemons,
        {device: there(node, device) for device in cluster.devices(node)},
        cluster.network.reachability(node))


def describe(cluster):
    """:returns: lines that say what runs where"""
    spec = cluster.spec
    yield '%s: %s, %s network, %s replicator (%s)' % (
        spec.root, 'up' if cluster.is_up() else 'not up', spec.network,
        spec.replicator, spec.sync_method)
    ports = {(ip, name): port for ip, port, name in cluster.daemons.ports()}
    client_ip = cluster.network.client_ip
    for name in CLIENT_DAEMONS:
        if (client_ip, name) in ports:
            yield _daemon(name, '%s:%d' % (client_ip, ports[client_ip, name]),
                          cluster.pids(None, name))
    for node in observe(cluster):
        yield 'node %d  %s  %s  %s' % (
            node.node, node.ip, node.reachability.value, ', '.join(
                '%s %s' % (device, 'there' if there else 'missing')
                for device, there in node.devices.items()))
        expected = [name for ip, name in ports
                    if ip == node.ip and name not in CLIENT_DAEMONS]
        for name in dict.fromkeys(expected + sorted(node.daemons)):
            yield _daemon(name, ports.get((node.ip, name), ''),
                          node.daemons.get(name))


def _daemon(name, where, pids):
    return '  %-18s %-5s  %s' % (
        name, where, 'pid ' + ' '.join(str(pid) for pid in sorted(pids))
        if pids else 'not running')
