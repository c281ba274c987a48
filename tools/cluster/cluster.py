# SPDX-License-Identifier: Apache-2.0
"""The cluster as one object: what the command line and the tests drive."""

import fcntl
import os
import shutil
import sysconfig
from contextlib import contextmanager

from swift.common import utils
from swift.common.ring import Ring

from tools import REPO
from tools.cluster import checks, commands, files, status
from tools.cluster.daemons import Daemons
from tools.cluster.disks import Devices
from tools.cluster.errors import ClusterError
from tools.cluster.layout import Layout, node_of_device
from tools.cluster.netns import NamespaceNetwork
from tools.cluster.network import LoopbackNetwork

NETWORKS = {'loopback': LoopbackNetwork, 'namespaces': NamespaceNetwork}
USER = {'ST_USER': 'test:tester', 'ST_KEY': 'testing'}


class Cluster:
    """
    A development cluster.

    :param spec: a ClusterSpec
    """

    def __init__(self, spec):
        self.spec = spec
        self.layout = Layout(spec.root)
        self.network = NETWORKS[spec.network](spec)
        self.disks = Devices(spec, self.layout)
        self.daemons = Daemons(spec, self.layout, self.network,
                               self.environment())

    @classmethod
    def open(cls, root):
        """
        :param root: the directory of a cluster that was made before
        :returns: the Cluster
        :raises ClusterError: if there is none
        """
        return cls(checks.read_spec(Layout(os.path.realpath(root))))

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *exc_info):
        self.down()

    # Life and death

    def is_up(self):
        return self.daemons.log_sink_runs()

    def up(self, replicators=False):
        """
        Make what is not there yet, and start the servers.

        :param replicators: start the replicators as well
        :raises ClusterError: after which nothing is left running
        """
        checks.check_host(self.spec, self.layout, self._tools())
        with self.locked():
            if self.is_up():
                raise ClusterError('the cluster in %s is already up; `down` '
                                   'ends it' % self.spec.root)
            checks.check_data(self.spec, self.layout)
            self.daemons.stop_all()
            self.network.destroy()
            self.daemons.check_ports()
            self.disks.check_space()
            try:
                self._start(replicators)
            except BaseException:
                self._stop()
                raise

    def _start(self, replicators):
        self.prepare()
        self.daemons.start_servers()
        if replicators:
            self.daemons.swift_init(self.replicator_daemon, 'start')

    def prepare(self):
        """Make all that Swift's servers need, but do not start them."""
        files.write(self.spec, self.layout, self.network,
                    mount_check=self.disks.images)
        self.network.create()
        self.disks.create()
        self.daemons.start_infrastructure()

    def down(self):
        """End every process, unmount every device; the data stays."""
        if not os.path.isdir(self.spec.root):
            raise ClusterError('no cluster in %s' % self.spec.root)
        with self.locked():
            self._stop()

    def _stop(self):
        self.daemons.stop_all()
        self.disks.unmount_all()
        self.network.destroy()

    def reset(self):
        """Wipe the data and start anew."""
        self.wipe()
        self.up()

    def wipe(self):
        """End the cluster and delete its data."""
        self.down()
        self.disks.wipe()
        for path in (self.layout.cache, self.layout.logs):
            shutil.rmtree(path, ignore_errors=True)

    def destroy(self):
        """End the cluster and delete all that it wrote."""
        self.wipe()
        for path in (self.layout.etc, self.layout.bin, self.layout.run):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.layout.spec, self.layout.lock):
            if os.path.exists(path):
                os.unlink(path)
        if not os.listdir(self.spec.root):
            os.rmdir(self.spec.root)

    @contextmanager
    def locked(self):
        """Hold the cluster's directory; nobody else may be at work on it."""
        os.makedirs(self.spec.root, exist_ok=True)
        with open(self.layout.lock, 'w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as err:
                raise ClusterError('another command is at work on %s; wait '
                                   'for it' % self.spec.root) from err
            yield

    def _tools(self):
        yield from self.network.tools()
        yield from self.disks.tools()
        if 'object' in self.spec.services:
            yield 'rsync'
        if 'proxy' in self.spec.services:
            yield 'memcached'

    # Failures

    def _check_node(self, node):
        if node not in self.spec.node_numbers():
            raise ClusterError('no node %r; this cluster has nodes 1 to %d'
                               % (node, self.spec.nodes))

    def _check_up(self):
        if not self.is_up():
            raise ClusterError('the cluster in %s is not up; `up` starts it'
                               % self.spec.root)

    def kill(self, node):
        """
        Kill every process of a node, as a power cut would.

        :returns: the pids that were killed
        """
        self._check_node(node)
        self._check_up()
        pids = self.daemons.kill_node(node)
        if not pids:
            raise ClusterError('node %d does not run' % node)
        return pids

    def start(self, node):
        """Start the servers of a node that was killed."""
        self._check_node(node)
        self._check_up()
        running = self.daemons.of_node(node)
        if running:
            raise ClusterError('node %d already runs (pids %s)' % (
                node, ' '.join(str(each.pid) for each in running)))
        self.daemons.drop_pid_files(str(node))
        self.daemons.start_node(node)

    def partition(self, node, refuse=False):
        """
        Cut a node off; tools.cluster.network says what that means.

        :param refuse: connections are refused, not left without an answer
        """
        self._check_node(node)
        self._check_up()
        self.network.partition(node, refuse)

    def sever(self, node, other):
        """Let nothing pass between two nodes that all others can reach."""
        self._check_node(node)
        self._check_node(other)
        self._check_up()
        self.network.sever(node, other)

    def heal(self, node):
        """End a node's partition, and what ``sever`` did to it."""
        self._check_node(node)
        self._check_up()
        self.network.heal(node)

    def mount(self, node, device):
        """Give a node its device back."""
        self._check_node(node)
        self.disks.mount(node, device)

    def unmount(self, node, device):
        """Take a device from a node, whatever is open on it."""
        self._check_node(node)
        self.disks.unmount(node, device, lazy=True)

    # Commands

    def environment(self):
        """
        :returns: the environment of a client of this cluster and of its
            servers, which can load any filter of this repository
        """
        path = [self.layout.bin, sysconfig.get_path('scripts'),
                os.environ.get('PATH', os.defpath)]
        modules = [REPO, os.environ.get('PYTHONPATH', '')]
        return dict(
            os.environ, PATH=os.pathsep.join(path),
            PYTHONPATH=os.pathsep.join(filter(None, modules)),
            SWIFT_DIR=self.layout.etc,
            ST_AUTH='http://%s:%d/auth/v1.0' % (
                self.network.client_ip,
                self.spec.port('proxy-server')), **USER)

    def run(self, argv, check=True, **kwargs):
        """:returns: the CompletedProcess of argv, run as a client"""
        return commands.run(self.network.command(None, argv), check=check,
                            env=self.environment(), **kwargs)

    def run_on(self, node, argv, check=True, **kwargs):
        """:returns: the CompletedProcess of argv, run as a node"""
        self._check_node(node)
        return commands.run(self.network.command(node, argv), check=check,
                            env=self.environment(), **kwargs)

    def swift_init(self, *args, check=True):
        """:returns: the CompletedProcess of swift-init with these args"""
        self._check_up()
        return self.daemons.swift_init(*args, check=check)

    @property
    def replicator_daemon(self):
        """The name of the object replicator of this cluster."""
        return ('object-lightsync' if self.spec.replicator == 'lightsync'
                else 'object-replicator')

    def replicate_once(self, *nodes, args=(), check=True):
        """
        Run one pass of the object replicator on nodes, one after the other.

        :param nodes: their numbers; every node if there is none
        :param args: further arguments of the replicator
        :returns: a list of CompletedProcess; stderr has the log
        """
        self._check_up()
        return [self.run_on(node, [
            self.layout.launcher('swift-' + self.replicator_daemon),
            self.conf_path('object-server', node), '--once', '--verbose',
            *args], check=check) for node in nodes or
            self.spec.node_numbers()]

    # What it looks like

    def ring(self, which):
        """
        :param which: a Policy, its name or index; 'account', 'container'
        :returns: the Ring; Swift in this process takes the cluster's
            swift.conf from now on, with which the Ring hashes paths
        """
        utils.set_swift_dir(self.layout.etc)
        name = (which if which in ('account', 'container')
                else self.spec.policy(which).ring_name)
        return Ring(self.layout.etc, ring_name=name)

    def devices(self, node):
        """:returns: the names of a node's devices"""
        self._check_node(node)
        return self.disks.names(node)

    def device_path(self, node, device):
        return self.layout.device_path(node, device)

    def node_of(self, device):
        """:returns: the number of the node that has a device"""
        return node_of_device(device)

    def node_ip(self, node):
        return self.network.node_ip(node)

    def conf_path(self, server, node=None):
        return self.layout.conf(server, node)

    def counters(self, node):
        """:returns: the Counters of a node's interface (namespaces)"""
        self._check_node(node)
        return self.network.counters(node)

    def pids(self, node, daemon=None):
        """
        :param node: its number; None for what belongs to no node
        :param daemon: such as 'object-server' or 'rsync'; None: every one
        :returns: the pids, sorted
        """
        found = self.daemons.all()
        if node is None:
            nodes = {each for n in self.spec.node_numbers()
                     for each in self.daemons.of_node(n, found)}
            found = [each for each in found if each not in nodes]
        else:
            self._check_node(node)
            found = self.daemons.of_node(node, found)
        return sorted(each.pid for each in found
                      if daemon in (None, self.daemons.name(each)))

    def status(self):
        """:returns: a list of NodeStatus"""
        return status.observe(self)
