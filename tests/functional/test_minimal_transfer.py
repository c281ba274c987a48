# SPDX-License-Identifier: Apache-2.0
"""A node that comes back pushes nothing obsolete, by real rsyncs."""

import time
import unittest

from tests.functional.clusters import R3, object_servers, play_round
from tests.functional.objects import ClusterObjects
from tools.demonstration.passes import RSYNC_BYTES

#: Timestamps of versions: old enough, and not old enough to be reclaimed.
T = [int(time.time()) - 10000 + age for age in range(10)]
#: The node that was down.
BACK = 3
COUNT = 8
#: Longer than all that is to travel.
LONG = b'obsolete' * (1 << 15)


class TestRejoining(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(object_servers(
            policies=(R3,), sync_method='rsync', nodes=3))

    def setUp(self):
        self.objects = ClusterObjects(self.cluster, R3.index)

    def received(self, node):
        """:returns: how many bytes a node's rsyncd has received"""
        with open(self.cluster.layout.log('rsyncd.%d' % node)) as log:
            return sum(int(received) for _, received
                       in RSYNC_BYTES.findall(log.read()))

    def write(self, kind, body, timestamp, lacking=()):
        """Write objects of a kind to all but some nodes."""
        for name in self.names(kind):
            self.objects.write(name, body, timestamp, [
                device for device in self.objects.nodes(name)[1]
                if self.cluster.node_of(device['device']) not in lacking])

    def others(self, name):
        return [device for device in self.objects.nodes(name)[1]
                if self.cluster.node_of(device['device']) != BACK]

    @staticmethod
    def names(kind):
        return ['%s-%d' % (kind, number) for number in range(COUNT)]

    def held_by_others(self):
        return {device: self.objects.on_device(device)
                for node in self.cluster.spec.node_numbers() if node != BACK
                for device in self.cluster.devices(node)}

    def test_it_takes_what_is_newer_and_gives_only_what_others_lack(self):
        for kind in ('overwritten', 'deleted', 'changed', 'equal'):
            self.write(kind, LONG, T[1])
        play_round(self.cluster)
        self.assertEqual([], self.objects.unequal())
        self.cluster.kill(BACK)
        try:
            self.write('overwritten', b'new', T[3], [BACK])
            for name in self.names('deleted'):
                self.objects.delete(name, T[3], self.others(name))
            for name in self.names('changed'):
                self.objects.post(name, 'red', T[3], self.others(name))
            play_round(self.cluster, [1, 2])
        finally:
            self.cluster.start(BACK)
        # It took these with another, just before it went down.
        self.write('own', b'last', T[2], [1])
        before = {node: self.received(node) for node in (1, 2, BACK)}
        held = self.held_by_others()
        # It is the first to have its pass: nobody has told it anything.
        logs = play_round(self.cluster, [BACK])
        travelled = {node: self.received(node) - before[node]
                     for node in (1, 2)}
        logs.update(play_round(self.cluster, [1, 2]))
        self.assertEqual([], self.objects.unequal(), logs)
        # Of what is obsolete a single file is longer.
        self.assertLess(max(travelled.values()), len(LONG) // 4, travelled)
        # What is to travel was seen to.
        self.assertLess(before[1], self.received(1))
        self.assertLess(before[BACK], self.received(BACK))
        for device, files in self.held_by_others().items():
            came = files.keys() - held[device].keys()
            self.assertEqual({}, {path: contents for path, contents
                                  in held[device].items()
                                  if files.get(path) != contents})
            self.assertEqual({b'last'} if device.startswith('n1') else set(),
                             {files[path][0] for path in came})

    def test_what_is_long_would_have_been_seen_to_travel(self):
        before = self.received(1)
        self.write('long', LONG, T[2], [1])
        play_round(self.cluster)
        self.assertEqual([], self.objects.unequal())
        self.assertLess(COUNT * len(LONG), self.received(1) - before)
