# SPDX-License-Identifier: Apache-2.0
"""A cluster with primary-role writes, whose daemons are killed one by one."""

import os
import signal
import socket
import time
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from unittest import mock
from urllib.parse import urlsplit

from swift_lightsync.proar.core.oplog import OVER
from swift_lightsync.proar.lag import PATH, decode
from swift_lightsync.proar.proxy.role_nodes import Roles
from tests.functional.clusters import R3, object_servers, wait_for
from tests.functional.errno_faults import Faults
from tests.functional.history import Outage
from tests.functional.objects import ClusterObjects
from tests.functional.served import ask
from tests.functional.traffic import Traffic
from tests.unit.proar.logs import entries_of
from tools.cluster import ClusterSpec, Policy
from tools.cluster.processes import end

FAST = Policy('fast', 1, 3, part_power=4, proar=True)
SUPPRESSION = 0.5
#: Two proxies. No node is slow, however busy the machine is; one that has
#: refused a connection is asked again soon.
OPTIONS = {
    'proxy-server': {
        'DEFAULT': {'workers': 2},
        'app:proxy-server': {
            'error_suppression_interval': SUPPRESSION,
            'conn_timeout': 60, 'node_timeout': 120}}}
CONVERGER, OBJECT_SERVER, REPLICATION_SERVER, PROXY = (
    'object-converger', 'object-server', 'replication-server',
    'proxy-server')
#: seconds in which the devices of a busy machine hold the same
PATIENCE = 240


@contextmanager
def role_cluster(**fields):
    """:param fields: of the ClusterSpec
    :returns: (as a context) a :class:`RoleCluster`
    """
    with object_servers(**{
            'nodes': 4, 'policies': (R3, FAST), 'options': OPTIONS,
            'services': ClusterSpec.services, **fields}) as cluster:
        yield RoleCluster(cluster)


@contextmanager
def faulty():
    """Yield the Faults of the servers that are started meanwhile."""
    with TemporaryDirectory() as directory:
        faults = Faults(os.path.join(directory, 'faults.json'))
        with mock.patch.dict(os.environ, faults.environment()):
            yield faults


class RoleCluster:
    """:param cluster: a Cluster that is up, with the policy FAST"""

    def __init__(self, cluster):
        self.cluster = cluster
        self.objects = ClusterObjects(cluster, FAST.index)
        self._client = cluster.client()

    def traffic(self, container, objects, seed):
        """:returns: Traffic of so many objects of a container that is made"""
        self._client.put_container(container, {
            'X-Storage-Policy': FAST.name})
        url = urlsplit(self._client.url)
        return Traffic(
            (url.hostname, url.port), '%s/%s' % (url.path, container),
            self._client.token, ['o%d' % each for each in range(objects)],
            seed)

    def flush_memcache(self, traffic):
        """Have memcached forget all; Traffic's token, too: it gets another."""
        with socket.create_connection(
                (self.cluster.network.client_ip,
                 self.cluster.spec.port('memcached')), timeout=60) as server:
            server.sendall(b'flush_all\r\n')
            server.recv(16)
        traffic.token = self._client.get_auth()[1]

    def without_ring(self):
        """Return what the devices say that do not have the ring that is there,
        or do not know that all have.
        """
        version = self.objects.ring.version
        said = [role for node in self.cluster.spec.node_numbers()
                for role in decode(ask(
                    (self.cluster.node_ip(node), self.cluster.spec.port(
                        OBJECT_SERVER, node)), 'GET', PATH).body).roles
                if role.policy == FAST.index]
        return [role for role in said if role.ring != version or role.others
                or role.silent] if said else ['nobody says anything']

    def roles(self, traffic, name):
        """:returns: the names of an object's devices, by their roles"""
        _, _, account, container = traffic.path.split('/')
        return [node['device'] for node in Roles.of(
            self.objects.ring, self.objects.policy, account, container,
            name).nodes]

    def primary(self, traffic, name):
        """:returns: the number of the node of an object's primary role"""
        return self.cluster.node_of(self.roles(traffic, name)[0])

    # Daemons

    def _processes(self, daemon, node):
        daemons = self.cluster.daemons
        found = daemons.all()
        return [each for each in (
            found if node is None else daemons.of_node(node, found))
            if daemons.name(each) == daemon]

    def kill(self, daemon, node=None):
        """Kill a daemon, and return when it is dead.

        :param node: its number; None for the proxy
        """
        if not end(lambda: self._processes(daemon, node), signal.SIGKILL):
            raise AssertionError('no %s of node %s' % (daemon, node))
        # Its number may be another's by now.
        os.unlink(os.path.join(self.cluster.layout.run, *(
            (daemon + '.pid',) if node is None
            else (daemon, '%d.pid' % node))))

    def start(self, daemon, node=None):
        """Start a daemon, and return when it listens, if it is a server.

        :param node: its number; None for the proxy, or the convergers of all
        """
        self.cluster.swift_init(daemon if node is None else '%s.%d' % (
            daemon, node), 'start')
        if daemon == CONVERGER:
            return
        address = (self.cluster.network.client_ip if node is None
                   else self.cluster.node_ip(node),
                   self.cluster.spec.port(daemon, node))
        wait_for(lambda: _listens(address), '%s %s listens' % (
            daemon, address))

    def outage(self, node, meanwhile):
        """Kill the object-server of a node, and start it again.

        :param meanwhile: a function that is called between the two
        :returns: the :class:`Outage`
        """
        begin = time.monotonic()
        self.kill(OBJECT_SERVER, node)
        down = time.monotonic()
        try:
            meanwhile()
        finally:
            up = time.monotonic()
            self.start(OBJECT_SERVER, node)
        # A proxy may go on to avoid it for so long.
        return Outage(begin, down, up, time.monotonic() + 2 * SUPPRESSION)

    def converge(self):
        """Return when no log has anything that a device lacks.

        :raises AssertionError: if one has, or devices are then not the same
        """
        wait_for(lambda: not self.open_entries(), 'all has converged',
                 PATIENCE)
        unequal = self.unequal()
        if unequal:
            raise AssertionError('not the same: %s' % unequal)

    def unequal(self):
        """Metadata beside a tombstone do not count: a POST that others took
        when the primary role, which had deleted the object, was away. No
        device takes it without an object, and none shows it.

        :returns: a dict of the partitions whose devices differ in any byte:
            device -> names of its files
        """
        return {partition: {device: sorted(files)
                            for device, files in held.items()}
                for partition, held in self.objects.replicas().items()
                if any(_that_count(files) != _that_count(
                    next(iter(held.values()))) for files in held.values())}

    def open_entries(self):
        """:returns: the entries of all logs that some device may lack"""
        return [entry for device in self.objects.devices()
                for entry in entries_of(self.cluster.device_path(
                    self.cluster.node_of(device), device))
                if entry.state not in OVER]


def _that_count(files):
    """:returns: of files of a device, those that all others have"""
    deleted = {os.path.dirname(path) for path in files
               if path.endswith('.ts')}
    return {path: content for path, content in files.items()
            if not path.endswith('.meta')
            or os.path.dirname(path) not in deleted}


def _listens(address):
    try:
        socket.create_connection(address, timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True
