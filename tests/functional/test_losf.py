# SPDX-License-Identifier: Apache-2.0
"""A policy whose objects are in volumes, on real servers and disks."""

import os
import shutil
import signal
import unittest
from contextlib import ExitStack
from hashlib import md5

from swift.common.utils import FileLikeIter

from swift_losf.format.header import HEADER_LENGTH
from tests.functional.client_features import (
    MIB,
    Client,
    ClientFeatures,
    run_everywhere,
)
from tests.functional.clusters import R3, object_servers, play_round, wait_for
from tests.functional.served import ServedObjects
from tools.cluster import ClusterSpec, Policy

SMALL = Policy('small', 1, 3, part_power=5, kv=True)
#: A refusal of a node is forgotten at once, and on a slow machine it takes an
#: index server its time to begin anew.
OPTIONS = {
    'proxy-server': {'app:proxy-server': {
        'error_suppression_interval': 0.5, 'node_timeout': 120}},
    'object-server': {'DEFAULT': {'losf_index_timeout': 60}}}
_at_end = ExitStack()
_cluster = None


def setUpModule():
    global _cluster
    _cluster = _at_end.enter_context(object_servers(
        nodes=4, policies=(R3, SMALL),
        services=ClusterSpec.services, options=OPTIONS))


def tearDownModule():
    _at_end.close()


class VolumesCase(unittest.TestCase):
    """The cluster, and objects that only this test knows."""

    def setUp(self):
        self.cluster = _cluster
        self.objects = ServedObjects(_cluster, SMALL.index)
        for node in self.objects.ring.devs:
            self.wait_for_index(node)

    def names(self, count):
        return ['%s-%d' % (self.id().rpartition('.')[2], number)
                for number in range(count)]

    def start(self, number):
        """Start a node, and wait until its index server serves."""
        self.cluster.start(number)
        device, = self.cluster.devices(number)
        node, = [each for each in self.objects.ring.devs
                 if each['device'] == device]
        self.wait_for_index(node)

    def wait_for_index(self, node):
        """An object-server answers before its index server is open."""
        wait_for(lambda: self.objects.ask(
            node, 'HEAD', 'nothing').status == 404,
            'the index of %(device)s serves' % node, 120)

    def assert_acknowledged(self, most=2, play=play_round):
        """:param most: rounds until each node serves what was acknowledged"""
        for _ in range(most):
            if not self.objects.wrong():
                return
            play(self.cluster)
        self.assertEqual([], self.objects.wrong())


class TestClients(ClientFeatures, VolumesCase):

    policy = SMALL

    def test_a_big_object_needs_little_memory(self):
        # So much at a time, sent and received.
        piece = os.urandom(MIB)
        count = 64
        self.put('before', piece)
        self.get('before')
        before = self.memory()
        self.client.put_object(self.container, 'big', FileLikeIter(
            [piece] * count), content_length=count * MIB)
        _, body = self.client.get_object(self.container, 'big',
                                         resp_chunk_size=MIB)
        digest = md5()
        for each in body:
            digest.update(each)
        self.assertEqual(md5(piece * count).hexdigest(), digest.hexdigest())
        # One of the files would be 64 MiB.
        self.assertLess(self.memory() - before, 24 * MIB)

    def memory(self):
        """:returns: the most that an object-server has ever used, bytes"""
        most = 0
        for node in self.cluster.spec.node_numbers():
            for pid in self.cluster.pids(node, 'object-server'):
                with open('/proc/%d/status' % pid) as status:
                    for line in status:
                        if line.startswith('VmHWM:'):
                            most = max(most, int(line.split()[1]) * 1024)
        return most


class TestReplication(VolumesCase):

    def test_a_node_that_was_down_gets_what_it_has_missed(self):
        names = self.names(24)
        for name in names:
            self.objects.put(name)
        self.cluster.kill(3)
        self.objects.change_some(names, without=['n3d1'])
        self.start(3)
        self.assertTrue(self.objects.wrong())
        self.assert_acknowledged()

    def check_hand_offs(self, play):
        """What is written by way of a hand-off comes home, and leaves nothing.

        :param play: plays a round
        """
        names = self.names(16)
        homes = {}
        for name in names:
            partition, nodes = self.objects.nodes(name)
            homes[name] = nodes
            stand_in = next(self.objects.ring.get_more_nodes(partition))
            self.objects.put(name, nodes=nodes[1:] + [stand_in])
        self.assertTrue(self.objects.hand_offs())
        self.assert_acknowledged(play=play)
        play(self.cluster)
        self.assertEqual([], self.objects.hand_offs())
        self.assertEqual([], self.objects.strays())

    def test_hand_offs_are_brought_home_and_emptied(self):
        self.check_hand_offs(play_round)

    def play_stock_round(self, cluster):
        """As play_round, with Swift's own replicator."""
        for node in cluster.spec.node_numbers():
            path = cluster.conf_path('object-server', node)
            own = os.path.join(os.path.dirname(path), 'stock-%d.conf' % node)
            with open(path) as source, open(own, 'w') as conf:
                conf.writelines(line for line in source if not
                                line.startswith('replicator_class'))
            cluster.run_on(node, [
                cluster.layout.launcher('swift-object-replicator'), own,
                '--once'])

    def test_hand_offs_are_brought_home_by_swifts_own_replicator(self):
        self.check_hand_offs(self.play_stock_round)


class TestDamage(VolumesCase):

    #: which byte of a record is damaged
    PLACES = {
        'header': lambda location: 20,
        'data': lambda location: HEADER_LENGTH + location.data_length // 2,
        'metadata': lambda location: HEADER_LENGTH + location.data_length +
        location.name_length + 5}

    def damage(self):
        """Damage one replica of each of several objects.

        :returns: a list of (object, node)
        """
        damaged = []
        for name in self.names(6):
            short = int(name[-1]) % 2
            self.objects.put(name, 1000 if short else 500000)
        for number, name in enumerate(self.names(6)):
            node = self.objects.nodes(name)[1][0]
            device = node['device']
            location, = self.objects.files(name, device).values()
            place = list(self.PLACES.values())[number // 2]
            self.objects.flip_bit(location, device, place(location))
            damaged.append((name, node))
        return damaged

    def assert_quarantined(self, damaged):
        for name, node in damaged:
            self.assertIn(self.objects.hash_name(name),
                          self.objects.quarantined(node['device']), name)
            self.assertEqual(404, self.objects.ask(
                node, 'HEAD', name).status, name)

    def test_a_get_gives_no_wrong_byte_and_replication_heals(self):
        damaged = self.damage()
        for name, node in damaged:
            answer = self.objects.ask(node, 'GET', name)
            good = self.objects.newest[name].body
            self.assertIn(answer.status, (200, 404), name)
            if answer.status == 200:
                self.assertLess(len(answer.body), len(good), name)
                self.assertTrue(good.startswith(answer.body), name)
        self.assert_quarantined(damaged)
        self.assert_acknowledged()

    def test_the_auditors_find_it_and_replication_heals(self):
        damaged = self.damage()
        run_everywhere(self.cluster, 'object-auditor')
        self.assert_quarantined(damaged)
        self.assert_acknowledged()

    def test_the_zero_byte_auditor_finds_what_is_not_data(self):
        damaged = self.damage()
        run_everywhere(self.cluster, 'object-auditor', '-z', '1000')
        self.assert_quarantined([damaged[0], damaged[1], *damaged[4:]])
        self.assert_acknowledged()


class TestIndexServer(Client, VolumesCase):

    policy = SMALL

    def test_while_it_is_dead_clients_do_not_notice_and_it_comes_back(self):
        names = self.names(12)
        for name in names:
            self.objects.put(name)
            self.put(name, name.encode())
        pid, = self.cluster.pids(1, 'index-server')
        os.kill(pid, signal.SIGKILL)
        seen = set()

        def is_back():
            statuses = {self.objects.ask(node, method, name).status
                        for name in names
                        for node in self.objects.nodes(name)[1]
                        if node['device'] == 'n1d1'
                        for method in ('GET', 'HEAD')}
            seen.update(statuses)
            return statuses == {200}

        # Whoever has its table reads on; a write goes to other disks.
        for name in names:
            self.assertEqual(name.encode(), self.get(name)[1])
            self.put(name, b'new')
        wait_for(lambda: self.cluster.pids(1, 'index-server') not in (
            [], [pid]), 'another serves the disk', 120)
        wait_for(is_back, 'the disk is served again', 120)
        self.assertLessEqual(seen, {200, 503, 507})
        for name in names:
            self.assertEqual(b'new', self.get(name, X_Newest='true')[1])
        # Its socket may be the old one's until it has opened the index.
        wait_for(self.serves_what_was_acknowledged, 'all is served', 120)

    def test_when_all_are_killed_requests_wait_for_their_successors(self):
        names = self.names(8)
        for name in names:
            self.put(name, b'old')
        for body in b'new', b'newer':
            for node in self.cluster.spec.node_numbers():
                for pid in self.cluster.pids(node, 'index-server'):
                    os.kill(pid, signal.SIGKILL)
            for name in names:
                self.put(name, body)
            for name in names:
                self.post(name, X_Object_Meta_Colour='blue')
                self.assertEqual(body, self.get(name, X_Newest='true')[1])

    def serves_what_was_acknowledged(self):
        try:
            return self.objects.wrong() == []
        except AssertionError:
            return False

    def test_an_index_that_was_deleted_is_made_anew(self):
        names = self.names(24)
        for name in names:
            self.objects.put(name)
        self.objects.change_some(names)
        files = self.objects.index('n2d1').statistics().files
        self.cluster.kill(2)
        shutil.rmtree(self.objects.layout('n2d1').index)
        self.start(2)
        self.assertEqual([], self.objects.wrong())
        made = self.objects.index('n2d1').statistics()
        self.assertGreaterEqual(made.files, files)
        self.assertGreaterEqual(made.recovered, files)
