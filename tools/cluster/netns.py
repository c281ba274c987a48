# SPDX-License-Identifier: Apache-2.0
"""
A network namespace for each node, all of them on one bridge.

The bridge is in a namespace of its own, the client (proxy, memcached, what
``run`` runs) in another. Nothing appears in the machine's own network, and
the names carry the cluster's tag, so that clusters do not meet.

A silent partition pulls the node's cable (its port of the bridge goes
down); a refusing one resets what enters or leaves the node.
"""

import json
import os

from tools.cluster import commands
from tools.cluster.network import Counters, Reachability, cluster_tag

CLIENT = 'client'
BRIDGE = 'bridge'
CLIENT_HOST = 254
RUN_NETNS = '/run/netns'


class NamespaceNetwork:
    """
    Nodes with network stacks of their own.

    :param spec: the ClusterSpec
    """

    client_ip = '10.77.0.%d' % CLIENT_HOST

    def __init__(self, spec):
        self.tag = cluster_tag(spec.root)
        self.nodes = spec.node_numbers()
        self.namespaces = os.path.join(RUN_NETNS, self.tag + '-%s')

    def node_ip(self, node):
        return '10.77.0.%d' % node

    def tools(self):
        return ('ss', 'ip', 'iptables', 'nsenter')

    def _names(self):
        return [*self.nodes, CLIENT, BRIDGE]

    def _namespace(self, name):
        return '%s-%s' % (self.tag, name)

    def _ip(self, name, *args):
        return commands.run(
            ['ip', '-n', self._namespace(name), *args]).stdout

    def create(self):
        commands.need_root("network='namespaces'")
        for name in self._names():
            commands.run(['ip', 'netns', 'add', self._namespace(name)])
            self._ip(name, 'link', 'set', 'lo', 'up')
        self._ip(BRIDGE, 'link', 'add', 'br0', 'type', 'bridge')
        self._ip(BRIDGE, 'link', 'set', 'br0', 'up')
        for name in [*self.nodes, CLIENT]:
            self._plug(name)

    def _plug(self, name):
        ip = self.client_ip if name == CLIENT else self.node_ip(name)
        port = 'port-%s' % name
        self._ip(BRIDGE, 'link', 'add', port, 'type', 'veth',
                 'peer', 'name', 'eth0', 'netns', self._namespace(name))
        self._ip(BRIDGE, 'link', 'set', port, 'master', 'br0', 'up')
        self._ip(name, 'address', 'add', ip + '/24', 'dev', 'eth0')
        self._ip(name, 'link', 'set', 'eth0', 'up')

    def exists(self):
        return bool(self._existing())

    def _existing(self):
        if not os.path.isdir(RUN_NETNS):
            return []
        return [name for name in os.listdir(RUN_NETNS)
                if name.startswith(self.tag + '-')]

    def destroy(self):
        for name in self._existing():
            commands.run(['ip', 'netns', 'delete', name])

    def command(self, node, argv):
        """:returns: the argv that runs argv as a node (or client, None)"""
        name = CLIENT if node is None else node
        return ['nsenter', '--net=' + self.namespaces % name, *argv]

    def _iptables(self, node, *args):
        return commands.run(self.command(
            node, ['iptables', '-w', *args])).stdout

    def partition(self, node, refuse):
        """
        :param node: its number
        :param refuse: answer with a reset instead of silence
        """
        self.heal(node)
        if not refuse:
            self._ip(BRIDGE, 'link', 'set', 'port-%d' % node, 'down')
            return
        for chain, way in (('INPUT', '-i'), ('OUTPUT', '-o')):
            self._iptables(node, '-A', chain, way, 'eth0', '-p', 'tcp',
                           '-m', 'tcp', '!', '--tcp-flags', 'RST', 'RST',
                           '-j', 'REJECT', '--reject-with', 'tcp-reset')

    def sever(self, node, other):
        """Let nothing pass between two nodes; ``heal`` of the first ends it"""
        for chain, way in (('INPUT', '-s'), ('OUTPUT', '-d')):
            self._iptables(node, '-A', chain, way, self.node_ip(other),
                           '-j', 'DROP')

    def heal(self, node):
        self._ip(BRIDGE, 'link', 'set', 'port-%d' % node, 'up')
        for chain in ('INPUT', 'OUTPUT'):
            self._iptables(node, '-F', chain)

    def reachability(self, node):
        if self._namespace(node) not in self._existing():
            return Reachability.CONNECTED
        link = json.loads(self._ip(
            BRIDGE, '-j', 'link', 'show', 'port-%d' % node))[0]
        if 'UP' not in link['flags']:
            return Reachability.SILENT
        if 'REJECT' in self._iptables(node, '-S', 'INPUT'):
            return Reachability.REFUSING
        return Reachability.CONNECTED

    def counters(self, node):
        """:returns: the Counters of the node's only interface"""
        link = json.loads(self._ip(
            node, '-j', '-s', 'link', 'show', 'eth0'))[0]['stats64']
        return Counters(*(link[way][what] for way in ('rx', 'tx')
                          for what in ('bytes', 'packets')))
