# SPDX-License-Identifier: Apache-2.0
"""Objects of erasure coding on a cluster with a proxy, and their fragments."""

import os
import unittest
from contextlib import ExitStack

from swift.common.utils import hash_path

from tests.functional.clusters import R3, object_servers, wait_for
from tests.functional.objects import ClusterObjects
from tools.cluster import ClusterSpec

#: A refusal of a node is forgotten at once, and no fragment is too young to
#: be removed from where it does not belong.
OPTIONS = {
    'proxy-server': {'app:proxy-server': {
        'error_suppression_interval': 0.5}},
    'object-server': {'DEFAULT': {'commit_window': 0}}}
ROUNDS = 6
OURS, STOCK = 'swift-object-lightreconstructor', 'swift-object-reconstructor'


def with_cluster(policy, **fields):
    """Return setUpModule and tearDownModule: a cluster for FragmentsCase.

    :param policy: a Policy of erasure coding
    :param fields: of the ClusterSpec
    """
    at_end = ExitStack()

    def set_up():
        FragmentsCase.policy = policy
        FragmentsCase.cluster = at_end.enter_context(object_servers(
            policies=(R3, policy), services=ClusterSpec.services,
            options=OPTIONS, **fields))

    return set_up, at_end.close


class FragmentsCase(unittest.TestCase):
    """A client of the proxy, its container, and where its fragments are."""

    objects_class, daemon = ClusterObjects, STOCK

    def setUp(self):
        self.objects = self.objects_class(self.cluster, self.policy.index)
        self.wait_until_served()
        self.client = self.cluster.client(retries=0)
        self.container = self.id().rpartition('.')[2]
        self.client.put_container(self.container, {
            'X-Storage-Policy': self.policy.name})
        self.account = self.client.url.rpartition('/')[2]
        self.bodies = {}

    def put(self, count=8, length=5000):
        for number in range(count):
            name, body = 'o%d' % number, os.urandom(length)
            self.client.put_object(self.container, name, body)
            self.bodies[name] = body

    def assert_readable(self):
        for name, body in self.bodies.items():
            self.assertEqual(body, self.client.get_object(
                self.container, name)[1], name)

    def place(self, name):
        """Return the partition, the nodes and the hash of an object."""
        path = self.account, self.container, name
        return (*self.objects.ring.get_nodes(*path), hash_path(*path))

    def wrong(self):
        """Return what is not one durable fragment of its own index."""
        found = []
        for name in self.bodies:
            homes = {node['device']: node['index']
                     for node in self.place(name)[1]}
            for device in self.objects.devices():
                files = [each.partition('#')[2]
                         for each in self.fragments(name, device)]
                expected = ['%d#d.data' % homes[device]] \
                    if device in homes else []
                if files != expected:
                    found.append((name, device, files, expected))
        return found

    def wait_for_all(self):
        """A client is answered when a quorum of fragments is durable."""
        wait_for(lambda: not self.wrong(), 'all fragments are there', 900)

    def reconstruct(self, nodes=None, daemon=None):
        """Run a pass on each node, in turn; return what they logged."""
        return [self.cluster.run_on(node, [
            self.cluster.layout.launcher(daemon or self.daemon),
            self.cluster.conf_path('object-server', node), '--once',
            '--verbose']).stderr
            for node in nodes or self.cluster.spec.node_numbers()]

    def assert_put_right(self):
        """The reconstructors put every fragment where it belongs."""
        for _ in range(ROUNDS):
            if not self.wrong():
                break
            self.reconstruct()
        self.assertEqual([], self.wrong())
        self.assert_readable()

    def write_without_node_3(self):
        """Put objects while a node is down; it is up again afterwards."""
        self.cluster.kill(3)
        self.put()
        self.assert_readable()
        self.cluster.start(3)
        self.wait_until_served()
        self.assertNotEqual([], self.wrong())
