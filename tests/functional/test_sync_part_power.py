# SPDX-License-Identifier: Apache-2.0
"""An object ring whose partition power grows, step by step."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from swift.common.direct_client import DirectClientException, direct_get_object

from tests.functional.clusters import R3, SyncCase, play_round
from tests.unit.patches.swift_copy import copy_swift


@pytest.mark.long
class TestPartPower(SyncCase):
    fields = {'nodes': 4, 'policies': (R3,)}
    names = ['o-%d' % number for number in range(80)]

    def ring_builder(self, *steps):
        builder = self.cluster.layout.builder('object')
        for step in steps + ('write_ring',):
            self.cluster.run(['swift-ring-builder', builder, step])
        self.objects.reload_ring()

    def relinker(self, action):
        """Run the relinker, with our patch to it, on all nodes."""
        path = os.pathsep.join(filter(None, (
            self.swift, os.environ.get('PYTHONPATH'))))
        for node in self.cluster.spec.node_numbers():
            self.cluster.run_on(node, [
                'env', 'PYTHONPATH=' + path,
                self.cluster.layout.launcher('swift-object-relinker'),
                action, self.cluster.conf_path('object-server', node)])

    def write(self):
        """Put and delete objects, each on a quorum."""
        self.acknowledged.put_quorums(self.names[::2])
        for name in self.names[::10]:
            self.acknowledged.delete(name, self.acknowledged.quorum(name))

    def answer(self, node, partition, name):
        """:returns: what a device's server answers, as from ``seen``"""
        try:
            headers, body = direct_get_object(node, partition, 'a', 'c', name)
            return headers['X-Backend-Timestamp'], body
        except DirectClientException as err:
            timestamp = err.http_headers.get('X-Backend-Timestamp')
            return timestamp and (timestamp, None)

    def assert_readable(self):
        """The newest answer of an object's devices is the right one."""
        for name, newest in self.acknowledged.newest.items():
            partition, nodes = self.objects.nodes(name)
            answers = [self.answer(node, partition, name) for node in nodes]
            self.assertEqual(newest, max(
                filter(None, answers), key=lambda answer: answer[0]), name)

    def step(self):
        """What happens between two steps: writes, a pass, reads."""
        self.write()
        logs = play_round(self.cluster)
        self.assert_readable()
        return logs

    def test_every_object_stays_readable_and_ends_on_all_its_devices(self):
        self.swift = self.enterContext(TemporaryDirectory(prefix='ls-'))
        copy_swift(Path(self.swift), 'apply')
        self.acknowledged.put_everywhere(self.names)
        self.step()
        self.ring_builder('prepare_increase_partition_power')
        for log in self.step().values():
            self.assertIn("next_part_power set in policy 'gold'", log)
        self.relinker('relink')
        self.step()
        self.ring_builder('increase_partition_power')
        self.assertEqual(2 ** (R3.part_power + 1),
                         self.objects.ring.partition_count)
        self.assert_readable()
        self.step()
        self.relinker('cleanup')
        self.step()
        self.ring_builder('finish_increase_partition_power')
        self.assertEqual([], self.objects.strays())
        self.converge(1)
        self.assert_readable()
        self.assertEqual([], self.objects.strays())
