# SPDX-License-Identifier: Apache-2.0
"""A policy of erasure coding in volumes, on real servers and disks."""

import os
import shutil
import unittest
from contextlib import ExitStack

from swift.common.utils import hash_path
from swiftclient.exceptions import ClientException

from tests.functional.clusters import R3, object_servers, wait_for
from tests.functional.served import ServedObjects
from tools.cluster import ClusterSpec, Policy

EC = Policy('ec', 1, 6, part_power=4, parity=2, kv=True)
#: A refusal of a node is forgotten at once, and no fragment is too young to
#: be removed from where it does not belong.
OPTIONS = {
    'proxy-server': {'app:proxy-server': {
        'error_suppression_interval': 0.5}},
    'object-server': {'DEFAULT': {'commit_window': 0}}}
ROUNDS = 6
_at_end = ExitStack()
_cluster = None


def setUpModule():
    global _cluster
    _cluster = _at_end.enter_context(object_servers(
        nodes=4, devices=2, policies=(R3, EC),
        services=ClusterSpec.services, options=OPTIONS))


def tearDownModule():
    _at_end.close()


class FragmentsCase(unittest.TestCase):
    """A client of the proxy, its container, and the volumes of its objects."""

    policy = EC

    @staticmethod
    def running():
        """Return the cluster."""
        return _cluster

    def setUp(self):
        self.cluster = self.running()
        self.volumes = ServedObjects(self.cluster, self.policy.index)
        for node in self.volumes.ring.devs:
            self.wait_for_index(node)
        self.client = self.cluster.client(retries=0)
        self.container = self.id().rpartition('.')[2]
        self.client.put_container(self.container, {
            'X-Storage-Policy': self.policy.name})
        self.account = self.client.url.rpartition('/')[2]
        self.bodies = {}

    def wait_for_index(self, node):
        wait_for(lambda: self.volumes.ask(
            node, 'HEAD', 'nothing').status == 404,
            'the index of %(device)s serves' % node, 120)

    def put(self, count, length=5000):
        for number in range(count):
            name, body = 'o%d' % number, os.urandom(length)
            self.client.put_object(self.container, name, body)
            self.bodies[name] = body

    def assert_readable(self):
        for name, body in self.bodies.items():
            self.assertEqual(body, self.client.get_object(
                self.container, name)[1], name)

    def place(self, name):
        """Return the partition, the hash and the nodes of an object."""
        path = self.account, self.container, name
        partition, nodes = self.volumes.ring.get_nodes(*path)
        return partition, bytes.fromhex(hash_path(*path)), nodes

    def fragments(self, name, device):
        """Return the names of the files of an object on a device."""
        partition, object_hash, _ = self.place(name)
        return [file for file, _ in self.volumes.index(device).list_hash(
            partition, object_hash)]

    def wrong(self):
        """Return what is not one durable fragment of its own index."""
        found = []
        for name in self.bodies:
            homes = {node['device']: node['index']
                     for node in self.place(name)[2]}
            for node in self.volumes.ring.devs:
                device = node['device']
                files = self.fragments(name, device)
                expected = ['#%d#d.data' % homes[device]] \
                    if device in homes else []
                if [each[16:] for each in files] != expected:
                    found.append((name, device, files, expected))
        return found

    def wait_for_all(self):
        """A client is answered when a quorum of fragments is durable."""
        wait_for(lambda: not self.wrong(), 'all fragments are there', 900)

    def reconstruct(self):
        for node in self.cluster.spec.node_numbers():
            self.cluster.run_on(node, [
                self.cluster.layout.launcher('swift-object-reconstructor'),
                self.cluster.conf_path('object-server', node), '--once'])

    def lose_fragments(self, count):
        """Take so many fragments of each object away, as a disk does."""
        for name in self.bodies:
            partition, object_hash, nodes = self.place(name)
            for node in nodes[1:1 + count]:
                self.volumes.index(node['device']).remove(
                    partition, object_hash)
        # Their suffixes are hashed anew.
        for path in self.cluster.device_paths().values():
            objects = os.path.join(path, 'objects-%d' % self.policy.index)
            for partition in os.listdir(objects):
                shutil.rmtree(os.path.join(objects, partition))
                os.mkdir(os.path.join(objects, partition))

    def assert_put_right(self):
        """The reconstructors put every fragment where it belongs."""
        for _ in range(ROUNDS):
            if not self.wrong():
                break
            self.reconstruct()
        self.assertEqual([], self.wrong())
        self.assert_readable()


class TestClients(FragmentsCase):

    def test_an_object_is_put_read_changed_and_deleted(self):
        for length in (0, 1, 4096, 65536, 3 * 2 ** 20 + 17):
            with self.subTest(length=length):
                self.put(1, length)
                self.assert_readable()
                self.wait_for_all()
                self.client.post_object(self.container, 'o0', {
                    'X-Object-Meta-Color': 'red'})
                self.assertEqual('red', self.client.head_object(
                    self.container, 'o0')['x-object-meta-color'])
                self.client.delete_object(self.container, 'o0')
                with self.assertRaises(ClientException) as caught:
                    self.client.get_object(self.container, 'o0')
                self.assertEqual(404, caught.exception.http_status)

    def test_an_overwritten_object_leaves_no_older_fragments(self):
        for _ in range(3):
            self.put(4)
        self.wait_for_all()
        self.assert_readable()


class TestRepair(FragmentsCase):

    def test_fragments_that_are_missing_are_rebuilt(self):
        self.put(6)
        self.wait_for_all()
        self.lose_fragments(2)
        self.assert_readable()
        self.assert_put_right()

    def test_a_disk_that_was_replaced_is_filled(self):
        self.put(8)
        self.cluster.kill(2)
        for path in self.cluster.device_paths(2).values():
            for name in ('losf-1', 'objects-1'):
                shutil.rmtree(os.path.join(path, name), ignore_errors=True)
        self.assert_readable()
        self.cluster.start(2)
        for node in self.volumes.ring.devs:
            self.wait_for_index(node)
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()

    def test_what_was_written_while_a_node_was_down_comes_home(self):
        self.cluster.kill(3)
        self.put(8)
        self.assert_readable()
        self.cluster.start(3)
        for node in self.volumes.ring.devs:
            self.wait_for_index(node)
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()


class TestNewRing(FragmentsCase):
    """The last one: for some seconds the proxy goes on by the old ring."""

    def test_a_ring_that_changes_takes_the_fragments_with_it(self):
        self.put(8)
        builder = self.cluster.layout.builder(
            self.cluster.spec.policy(EC).ring_name)
        device = self.place('o0')[2][0]
        for change in (('set_weight', 'd%d' % device['id'], '0'),
                       ('rebalance', '--seed', '1', '--force')):
            done = self.cluster.run(['swift-ring-builder', builder, *change],
                                    check=False)
            self.assertIn(done.returncode, (0, 1), done.stdout)
        self.volumes.reload_ring()
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()
