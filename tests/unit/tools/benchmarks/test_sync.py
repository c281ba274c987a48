# SPDX-License-Identifier: Apache-2.0
"""The data set of ``bench sync`` on disk, its changes, its probes."""

import json
import os
import socket
import tempfile
import time
import unittest
from types import SimpleNamespace
from unittest import mock

from swift.common import utils
from swift.obj.diskfile import read_metadata

from tools import ToolError
from tools.benchmarks import sync_probe
from tools.benchmarks.sync_data import DataSet, Storage, Version, restore
from tools.benchmarks.sync_steps import Steps
from tools.benchmarks.sync_trial import summary
from tools.cluster.spec import GOLD

DEVICES = ('a', 'b', 'c', 'd', 'e')
#: Swift removes tombstones older than a week.
NOW = float(int(time.time()) - 3600)


def devices_of(name):
    first = int(name[-1])
    return tuple(DEVICES[(first + i) % 5] for i in range(3))


class TestDataSet(unittest.TestCase):

    def setUp(self):
        self.data = DataSet(1, 200, (6144, 10240), NOW)

    def changes(self, kind, seed='s/1', live=DEVICES):
        return self.data.changes(kind, seed, devices_of, live)

    def test_all_follows_from_the_seed(self):
        self.assertEqual(self.data.objects,
                         DataSet(1, 200, (6144, 10240), NOW).objects)
        self.assertNotEqual(self.data.objects,
                            DataSet(2, 200, (6144, 10240), NOW).objects)
        for kind in ('create', 'single', 'delete', 'rewrite'):
            self.assertEqual(self.changes(kind), self.changes(kind))
            self.assertNotEqual(self.changes(kind),
                                self.changes(kind, 's/2'))

    def test_creations_are_new_objects_at_a_quorum(self):
        old = {each.name for each in self.data.objects}
        found = self.changes('create')
        self.assertEqual(20, len(found))
        for version, devices in found:
            self.assertNotIn(version.name, old)
            self.assertEqual(2, len(set(devices)))
            self.assertLess(set(devices), set(devices_of(version.name)))

    def test_as_many_change_as_is_asked_for(self):
        data = DataSet(1, 200, (6144, 10240), NOW, changed=2.5)
        for kind, changes in (('create', 5), ('delete', 5), ('rewrite', 10)):
            self.assertEqual(changes, len(data.changes(
                kind, 's/1', devices_of, DEVICES)))

    def test_single_copies_are_new_objects_at_one_device(self):
        for version, devices in self.changes('single'):
            device, = devices
            self.assertIn(device, devices_of(version.name))

    def test_deletions_are_newer_tombstones_at_a_quorum(self):
        old = {each.name: each.timestamp for each in self.data.objects}
        found = self.changes('delete')
        self.assertEqual(20, len({each.name for each, _ in found}))
        for version, devices in found:
            self.assertTrue(version.file_name.endswith('.ts'))
            self.assertGreater(version.timestamp, old[version.name])
            self.assertEqual(2, len(set(devices)))

    def test_rewrites_delete_and_then_create_on_all_live_devices(self):
        live = set(DEVICES) - {'e'}
        found = self.changes('rewrite', live=live)
        for (gone, where), (made, again) in zip(found[:20], found[20:]):
            self.assertEqual((gone.name, True, False), (
                made.name, gone.is_deleted, made.is_deleted))
            self.assertLess(gone.timestamp, made.timestamp)
            self.assertEqual(set(devices_of(gone.name)) & live, set(where))
            self.assertEqual(where, again)


class TestStorage(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        with open(os.path.join(self.root, 'swift.conf'), 'w') as conf:
            conf.write('[swift-hash]\nswift_hash_path_prefix = p\n'
                       'swift_hash_path_suffix = s\n')
        for name, value in (('PREFIX', b'p'), ('SUFFIX', b's')):
            self.enterContext(mock.patch.object(
                utils, 'HASH_PATH_' + name, value))
        for device in 'ab':
            os.makedirs(self.path(device))
        nodes = [{'device': device} for device in 'ab']
        ring = SimpleNamespace(
            replica_count=2, get_nodes=lambda *names: (0, nodes),
            get_part_nodes=lambda partition: nodes)
        self.storage = Storage(self.root, ring, seed=1)
        self.objects = [Version('o%d' % i, NOW + i, 100) for i in range(4)]
        self.write(*((each, 'ab') for each in self.objects), rehash=True)

    def path(self, *parts):
        return os.path.join(self.root, 'srv', *parts)

    def write(self, *writes, **kwargs):
        self.storage.write(writes, lambda device: self.path(), **kwargs)

    def stale(self, versions=None, devices='ab'):
        return self.storage.stale(
            versions or self.objects,
            lambda device: self.path(device) if device in devices else None)

    def test_objects_are_as_swift_writes_them(self):
        self.assertEqual(0, self.stale())
        path = self.path('a', self.storage.place('o0')[2],
                         self.objects[0].file_name)
        metadata = read_metadata(path)
        self.assertEqual(('/AUTH_bench/bench/o0', '%.5f' % NOW, '100'), tuple(
            metadata[name] for name in (
                'name', 'X-Timestamp', 'Content-Length')))
        with open(path, 'ab') as data:
            data.write(b'x')
        self.assertEqual(1, self.stale())

    def test_a_missing_an_older_and_a_deleted_replica_are_stale(self):
        newer = Version('o1', NOW + 100, 50)
        gone = Version('o2', NOW + 100, 0, True)
        self.write((newer, 'a'), (gone, 'a'))
        self.assertEqual(2, self.stale([newer, gone]))
        self.assertEqual(0, self.stale([newer, gone], 'a'))
        self.assertEqual(1, self.stale([Version('new', NOW, 1)], 'b'))

    def test_what_happens_to_a_restored_device_leaves_the_master(self):
        part = ('objects', '0')
        for _ in range(2):
            restore(self.path('a'), self.path('b'))
            self.assertTrue(os.path.samefile(*(
                self.path(device, *part, 'hashes.pkl') for device in 'ab')))
            self.assertEqual(0, self.stale())
            self.write((Version('o1', NOW + 100, 0, True), 'b'),
                       (Version('new', NOW, 10), 'b'))
            self.assertEqual((0, 1), (self.stale(None, 'a'),
                                      self.stale(None, 'b')))
            queues = [os.path.getsize(self.path(
                device, *part, 'hashes.invalid')) for device in 'ab']
            self.assertEqual((0, True), (queues[0], queues[1] > 0))


    def test_what_is_displaced_is_a_hand_off_elsewhere(self):
        paths = {device: self.path(device) for device in 'abc'}
        os.makedirs(self.path('c', 'objects'))
        cluster = SimpleNamespace(device_paths=lambda *nodes: {
            device: paths[device] for device in (nodes or paths)})
        trial = SimpleNamespace(
            contestant=SimpleNamespace(cluster=cluster, nodes=list('cab')),
            storage=self.storage, live=list('cab'), seed='x',
            paths=cluster.device_paths)
        Steps(trial).do('displace')
        self.assertEqual([], os.listdir(self.path('b', 'objects')))
        self.assertEqual(['0'], os.listdir(self.path('c', 'objects')))
        self.assertEqual((0, 4), (self.stale(None, 'a'),
                                  self.stale(None, 'b')))
        # Nobody is free to take what they both hold.
        del paths['c']
        with self.assertRaisesRegex(ToolError, 'more --nodes'):
            trial.live = list('ba')
            Steps(trial).do('displace')


class Replicator:
    """A replicator whose passes take CPU time and memory."""

    def run_once(self):
        self.replicate()

    def replicate(self):
        self.ballast = b'x' * 40 * 2 ** 20
        begin = time.process_time()
        while time.process_time() - begin < 0.1:
            pass
        del self.ballast


class TestProbe(unittest.TestCase):

    def test_it_measures_a_pass_for_each_command_until_it_is_left(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        with ours, theirs:
            for _ in range(2):
                ours.send(sync_probe.GO)
            ours.shutdown(socket.SHUT_WR)
            sync_probe.measured(Replicator, theirs.fileno())().run_forever()
            theirs.shutdown(socket.SHUT_WR)
            ready, first, second = iter(
                lambda: ours.recv(sync_probe.PACKET), b'')
        self.assertEqual(sync_probe.READY, ready)
        for packet in (first, second):
            usage = sync_probe.Usage(**json.loads(packet))
            self.assertGreaterEqual(usage.seconds, 0.09)
            self.assertGreaterEqual(usage.cpu_seconds, 0.09)
            self.assertGreater(usage.max_rss_mib, 40)

    def test_one_that_ends_or_takes_too_long_is_reported_and_ended(self):
        with tempfile.TemporaryDirectory() as directory:
            cluster = SimpleNamespace(
                spec=SimpleNamespace(replicator='stock',
                                     policies=(GOLD,)),
                layout=SimpleNamespace(etc='/etc', log=lambda name: (
                    os.path.join(directory, name))),
                conf_path=lambda *args: '/conf',
                environment=lambda: dict(os.environ))
            for script, said in (('exit 3', 'node 4.*ended before its start'),
                                 ('sleep 600', 'did not come in time')):
                cluster.network = SimpleNamespace(
                    command=lambda node, _: ['sh', '-c', script])
                probes = sync_probe.Probes(cluster)
                with mock.patch.object(
                        sync_probe, 'START_TIMEOUT',
                        60 if 'exit' in script else 0.01), \
                        self.assertRaisesRegex(ToolError, said):
                    probes.start([4])
                with mock.patch.object(sync_probe, 'STOP_TIMEOUT', 0):
                    probes.stop()


class TestSummary(unittest.TestCase):

    def test_the_first_pass_counts_and_the_sums_of_all(self):
        first, second = ({
            'pass_seconds': seconds, 'messages': 7, 'bytes_sent': 100,
            'cpu_seconds': 1.0, 'kib_written': 4, 'max_rss_mib': 50}
            for seconds in (2.0, 1.0))
        found = summary([first, second], 4, 0)
        self.assertEqual({**first, **found}, found)
        self.assertEqual((3.0, 14, 200, 2.0), tuple(
            found['total_' + name] for name in (
                'pass_seconds', 'messages', 'bytes_sent', 'cpu_seconds')))
        self.assertEqual((2, 1), (found['rounds'], found['converged']))
        self.assertEqual(0, summary([first], 4, 2)['converged'])
