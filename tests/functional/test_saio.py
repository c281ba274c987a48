# SPDX-License-Identifier: Apache-2.0
"""The development cluster, on real servers: life, failures, clean end."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from swift.common.utils import hash_path

from tests.waiting import wait_for
from tools import ToolError
from tools.cluster import (
    Cluster,
    ClusterSpec,
    Policy,
    Reachability,
    free_base_port,
)
from tools.cluster.processes import all_processes

ROOT_ONLY = unittest.skipUnless(os.geteuid() == 0, 'needs root')


def mounts_below(root):
    with open('/proc/self/mounts') as mounts:
        return [line.split()[1] for line in mounts
                if line.split()[1].startswith(root + '/')]


#: prints the status of the answer, or what happened instead of one
HEAD = """
import http.client, sys
try:
    connection = http.client.HTTPConnection(*sys.argv[1:3], timeout=3)
    connection.request('HEAD', sys.argv[3])
    print(connection.getresponse().status)
except OSError as err:
    print(type(err).__name__)
"""


class ClusterTest(unittest.TestCase):
    """A cluster of three nodes for a class of tests."""

    options = {}

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix='saio-')
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.cluster = Cluster(ClusterSpec(
            root=cls.root, nodes=3, base_port=free_base_port(),
            policies=ClusterSpec.policies[:1], **cls.options))
        cls.cluster.up()
        cls.addClassCleanup(cls.cluster.down)

    def swift(self, *args, check=True):
        return self.cluster.run(['swift', *args], check=check)

    def upload(self, name, content):
        path = os.path.join(self.root, name)
        with open(path, 'w') as source:
            source.write(content)
        self.swift('upload', 'c', path, '--object-name', name)

    def download(self, name):
        return self.swift('download', 'c', name, '-o', '-').stdout

    def account(self):
        for line in self.swift('stat', '-v').stdout.splitlines():
            key, _, value = line.strip().partition(': ')
            if key == 'Account':
                return value.strip()

    def data_files(self, name):
        """Return node -> the names of the files of an object."""
        found = {}
        self.cluster.ring(0)  # sets the hash of the cluster's paths
        hashed = hash_path(self.account(), 'c', name)
        for node in self.cluster.spec.node_numbers():
            for device in self.cluster.devices(node):
                path = self.cluster.device_path(node, device)
                for directory, _, files in os.walk(path):
                    if os.path.basename(directory) == hashed:
                        found[node] = files
        return found


class TestServing(ClusterTest):

    def test_an_object_comes_back_through_the_proxy(self):
        self.upload('greeting', 'hello')
        self.assertEqual('hello', self.download('greeting'))

    def test_the_logs_are_in_files_of_the_daemons(self):
        self.upload('logged', 'x')
        with open(self.cluster.layout.log('proxy-access')) as log:
            self.assertIn('PUT /v1/', log.read())

    def test_up_refuses_a_cluster_that_is_up(self):
        with self.assertRaisesRegex(ToolError, 'already up'):
            self.cluster.up()

    def test_a_second_cluster_names_the_port_and_who_has_it(self):
        other = tempfile.mkdtemp(prefix='saio-')
        self.addCleanup(shutil.rmtree, other)
        spec = self.cluster.spec.changed(root=other)
        with self.assertRaisesRegex(
                ToolError, r'port %d of 127.0.0.1, for object-server: '
                r'.*by pid \d+' % spec.port('object-server', 1)):
            Cluster(spec).up()
        self.assertEqual([], mounts_below(other))

    def test_stock_swift_init_drives_the_daemons_of_every_node(self):
        done = self.cluster.swift_init('object-replicator', 'once')
        for node in self.cluster.spec.node_numbers():
            self.assertIn(self.cluster.conf_path('object-server', node),
                          done.stdout)
            log = self.cluster.layout.log('object-replicator.%d' % node)
            with open(log) as text:
                self.assertIn('replication complete (once)', text.read())

    def test_swift_init_stops_and_starts_one_server(self):
        self.cluster.swift_init('object-server.2', 'stop')
        self.assertEqual([], self.cluster.pids(2, 'object-server'))
        self.assertTrue(self.cluster.pids(1, 'object-server'))
        self.cluster.swift_init('object-server.2', 'start')
        self.assertEqual(1, len(self.cluster.pids(2, 'object-server')))

    def test_the_replication_port_has_a_server_of_its_own(self):
        for node in self.cluster.spec.node_numbers():
            self.assertEqual(
                1, len(self.cluster.pids(node, 'replication-server')))
        device = self.cluster.ring(0).devs[0]
        self.assertNotEqual(device['port'], device['replication_port'])


class TestFailures(ClusterTest):

    def test_lightsync_restores_what_a_killed_node_missed(self):
        self.upload('missed', 'old')
        self.cluster.kill(2)
        self.assertEqual([], self.cluster.pids(2))
        self.upload('missed', 'new')
        stale = self.data_files('missed')
        self.cluster.start(2)
        self.cluster.replicate_once()
        self.assertLess(max(stale[2]), max(stale[1]))
        restored = self.data_files('missed')
        self.assertEqual(max(stale[1]), max(restored[2]))

    def test_kill_and_start_refuse_what_is_done_already(self):
        with self.assertRaisesRegex(ToolError, 'node 1 already runs'):
            self.cluster.start(1)
        self.cluster.kill(1)
        with self.assertRaisesRegex(ToolError, 'node 1 does not run'):
            self.cluster.kill(1)
        self.cluster.start(1)
        self.assertTrue(self.cluster.pids(1, 'object-server'))

    def test_a_node_that_does_not_exist_is_named(self):
        with self.assertRaisesRegex(ToolError, 'no node 9; .* 1 to 3'):
            self.cluster.kill(9)

    def _head(self, node, path='/healthcheck', sender=None):
        """Return the answer of node's object-server to a HEAD."""
        argv = [sys.executable, '-c', HEAD, self.cluster.node_ip(node),
                str(self.cluster.spec.port('object-server', node)), path]
        done = (self.cluster.run(argv) if sender is None
                else self.cluster.run_on(sender, argv))
        return done.stdout.strip()

    @ROOT_ONLY
    def test_a_silent_partition_answers_nothing_until_healed(self):
        self.cluster.partition(3)
        self.assertEqual('TimeoutError', self._head(3))
        self.assertEqual('200', self._head(1))
        self.assertIs(Reachability.SILENT,
                      self.cluster.status()[2].reachability)
        self.cluster.heal(3)
        self.assertEqual('200', self._head(3))

    @ROOT_ONLY
    def test_a_refusing_partition_refuses_until_healed(self):
        self.cluster.partition(3, refuse=True)
        self.assertEqual('ConnectionRefusedError', self._head(3))
        self.assertEqual('200', self._head(1))
        self.assertIs(Reachability.REFUSING,
                      self.cluster.status()[2].reachability)
        self.cluster.heal(3)
        self.assertEqual('200', self._head(3))

    @ROOT_ONLY
    def test_an_unmounted_device_answers_507(self):
        device, = self.cluster.devices(2)
        self.cluster.unmount(2, device)
        path = '/%s/0/a/c/o' % device
        self.assertEqual('507', self._head(2, path))
        self.cluster.mount(2, device)
        self.assertEqual('404', self._head(2, path))


@ROOT_ONLY
class TestNamespaces(TestFailures):
    """The same failures, and what only namespaces can do."""

    options = {'network': 'namespaces'}

    def test_a_partitioned_node_cannot_send_either(self):
        for refuse, answer in ((False, 'TimeoutError'),
                               (True, 'ConnectionRefusedError')):
            with self.subTest(refuse=refuse):
                self.cluster.partition(2, refuse=refuse)
                self.assertEqual(answer, self._head(1, sender=2))
        self.cluster.heal(2)

    def test_counters_count_the_traffic_of_one_node(self):
        before = [self.cluster.counters(node) for node in (1, 2)]
        self.assertEqual('200', self._head(1))
        one, two = [self.cluster.counters(node) - earlier
                    for node, earlier in zip((1, 2), before)]
        self.assertGreater(one.rx_packets, two.rx_packets)
        self.assertGreater(one.tx_bytes, 100)

    def test_the_machine_sees_no_address_of_a_node(self):
        done = subprocess.run(['ip', 'address'], capture_output=True,
                              text=True)
        self.assertNotIn('10.77.0.', done.stdout)


class TestEnd(unittest.TestCase):

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix='saio-')
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.cluster = self._new()

    def _new(self, **options):
        values = dict(root=self.root, nodes=2, services=('object',),
                      policies=(Policy('gold', 0, 2),),
                      base_port=free_base_port())
        values.update(options)
        return Cluster(ClusterSpec(**values))

    def _left_over(self):
        running = [process for process in all_processes()
                   if any(self.root in arg for arg in process.argv)]
        return running + mounts_below(self.root)

    def test_down_leaves_no_process_and_no_mount_but_the_data(self):
        with self.cluster as cluster:
            mark = os.path.join(cluster.device_path(1, 'n1d1'), 'mark')
            open(mark, 'w').close()
        self.assertEqual([], self._left_over())
        with Cluster.open(self.root):
            self.assertTrue(os.path.exists(mark))

    def test_reset_wipes_the_data(self):
        with self.cluster as cluster:
            mark = os.path.join(cluster.device_path(1, 'n1d1'), 'mark')
            open(mark, 'w').close()
            cluster.reset()
            self.assertFalse(os.path.exists(mark))
            self.assertTrue(cluster.pids(1, 'object-server'))

    def test_destroy_leaves_nothing(self):
        self.cluster.up()
        self.cluster.destroy()
        self.assertEqual([], self._left_over())
        self.assertFalse(os.path.exists(self.root))

    def test_a_failed_start_is_rolled_back_and_says_why(self):
        broken = self._new(options={'object-server': {
            'app:object-server': {'use': 'egg:swift#nonsense'}}})
        with self.assertRaisesRegex(ToolError, 'nonsense'):
            broken.up()
        self.assertEqual([], self._left_over())
        self._new().up()
        self._new().down()

    def test_a_changed_number_of_nodes_needs_a_reset(self):
        with self.cluster:
            pass
        with self.assertRaisesRegex(ToolError, 'nodes=2, not 3.*reset'):
            self._new(nodes=3).up()

    def test_pid_files_of_a_crash_do_not_hinder_the_next_start(self):
        with self.cluster as cluster:
            pid_file = os.path.join(cluster.layout.run, 'object-server',
                                    '1.pid')
        os.makedirs(os.path.dirname(pid_file), exist_ok=True)
        sleeper = subprocess.Popen(['sleep', '60'])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        with open(pid_file, 'w') as stale:
            stale.write(str(sleeper.pid))
        with self.cluster as cluster:
            self.assertEqual(1, len(cluster.pids(1, 'object-server')))
        self.assertIsNone(sleeper.poll())

    def test_stock_replicator_clusters_run_no_code_of_ours(self):
        with self._new(replicator='stock') as cluster:
            with open(cluster.conf_path('object-server', 1)) as conf:
                self.assertNotIn('lightsync', conf.read())
            done, = cluster.replicate_once(1)
            self.assertIn('replication complete', done.stderr)


class TestCommandLine(unittest.TestCase):

    def _saio(self, *args, **kwargs):
        return subprocess.run(
            [sys.executable, '-m', 'tools', 'saio', '--dir', self.root,
             *args], capture_output=True, text=True, **kwargs)

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix='saio-')
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def test_a_life_by_commands(self):
        port = str(free_base_port())
        done = self._saio('--nodes', '5', '--base-port', port, 'up')
        self.addCleanup(self._saio, 'destroy')
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertIn('node 5  127.0.0.5  connected', done.stdout)
        self.assertEqual(0, self._saio('kill', '4').returncode)
        self.assertRegex(self._saio('status').stdout,
                         r'node 4 .*\n *object-server .* not running')
        done = self._saio('start', '9')
        self.assertEqual(2, done.returncode)
        self.assertIn('no node 9', done.stderr)
        self.assertEqual(0, self._saio('start', '4').returncode)
        done = self._saio('run', 'sh', '-c', 'swift stat')
        self.assertIn('Account: AUTH_test', done.stdout)
        self.assertIn('export ST_AUTH=http://127.0.0.1:',
                      self._saio('env').stdout)
        self.assertEqual(0, self._saio('down').returncode)
        self.assertEqual(1, self._saio('status').returncode)

    def test_commands_on_no_cluster_say_how_to_make_one(self):
        for command in ('down', 'status', 'env', 'reset'):
            with self.subTest(command=command):
                done = self._saio(command)
                self.assertEqual(2, done.returncode)
                self.assertIn('make one with `up`', done.stderr)

    def test_options_of_the_cluster_are_for_up_and_reset(self):
        done = self._saio('--nodes', '3', 'status')
        self.assertIn('--nodes is for up and reset only', done.stderr)

    def test_an_up_that_is_ended_leaves_nothing_running(self):
        port = str(free_base_port())
        up = subprocess.Popen(
            [sys.executable, '-m', 'tools', 'saio', '--dir', self.root,
             '--base-port', port, 'up'], stdout=subprocess.DEVNULL)
        self.addCleanup(self._saio, 'destroy')
        wait_for(lambda: os.path.exists(os.path.join(self.root, 'log.sock')),
                 'the log sink listens', 30, pause=0.01)
        up.send_signal(signal.SIGTERM)
        up.wait(timeout=60)
        self.assertEqual(128 + signal.SIGTERM, up.returncode)
        self.assertEqual([], mounts_below(self.root))
        self.assertEqual([], [
            process for process in all_processes()
            if any(self.root in arg for arg in process.argv)])
