# SPDX-License-Identifier: Apache-2.0
"""The two networks of a cluster, behind one interface.

``LoopbackNetwork``: node N is 127.0.0.N. A partition (root, iptables) lets
nothing reach the node's ports; what the node itself sends is not held back,
since on loopback nothing tells which node sent it.

``NamespaceNetwork`` (tools.cluster.netns): node N is 10.77.0.N in a network
namespace of its own; a partition works in both directions.
"""

import enum
import hashlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from tools import ToolError
from tools.cluster import commands
from tools.cluster.layout import NODE_PORTS
from tools.cluster.spec import ClusterSpec


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

    def __sub__(self, earlier: 'Counters') -> 'Counters':
        return Counters(*(mine - before for mine, before in zip(
            astuple(self), astuple(earlier))))


@dataclass(frozen=True)
class NodeStatus:
    """What is seen of a node.

    :param daemons: name -> pids
    :param devices: name -> whether it is there (mounted, if it is an image)
    """

    node: int
    ip: str
    daemons: dict[str, list[int]]
    devices: dict[str, bool]
    reachability: Reachability


class Network:
    """What both networks have; methods that are not here are of each kind.

    :param spec: the ClusterSpec
    """

    client_ip = ''
    #: path of node %s's namespace, if it has one
    namespaces = ''
    #: the commands that it needs
    tools: tuple[str, ...] = ()

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        #: a short name that only this directory's cluster has
        self.tag = 'saio' + hashlib.sha256(
            spec.root.encode()).hexdigest()[:8]

    def node_ip(self, node: int) -> str:
        raise NotImplementedError

    def create(self) -> None:
        """Make what it consists of."""

    def destroy(self) -> None:
        """Remove what it consists of, and what partitions need."""

    def command(self, node: int | None, argv: Iterable[str]) -> list[str]:
        """Return the argv that runs argv as a node (or client, None)."""
        return list(argv)

    def partition(self, node: int, refuse: bool) -> None:
        """Cut a node off.

        :param refuse: answer with a reset instead of silence
        """
        raise NotImplementedError

    def sever(self, node: int, other: int) -> None:
        """Let nothing pass between two nodes; ``heal`` of the first ends."""
        raise ToolError('on loopback nothing tells which node sent what; '
                        "make the cluster with network='namespaces'")

    def heal(self, node: int) -> None:
        raise NotImplementedError

    def reachability(self, node: int) -> Reachability:
        raise NotImplementedError

    def shape(self, rate: str) -> None:
        """Hold each interface, the client's too, to a rate such as 100mbit."""
        raise ToolError('all nodes share the loopback interface; make the '
                        "cluster with network='namespaces'")

    def counters(self, node: int) -> Counters:
        raise ToolError("loopback has no counters for a node; make the "
                        "cluster with network='namespaces'")


class LoopbackNetwork(Network):
    """Nodes on addresses of the loopback interface."""

    client_ip = '127.0.0.1'

    def node_ip(self, node: int) -> str:
        return '127.0.0.%d' % node

    def destroy(self) -> None:
        self._delete(self._rules())

    def partition(self, node: int, refuse: bool) -> None:
        commands.need_root('partition')
        self.heal(node)
        ports = {self.spec.port(name, node) for name in (
            *NODE_PORTS, 'rsync')}
        self._iptables(
            '-A', 'INPUT', '-p', 'tcp', '-d', self.node_ip(node),
            '-m', 'multiport', '--dports', ','.join(map(str, sorted(ports))),
            '-m', 'comment', '--comment', '%s-%d' % (self.tag, node), '-j',
            *(['REJECT', '--reject-with', 'tcp-reset'] if refuse
              else ['DROP']))

    def heal(self, node: int) -> None:
        commands.need_root('heal')
        self._delete(self._rules(node))

    def reachability(self, node: int) -> Reachability:
        for rule in self._rules(node):
            return (Reachability.REFUSING if 'REJECT' in rule
                    else Reachability.SILENT)
        return Reachability.CONNECTED

    def _iptables(self, *args: str) -> str:
        commands.need('iptables')
        return commands.run(['iptables', '-w', *args]).stdout

    def _delete(self, rules: list[str]) -> None:
        for rule in rules:
            self._iptables('-D', *rule.split()[1:])

    def _rules(self, node: int | None = None) -> list[str]:
        """Return the rules of this cluster, of a node if one is named."""
        if not commands.is_root():
            return []
        return [line for line in self._iptables('-S', 'INPUT').splitlines()
                if any(word == '%s-%s' % (self.tag, node) if node else
                       word.startswith(self.tag + '-')
                       for word in line.split())]
