# SPDX-License-Identifier: Apache-2.0
"""The cluster as one object: what the command line and the tests drive."""

import os
import shutil
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from swift.common import utils
from swift.common.ring import Ring
from swiftclient.client import Connection

from swift_lightsync.common.files import open_locked
from tools import REPO, ToolError
from tools.cluster import commands, files
from tools.cluster.daemons import Daemons
from tools.cluster.disks import Devices
from tools.cluster.layout import Layout, node_of_device
from tools.cluster.netns import NamespaceNetwork
from tools.cluster.network import LoopbackNetwork, Network, NodeStatus
from tools.cluster.spec import ClusterSpec, Policy

NETWORKS: dict[str, type[Network]] = {
    'loopback': LoopbackNetwork, 'namespaces': NamespaceNetwork}
USER = {'ST_USER': 'test:tester', 'ST_KEY': 'testing'}


class Cluster:
    """A development cluster.

    :param spec: a ClusterSpec
    """

    #: the number of the node that has a device
    node_of = staticmethod(node_of_device)

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        self.layout = Layout(spec.root)
        self.network = NETWORKS[spec.network](spec)
        self.disks = Devices(spec, self.layout)
        self.daemons = Daemons(spec, self.layout, self.network,
                               self.environment())
        #: the names of a node's devices
        self.devices = self.disks.names
        self.device_path = self.layout.device_path
        self.conf_path = self.layout.conf
        self.node_ip = self.network.node_ip
        self.mount = self.disks.mount
        #: the traffic of a node's interface (namespaces)
        self.counters = self.network.counters

    @classmethod
    def open(cls, root: str) -> 'Cluster':
        """Return the cluster that was made before in a directory."""
        return cls(files.read_spec(root))

    def __enter__(self) -> 'Cluster':
        self.up()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.down()

    def is_up(self) -> bool:
        return self.daemons.log_sink_runs()

    def up(self, replicators: bool = False) -> None:
        """Make what is not there yet, and start the servers.

        :param replicators: start the replicators as well
        :raises ToolError: after which nothing is left running
        """
        self.daemons.check_host(*self.network.tools, *self.disks.tools)
        with self.locked():
            if self.is_up():
                raise ToolError('the cluster in %s is already up; `down` '
                                'ends it' % self.spec.root)
            files.check_data(self.spec, self.layout)
            self.daemons.stop_all()
            self.network.destroy()
            self.daemons.check_ports()
            self.disks.check_space()
            try:
                self.prepare()
                self.daemons.start_servers()
                if replicators:
                    self.swift_init(*self.replicators, 'start')
            except BaseException:
                self._stop()
                raise

    def prepare(self) -> None:
        """Make all that Swift's servers need, but do not start them."""
        files.write(self.spec, self.layout, self.network,
                    mount_check=self.disks.images)
        self.network.create()
        self.disks.create()
        self.daemons.start_infrastructure()

    def down(self) -> None:
        """End every process, unmount every device; the data stays."""
        if not os.path.isdir(self.spec.root):
            raise ToolError('no cluster in %s' % self.spec.root)
        with self.locked():
            self._stop()

    def _stop(self) -> None:
        self.daemons.stop_all()
        self.disks.unmount_all()
        self.network.destroy()

    def reset(self) -> None:
        """Wipe the data, start anew."""
        self.wipe()
        self.up()

    def wipe(self) -> None:
        """End the cluster and delete its data."""
        self.down()
        self.disks.wipe()
        for path in (self.layout.cache, self.layout.logs):
            shutil.rmtree(path, ignore_errors=True)

    def destroy(self) -> None:
        """End the cluster and delete all that it wrote."""
        self.wipe()
        for path in (self.layout.etc, self.layout.bin, self.layout.run):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.layout.spec, self.layout.lock):
            Path(path).unlink(missing_ok=True)
        if not os.listdir(self.spec.root):
            os.rmdir(self.spec.root)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the cluster's directory; nobody else may be at work on it."""
        os.makedirs(self.spec.root, exist_ok=True)
        lock = open_locked(self.layout.lock)
        if lock is None:
            raise ToolError('another command is at work on %s; wait for it'
                            % self.spec.root)
        try:
            yield
        finally:
            os.close(lock)

    def _check_up(self, *nodes: int) -> None:
        self.spec.check_node(*nodes)
        if not self.is_up():
            raise ToolError('the cluster in %s is not up; `up` starts it'
                            % self.spec.root)

    def kill(self, node: int) -> set[int]:
        """Kill all of a node, as a power cut would; return the pids."""
        self._check_up(node)
        pids = self.daemons.kill_node(node)
        if not pids:
            raise ToolError('node %d does not run' % node)
        return pids

    def start(self, node: int) -> None:
        """Start the servers of a node that was killed."""
        self._check_up(node)
        running = self.pids(node)
        if running:
            raise ToolError('node %d already runs (pids %s)' % (
                node, ' '.join(map(str, running))))
        self.daemons.drop_pid_files(str(node))
        self.daemons.start_node(node)

    def partition(self, node: int, refuse: bool = False) -> None:
        """Cut a node off: refuse connections, or leave them unanswered."""
        self._check_up(node)
        self.network.partition(node, refuse)

    def sever(self, node: int, other: int) -> None:
        """Let nothing pass between two nodes that all others can reach."""
        self._check_up(node, other)
        self.network.sever(node, other)

    def heal(self, node: int) -> None:
        """End a node's partition, and what ``sever`` did to it."""
        self._check_up(node)
        self.network.heal(node)

    def device_paths(self, *nodes: int) -> dict[str, str]:
        """Return the devices of nodes, or of all: name -> path."""
        return {device: self.device_path(node, device)
                for node in nodes or self.spec.node_numbers()
                for device in self.devices(node)}

    def unmount(self, node: int, device: str) -> None:
        """Take a device from a node, whatever is open on it."""
        self.disks.unmount(node, device, lazy=True)

    def environment(self) -> dict[str, str]:
        """Return that of clients and servers, which can load our filters."""
        before = os.environ
        return dict(
            before, PATH=os.pathsep.join((
                self.layout.bin, sysconfig.get_path('scripts'),
                before.get('PATH', os.defpath))),
            PYTHONPATH=os.pathsep.join(filter(
                None, (REPO, before.get('PYTHONPATH')))),
            SWIFT_DIR=self.layout.etc,
            ST_AUTH='http://%s:%d/auth/v1.0' % (
                self.network.client_ip,
                self.spec.port('proxy-server')), **USER)

    def client(self, **options: Any) -> Connection:
        """Return a client of the test user; ``options`` are a Connection's."""
        env = self.environment()
        return Connection(env['ST_AUTH'], env['ST_USER'], env['ST_KEY'],
                          **{'timeout': 120, **options})

    def run(self, argv: list[str], check: bool = True, **kwargs: Any
            ) -> 'CompletedProcess[str]':
        """Run a command as a client."""
        return self.run_on(None, argv, check, **kwargs)

    def run_on(self, node: int | None, argv: list[str],
               check: bool = True, **kwargs: Any) -> 'CompletedProcess[str]':
        """Run a command as a node; None: as a client."""
        if node is not None:
            self.spec.check_node(node)
        return commands.run(self.network.command(node, argv), check=check,
                            env=self.environment(), **kwargs)

    def swift_init(self, *args: str, check: bool = True
                   ) -> 'CompletedProcess[str]':
        """Run swift-init."""
        self._check_up()
        return self.daemons.swift_init(*args, check=check)

    @property
    def replicator_daemon(self) -> str:
        """The name of the object replicator of this cluster."""
        return ('object-lightsync' if self.spec.replicator == 'lightsync'
                else 'object-replicator')

    @property
    def replicators(self) -> list[str]:
        """The names of the daemons that make object replicas the same."""
        reconstructor = ('object-lightreconstructor'
                         if self.spec.replicator == 'lightsync'
                         else 'object-reconstructor')
        return [self.replicator_daemon, *[reconstructor] * any(
            policy.parity for policy in self.spec.policies)]

    def replicate_once(self, *nodes: int, args: tuple[str, ...] = ()
                       ) -> list['CompletedProcess[str]']:
        """Run one pass of the object replicator on nodes (none named: on all).

        :param args: further arguments of the replicator
        :returns: for each node, in turn; stderr has the log
        """
        self._check_up()
        return [self.run_on(node, [
            self.layout.launcher('swift-' + self.replicator_daemon),
            self.conf_path('object-server', node), '--once', '--verbose',
            *args]) for node in nodes or self.spec.node_numbers()]

    def ring(self, which: Policy | str | int) -> Ring:
        """Return a ring; Swift takes the cluster's swift.conf from now on.

        :param which: a Policy, its name or index; 'account', 'container'
        """
        utils.set_swift_dir(self.layout.etc)
        return Ring(self.layout.etc, ring_name=which if which in (
            'account', 'container') else self.spec.policy(which).ring_name)

    def pids(self, node: int | None, daemon: str | None = None
             ) -> list[int]:
        """Return pids, sorted.

        :param node: its number; None for what belongs to no node
        :param daemon: such as 'object-server' or 'rsync'; None: every one
        """
        if node is not None:
            self.spec.check_node(node)
        return sorted(each.pid for each in self.daemons.of_node(node)
                      if daemon in (None, self.daemons.name(each)))

    def status(self) -> list[NodeStatus]:
        """Return what is seen of each node."""
        found = self.daemons.all()
        return [NodeStatus(
            node, self.node_ip(node), self.daemons.by_name(node, found),
            {device: self.disks.there(node, device)
             for device in self.devices(node)},
            self.network.reachability(node))
            for node in self.spec.node_numbers()]
