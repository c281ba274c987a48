# SPDX-License-Identifier: Apache-2.0
"""The one place that names a cluster's files, daemons, devices and ports.

Daemons are told apart by the paths on their command line, so every process
of a cluster is given at least one path below the cluster's directory.
"""

import os

#: swift-init's name of the servers of a node -> the service they belong to
NODE_SERVERS = {
    'object-server': 'object', 'replication-server': 'object',
    'container-server': 'container', 'account-server': 'account'}
#: a node's ports: from the base port, plus ten for each node
NODE_PORTS = {'object-server': 0, 'container-server': 1,
              'account-server': 2, 'replication-server': 3}
#: ports that are the same on every address, from the base port
CLUSTER_PORTS = {'rsync': 4, 'log-sink': 7, 'proxy-server': 8,
                 'memcached': 9}
UNIX_PATH_MAX = 107


class Layout:
    """Paths and names in a cluster's directory.

    :param root: the directory
    """

    def __init__(self, root: str) -> None:
        join = os.path.join
        self.root = root
        self.spec = join(root, 'cluster.json')
        self.etc = join(root, 'etc')
        self.bin = join(root, 'bin')
        self.run = join(root, 'run')
        self.logs = join(root, 'logs')
        self.disks = join(root, 'disks')
        self.srv = join(root, 'srv')
        self.cache = join(root, 'cache')
        self.lock = join(root, '.lock')
        self.log_socket = join(root, 'log.sock')

    def node_dir(self, node: int) -> str:
        """Return where node's devices are mounted: Swift's ``devices``."""
        return os.path.join(self.srv, 'node%d' % node)

    def cache_dir(self, node: int) -> str:
        return os.path.join(self.cache, 'node%d' % node)

    def device_path(self, node: int, device: str) -> str:
        return os.path.join(self.node_dir(node), device)

    def image(self, device: str) -> str:
        return os.path.join(self.disks, device + '.img')

    def conf(self, server: str, node: int | None = None) -> str:
        """Return the conf of a server; those of nodes have a directory."""
        return os.path.join(self.etc, server + '.conf' if node is None
                            else os.path.join(server, '%d.conf' % node))

    def rsyncd_conf(self, node: int) -> str:
        return os.path.join(self.etc, 'rsyncd-%d.conf' % node)

    def ring(self, name: str) -> str:
        return os.path.join(self.etc, name + '.ring.gz')

    def builder(self, name: str) -> str:
        return os.path.join(self.etc, name + '.builder')

    def pid_file(self, name: str) -> str:
        return os.path.join(self.run, name + '.pid')

    def log(self, name: str) -> str:
        return os.path.join(self.logs, name + '.log')

    def launcher(self, script: str) -> str:
        return os.path.join(self.bin, script)


def device_name(node: int, k: int) -> str:
    """Return the name of the k-th device (from 1) of a node."""
    return 'n%dd%d' % (node, k)


def node_of_device(device: str) -> int:
    """Return the number of the node that a device name belongs to."""
    return int(device[1:].split('d')[0])


def port(base_port: int, daemon: str, node: int | None = None) -> int:
    """Return the port of a daemon.

    :param daemon: a key of NODE_PORTS or of CLUSTER_PORTS
    :param node: the number of a node, for what each has a port of its own
    """
    if daemon in CLUSTER_PORTS:
        return base_port + CLUSTER_PORTS[daemon]
    return base_port + 10 * (node or 0) + NODE_PORTS[daemon]
