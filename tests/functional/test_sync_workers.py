# SPDX-License-Identifier: Apache-2.0
"""Replicators whose devices are shared out among workers."""

import os

import pytest

from swift_lightsync.sync.core import replica_ring
from swift_lightsync.sync.recon_records import read
from tests.functional.clusters import (
    OPTIONS,
    R3,
    Gate,
    RunningPass,
    SyncCase,
    play_round,
    wait_for,
    with_options,
)

#: A node has failed at the first exception, for as long as the tests take.
FAILURES = {'DEFAULT': {'error_suppression_limit': 1,
                        'error_suppression_interval': 100000}}


def options(**replicator):
    found = with_options(replicator_workers=2, **replicator)
    found['object-server'].update(FAILURES)
    found['replication-server'] = {'DEFAULT': dict(
        OPTIONS['replication-server']['DEFAULT'], **FAILURES['DEFAULT'])}
    return found


class Workers(SyncCase):
    """Three nodes of three devices: two for one worker, one for the other."""

    fields = {'nodes': 3, 'devices': 3, 'policies': (R3,),
              'options': options()}
    names = ['o-%d' % number for number in range(60)]

    def close_ring_over(self, node):
        """Have the first device of node 1 find out that a node has failed."""
        log = play_round(self.cluster, [1], ['--devices', 'n1d1'])[1]
        self.assertIn('Closing the replica rings over %s'
                      % self.cluster.node_ip(node), log)


class TestWorkers(Workers):

    def test_each_partition_of_each_device_is_checked_by_one_worker(self):
        self.acknowledged.put_everywhere(self.names)
        play_round(self.cluster)
        for node in self.cluster.spec.node_numbers():
            _, devices = read(os.path.join(
                self.cluster.layout.cache_dir(node), 'lightsync.recon'))
            self.assertEqual(
                {device: len(self.objects.partitions(device))
                 for device in self.cluster.devices(node)},
                {each.device[2]: each.partitions
                 for each in devices.values()})

    def test_a_single_copy_on_any_device_is_everywhere_in_two_rounds(self):
        for number in range(60):
            name = 'single-%d' % number
            _, nodes = self.objects.nodes(name)
            self.acknowledged.put(name, [nodes[number % 3]])
        self.converge(2)

    def test_what_a_worker_found_failed_is_left_alone_by_the_others(self):
        self.acknowledged.put_everywhere(self.names)
        self.converge(1)
        self.cluster.kill(2)
        try:
            self.close_ring_over(2)
            gone = self.cluster.devices(2)
            self.acknowledged.put_quorums(self.names, without=gone)
            log = play_round(self.cluster, [1],
                             ['--devices', 'n1d2,n1d3'])[1]
            self.assertNotIn(self.cluster.node_ip(2), log)
            self.converge(1, [1, 3], without=gone)
        finally:
            self.cluster.start(2)
        self.converge(2)


@pytest.mark.long
class TestRejoining(Workers):
    # One partition after the other, so that a pass can be held up in one.
    fields = dict(Workers.fields, options=options(
        sync_batch_partitions=1, concurrency=1))

    def of_rejoining(self, node):
        """:returns: the objects that node 1 has to give to a node first: whose
            clockwise neighbour is there
        """
        found = []
        for name in self.names:
            partition, nodes = self.objects.nodes(name)
            here, = [each for each in nodes
                     if self.cluster.node_of(each['device']) == 1]
            neighbour = replica_ring.clockwise(
                nodes, partition, here['id'])[0]
            if self.cluster.node_of(neighbour['device']) == node:
                found.append((name, neighbour['device']))
        return found

    def test_partitions_of_a_rejoining_node_go_first_in_every_worker(self):
        self.acknowledged.put_everywhere(self.names)
        play_round(self.cluster)
        self.cluster.kill(2)
        self.close_ring_over(2)
        for name in self.names:
            self.acknowledged.put(name, [
                node for node in self.objects.nodes(name)[1]
                if self.cluster.node_of(node['device']) == 1])
        first = self.of_rejoining(2)
        self.assertEqual({'n2d1', 'n2d2', 'n2d3'},
                         {device for _, device in first})
        gate = Gate(os.path.join(self.cluster.spec.root, 'gate'),
                    passing=self.cluster.node_ip(2))
        with RunningPass(self.cluster, 1, gate) as under_way:
            wait_for(lambda: len(gate.waiting()) == 2,
                     'both workers are held up')
            self.cluster.start(2)
            play_round(self.cluster, [2])
            wait_for(lambda: all(
                self.objects.seen(name, device)
                == self.acknowledged.newest[name]
                for name, device in first), 'what was missed goes first')
            self.assertFalse(under_way.has_ended())
            gate.open()
            log = under_way.wait()
        self.assertEqual(2, log.count('of rejoining devices go first'), log)
        self.converge(2)
