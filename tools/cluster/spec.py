# SPDX-License-Identifier: Apache-2.0
"""What a development cluster consists of: one frozen, checked value."""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from tools import ToolError
from tools.arguments import require
from tools.cluster import layout

NETWORKS = ('loopback', 'namespaces')
REPLICATORS = ('lightsync', 'stock')
SYNC_METHODS = ('rsync', 'ssync')
DISKS = ('auto', 'xfs', 'directory')
#: field -> what it may be
CHOICES = {'network': NETWORKS, 'replicator': REPLICATORS,
           'sync_method': SYNC_METHODS, 'disks': DISKS}
SERVICES = ('proxy', 'account', 'container', 'object')
KINDS = ('kv', 'proar')
CONFS = ('swift', 'object-server', 'replication-server', 'container-server',
         'account-server', 'proxy-server', 'internal-client',
         'container-reconciler', 'object-expirer', 'versions-client')
MIN_DISK_SIZE = 300 * 2 ** 20  # mkfs.xfs refuses less
MAX_NODES = 99


def _require_int(name: str, value: Any, low: int, high: int) -> None:
    require(name, value, 'an integer from %d to %d' % (low, high),
            isinstance(value, int) and low <= value <= high)


def _require_one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    require(name, value, ', '.join(choices), value in choices)


@dataclass(frozen=True)
class Policy:
    """A storage policy; the one with index 0 is the default.

    :param replicas: rows of its ring
    :param parity: 0 for replication; how many of the rows are parity
        fragments, for erasure coding
    :param devices: how many devices of each node it uses; 0 means all
    :param kv: objects are kept in volumes, not in files of their own
    :param proar: writes are the primary role's, and convergers run
    """

    name: str
    index: int
    replicas: int
    part_power: int = 8
    parity: int = 0
    devices: int = 0
    kv: bool = False
    proar: bool = False

    @property
    def ring_name(self) -> str:
        return 'object-%d' % self.index if self.index else 'object'

    @classmethod
    def several(cls, text: str) -> tuple['Policy', ...]:
        """Read policies from a text.

        :param text: such as ``gold:3,small:2:kv:proar,ec:4+2:kv``: names and
            replicas, or data and parity fragments, in the order of their
            indexes, and which of KINDS they are
        :raises ToolError: if it is anything else
        """
        policies = []
        for index, each in enumerate(text.split(',')):
            match = re.fullmatch(
                r'(\w+):([1-9][0-9]*)(?:\+([1-9][0-9]*))?((?::\w+)*)', each)
            kinds = match[4].split(':')[1:] if match else []
            if not match or not set(kinds) <= set(KINDS):
                raise ToolError('policies is %r; allowed: NAME:REPLICAS, '
                                'or NAME:DATA+PARITY, '
                                'with :%s after it if it is such a one, '
                                'and commas between them' % (
                                    text, ' or :'.join(KINDS)))
            parity = int(match[3] or 0)
            policies.append(cls(match[1], index, int(match[2]) + parity,
                                parity=parity, **dict.fromkeys(kinds, True)))
        return tuple(policies)


GOLD = Policy('gold', 0, 3)
PLATINUM = Policy('platinum', 1, 5)


@dataclass(frozen=True)
class ClusterSpec:
    """The whole description of a cluster.

    :param root: its directory, which holds everything it writes
    :param nodes: number of storage nodes
    :param devices: devices of each node
    :param regions: number of regions, to which the nodes belong in turn
    :param policies: a tuple of Policy, one of them with index 0
    :param network: one of NETWORKS
    :param base_port: its ports follow, ten for the cluster and for each node
    :param replication_ports: an object-server more for replication, with a
        port of its own
    :param replicator: one of REPLICATORS
    :param sync_method: one of SYNC_METHODS; None: ssync if there is a kv
        policy, which needs it, else rsync
    :param services: a tuple of SERVICES
    :param disks: one of DISKS
    :param disk_size: bytes of one disk image
    :param versioning: options of the filter of versions at several sites,
        as option -> value; it is in the pipeline, and propagators run, if
        there are any
    :param peers: the other sites, as site -> option -> value
    :param ports: exceptions from what base_port says, as daemon -> port,
        for the daemons of layout.CLUSTER_PORTS
    :param options: further options, as conf -> section -> option -> value;
        None for a section leaves it out. An 'object-expirer' makes the
        stand-alone conf, which counts if no object-server.conf has the section
    :raises ToolError: for a value that is not allowed
    """

    root: str
    nodes: int = 5
    devices: int = 1
    regions: int = 1
    policies: tuple[Policy, ...] = (GOLD, PLATINUM)
    network: str = 'loopback'
    base_port: int = 6200
    replication_ports: bool = True
    replicator: str = 'lightsync'
    sync_method: str | None = None
    services: tuple[str, ...] = SERVICES
    disks: str = 'auto'
    disk_size: int = 2 ** 30
    versioning: dict[str, Any] = field(default_factory=dict)
    peers: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    ports: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in (
                ('root', os.path.realpath(os.fspath(self.root))),
                ('policies', tuple(self.policies)),
                ('services', tuple(self.services)),
                ('sync_method', self.sync_method or (
                    'ssync' if self._has_kv() else 'rsync'))):
            object.__setattr__(self, name, value)
        for name, low, high in (
                ('nodes', 1, MAX_NODES), ('devices', 1, 99),
                ('regions', 1, self.nodes),
                ('base_port', 1024, 65535 - 10 * (MAX_NODES + 1))):
            _require_int(name, getattr(self, name), low, high)
        for name, choices in CHOICES.items():
            _require_one_of(name, getattr(self, name), choices)
        require('disk_size', self.disk_size,
                'at least %d bytes' % MIN_DISK_SIZE,
                isinstance(self.disk_size, int)
                and self.disk_size >= MIN_DISK_SIZE)
        for service in self.services:
            _require_one_of('service', service, SERVICES)
        require('services', self.services,
                'at least one; proxy needs account, container and object',
                self.services and ('proxy' not in self.services
                                   or set(SERVICES) <= set(self.services)))
        require('versioning', self.versioning,
                'site and site_preference, and what else the filter knows',
                not self.versioning
                or {'site', 'site_preference'} <= set(self.versioning))
        for conf in self.options:
            _require_one_of('conf of an option', conf, CONFS)
        for daemon, number in self.ports.items():
            _require_one_of('daemon of a port', daemon, layout.CLUSTER_PORTS)
            _require_int('port of %s' % daemon, number, 1, 65535)
        self._check_policies()

    def _has_kv(self) -> bool:
        return any(policy.kv for policy in self.policies)

    def has_proar(self) -> bool:
        """Return whether writes of some policy are the primary role's."""
        return any(policy.proar for policy in self.policies)

    def _check_policies(self) -> None:
        indexes = {policy.index for policy in self.policies}
        names = [policy.name for policy in self.policies]
        require('policies', names,
                'different names and indexes, one of them index 0',
                0 in indexes and len(indexes) == len(set(names))
                == len(names))
        require('sync_method', self.sync_method, 'ssync with a kv policy',
                self.sync_method == 'ssync' or not self._has_kv())
        for policy in self.policies:
            devices = self.nodes * (policy.devices or self.devices)
            for name, note, low, high in (
                    ('index', '', 0, 999), ('part_power', '', 1, 32),
                    ('devices', '', 0, self.devices),
                    ('replicas', ' (one a device)', 1, devices),
                    ('parity', '', 0, policy.replicas - 1)):
                _require_int('%s of policy %s%s' % (name, policy.name, note),
                             getattr(policy, name), low, high)
            require('proar of policy %s' % policy.name, policy.proar,
                    'True for replicated policies only',
                    not (policy.proar and policy.parity))

    def node_numbers(self) -> range:
        """Return the nodes' numbers, from 1."""
        return range(1, self.nodes + 1)

    def servers(self) -> list[str]:
        """Return swift-init's names of the servers of a node."""
        return [server for server, service in layout.NODE_SERVERS.items()
                if service in self.services and (
                    server != 'replication-server' or self.replication_ports)]

    def check_node(self, *numbers: int) -> None:
        """Check that there are nodes of such numbers."""
        for number in numbers:
            if number not in self.node_numbers():
                raise ToolError('no node %r; this cluster has nodes 1 to '
                                '%d' % (number, self.nodes))

    def port(self, daemon: str, node: int | None = None) -> int:
        """Return the port of a daemon, of a node if each has its own."""
        if daemon == 'replication-server' and not self.replication_ports:
            daemon = 'object-server'
        return self.ports.get(daemon) or layout.port(self.base_port, daemon,
                                                     node)

    def policy(self, which: Policy | str | int) -> Policy:
        """Find a policy.

        :param which: a Policy of this cluster, its name or its index
        :raises ToolError: if the cluster has no such policy
        """
        for policy in self.policies:
            if which in (policy, policy.name, policy.index):
                return policy
        raise ToolError('no policy %r; this cluster has %s' % (
            which, ', '.join('%s (%d)' % (policy.name, policy.index)
                             for policy in self.policies)))

    def differences(self, other: 'ClusterSpec') -> list[str]:
        """Return the names of the fields in which two specs differ."""
        return [each.name for each in fields(self)
                if getattr(self, each.name) != getattr(other, each.name)]

    def changed(self, **values: Any) -> 'ClusterSpec':
        """Return a copy with the named fields replaced."""
        return replace(self, **values)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, sort_keys=True) + '\n'

    @classmethod
    def from_json(cls, text: str) -> 'ClusterSpec':
        values = json.loads(text)
        values['policies'] = tuple(Policy(**each)
                                   for each in values['policies'])
        return cls(**values)
