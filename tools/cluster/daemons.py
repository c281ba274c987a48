# SPDX-License-Identifier: Apache-2.0
"""The daemons of a cluster: starts them, finds them, ends them."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from subprocess import CompletedProcess

from swift_losf.format.layout import Layout as LosfLayout
from tools import REPO, ToolError
from tools.cluster import commands, ports, processes
from tools.cluster.layout import UNIX_PATH_MAX, Layout, device_name
from tools.cluster.network import Network
from tools.cluster.processes import Process
from tools.cluster.spec import ClusterSpec

LOG_SINK = 'tools.cluster.logsink'
INDEX_SERVER = 'swift_losf.daemon.index_server'
#: module: name
MODULES = {LOG_SINK: 'logsink', INDEX_SERVER: 'index-server'}
MEMCACHED = 'memcached'
RSYNC = 'rsync'
#: service -> the command that it needs
NEEDED = {'object': RSYNC, 'proxy': MEMCACHED}


@dataclass(frozen=True)
class Daemons:
    """The daemons of one cluster.

    :param spec: the ClusterSpec
    :param layout: its Layout
    :param network: its network
    :param environment: the environment they start in
    """

    spec: ClusterSpec
    layout: Layout
    network: Network
    environment: dict[str, str]

    # Which there are

    def name(self, process: Process) -> str:
        """Return the name of a Process: its launcher's without swift-."""
        argv = process.argv
        if len(argv) > 1 and argv[1].startswith(self.layout.bin + '/'):
            return os.path.basename(argv[1]).partition('-')[2]
        return next((name for module, name in MODULES.items()
                     if module in argv), os.path.basename(argv[0]))

    def _is_ours(self, process: Process) -> bool:
        argv = process.argv
        return (len(argv) > 1 and argv[1].startswith(self.layout.bin + '/')
                or self.name(process) in (*MODULES.values(), MEMCACHED, RSYNC)
                and any(self.layout.root + '/' in arg for arg in argv))

    def all(self) -> list[Process]:
        """Return every Process of this cluster, but this one."""
        return [process for process in processes.all_processes()
                if process.pid != os.getpid() and self._is_ours(process)]

    def of_node(self, node: int | None,
                found: list[Process] | None = None) -> list[Process]:
        """Return every Process of a node, also those run once.

        :param node: its number; None for what belongs to no node
        :param found: those of the cluster, if they are known
        """
        name = re.compile(r'(.*=)?%s/(etc/[a-z]+-server/%s\.conf$|'
                          r'etc/rsyncd-%s\.conf$|srv/node%s/)' % (
                              re.escape(self.layout.root),
                              *(3 * [node or r'\d+'])))
        return [process for process in found or self.all()
                if any(map(name.match, process.argv)) == bool(node)]

    def by_name(self, node: int, found: list[Process]
                ) -> dict[str, list[int]]:
        """Return the pids of a node's daemons, by name."""
        pids: dict[str, list[int]] = {}
        for process in self.of_node(node, found):
            pids.setdefault(self.name(process), []).append(process.pid)
        return pids

    def log_sink_runs(self) -> bool:
        """Return whether the sink runs: exactly while the cluster is up."""
        return any(LOG_SINK in process.argv for process in self.all())

    def managers(self) -> list[str]:
        """Return swift-init's names of what else a node needs."""
        return [name for name, is_needed in (
            ('object-losf', any(each.kv for each in self.spec.policies)),
            ('object-converger', self.spec.has_proar()),
            ('container-propagator', self.spec.versioning)) if is_needed]

    def ports(self) -> list[tuple[str, int, str]]:
        """Return the (ip, port, daemon) that the cluster listens on."""
        spec = self.spec
        names = spec.servers() + [RSYNC] * ('object' in spec.services)
        found = [(self.network.node_ip(node), spec.port(name, node), name)
                 for node in spec.node_numbers() for name in names]
        if 'proxy' in spec.services:
            found += [(self.network.client_ip, spec.port(name), name)
                      for name in ('proxy-server', MEMCACHED)]
        return found

    def check_host(self, *tools: str) -> None:
        """Check that this machine and user can run the cluster.

        :param tools: the commands that its network and devices need
        :raises ToolError: if they cannot
        """
        commands.need(*tools, *(NEEDED[service] for service in
                                self.spec.services if service in NEEDED))
        for name, value in (('network', 'namespaces'), ('disks', 'xfs')):
            if getattr(self.spec, name) == value:
                commands.need_root('%s=%r' % (name, value))
        if len(os.fsencode(self.layout.log_socket)) > UNIX_PATH_MAX:
            raise ToolError(
                'the path of the socket %s is longer than the %d bytes that '
                'Linux allows; choose a shorter directory (--dir)'
                % (self.layout.log_socket, UNIX_PATH_MAX))

    def check_ports(self) -> None:
        """Check that no port of the cluster is in use."""
        for ip, number, name in ([] if self.network.namespaces
                                 else self.ports()):
            error = ports.bind_error(ip, number)
            if error:
                by = ports.owner(ip, number)
                raise ToolError(
                    'port %d of %s, for %s: %s%s; end that process or '
                    'choose another --base-port' % (
                        number, ip, name, error, by and ' by ' + by))

    # How they start

    def _start_log_sink(self) -> None:
        processes.start(
            self.network.command(None, [
                sys.executable, '-m', LOG_SINK, self.layout.log_socket,
                self.network.client_ip, str(self.spec.port('log-sink')),
                self.layout.logs]),
            self.layout.log('logsink'),
            'the log socket %s' % self.layout.log_socket,
            lambda _: os.path.exists(self.layout.log_socket), cwd=REPO)

    def _start_listener(self, node: int | None, ip: str, argv: list[str],
                        log: str) -> None:
        name = argv[0]
        number = self.spec.port(name)
        processes.start(self.network.command(node, argv),
                        self.layout.log(log),
                        '%s listens on %s:%d' % (name, ip, number),
                        lambda pid: ports.listens(pid, ip, number))

    def _start_rsyncd(self, node: int) -> None:
        self._start_listener(node, self.network.node_ip(node), [
            RSYNC, '--daemon', '--no-detach',
            '--config=' + self.layout.rsyncd_conf(node)], 'rsyncd.%d' % node)

    def start_infrastructure(self) -> None:
        """Start what Swift's servers need: log sink, rsync, memcached."""
        self._start_log_sink()
        if 'object' in self.spec.services:
            for node in self.spec.node_numbers():
                self._start_rsyncd(node)
        if 'proxy' in self.spec.services:
            ip = self.network.client_ip
            self._start_listener(None, ip, [
                MEMCACHED, *(['-u', 'root'] if commands.is_root() else []),
                '-l', ip, '-U', '0', '-m', '64',
                '-p', str(self.spec.port(MEMCACHED)),
                '-P', self.layout.pid_file(MEMCACHED)], MEMCACHED)

    def swift_init(self, *args: str, check: bool = True
                   ) -> 'CompletedProcess[str]':
        """Return the CompletedProcess of swift-init with these args."""
        return commands.run(
            self.network.command(
                None, [self.layout.launcher('swift-init'), *args]),
            check=check, env=self.environment)

    def _indexes(self, node: int) -> Iterator[LosfLayout]:
        for policy in self.spec.policies:
            for k in range(1, (policy.devices or self.spec.devices) + 1):
                device = device_name(node, k)
                path = self.layout.device_path(node, device)
                missing = (os.path.exists(self.layout.image(device))
                           and not os.path.ismount(path))
                if policy.kv and not missing:
                    yield LosfLayout(path, policy.index)

    def _init(self, names: list[str], *nodes: int) -> None:
        """Start daemons, and wait for the index servers of nodes."""
        if names:
            self.swift_init(*names, 'start')
        for node in nodes:
            for index in self._indexes(node):
                processes.wait_until(
                    lambda: ports.answers(index.socket),
                    processes.START_TIMEOUT, '%s answers' % index.socket)

    def start_node(self, node: int) -> None:
        """Start the rsync daemon and the servers of one node."""
        if 'object' in self.spec.services:
            self._start_rsyncd(node)
        self._init(['%s.%d' % (server, node) for server in
                    self.spec.servers() + self.managers()], node)

    def start_servers(self) -> None:
        """Start every server of Swift, all at the same time."""
        self._init([*self.spec.servers(), *self.managers(), *(
            ['proxy-server'] if 'proxy' in self.spec.services else [])],
            *self.spec.node_numbers())

    def start_managers(self) -> None:
        """Start the managers, and wait for index servers."""
        self._init(self.managers(), *self.spec.node_numbers())

    # How they end

    def end_managers(self) -> None:
        """Kill the managers, and the index servers with them."""
        processes.end(lambda: [
            process for process in self.all() if INDEX_SERVER in process.argv
            or self.name(process) in self.managers()], signal.SIGKILL)

    def kill_node(self, node: int) -> set[int]:
        """Kill all of a node; return the pids."""
        pids = processes.end(lambda: self.of_node(node), signal.SIGKILL)
        self.drop_pid_files(str(node))
        return pids

    def stop_all(self) -> None:
        """Kill the servers, then let the log sink end."""
        processes.end(lambda: [process for process in self.all()
                               if LOG_SINK not in process.argv],
                      signal.SIGKILL)
        processes.end(self.all)
        self.drop_pid_files()

    def drop_pid_files(self, conf: str | None = None) -> None:
        """Remove the pid files of ended daemons, whose numbers may be reused.

        :param conf: only those of this conf, such as '3' of 3.conf
        """
        for directory, _, files in os.walk(self.layout.run):
            for name in files:
                if conf in (None, name.rpartition('.')[0]):
                    os.unlink(os.path.join(directory, name))
