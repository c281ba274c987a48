# SPDX-License-Identifier: Apache-2.0
"""The reconstructor that asks by conversations, on real servers."""

import os
import re
import shutil
import unittest
from contextlib import ExitStack

from swift.common.utils import hash_path

from tests.functional.clusters import R3, object_servers, wait_for
from tests.functional.test_losf_fragments import OPTIONS
from tools.cluster import ClusterSpec, Policy

EC = Policy('ec', 1, 6, part_power=4, parity=2)
ROUNDS = 6
OURS, STOCK = 'swift-object-lightreconstructor', 'swift-object-reconstructor'
TOLD = re.compile(r'and (\d+) messages: (\d+) of (\d+) partitions were equal')
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
    """A client of the proxy, its container, and where its fragments are."""

    def setUp(self):
        self.cluster = _cluster
        self.ring = _cluster.ring(EC)
        self.wait_until_served()
        self.client = _cluster.client(retries=0)
        self.container = self.id().rpartition('.')[2]
        self.client.put_container(self.container, {
            'X-Storage-Policy': EC.name})
        self.account = self.client.url.rpartition('/')[2]
        self.bodies = {}

    def wait_until_served(self):
        for node in self.cluster.spec.node_numbers():
            wait_for(lambda: self.cluster.pids(node, 'replication-server'),
                     'node %d serves' % node, 120)

    def put(self, count=8):
        for number in range(count):
            name, body = 'o%d' % number, os.urandom(5000)
            self.client.put_object(self.container, name, body)
            self.bodies[name] = body

    def place(self, name):
        """Return the partition, the hash and the nodes of an object."""
        path = self.account, self.container, name
        return (*self.ring.get_nodes(*path), hash_path(*path))

    def directory(self, device, name):
        partition, _, object_hash = self.place(name)
        return os.path.join(
            self.cluster.device_paths()[device], 'objects-%d' % EC.index,
            str(partition), object_hash[-3:], object_hash)

    def fragments(self, device, name):
        path = self.directory(device, name)
        return sorted(each.partition('#')[2] for each in os.listdir(path)
                      ) if os.path.isdir(path) else []

    def wrong(self):
        """Return what is not one durable fragment of its own index."""
        found = []
        for name in self.bodies:
            homes = {node['device']: node['index']
                     for node in self.place(name)[1]}
            for device in self.cluster.device_paths():
                expected = ['%d#d.data' % homes[device]] \
                    if device in homes else []
                files = self.fragments(device, name)
                if files != expected:
                    found.append((name, device, files, expected))
        return found

    def reconstruct(self, nodes=None, daemon=OURS):
        """Run a pass on each node, in turn; return what they logged."""
        return [self.cluster.run_on(node, [
            self.cluster.layout.launcher(daemon),
            self.cluster.conf_path('object-server', node), '--once',
            '--verbose']).stderr
            for node in nodes or self.cluster.spec.node_numbers()]

    def assert_put_right(self, **kwargs):
        """The reconstructors put every fragment where it belongs."""
        for _ in range(ROUNDS):
            if not self.wrong():
                break
            self.reconstruct(**kwargs)
        self.assertEqual([], self.wrong())
        for name, body in self.bodies.items():
            self.assertEqual(body, self.client.get_object(
                self.container, name)[1], name)

    def told(self, log):
        """Return messages, equal partitions, and all of them, of a pass."""
        return [int(number) for number in TOLD.search(log).groups()]

    def assert_settled(self):
        """In a further pass all is equal, for a message a node."""
        for _ in range(ROUNDS):
            passes = [self.told(log) for log in self.reconstruct()]
            if all(equal == total for _, equal, total in passes):
                break
        for messages, equal, total in passes:
            self.assertEqual(total, equal)
            self.assertGreater(total, 0)
            # One where the set is known; else it is sent as well.
            self.assertLessEqual(messages, 2 * self.cluster.spec.nodes)


class TestRepair(FragmentsCase):

    def test_a_stable_pass_costs_messages_to_nodes(self):
        self.put()
        # A client is answered when a quorum of fragments is durable.
        wait_for(lambda: not self.wrong(), 'all fragments are there', 900)
        self.assert_settled()

    def test_lost_fragments_and_suffixes_are_rebuilt(self):
        self.put()
        self.assert_put_right()
        self.assert_settled()
        for number, name in enumerate(self.bodies):
            device = self.place(name)[1][number % 6]['device']
            directory = self.directory(device, name)
            suffix = os.path.dirname(directory)
            # An object, a suffix, a partition; what is lost by a disk is
            # seen when its suffix is hashed anew.
            lost = [directory, suffix, os.path.dirname(suffix)][number % 3]
            shutil.rmtree(lost, ignore_errors=True)
            hashes = os.path.join(os.path.dirname(suffix), 'hashes.pkl')
            if os.path.exists(hashes):
                os.unlink(hashes)
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()
        self.assert_settled()

    def test_what_was_written_while_a_node_was_down_comes_home(self):
        self.cluster.kill(3)
        self.put()
        self.cluster.start(3)
        self.wait_until_served()
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()
        self.assert_settled()


class TestZMixed(FragmentsCase):
    """The last one: a node of stock Swift."""

    def test_a_stock_node_is_dealt_with_as_by_stock_swift(self):
        self.cluster.kill(2)
        for server in ('object-server', 'replication-server'):
            path = self.cluster.conf_path(server, 2)
            with open(path) as conf:
                text = conf.read()
            with open(path, 'w') as conf:
                conf.write(re.sub(
                    'reconstructor_class = .*', '', text.replace(
                        'egg:swift-lightsync#object', 'egg:swift#object')))
        self.put()
        self.cluster.start(2)
        self.wait_until_served()
        self.assertNotEqual([], self.wrong())
        for _ in range(ROUNDS):
            self.reconstruct([1, 3, 4])
            self.reconstruct([2], STOCK)
            if not self.wrong():
                break
        self.assertEqual([], self.wrong())
        messages, equal, total = self.told(self.reconstruct([1])[0])
        self.assertLess(equal, total)
