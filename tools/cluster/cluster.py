# SPDX-License-Identifier: Apache-2.0
"""The cluster as one object: what the command line and the tests drive."""

import os
import shutil
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import CompletedProcess
from typing import Any, Optional, Union

from swift.common import utils
from swift.common.ring import Ring

from swift_lightsync.common.files import open_locked
from tools import REPO
from tools.cluster import commands, files
from tools.cluster.daemons import Daemons
from tools.cluster.disks import Devices
from tools.cluster.errors import ClusterError
from tools.cluster.layout import UNIX_PATH_MAX, Layout, node_of_device
from tools.cluster.netns import NamespaceNetwork
from tools.cluster.network import (
    Counters,
    LoopbackNetwork,
    Network,
    Reachability,
)
from tools.cluster.spec import ClusterSpec, Policy

NETWORKS: dict[str, type[Network]] = {
    'loopback': LoopbackNetwork, 'namespaces': NamespaceNetwork}
USER = {'ST_USER': 'test:tester', 'ST_KEY': 'testing'}
#: what a cluster that has data cannot change
CAST = ('nodes', 'devices', 'policies', 'disks', 'disk_size')
Done = CompletedProcess


@dataclass(frozen=True)
class NodeStatus:
    """
    What is seen of a node.

    :param daemons: name -> pids
    :param devices: name -> whether it is there (mounted, if it is an image)
    """

    node: int
    ip: str
    daemons: dict[str, list[int]]
    devices: dict[str, bool]
    reachability: Reachability


def read_spec(root: str) -> ClusterSpec:
    """
    Return the spec of the cluster in a directory.

    :raises ClusterError: if there is none
    """
    try:
        with open(Layout(os.path.realpath(root)).spec) as spec:
            return ClusterSpec.from_json(spec.read())
    except FileNotFoundError as err:
        raise ClusterError('no cluster in %s; make one with `up`'
                           % os.path.realpath(root)) from err


class Cluster:
    """
    A development cluster.

    :param spec: a ClusterSpec
    """

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        self.layout = Layout(spec.root)
        self.network = NETWORKS[spec.network](spec)
        self.disks = Devices(spec, self.layout)
        self.daemons = Daemons(spec, self.layout, self.network,
                               self.environment())

    @classmethod
    def open(cls, root: str) -> 'Cluster':
        """Return the cluster that was made before in a directory."""
        return cls(read_spec(root))

    def __enter__(self) -> 'Cluster':
        self.up()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.down()

    # Life and death

    def is_up(self) -> bool:
        return self.daemons.log_sink_runs()

    def up(self, replicators: bool = False) -> None:
        """
        Make what is not there yet, and start the servers.

        :param replicators: start the replicators as well
        :raises ClusterError: after which nothing is left running
        """
        self._check_host()
        with self.locked():
            if self.is_up():
                raise ClusterError('the cluster in %s is already up; `down` '
                                   'ends it' % self.spec.root)
            self._check_data()
            self.daemons.stop_all()
            self.network.destroy()
            self.daemons.check_ports()
            self.disks.check_space()
            try:
                self._start(replicators)
            except BaseException:
                self._stop()
                raise

    def _check_host(self) -> None:
        """:raises ClusterError: if this machine or user cannot run it"""
        commands.need(*self.network.tools, *self.disks.tools, *(
            tool for service, tool in (('object', 'rsync'),
                                       ('proxy', 'memcached'))
            if service in self.spec.services))
        for name, value in (('network', 'namespaces'), ('disks', 'xfs')):
            if getattr(self.spec, name) == value:
                commands.need_root('%s=%r' % (name, value))
        if len(os.fsencode(self.layout.log_socket)) > UNIX_PATH_MAX:
            raise ClusterError(
                'the path of the socket %s is longer than the %d bytes that '
                'Linux allows; choose a shorter directory (--dir)'
                % (self.layout.log_socket, UNIX_PATH_MAX))

    def _check_data(self) -> None:
        """:raises ClusterError: if the data is of another kind of cluster"""
        if not os.path.exists(self.layout.spec) or not os.path.exists(
                self.layout.srv):
            return
        before = read_spec(self.spec.root)
        changed = ['%s=%r, not %r' % (name, getattr(before, name),
                                      getattr(self.spec, name))
                   for name in CAST if name in before.differences(self.spec)]
        if changed:
            raise ClusterError('%s was made with %s; `reset` wipes its data '
                               'and makes it anew' % (
                                   self.spec.root, ', '.join(changed)))

    def _start(self, replicators: bool) -> None:
        self.prepare()
        self.daemons.start_servers()
        if replicators:
            self.daemons.swift_init(self.replicator_daemon, 'start')

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
            raise ClusterError('no cluster in %s' % self.spec.root)
        with self.locked():
            self._stop()

    def _stop(self) -> None:
        self.daemons.stop_all()
        self.disks.unmount_all()
        self.network.destroy()

    def reset(self) -> None:
        """Wipe the data and start anew."""
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
            if os.path.exists(path):
                os.unlink(path)
        if not os.listdir(self.spec.root):
            os.rmdir(self.spec.root)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the cluster's directory; nobody else may be at work on it."""
        os.makedirs(self.spec.root, exist_ok=True)
        lock = open_locked(self.layout.lock)
        if lock is None:
            raise ClusterError('another command is at work on %s; wait for it'
                               % self.spec.root)
        try:
            yield
        finally:
            os.close(lock)

    # Failures

    def _check_node(self, *nodes: int) -> None:
        for node in nodes:
            if node not in self.spec.node_numbers():
                raise ClusterError(
                    'no node %r; this cluster has nodes 1 to %d'
                    % (node, self.spec.nodes))

    def _check_up(self, *nodes: int) -> None:
        self._check_node(*nodes)
        if not self.is_up():
            raise ClusterError('the cluster in %s is not up; `up` starts it'
                               % self.spec.root)

    def kill(self, node: int) -> set[int]:
        """
        Kill every process of a node, as a power cut would.

        :returns: the pids that were killed
        """
        self._check_up(node)
        pids = self.daemons.kill_node(node)
        if not pids:
            raise ClusterError('node %d does not run' % node)
        return pids

    def start(self, node: int) -> None:
        """Start the servers of a node that was killed."""
        self._check_up(node)
        running = self.pids(node)
        if running:
            raise ClusterError('node %d already runs (pids %s)' % (
                node, ' '.join(map(str, running))))
        self.daemons.drop_pid_files(str(node))
        self.daemons.start_node(node)

    def partition(self, node: int, refuse: bool = False) -> None:
        """
        Cut a node off; tools.cluster.network says what that means.

        :param refuse: connections are refused, not left without an answer
        """
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

    def mount(self, node: int, device: str) -> None:
        """Give a node its device back."""
        self._check_node(node)
        self.disks.mount(node, device)

    def unmount(self, node: int, device: str) -> None:
        """Take a device from a node, whatever is open on it."""
        self._check_node(node)
        self.disks.unmount(node, device, lazy=True)

    # Commands

    def environment(self) -> dict[str, str]:
        """
        Return the environment of a client and of the servers.

        They can load any filter of this repository.
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

    def _run(self, node: Optional[int], argv: list[str], check: bool,
             **kwargs: Any) -> 'Done[str]':
        return commands.run(self.network.command(node, argv), check=check,
                            env=self.environment(), **kwargs)

    def run(self, argv: list[str], check: bool = True, **kwargs: Any
            ) -> 'Done[str]':
        """Run a command as a client."""
        return self._run(None, argv, check, **kwargs)

    def run_on(self, node: int, argv: list[str], check: bool = True,
               **kwargs: Any) -> 'Done[str]':
        """Run a command as a node."""
        self._check_node(node)
        return self._run(node, argv, check, **kwargs)

    def swift_init(self, *args: str, check: bool = True) -> 'Done[str]':
        """Run swift-init."""
        self._check_up()
        return self.daemons.swift_init(*args, check=check)

    @property
    def replicator_daemon(self) -> str:
        """The name of the object replicator of this cluster."""
        return ('object-lightsync' if self.spec.replicator == 'lightsync'
                else 'object-replicator')

    def replicate_once(self, *nodes: int, args: tuple[str, ...] = (),
                       check: bool = True) -> list['Done[str]']:
        """
        Run one pass of the object replicator on nodes, one after the other.

        :param nodes: their numbers; every node if there is none
        :param args: further arguments of the replicator
        :returns: for each node; stderr has the log
        """
        self._check_up()
        return [self.run_on(node, [
            self.layout.launcher('swift-' + self.replicator_daemon),
            self.conf_path('object-server', node), '--once', '--verbose',
            *args], check=check) for node in nodes or
            self.spec.node_numbers()]

    # What it looks like

    def ring(self, which: Union[Policy, str, int]) -> Ring:
        """
        Return a ring.

        Swift in this process takes the cluster's swift.conf from now on, with
        which the Ring hashes paths.

        :param which: a Policy, its name or index; 'account', 'container'
        """
        utils.set_swift_dir(self.layout.etc)
        return Ring(self.layout.etc, ring_name=which if which in (
            'account', 'container') else self.spec.policy(which).ring_name)

    def devices(self, node: int) -> list[str]:
        """Return the names of a node's devices."""
        self._check_node(node)
        return self.disks.names(node)

    def device_path(self, node: int, device: str) -> str:
        return self.layout.device_path(node, device)

    def node_of(self, device: str) -> int:
        """Return the number of the node that has a device."""
        return node_of_device(device)

    def node_ip(self, node: int) -> str:
        return self.network.node_ip(node)

    def conf_path(self, server: str, node: Optional[int] = None) -> str:
        return self.layout.conf(server, node)

    def counters(self, node: int) -> Counters:
        """Return the Counters of a node's interface (namespaces)."""
        self._check_node(node)
        return self.network.counters(node)

    def pids(self, node: Optional[int], daemon: Optional[str] = None
             ) -> list[int]:
        """
        Return pids, sorted.

        :param node: its number; None for what belongs to no node
        :param daemon: such as 'object-server' or 'rsync'; None: every one
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

    def status(self) -> list[NodeStatus]:
        """Return what is seen of each node."""
        found = self.daemons.all()
        statuses = []
        for node in self.spec.node_numbers():
            daemons: dict[str, list[int]] = {}
            for process in self.daemons.of_node(node, found):
                daemons.setdefault(self.daemons.name(process),
                                   []).append(process.pid)
            statuses.append(NodeStatus(
                node, self.node_ip(node), daemons,
                {device: self.disks.there(node, device)
                 for device in self.devices(node)},
                self.network.reachability(node)))
        return statuses
