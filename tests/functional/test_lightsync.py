# SPDX-License-Identifier: Apache-2.0
"""LightSync on real object-servers, with files on real disks."""

import os
import pickle  # nosec: B403
import random
import time
import unittest
from collections import Counter
from glob import glob
from itertools import combinations

from swift_lightsync.sync.changed_file import CHANGED_FILE
from tests.functional.clusters import (
    OPTIONS,
    R3,
    R5,
    object_servers,
    play_round,
)
from tests.functional.objects import ClusterObjects
from tools.demonstration.passes import read_log

#: Timestamps of versions: old enough, and not old enough to be reclaimed.
T = [int(time.time()) - 10000 + age for age in range(10)]


def file_name(timestamp, extension):
    return '%016.5f.%s' % (timestamp, extension)


class OnCluster:
    """What the cases below have in common; ``cluster`` is their cluster."""

    def setUp(self):
        self.objects = ClusterObjects(self.cluster, R5.index)

    def converge(self, most, nodes=None):
        """:returns: the rounds needed"""
        for number in range(most + 1):
            if not self.objects.unequal():
                return number
            logs = play_round(self.cluster, nodes)
        self.assertEqual([], self.objects.unequal(), 'after %d rounds:\n%s' % (
            most, '\n'.join(logs.values())))
        return most

    def newest(self, name):
        """
        :returns: on how many devices an object's newest file is, and its name
        """
        partition, nodes = self.objects.nodes(name)
        hash_name = os.path.basename(self.objects._diskfile(
            nodes[0], partition, name)._datadir)
        files = [os.path.basename(path) for node in nodes
                 for path in self.objects.on_device(node['device'])
                 if os.sep + hash_name + os.sep in path]
        return files.count(max(files)), max(files)


class Convergence(OnCluster):

    def test_a_quorum_write_is_on_all_five_replicas_in_two_rounds(self):
        for number, rows in enumerate(combinations(range(5), 3)):
            name = 'quorum-%d' % number
            _, nodes = self.objects.nodes(name)
            self.objects.write(name, b'v1', T[1], nodes)
            self.objects.write(name, b'v2', T[2], [nodes[i] for i in rows])
        self.assertLessEqual(self.converge(2), 2)
        for number in range(10):
            self.assertEqual((5, file_name(T[2], 'data')),
                             self.newest('quorum-%d' % number))

    def test_a_single_copy_is_on_all_five_replicas_in_four_rounds(self):
        for row in range(5):
            name = 'single-%d' % row
            _, nodes = self.objects.nodes(name)
            self.objects.write(name, b'x' * 5000, T[1], [nodes[row]])
        self.assertLessEqual(self.converge(4), 4)

    def test_a_quorum_write_is_on_all_three_replicas_in_one_round(self):
        self.objects = ClusterObjects(self.cluster, R3.index)
        for number, rows in enumerate(combinations(range(3), 2)):
            name = 'three-%d' % number
            _, nodes = self.objects.nodes(name)
            self.objects.write(name, b'v1', T[1], [nodes[i] for i in rows])
        self.assertEqual(1, self.converge(1))

    def test_deletes_and_posts_win_by_their_timestamps(self):
        for number in range(4):
            name = 'changed-%d' % number
            _, nodes = self.objects.nodes(name)
            self.objects.write(name, b'v1', T[1], nodes)
        _, nodes = self.objects.nodes('changed-0')
        self.objects.delete('changed-0', T[2], nodes[2:])
        _, nodes = self.objects.nodes('changed-1')
        self.objects.post('changed-1', 'red', T[2], nodes[:3])
        _, nodes = self.objects.nodes('changed-2')
        self.objects.delete('changed-2', T[2], nodes[:3])
        self.objects.write('changed-2', b'v3', T[3], nodes[1:4])
        _, nodes = self.objects.nodes('changed-3')
        self.objects.write('changed-3', b'v2', T[2], nodes[:1])
        self.objects.delete('changed-3', T[3], nodes[3:])
        # A single copy has the longest way.
        self.converge(4)
        self.assertEqual(
            [(5, file_name(T[2], 'ts')), (5, file_name(T[2], 'meta')),
             (5, file_name(T[3], 'data')), (5, file_name(T[3], 'ts'))],
            [self.newest('changed-%d' % number) for number in range(4)])


class Messages(OnCluster):

    def logged(self):
        """:returns: the requests that the replication servers have logged"""
        return sum((read_log(path, 0)[0] for path in glob(os.path.join(
            self.cluster.layout.logs, 'replication-server.*'))), Counter())

    def stable_round(self):
        """:returns: how many replicas of partitions there are, and the sync
            messages and the suffix comparisons of a stable round
        """
        replicas = 0
        for policy in (R3, R5):
            objects = ClusterObjects(self.cluster, policy.index)
            for number in range(60):
                name = 'stable-%d' % number
                objects.write(name, b'v1', T[1], objects.nodes(name)[1])
            replicas += sum(map(len, objects.replicas().values()))
        play_round(self.cluster)
        before = self.logged()
        play_round(self.cluster)
        sent = self.logged() - before
        return replicas, sent['LIGHTSYNC'], sent['REPLICATE']

    def test_a_stable_round_is_one_message_a_pair_of_neighbours(self):
        _, messages, comparisons = self.stable_round()
        # Two policies, five devices, each with at most four neighbours.
        self.assertLessEqual(messages, 2 * 5 * 4)
        self.assertEqual(0, comparisons)


class MessagesUnbatched(Messages):

    def test_a_stable_round_is_one_message_a_replica(self):
        replicas, messages, comparisons = self.stable_round()
        self.assertEqual((replicas, 0), (messages, comparisons))

    test_a_stable_round_is_one_message_a_pair_of_neighbours = None


class Failures(OnCluster):

    def write_quorums(self, prefix, timestamp, count=12):
        for number in range(count):
            name = '%s-%d' % (prefix, number)
            _, nodes = self.objects.nodes(name)
            self.objects.write(name, b'%d' % timestamp, timestamp,
                               random.Random(name).sample(nodes, 3))

    def changed_files(self):
        return glob(os.path.join(self.cluster.layout.srv, '*', '*',
                                 'objects-1', '*', CHANGED_FILE))

    def test_damaged_fingerprints_are_replaced(self):
        self.write_quorums('damaged', T[1])
        self.converge(2)
        play_round(self.cluster)
        trap = os.path.join(self.cluster.spec.root, 'executed')
        damages = [
            b'', b'\x80', b'garbage', b'x' * 100000,
            pickle.dumps({'version': 1}, protocol=2),
            b'cos\nsystem\n(S"touch %s"\ntR.' % trap.encode()]
        files = self.changed_files()
        self.assertGreaterEqual(len(files), 5 * len(damages))
        for number, path in enumerate(sorted(files)):
            with open(path, 'wb') as changed:
                changed.write(damages[number % len(damages)])
        self.write_quorums('damaged', T[2])
        self.converge(2)
        play_round(self.cluster)
        self.assertFalse(os.path.exists(trap))
        for path in files:
            with open(path, 'rb') as changed:
                self.assertEqual(1, pickle.load(changed)['version'])

    def test_the_ring_closes_over_a_dead_node_and_takes_it_back(self):
        self.write_quorums('dead', T[1])
        self.converge(2)
        self.cluster.kill(3)
        live = [1, 2, 4, 5]
        try:
            for number in range(12):
                name = 'dead-%d' % number
                _, nodes = self.objects.nodes(name)
                nodes = [node for node in nodes if node['device'] != 'n3d1']
                self.objects.write(name, b'v2', T[2],
                                   random.Random(name).sample(nodes, 3))
            logs = ''.join(log for _ in range(3) for log in play_round(
                self.cluster, live).values())
            self.assertEqual([], self.objects.unequal(without='n3d1'))
        finally:
            self.cluster.start(3)
        self.assertIn('No answer to the sync message', logs)
        self.assertLessEqual(self.converge(2), 2)


class ClusterCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(
            object_servers(**cls.fields))


class TestRsync(Convergence, Messages, Failures, ClusterCase):
    fields = {'sync_method': 'rsync'}


class TestSsync(Convergence, ClusterCase):
    fields = {'sync_method': 'ssync'}


class TestThePapersProtocol(Convergence, MessagesUnbatched, ClusterCase):
    fields = {'sync_method': 'rsync', 'options': dict(OPTIONS, **{
        'object-server': {'object-replicator': {
            'full_exchange_interval': 1e9, 'sync_batch_partitions': 1}}})}
