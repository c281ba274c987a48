# SPDX-License-Identifier: Apache-2.0
"""A network namespace for each node, all of them on one bridge.

The bridge is in a namespace of its own, the client (proxy, memcached, what
``run`` runs) in another. Nothing appears in the machine's own network, and
the names carry the cluster's tag, so that clusters do not meet.

A silent partition pulls the node's cable (its port of the bridge goes
down); a refusing one resets what enters or leaves the node.
"""

import json
import os
from collections.abc import Iterable

from tools.cluster import commands
from tools.cluster.network import Counters, Network, Reachability
from tools.cluster.spec import ClusterSpec

CLIENT = 'client'
BRIDGE = 'bridge'
RUN_NETNS = '/run/netns'
#: a node's number, CLIENT or BRIDGE
Name = int | str


class NamespaceNetwork(Network):
    """Nodes with network stacks of their own."""

    client_ip = '10.77.0.254'
    tools = ('ip', 'iptables', 'nsenter', 'tc')

    def __init__(self, spec: ClusterSpec) -> None:
        super().__init__(spec)
        self.namespaces = os.path.join(RUN_NETNS, self.tag + '-%s')

    def node_ip(self, node: int) -> str:
        return '10.77.0.%d' % node

    def _namespace(self, name: Name) -> str:
        return '%s-%s' % (self.tag, name)

    def _ip(self, name: Name, *args: str) -> str:
        return commands.run(
            ['ip', '-n', self._namespace(name), *args]).stdout

    def create(self) -> None:
        commands.need_root("network='namespaces'")
        plugged = [*self.spec.node_numbers(), CLIENT]
        for name in (*plugged, BRIDGE):
            commands.run(['ip', 'netns', 'add', self._namespace(name)])
            self._ip(name, 'link', 'set', 'lo', 'up')
        self._ip(BRIDGE, 'link', 'add', 'br0', 'type', 'bridge')
        self._ip(BRIDGE, 'link', 'set', 'br0', 'up')
        for name in plugged:
            ip = (self.node_ip(name) if isinstance(name, int)
                  else self.client_ip)
            port = 'port-%s' % name
            self._ip(BRIDGE, 'link', 'add', port, 'type', 'veth', 'peer',
                     'name', 'eth0', 'netns', self._namespace(name))
            self._ip(BRIDGE, 'link', 'set', port, 'master', 'br0', 'up')
            self._ip(name, 'address', 'add', ip + '/24', 'dev', 'eth0')
            self._ip(name, 'link', 'set', 'eth0', 'up')

    def shape(self, rate: str) -> None:
        """Hold each interface, the client's too, to a rate in both directions.

        :param rate: as ``tc`` has it, such as ``100mbit``
        """
        for name in (*self.spec.node_numbers(), CLIENT):
            for namespace, device in ((name, 'eth0'),
                                      (BRIDGE, 'port-%s' % name)):
                commands.run([
                    'tc', '-n', self._namespace(namespace), 'qdisc', 'add',
                    'dev', device, 'root', 'tbf', 'rate', rate, 'burst',
                    '64kb', 'latency', '100ms'])

    def _existing(self) -> list[str]:
        return [name for name in (os.listdir(RUN_NETNS) if os.path.isdir(
            RUN_NETNS) else ()) if name.startswith(self.tag + '-')]

    def destroy(self) -> None:
        for name in self._existing():
            commands.run(['ip', 'netns', 'delete', name])

    def command(self, node: int | None, argv: Iterable[str]) -> list[str]:
        return ['nsenter', '--net=' + self.namespaces % (
            CLIENT if node is None else node), *argv]

    def _iptables(self, node: int, *args: str) -> str:
        return commands.run(self.command(
            node, ['iptables', '-w', *args])).stdout

    def partition(self, node: int, refuse: bool) -> None:
        self.heal(node)
        if not refuse:
            self._ip(BRIDGE, 'link', 'set', 'port-%d' % node, 'down')
            return
        for chain, way in (('INPUT', '-i'), ('OUTPUT', '-o')):
            self._iptables(node, '-A', chain, way, 'eth0', '-p', 'tcp',
                           '-m', 'tcp', '!', '--tcp-flags', 'RST', 'RST',
                           '-j', 'REJECT', '--reject-with', 'tcp-reset')

    def sever(self, node: int, other: int) -> None:
        for chain, way in (('INPUT', '-s'), ('OUTPUT', '-d')):
            self._iptables(node, '-A', chain, way, self.node_ip(other),
                           '-j', 'DROP')

    def heal(self, node: int) -> None:
        self._ip(BRIDGE, 'link', 'set', 'port-%d' % node, 'up')
        for chain in ('INPUT', 'OUTPUT'):
            self._iptables(node, '-F', chain)

    def reachability(self, node: int) -> Reachability:
        if self._namespace(node) not in self._existing():
            return Reachability.CONNECTED
        link = json.loads(self._ip(
            BRIDGE, '-j', 'link', 'show', 'port-%d' % node))[0]
        if 'UP' not in link['flags']:
            return Reachability.SILENT
        if 'REJECT' in self._iptables(node, '-S', 'INPUT'):
            return Reachability.REFUSING
        return Reachability.CONNECTED

    def counters(self, node: int) -> Counters:
        link = json.loads(self._ip(
            node, '-j', '-s', 'link', 'show', 'eth0'))[0]['stats64']
        return Counters(*(link[way][what] for way in ('rx', 'tx')
                          for what in ('bytes', 'packets')))
