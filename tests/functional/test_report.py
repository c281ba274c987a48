# SPDX-License-Identifier: Apache-2.0
"""swift-lightsync-report on a real cluster: what it says, and when."""

import json
import os
import time
import unittest

from swift_lightsync.sync.core import replica_ring
from tests.functional.clusters import R3, R5, object_servers, play_round
from tests.functional.objects import ClusterObjects

T = int(time.time()) - 10000
FAILURES = {'error_suppression_limit': 2, 'error_suppression_interval': 600}
OPTIONS = {
    'object-server': {
        'DEFAULT': FAILURES,
        'pipeline:main': {
            'pipeline': 'healthcheck lightsync-recon recon object-server'},
        'filter:lightsync-recon': {'use': 'egg:swift-lightsync#recon'}},
    'replication-server': {'DEFAULT': FAILURES}}


def fill(cluster):
    """Put thirty objects on all their devices, in each policy."""
    for policy in (R3, R5):
        objects = ClusterObjects(cluster, policy.index)
        for number in range(30):
            name = 'o-%d' % number
            objects.write(name, b'v1', T, objects.nodes(name)[1])


def run_report(cluster, *args):
    """:returns: the exit status and the output"""
    done = cluster.run(
        [cluster.layout.launcher('swift-lightsync-report'),
         '--swift-dir', cluster.layout.etc, *args], check=False)
    return done.returncode, done.stdout


def report(cluster, *args):
    """:returns: the exit status and the report's data"""
    status, output = run_report(cluster, '--json', *args)
    return status, json.loads(output)


def pairs(data):
    return [pair for policy in data['policies'] for pair in policy['pairs']]


def states(data):
    return {pair['state'] for pair in pairs(data)}


class TestStable(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Two devices, of which each has a worker of its own.
        options = {**OPTIONS, 'object-server': {
            **OPTIONS['object-server'],
            'object-replicator': {'replicator_workers': 2}}}
        cls.cluster = cls.enterClassContext(
            object_servers(devices=2, options=options))
        fill(cls.cluster)
        cls.before = report(cls.cluster)
        cls.begin = time.time()
        play_round(cls.cluster)

    def test_before_the_first_pass_every_device_is_late(self):
        status, data = self.before
        self.assertEqual(1, status)
        self.assertEqual(['devices without a recent pass: 10'],
                         data['complaints'])
        self.assertEqual({'answered'}, {node['outcome']
                                        for node in data['nodes']})
        self.assertEqual([], pairs(data))

    def test_after_a_stable_round_all_pairs_have_agreed(self):
        status, data = report(self.cluster)
        self.assertEqual((0, []), (status, data['complaints']))
        self.assertEqual(['gold', 'platinum'],
                         [policy['name'] for policy in data['policies']])
        for pair in pairs(data):
            self.assertEqual(('agreed', 'match', 0), (
                pair['state'], pair['answer'], pair['differing']))
            self.assertLess(self.begin, pair['agreed'])

    def test_each_replica_of_a_partition_is_in_one_pair(self):
        _, data = report(self.cluster)
        for policy, found in zip((R3, R5), data['policies']):
            replicas = ClusterObjects(self.cluster, policy.index).replicas()
            self.assertEqual(sum(map(len, replicas.values())), sum(
                pair['partitions'] for pair in found['pairs']))

    def test_one_policy_is_told_of_by_name_and_by_index(self):
        for wanted in ('platinum', '1'):
            _, data = report(self.cluster, '--policy', wanted)
            self.assertEqual(['platinum'], [
                policy['name'] for policy in data['policies']])

    def test_what_has_not_agreed_for_long_is_stale(self):
        status, data = report(self.cluster, '--stale', '0.001')
        self.assertEqual((1, {'stale'}), (status, states(data)))
        self.assertEqual(10, len(data['late']))

    def test_the_text_and_the_page_say_so(self):
        path = os.path.join(self.cluster.spec.root, 'report.html')
        self.addCleanup(os.unlink, path)
        status, output = run_report(self.cluster, '--html', path)
        self.assertEqual(0, status)
        with open(path, encoding='utf8') as page:
            text = page.read()
        for said in (output, text):
            self.assertIn('All is well.', said)
            self.assertIn('5 nodes asked, 5 answered', said)
        self.assertIn('<svg', text)
        self.assertNotIn('<script', text)


class TestTrouble(unittest.TestCase):

    def setUp(self):
        self.cluster = self.enterContext(object_servers(options=OPTIONS))
        fill(self.cluster)
        play_round(self.cluster)

    def report(self, *args):
        return report(self.cluster, *args)

    def address(self, node, server='object-server'):
        return [self.cluster.node_ip(node),
                self.cluster.spec.port(server, node)]

    def assert_well(self, rounds):
        """All is well after so many rounds at most."""
        for _ in range(rounds):
            play_round(self.cluster)
            status, data = self.report()
            if status == 0 and states(data) <= {'agreed', 'idle'}:
                return
        self.fail(data['complaints'] or states(data))

    def test_a_dead_node_is_unreachable_and_failed_in_others_tables(self):
        self.cluster.kill(3)
        dead = self.address(3, 'replication-server')
        live = [1, 2, 4, 5]
        for _ in range(4):
            play_round(self.cluster, live)
            status, data = self.report()
            failures = [each for each in data['failures']
                        if each['key'] == dead and each['state'] == 'failed']
            if len(failures) == len(live):
                break
        self.assertEqual(1, status)
        self.assertEqual([self.address(3)], [
            node['host'] for node in data['nodes']
            if node['outcome'] == 'unreachable'])
        self.assertEqual(
            sorted(self.address(node) for node in live),
            sorted(each['node'] for each in failures))
        self.assertTrue(all(0 < each['left'] <= 600 for each in failures))
        for pair in pairs(data):
            self.assertEqual(pair['neighbour'][:2] == dead,
                             pair['state'] == 'unreachable', pair)
        self.assertIn('unreachable', states(data))
        self.cluster.start(3)
        # Whoever hears from it asks it again.
        self.assert_well(4)

    def test_an_unequal_write_differs_until_it_is_repaired(self):
        objects = ClusterObjects(self.cluster, R5.index)
        partition, nodes = objects.nodes('o-1')
        objects.write('o-1', b'v2', T + 1, nodes[:1])
        holder = nodes[0]['device']
        neighbour = replica_ring.clockwise(
            nodes, partition, nodes[0]['id'])[0]['device']
        theirs = os.path.join(self.cluster.device_path(
            self.cluster.node_of(neighbour), neighbour),
            'objects-1', str(partition))
        # A file that is in the place of a partition takes no objects.
        os.rename(theirs, theirs + '.kept')
        with open(theirs, 'w'):
            pass
        try:
            play_round(self.cluster, [self.cluster.node_of(holder)])
            _, data = self.report()
        finally:
            os.unlink(theirs)
            os.rename(theirs + '.kept', theirs)
        self.assertEqual([[holder, neighbour, 1]], [
            [pair['device'][2], pair['neighbour'][2], pair['differing']]
            for pair in pairs(data) if pair['state'] == 'differing'])
        self.assert_well(4)
        # Each pair has agreed in its turn; the last may have a way to go.
        for _ in range(3):
            if objects.unequal():
                play_round(self.cluster)
        self.assertEqual([], objects.unequal())

    def test_a_node_without_the_filter_is_named_and_no_trouble(self):
        path = self.cluster.conf_path('object-server', 2)
        with open(path) as conf:
            text = conf.read()
        self.cluster.kill(2)
        with open(path, 'w') as conf:
            conf.write(text.replace('healthcheck lightsync-recon recon',
                                    'healthcheck recon'))
        self.cluster.start(2)
        status, data = self.report()
        self.assertEqual([[self.address(2), 'status 404']], [
            [node['host'], node['problem']] for node in data['nodes']
            if node['outcome'] == 'without LightSync'])
        self.assertEqual((0, []), (status, data['complaints']))
        status, data = self.report('%s:%d' % tuple(self.address(2)))
        self.assertEqual(1, status)
        self.assertEqual(['no node with LightSync: 1 asked'],
                         data['complaints'])

    def test_a_damaged_file_is_named_and_replaced(self):
        path = os.path.join(self.cluster.layout.cache_dir(1),
                            'lightsync.recon')
        with open(path, 'w') as recon:
            recon.write('[' * 100000)
        status, data = self.report()
        self.assertEqual(1, status)
        self.assertEqual(['unusable answers: 1'], data['complaints'])
        problem, = [node['problem'] for node in data['nodes']
                    if node['outcome'] == 'invalid']
        self.assertIn(path, problem)
        play_round(self.cluster, [1])
        status, data = self.report()
        self.assertEqual((0, []), (status, data['complaints']))
