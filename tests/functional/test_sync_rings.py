# SPDX-License-Identifier: Apache-2.0
"""Object rings that change, and rings of unusual shapes."""

import os
import re
import shutil
from contextlib import ExitStack, contextmanager

import pytest

from tests.functional.clusters import (
    R3,
    R5,
    Gate,
    RunningPass,
    SyncCase,
    play_round,
    wait_for,
    with_options,
)
from tools.cluster import Policy


class RingCase(SyncCase):

    def assert_nothing_lost(self):
        """What was acknowledged is on a quorum of devices, any of them."""
        for name in self.acknowledged.newest:
            self.assertGreaterEqual(
                len(self.acknowledged.holders(name)), 2, name)

    def settle(self, most):
        """Play rounds until all is where the ring says, and nowhere else.

        :returns: the rounds needed
        """
        for number in range(most + 1):
            self.assert_nothing_lost()
            strays, wrong = self.objects.strays(), self.acknowledged.wrong()
            if not strays and not wrong:
                return number
            logs = play_round(self.cluster)
        self.fail('after %d rounds, strays %s, not as acknowledged %s\n%s' % (
            most, strays, wrong, '\n'.join(logs.values())))


class TestRingChanges(RingCase):
    # The second device of each node is not in the ring at first.
    policy = Policy('gold', 0, 3, part_power=5, devices=1)
    fields = {'nodes': 4, 'devices': 2, 'policies': (policy,),
              'options': with_options(ring_check_interval=0.1)}
    names = ['o-%d' % number for number in range(50)]

    def device(self, name):
        """:returns: a device of the second rank, as swift-ring-builder has it
        """
        node = self.cluster.node_of(name)
        spec = self.cluster.spec
        return 'r1z%d-%s:%dR%s:%d/%s' % (
            node, self.cluster.node_ip(node),
            spec.port('object-server', node), self.cluster.node_ip(node),
            spec.port('replication-server', node), name)

    def write(self):
        """Write all objects anew, and delete some, each on a quorum."""
        self.acknowledged.put_quorums(self.names)
        for name in self.names[::7]:
            self.acknowledged.delete(name, self.acknowledged.quorum(name))

    def during_passes(self, *changes):
        """Change the ring while passes wait for their rsyncs."""
        self.acknowledged.put_everywhere(self.names)
        self.write()
        gate = Gate(os.path.join(self.cluster.spec.root, self.id()))
        with ExitStack() as stack:
            passes = [stack.enter_context(
                RunningPass(self.cluster, node, gate))
                for node in self.cluster.spec.node_numbers()]
            wait_for(lambda: len(gate.waiting()) == len(passes),
                     'every pass is held up')
            self.objects.change_ring(*changes)
            gate.open()
            logs = [each.wait() for each in passes]
        self.assertIn('Ring change detected', ''.join(logs))

    def test_a_device_that_is_added_gets_its_share(self):
        self.during_passes(('add', self.device('n1d2'), '100'),
                           ('add', self.device('n2d2'), '100'))
        self.settle(3)
        for device in ('n1d2', 'n2d2'):
            self.assertTrue(self.objects.partitions(device))

    @pytest.mark.long
    def test_a_device_without_weight_is_emptied(self):
        self.during_passes(('set_weight', '/n3d1', '0'))
        self.settle(3)
        self.assertFalse(self.objects.partitions('n3d1'))
        # Its weight comes back, and so does what it held.
        self.write()
        self.objects.change_ring(('set_weight', '/n3d1', '100'))
        self.settle(3)
        self.assertTrue(self.objects.partitions('n3d1'))


@pytest.mark.long
class TestRemovedDevice(TestRingChanges):
    """A device that is taken out with all it holds, on another cluster."""

    test_a_device_that_is_added_gets_its_share = None
    test_a_device_without_weight_is_emptied = None

    def test_what_was_on_a_removed_device_is_made_anew_elsewhere(self):
        self.during_passes(('remove', '/n4d1'))
        rounds, _ = self.converge(3)
        self.assertGreater(rounds, 0)
        self.assertEqual([], [
            (device, partition) for device, partition
            in self.objects.strays() if device != 'n4d1'])


class TestDifferentRings(TestRingChanges):
    """Half of the nodes have a new ring, and half the one before."""

    test_a_device_that_is_added_gets_its_share = None
    test_a_device_without_weight_is_emptied = None

    @contextmanager
    def ring_before(self, nodes):
        """Nodes keep the ring that there is now."""
        before = self.cluster.layout.etc + '-before'
        shutil.copytree(self.cluster.layout.etc, before)
        texts = {}
        for node in nodes:
            self.cluster.kill(node)
            for server in ('object-server', 'replication-server'):
                path = self.cluster.conf_path(server, node)
                with open(path) as conf:
                    texts[path] = conf.read()
                with open(path, 'w') as conf:
                    conf.write(re.sub('(?m)^swift_dir = .*',
                                      'swift_dir = ' + before, texts[path]))
            self.cluster.start(node)
        yield
        for path, text in texts.items():
            with open(path, 'w') as conf:
                conf.write(text)
        for node in nodes:
            self.cluster.kill(node)
            self.cluster.start(node)

    def test_nothing_is_lost_and_all_is_in_place_once_they_are_the_same(self):
        self.acknowledged.put_everywhere(self.names)
        with self.ring_before((2, 3)):
            self.objects.change_ring(('add', self.device('n1d2'), '100'),
                                     ('set_weight', '/n3d1', '0'))
            self.write()
            for _ in range(3):
                play_round(self.cluster)
                self.assert_nothing_lost()
            # Node 3 has the old ring, and keeps what the new one gives others.
            self.assertTrue(self.objects.strays())
        self.settle(4)
        self.assertTrue(self.objects.partitions('n1d2'))


class TestFractionalReplicas(RingCase):
    fields = {'nodes': 3, 'policies': (R3,)}
    names = ['o-%d' % number for number in range(50)]

    def test_half_of_the_partitions_have_a_replica_less(self):
        self.acknowledged.put_everywhere(self.names)
        self.converge(1)
        self.objects.change_ring(('set_replicas', '2.5'))
        self.settle(2)
        counts = [len(self.objects.ring.get_part_nodes(partition))
                  for partition in range(32)]
        self.assertEqual({2: 16, 3: 16},
                         {each: counts.count(each) for each in counts})
        for name in self.names:
            self.acknowledged.put(name, self.objects.nodes(name)[1][:1])
        self.converge(2)
        self.assertEqual([], self.objects.strays())


class TestMoreReplicasThanNodes(SyncCase):
    """Nodes hold several replicas of a partition each."""

    policy = R5
    fields = {'nodes': 3, 'devices': 2}

    def test_quorum_writes_are_everywhere_in_two_rounds(self):
        names = ['quorum-%d' % number for number in range(30)]
        self.acknowledged.put_everywhere(names)
        self.acknowledged.put_quorums(names)
        self.converge(2)

    def test_single_copies_are_everywhere_in_four_rounds(self):
        for number in range(30):
            name = 'single-%d' % number
            _, nodes = self.objects.nodes(name)
            self.acknowledged.put(name, [nodes[number % 5]])
        self.converge(4)
