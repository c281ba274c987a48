# SPDX-License-Identifier: Apache-2.0
"""A cluster each part of which can be made the limit, and its watchers.

Nodes have network namespaces and control groups of their own. The disk of
each is an image on a filesystem of its own, whose device can be throttled:
what the node sees is a disk whose accesses take long.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress

from cosbench.measure.result import Result
from tests.functional import slow_inside
from tests.unit.cosbench.processes import environment
from tools.benchmarks.measure import Device
from tools.benchmarks.throttle import Throttle
from tools.cluster import (
    Cluster,
    ClusterSpec,
    Policy,
    commands,
    free_base_port,
)
from tools.cluster.relay import Link, write

NODES = 3
CLIENT = 'proxy'
CGROUPS = '/sys/fs/cgroup'
#: Of the agents, in each network namespace.
STATSD, WATCH, RELAY = 8125, 19100, 19200
MIB = 2 ** 20
SLOW_METHODS = {
    'container-server': 'swift.container.backend:ContainerBroker.put_object',
    'object-server': 'swift.obj.diskfile:DiskFileWriter.put'}
DOCUMENT = '''<workload name="limits">
<auth type="swauth" config="username=%(user)s;password=%(password)s;auth_url=\
%(auth)s"/>
<storage type="swift" config="timeout=120000%(storage)s"/>
<workflow config="containers=c(1);cprefix=limits;objects=r(1,100)">
<workstage name="init"><work type="init" workers="1"
 config="containers=r(1,1)"/></workstage>
<workstage name="main"><work name="main" workers="8" rampup="2"
 runtime="%(seconds)d"
 interval="1"><operation type="write" ratio="100"
 config="sizes=c(%(kilobytes)d)KB;objects=u(1,1000)"/></work>%(beside)s
</workstage></workflow></workload>'''


class BottleneckCluster:
    """The cluster, from ``with`` on.

    :param root: a directory that it may fill
    """

    def __init__(self, root):
        self.root = root
        statsd = {'DEFAULT': {'log_statsd_host': '127.0.0.1',
                              'log_statsd_port': STATSD}}
        self.cluster = Cluster(ClusterSpec(
            root=os.path.join(root, 'cluster'), nodes=NODES,
            base_port=free_base_port(NODES), network='namespaces',
            disks='xfs', disk_size=600 * MIB, replication_ports=False,
            policies=(Policy('gold', 0, NODES, part_power=6),), options={
                'proxy-server': {**statsd, 'app:proxy-server': {
                    'node_timeout': 60, 'conn_timeout': 10}},
                **{server: {**statsd, **slow_inside.options(server, method)}
                   for server, method in SLOW_METHODS.items()}}))
        self.cluster.spec.options['object-server']['app:object-server'] = {
            'container_update_timeout': 60}
        self._stack = ExitStack()
        self._groups = {}

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exc_info):
        self._stack.close()

    def _start(self):
        throttle = Throttle.find()
        self._stack.callback(throttle.close)
        self.slow_disks = {}
        for node in range(1, NODES + 1):
            self.slow_disks[node] = self._disk_below(node, throttle)
        self._stack.callback(self.cluster.destroy)
        self.cluster.up()
        for node in range(1, NODES + 1):
            self._device(node).be_a_disk()
        for name in (*range(1, NODES + 1), None):
            self._group(name)

    def _disk_below(self, node, throttle):
        """Make a node's image on a disk that can be slow; return how."""
        image, path = (os.path.join(self.root, '%s%d' % (each, node))
                       for each in ('below', 'on'))
        with open(image, 'wb') as sparse:
            sparse.truncate(800 * MIB)
        os.makedirs(path)
        commands.run(['mkfs.ext4', '-q', '-F', image])
        commands.run(['mount', '-o', 'loop', image, path])
        self._stack.callback(commands.run, ['umount', '--lazy', path])
        Device(path).be_a_disk()
        with open(os.path.join(path, 'image'), 'wb') as sparse:
            sparse.truncate(600 * MIB)
        commands.run(['mkfs.xfs', '-q', '-f', sparse.name])
        link = self.cluster.layout.image('n%dd1' % node)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(sparse.name, link)
        return lambda iops: throttle.limit(Device(path).number, iops)

    def _device(self, node):
        return Device(self.cluster.device_path(node, 'n%dd1' % node))

    def _group(self, node):
        name = '%s-%s' % (self.cluster.network.tag, node or CLIENT)
        pids = [each.pid for each in self.cluster.daemons.of_node(node)]
        for kind in ('cpuacct', 'cpu'):
            path = os.path.join(CGROUPS, kind, name)
            os.makedirs(path, exist_ok=True)
            self._stack.callback(_remove_group, path)
            for pid in pids:
                with suppress(ProcessLookupError):
                    _write(path, 'cgroup.procs', pid)
        self._groups[node] = name

    @contextmanager
    def processors(self, cores, *nodes):
        """In the block nodes, None the proxy's, have so many processors."""
        paths = [os.path.join(CGROUPS, 'cpu', self._groups[node])
                 for node in nodes]
        for path in paths:
            _write(path, 'cpu.cfs_quota_us', int(cores * 100000))
        try:
            yield {}
        finally:
            for path in paths:
                _write(path, 'cpu.cfs_quota_us', -1)

    @contextmanager
    def disks(self, iops, *nodes):
        """In the block disks do so many reads, and writes, a second."""
        for node in nodes:
            self.slow_disks[node](iops)
        try:
            yield {}
        finally:
            for node in nodes:
                self.slow_disks[node](0)

    @contextmanager
    def card(self, mbits, node):
        """In the block a node's network card sends and takes so much."""
        places = [['-n', '%s-%s' % (self.cluster.network.tag, namespace),
                   'qdisc', '%s', 'dev', device, 'root']
                  for namespace, device in (
                      (node or 'client', 'eth0'),
                      ('bridge', 'port-%s' % (node or 'client')))]

        def tc(verb, *more):
            for each in places:
                commands.run(['tc', *(word % verb if word == '%s' else word
                                      for word in each), *more])
        tc('add', 'tbf', 'rate', '%dmbit' % mbits, 'burst', '64kb',
           'latency', '100ms')
        try:
            yield {'mbits': {node: mbits}}
        finally:
            tc('del')

    @contextmanager
    def server(self, name, seconds, node):
        """In the block a method of a kind of server takes longer."""
        def put(value):
            slow_inside.set_seconds(self.cluster.layout.cache_dir(node),
                                    SLOW_METHODS[name], value)
        put(seconds)
        try:
            yield {}
        finally:
            put(0)

    @contextmanager
    def endpoint(self, seconds):
        """In the block there is a second endpoint, which is far away."""
        host, port = self.cluster.network.client_ip, \
            self.cluster.spec.port('proxy-server')
        state = os.path.join(self.root, 'relay.json')
        write(state, [Link('a', 'b', RELAY, (host, port), seconds)])
        process = subprocess.Popen(
            self._as(None, '-m', 'tools.cluster.relay', state),
            env=environment())
        try:
            yield {'storage': ';endpoints=http://%s:%d,http://127.0.0.1:%d' % (
                host, port, RELAY)}
        finally:
            process.kill()
            process.wait()

    def _as(self, node, *arguments):
        return self.cluster.network.command(
            node, [sys.executable, *map(str, arguments)])

    @contextmanager
    def _watchers(self, mbits):
        """Watch all nodes in the block; the values of ``--watch``."""
        with ExitStack() as stack:
            found = []
            for node in (*range(1, NODES + 1), None):
                ip = self.cluster.network.client_ip if node is None \
                    else self.cluster.node_ip(node)
                disks = 'none' if node is None else os.path.basename(
                    os.path.realpath('/sys/dev/block/' + self._device(
                        node).number))
                process = stack.enter_context(_ended(subprocess.Popen(
                    self._as(node, '-m', 'cosbench', 'watch', '--host', ip,
                             '--port', WATCH, '--insecure', '--statsd',
                             STATSD, '--cgroup', self._groups[node],
                             '--card-mbits', mbits.get(node, 10000),
                             '--disks', disks),
                    env=environment(), stdout=subprocess.PIPE)))
                assert process.stdout.readline()
                found += ['--watch', '%s=http://%s:%d' % (
                    'n%d' % node if node else CLIENT, ip, WATCH)]
            yield found

    def run(self, seconds, storage='', beside='', mbits=None, kilobytes=32):
        """:returns: the ``Result`` of a run of writes"""
        env = self.cluster.environment()
        document, result = (os.path.join(self.root, name)
                            for name in ('w.xml', 'r.json'))
        with open(document, 'w', encoding='utf8') as stream:
            stream.write(DOCUMENT % {
                'user': env['ST_USER'], 'password': env['ST_KEY'],
                'auth': env['ST_AUTH'], 'seconds': seconds,
                'kilobytes': kilobytes,
                'storage': storage, 'beside': beside})
        with self._watchers(mbits or {}) as watch:
            done = subprocess.run(
                self._as(None, '-m', 'cosbench', 'run', document, '--quiet',
                         '--drivers', 1, '--json', result, '--archive',
                         os.path.join(self.root, 'archive'), *watch),
                env=environment(), stderr=subprocess.PIPE, text=True)
        assert os.path.exists(result), done.stderr
        with open(result, encoding='utf8') as stream:
            return Result.from_json(json.load(stream))


@contextmanager
def _ended(process):
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def _write(directory, name, value):
    with open(os.path.join(directory, name), 'w', encoding='ascii') as file:
        file.write(str(value))


def _remove_group(path):
    # What is left in it goes on in the group above.
    with suppress(FileNotFoundError), open(
            os.path.join(path, 'cgroup.procs'), encoding='ascii') as pids:
        for pid in pids.read().split():
            with suppress(ProcessLookupError):
                _write(os.path.dirname(path), 'cgroup.procs', pid)
    with suppress(FileNotFoundError):
        os.rmdir(path)
