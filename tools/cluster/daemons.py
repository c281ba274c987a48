# SPDX-License-Identifier: Apache-2.0
"""
The processes of one cluster: which are ours, which node's, how they start.

swift-init starts and stops Swift's; the log sink, memcached and the rsync
daemons, of which it knows nothing, are started here. Index servers are started
by their manager.
"""

import os
import re
import signal
import sys

import tools
from swift_losf.format.layout import Layout as LosfLayout
from tools.cluster import commands, ports, processes
from tools.cluster.errors import ClusterError
from tools.cluster.layout import NODE_SERVERS, device_name

LOG_SINK = 'tools.cluster.logsink'
INDEX_SERVER = 'swift_losf.daemon.index_server'
#: module: name
MODULES = {LOG_SINK: 'logsink', INDEX_SERVER: 'index-server'}
INDEX_MANAGER = 'object-losf'
CONVERGER = 'object-converger'
PROPAGATOR = 'container-propagator'
MEMCACHED = 'memcached'
RSYNC = 'rsync'


class Daemons:
    """
    The daemons of one cluster.

    :param spec: the ClusterSpec
    :param layout: its Layout
    :param network: its network
    :param environment: the environment they start in
    """

    def __init__(self, spec, layout, network, environment):
        self.spec = spec
        self.layout = layout
        self.network = network
        self.environment = environment

    def _is_ours(self, process):
        argv = process.argv
        if len(argv) > 1 and argv[1].startswith(self.layout.bin + '/'):
            return True
        return ((any(module in argv for module in MODULES)
                 or os.path.basename(argv[0]) in (MEMCACHED, RSYNC))
                and any(self.layout.root + '/' in arg for arg in argv))

    def all(self):
        """:returns: every Process of this cluster, but this one"""
        return [process for process in processes.all_processes()
                if process.pid != os.getpid() and self._is_ours(process)]

    def of_node(self, node, found=None):
        """:returns: every Process of a node, also those run once"""
        name = re.compile(r'(.*=)?%s/(etc/[a-z]+-server/%d\.conf$|'
                          r'etc/rsyncd-%d\.conf$|srv/node%d/)' % (
                              re.escape(self.layout.root), node, node, node))
        return [process for process in (found or self.all())
                if any(name.match(arg) for arg in process.argv)]

    def name(self, process):
        """:returns: the name of a Process: its launcher's without swift-"""
        argv = process.argv
        if len(argv) > 1 and argv[1].startswith(self.layout.bin + '/'):
            return os.path.basename(argv[1]).partition('-')[2]
        for module, name in MODULES.items():
            if module in argv:
                return name
        return os.path.basename(argv[0])

    def log_sink_runs(self):
        """The sink runs exactly while the cluster is up."""
        return any(LOG_SINK in process.argv for process in self.all())

    def servers(self):
        """:returns: swift-init's names of the servers of a node"""
        return [server for server, service in NODE_SERVERS.items()
                if service in self.spec.services and (
                    server != 'replication-server'
                    or self.spec.replication_ports)]

    def managers(self):
        """:returns: swift-init's names of what else a node needs"""
        kv = any(policy.kv for policy in self.spec.policies)
        return ([INDEX_MANAGER] if kv else []) + (
            [CONVERGER] if self.spec.has_proar() else []) + (
            [PROPAGATOR] if self.spec.versioning else [])

    def _indexes(self, node):
        for policy in self.spec.policies:
            for k in range(1, (policy.devices or self.spec.devices) + 1):
                device = device_name(node, k)
                path = self.layout.device_path(node, device)
                missing = (os.path.exists(self.layout.image(device))
                           and not os.path.ismount(path))
                if policy.kv and not missing:
                    yield LosfLayout(path, policy.index)

    def _wait_for_indexes(self, *nodes):
        for node in nodes:
            for index in self._indexes(node):
                processes.wait_until(
                    lambda: ports.answers(index.socket),
                    processes.START_TIMEOUT,
                    '%s answers' % index.socket)

    def ports(self):
        """:returns: the (ip, port, daemon) that the cluster listens on"""
        names = self.servers()
        if 'object' in self.spec.services:
            names.append(RSYNC)
        found = [(self.network.node_ip(node), self.spec.port(name, node),
                  name)
                 for node in self.spec.node_numbers() for name in names]
        if 'proxy' in self.spec.services:
            found += [(self.network.client_ip, self.spec.port(name), name)
                      for name in ('proxy-server', MEMCACHED)]
        return found

    def check_ports(self):
        """:raises ClusterError: if a port of the cluster is in use"""
        if self.network.namespaces:
            return
        for ip, number, name in self.ports():
            error = ports.bind_error(ip, number)
            if error:
                by = ports.owner(ip, number)
                raise ClusterError(
                    'port %d of %s, for %s: %s%s; end that process or '
                    'choose another --base-port' % (
                        number, ip, name, error, by and ' by ' + by))

    def start_log_sink(self):
        repo = os.path.dirname(os.path.dirname(tools.__file__))
        log = self.layout.log('logsink')
        argv = [sys.executable, '-m', LOG_SINK, self.layout.log_socket,
                self.network.client_ip,
                str(self.spec.port('log-sink')), self.layout.logs]
        process = processes.start_background(
            self.network.command(None, argv), log, cwd=repo)
        processes.wait_ready(
            process, log, 'the log socket %s' % self.layout.log_socket,
            lambda: os.path.exists(self.layout.log_socket))

    def start_memcached(self):
        ip = self.network.client_ip
        user = ['-u', 'root'] if commands.is_root() else []
        self._start_listener(None, ip, MEMCACHED, [
            MEMCACHED, *user, '-l', ip, '-U', '0', '-m', '64',
            '-p', str(self.spec.port(MEMCACHED)),
            '-P', self.layout.pid_file(MEMCACHED)], self.layout.log(MEMCACHED))

    def start_rsyncd(self, node):
        self._start_listener(node, self.network.node_ip(node), RSYNC, [
            RSYNC, '--daemon', '--no-detach',
            '--config=' + self.layout.rsyncd_conf(node)],
            self.layout.log('rsyncd.%d' % node))

    def _start_listener(self, node, ip, name, argv, log):
        number = self.spec.port(name)
        process = processes.start_background(
            self.network.command(node, argv), log)
        processes.wait_ready(
            process, log, '%s listens on %s:%d' % (name, ip, number),
            lambda: ports.listens(process.pid, ip, number))

    def swift_init(self, *args, check=True):
        """:returns: the CompletedProcess of swift-init with these args"""
        return commands.run(
            self.network.command(
                None, [self.layout.launcher('swift-init'), *args]),
            check=check, env=self.environment)

    def start_node(self, node):
        """Start the rsync daemon and the servers of one node."""
        if 'object' in self.spec.services:
            self.start_rsyncd(node)
        self.swift_init(*('%s.%d' % (server, node) for server in
                          self.servers() + self.managers()), 'start')
        self._wait_for_indexes(node)

    def start_infrastructure(self):
        """Start what Swift's servers need: log sink, rsync, memcached."""
        self.start_log_sink()
        if 'object' in self.spec.services:
            for node in self.spec.node_numbers():
                self.start_rsyncd(node)
        if 'proxy' in self.spec.services:
            self.start_memcached()

    def start_servers(self):
        """Start every server of Swift, all at the same time."""
        proxy = ['proxy-server'] if 'proxy' in self.spec.services else []
        self.swift_init(*self.servers(), *self.managers(), *proxy, 'start')
        self._wait_for_indexes(*self.spec.node_numbers())

    def start_managers(self):
        """Start the managers, and wait for index servers."""
        if self.managers():
            self.swift_init(*self.managers(), 'start')
            self._wait_for_indexes(*self.spec.node_numbers())

    def end_managers(self):
        """Kill the managers, and the index servers with them."""
        processes.end(lambda: [
            process for process in self.all() if INDEX_SERVER in process.argv
            or self.name(process) in self.managers()], signal.SIGKILL)

    def kill_node(self, node):
        """:returns: the pids that were killed"""
        pids = processes.end(lambda: self.of_node(node), signal.SIGKILL)
        self.drop_pid_files(str(node))
        return pids

    def stop_all(self):
        """Kill the servers, then let the log sink end."""
        processes.end(lambda: [process for process in self.all()
                               if LOG_SINK not in process.argv],
                      signal.SIGKILL)
        processes.end(self.all)
        self.drop_pid_files()

    def drop_pid_files(self, conf=None):
        """
        Remove the pid files of ended daemons, whose numbers may be reused.

        :param conf: only those of this conf, such as '3' of 3.conf
        """
        for directory, _, files in os.walk(self.layout.run):
            for name in files:
                if conf in (None, name.rpartition('.')[0]):
                    os.unlink(os.path.join(directory, name))
