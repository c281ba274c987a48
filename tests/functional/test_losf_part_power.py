# SPDX-License-Identifier: Apache-2.0
"""The part power of policies in volumes grows while clients are at work.

PART_POWER_STEPS says by how much in the long test; by default that is 2.
"""

import os
import random
import shutil
import signal
import unittest
from collections import Counter
from glob import glob
from pathlib import Path

import pytest
from swift.common.utils import hash_path
from swiftclient.exceptions import ClientException

from swift_losf.format.keys import partition_of
from tests.at_work import at_work
from tests.functional.clusters import object_servers, play_round, wait_for
from tests.functional.served import ServedObjects
from tools.cluster import ClusterSpec, Policy
from tools.cluster.processes import stopped

STEPS = int(os.environ.get('PART_POWER_STEPS', '2'))
SMALL = Policy('small', 0, 3, part_power=4, kv=True)
FRAGMENTS = Policy('fragments', 1, 6, part_power=4, parity=2, kv=True)
#: A refusal of a node is forgotten at once, and no fragment is too young.
OPTIONS = {
    'proxy-server': {'app:proxy-server': {
        'error_suppression_interval': 0.5}},
    'object-server': {'DEFAULT': {'commit_window': 0}}}
CLIENTS, OBJECTS = 3, 12
VERBS = {'PUT': 5, 'GET': 5, 'DELETE': 2}
ROUNDS = 8


class Client:
    """Changes objects of its own, and reads what it was told is stored.

    :param cluster: a Cluster
    :param policy: of its container
    :param number: of the client
    """

    def __init__(self, cluster, policy, number):
        self._connection = cluster.client(retries=0)
        self.container = '%s-%d' % (policy.name, number)
        self._connection.put_container(self.container, {
            'X-Storage-Policy': policy.name})
        self.account = self._connection.url.rpartition('/')[2]
        self._chance = random.Random(self.container)
        #: name -> what it may be: bodies, None if it is deleted
        self.known = {'o%d' % each: {None} for each in range(OBJECTS)}
        #: verb and status -> how often
        self.answers = Counter()

    def work(self, stop):
        """:param stop: an Event that ends it"""
        while not stop.is_set():
            verb, = self._chance.choices(list(VERBS), VERBS.values())
            self.ask(verb, self._chance.choice(list(self.known)))

    def ask(self, verb, name):
        """Make a request.

        :raises AssertionError: if it is answered with what cannot be
        """
        body = self._chance.randbytes(self._chance.choice(
            (0, 100, 5000, 300000))) if verb == 'PUT' else None
        try:
            read = {'PUT': self._put, 'DELETE': self._delete,
                    'GET': self._get}[verb](name, body)
        except ClientException as err:
            self.answers[verb, err.http_status] += 1
            if verb != 'GET' and err.http_status != 404:
                self.known[name].add(body)
                return
            if err.http_status != 404:
                return
            read = None
        else:
            self.answers[verb, 'well'] += 1
        if verb == 'GET' and read not in self.known[name]:
            raise AssertionError('%s/%s is %r, not one of %r' % (
                self.container, name, read and read[:9],
                [each and each[:9] for each in self.known[name]]))
        # A DELETE that finds nothing has put a tombstone all the same.
        if verb != 'GET':
            self.known[name] = {body}

    def _put(self, name, body):
        self._connection.put_object(self.container, name, body)

    def _delete(self, name, _):
        self._connection.delete_object(self.container, name)

    def _get(self, name, _):
        return self._connection.get_object(
            self.container, name, headers={'X-Newest': 'true'})[1]

    def read_all(self):
        for name in self.known:
            self.ask('GET', name)
        return self.answers


class Growing:
    """A policy whose ring is changed.

    :param cluster: a Cluster
    :param policy: a Policy
    """

    def __init__(self, cluster, policy):
        self.policy = policy
        self.cluster = cluster
        self.volumes = ServedObjects(cluster, policy.index)

    def build(self, step):
        """Take a step of swift-ring-builder, and write the ring."""
        for command in (step, 'write_ring'):
            self.cluster.run(['swift-ring-builder',
                              self.cluster.layout.builder(
                                  self.cluster.spec.policy(
                                      self.policy).ring_name), command])
        self.volumes.reload_ring()

    @property
    def power(self):
        return self.volumes.ring.part_power

    def powers(self):
        """:returns: the part powers that all indexes have said they go by"""
        return {self.volumes.index(each).statistics().part_power
                for each in self.volumes.devices()}

    def wait_for_indexes(self):
        def are_there():
            try:
                return self.powers() == {self.power}
            except Exception:
                return False
        wait_for(are_there, 'all indexes go by part power %d' % self.power,
                 300)

    def listed(self, device):
        """:returns: (partition, hash, names) of all that a device lists"""
        index = self.volumes.index(device)
        return [(partition, each, names)
                for partition in index.list_partitions()
                for suffix in index.list_partition(partition)
                for each, names in index.list_suffix(partition, suffix)]

    def unequal(self, clients):
        """:returns: what devices do not have, or have not alike"""
        found = []
        for client in clients:
            for name in client.known:
                path = client.account, client.container, name
                partition, nodes = self.volumes.ring.get_nodes(*path)
                files = [self.volumes.index(node['device']).list_hash(
                    partition, bytes.fromhex(hash_path(*path)))
                    for node in nodes]
                names = [[self._shown(each, node) for each, _ in some]
                         for some, node in zip(files, nodes)]
                if len({tuple(each) for each in names}) != 1:
                    found.append((path, names))
        return found

    def _shown(self, name, node):
        return name.replace('#%d#d' % node['index'], '#') \
            if self.policy.parity else name


class PartPowerCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(object_servers(
            nodes=4, devices=2, policies=(SMALL, FRAGMENTS),
            services=ClusterSpec.services, options=OPTIONS))

    def setUp(self):
        self.growing = [Growing(self.cluster, each)
                        for each in (SMALL, FRAGMENTS)]
        for each in self.growing:
            each.wait_for_indexes()
        self.clients = {
            each.policy.index: [Client(self.cluster, each.policy, number)
                                for number in range(CLIENTS)]
            for each in self.growing}

    def at_work(self):
        """:returns: a context in which all clients are at work"""
        return at_work([each.work for each in sum(self.clients.values(), [])])

    def relinker(self, action, nodes=None, check=True):
        """:returns: what the relinkers of nodes have said, by node"""
        return {node: self.cluster.run_on(node, [
            self.cluster.layout.launcher('swift-object-relinker'), action,
            self.cluster.conf_path('object-server', node)], check=check)
            for node in nodes or self.cluster.spec.node_numbers()}

    def build(self, step):
        for each in self.growing:
            each.build(step)

    def grow(self, meanwhile):
        """Increase the part power by one, as an operator does."""
        before = [each.power for each in self.growing]
        self.build('prepare_increase_partition_power')
        self.relinker('relink')
        meanwhile()
        self.build('increase_partition_power')
        self.assertEqual([each + 1 for each in before],
                         [each.power for each in self.growing])
        self.after_increase()
        for each in self.growing:
            each.wait_for_indexes()
        self.relinker('cleanup')
        self.build('finish_increase_partition_power')

    def after_increase(self):
        """What happens before the increase is cleaned up."""

    def lose_an_index(self, growing):
        """Have the index server of a device find no index any more."""
        layout = growing.volumes.layout('n2d1')
        pid, = [pid for pid in self.cluster.pids(2, 'index-server')
                if self._is_of(pid, layout)]
        os.kill(pid, signal.SIGKILL)
        shutil.rmtree(layout.index)

    @staticmethod
    def _is_of(pid, layout):
        with open('/proc/%d/cmdline' % pid, 'rb') as file:
            arguments = file.read().decode().split('\0')
        at = arguments.index('--policy')
        return (layout.device_path in arguments
                and arguments[at + 1] == str(layout.policy_index))

    def converge(self):
        """Replicators and reconstructors have all devices alike."""
        for _ in range(ROUNDS):
            if not any(map(self._unequal, self.growing)):
                break
            play_round(self.cluster)
            for node in self.cluster.spec.node_numbers():
                self.cluster.run_on(node, [self.cluster.layout.launcher(
                    'swift-object-reconstructor'), self.cluster.conf_path(
                        'object-server', node), '--once'])
        for each in self.growing:
            self.assertEqual([], self._unequal(each))

    def _unequal(self, growing):
        return growing.unequal(self.clients[growing.policy.index])

    def assert_all_there(self):
        for each in sum(self.clients.values(), []):
            failed = [answer for answer in each.read_all()
                      if answer[1] not in ('well', 404)]
            print(each.container, dict(each.answers))
            self.assertFalse([verb for verb, _ in failed if verb == 'GET'])

    def assert_listed_once(self):
        """Each hash is where it belongs, and nowhere else on a device."""
        for growing in self.growing:
            for device in growing.volumes.devices():
                listed = growing.listed(device)
                for partition, hash_, _ in listed:
                    self.assertEqual(partition_of(hash_, growing.power),
                                     partition)
                self.assertEqual(len(listed), len(
                    {hash_ for _, hash_, _ in listed}))
                self.assertLessEqual(
                    {partition for partition, _, _ in listed},
                    growing.volumes.partitions(device))

    def assert_well(self):
        self.converge()
        self.assert_all_there()
        self.assert_listed_once()


class TestPartPower(PartPowerCase):

    def test_it_grows_under_load_with_an_index_that_is_lost(self):
        with self.at_work():
            self.grow(lambda: [self.lose_an_index(each)
                               for each in self.growing])
        self.assert_well()


@pytest.mark.long
class TestLong(PartPowerCase):

    def after_increase(self):
        """No clean-up ends well while the indexes of a node are not told."""
        with stopped(*self.cluster.pids(1, 'object-losf')):
            early = self.relinker('cleanup', [1], check=False)[1]
        self.assertEqual(1, early.returncode)
        logs = glob(os.path.join(self.cluster.spec.root, 'logs',
                                 'object-relinker*'))
        self.assertTrue(any('are not yet those of part power' in
                            Path(each).read_text() for each in logs), logs)

    def test_it_grows_again_and_again_and_is_cancelled(self):
        with self.at_work():
            for number in range(STEPS):
                self.grow(lambda number=number: [
                    self.lose_an_index(each) for each in self.growing[number:]
                ])
        self.assert_well()
        before = [each.power for each in self.growing]
        with self.at_work():
            self.build('prepare_increase_partition_power')
            self.relinker('relink')
            self.build('cancel_increase_partition_power')
            self.relinker('cleanup')
            self.build('finish_increase_partition_power')
        self.assertEqual(before, [each.power for each in self.growing])
        self.assert_well()
