# SPDX-License-Identifier: Apache-2.0
"""
The two networks of a cluster, behind one interface.

``LoopbackNetwork``: node N is 127.0.0.N. A partition (root, iptables) lets
nothing reach the node's ports; what the node itself sends is not held back,
since on loopback nothing tells which node sent it.

``NamespaceNetwork`` (tools.cluster.netns): node N is 10.77.0.N in a network
namespace of its own; a partition works in both directions.
"""

import enum
import hashlib
from dataclasses import dataclass

from tools.cluster import commands
from tools.cluster.errors import ClusterError
from tools.cluster.layout import NODE_PORTS


class Reachability(enum.Enum):
    """How a node answers the rest of the cluster."""

    CONNECTED = 'connected'
    SILENT = 'partitioned, silent'
    REFUSING = 'partitioned, refusing'


@dataclass(frozen=True)
class Counters:
    """Traffic of a node's interface since the cluster came up."""

    rx_bytes: int
    rx_packets: int
    tx_bytes: int
    tx_packets: int

    def __sub__(self, earlier):
        return Counters(*(getattr(self, name) - getattr(earlier, name)
                          for name in self.__dataclass_fields__))


def cluster_tag(root):
    """:returns: a short name that only this directory's cluster has"""
    return 'saio' + hashlib.sha256(root.encode()).hexdigest()[:8]


class LoopbackNetwork:
    """
    Nodes on addresses of the loopback interface.

    :param spec: the ClusterSpec
    """

    client_ip = '127.0.0.1'
    #: path of node %s's namespace: none
    namespaces = ''

    def __init__(self, spec):
        self.tag = cluster_tag(spec.root)
        self.spec = spec

    def node_ip(self, node):
        return '127.0.0.%d' % node

    def tools(self):
        """:returns: the commands that it needs"""
        return ('ss',)

    def create(self):
        """Nothing to make: loopback is there."""

    def exists(self):
        return bool(self._rules())

    def destroy(self):
        for rule in self._rules():
            self._iptables('-D', *rule.split()[1:])

    def command(self, node, argv):
        """:returns: the argv that runs argv as a node (or client, None)"""
        return list(argv)

    def partition(self, node, refuse):
        """
        :param node: its number
        :param refuse: answer with a reset instead of silence
        """
        commands.need_root('partition')
        target = (['REJECT', '--reject-with', 'tcp-reset'] if refuse
                  else ['DROP'])
        self.heal(node)
        self._iptables(
            '-A', 'INPUT', '-p', 'tcp', '-d', self.node_ip(node),
            '-m', 'multiport', '--dports', self._ports(node),
            '-m', 'comment', '--comment', self._comment(node),
            '-j', *target)

    def sever(self, node, other):
        raise ClusterError('on loopback nothing tells which node sent what; '
                           "make the cluster with network='namespaces'")

    def heal(self, node):
        commands.need_root('heal')
        for rule in self._rules():
            if self._comment(node) in rule.split():
                self._iptables('-D', *rule.split()[1:])

    def reachability(self, node):
        for rule in self._rules():
            if self._comment(node) in rule.split():
                return (Reachability.REFUSING if 'REJECT' in rule
                        else Reachability.SILENT)
        return Reachability.CONNECTED

    def counters(self, node):
        raise ClusterError("loopback has no counters for a node; make the "
                           "cluster with network='namespaces'")

    def _ports(self, node):
        ports = {self.spec.port(name, node) for name in NODE_PORTS}
        return ','.join(str(port) for port in sorted(
            ports | {self.spec.port('rsync')}))

    def _comment(self, node):
        return '%s-%d' % (self.tag, node)

    def _iptables(self, *args):
        commands.need('iptables')
        return commands.run(['iptables', '-w', *args]).stdout

    def _rules(self):
        if not commands.is_root():
            return []
        return [line for line in self._iptables('-S', 'INPUT').splitlines()
                if ' %s-' % self.tag in line]
