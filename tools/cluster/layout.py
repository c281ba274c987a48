# SPDX-License-Identifier: Apache-2.0
"""
The one place that names a cluster's files, daemons, devices and ports.

Daemons are told apart by the paths on their command line, so every process
of a cluster is given at least one path below the cluster's directory.
"""

import os
from dataclasses import dataclass

#: swift-init's name of the servers of a node -> the service they belong to
NODE_SERVERS = {
    'object-server': 'object',
    'replication-server': 'object',
    'container-server': 'container',
    'account-server': 'account',
}
#: a node's ports: from the base port, plus ten for each node
NODE_PORTS = {
    'object-server': 0,
    'container-server': 1,
    'account-server': 2,
    'replication-server': 3,
}
#: ports that are the same on every address, from the base port
CLUSTER_PORTS = {
    'rsync': 4,
    'log-sink': 7,
    'proxy-server': 8,
    'memcached': 9,
}
UNIX_PATH_MAX = 107


@dataclass(frozen=True)
class Layout:
    """
    Paths and names in a cluster's directory.

    :param root: the directory
    """

    root: str

    def _path(self, *parts):
        return os.path.join(self.root, *parts)

    spec = property(lambda self: self._path('cluster.json'))
    etc = property(lambda self: self._path('etc'))
    bin = property(lambda self: self._path('bin'))
    run = property(lambda self: self._path('run'))
    logs = property(lambda self: self._path('logs'))
    disks = property(lambda self: self._path('disks'))
    srv = property(lambda self: self._path('srv'))
    cache = property(lambda self: self._path('cache'))
    lock = property(lambda self: self._path('.lock'))
    log_socket = property(lambda self: self._path('log.sock'))
    swift_conf = property(lambda self: self._path('etc', 'swift.conf'))
    internal_client_conf = property(
        lambda self: self._path('etc', 'internal-client.conf'))

    sites_conf = property(
        lambda self: self._path('etc', 'versioning-sites.conf'))

    def node_dir(self, node):
        """Where node's devices are mounted: Swift's ``devices``."""
        return self._path('srv', 'node%d' % node)

    def cache_dir(self, node):
        return self._path('cache', 'node%d' % node)

    def device_path(self, node, device):
        return os.path.join(self.node_dir(node), device)

    def image(self, device):
        return self._path('disks', device + '.img')

    def conf(self, server, node=None):
        """The conf of a server: in a directory of one conf a node."""
        if node is None:
            return self._path('etc', server + '.conf')
        return self._path('etc', server, '%d.conf' % node)

    def rsyncd_conf(self, node):
        return self._path('etc', 'rsyncd-%d.conf' % node)

    def ring(self, name):
        return self._path('etc', name + '.ring.gz')

    def builder(self, name):
        return self._path('etc', name + '.builder')

    def pid_file(self, name):
        return self._path('run', name + '.pid')

    def log(self, name):
        return self._path('logs', name + '.log')

    def launcher(self, script):
        return self._path('bin', script)


def device_name(node, k):
    """:returns: the name of the k-th device (from 1) of a node"""
    return 'n%dd%d' % (node, k)


def node_of_device(device):
    """:returns: the number of the node that a device name belongs to"""
    return int(device[1:].split('d')[0])


def port(base_port, daemon, node=None):
    """
    :param daemon: a key of NODE_PORTS or of CLUSTER_PORTS
    :param node: the number of a node, for what each has a port of its own
    """
    if daemon in CLUSTER_PORTS:
        return base_port + CLUSTER_PORTS[daemon]
    return base_port + 10 * node + NODE_PORTS[daemon]
