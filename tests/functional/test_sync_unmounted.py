# SPDX-License-Identifier: Apache-2.0
"""A disk that is away while clients write."""

from swift.common.direct_client import (
    DirectClientException,
    direct_get_object,
    direct_put_object,
)
from swift.common.http import HTTP_INSUFFICIENT_STORAGE
from swift.common.utils import Timestamp

from tests.functional.clusters import R3, SyncCase, play_round


class TestUnmounted(SyncCase):
    fields = {'policies': (R3,)}
    names = ['o-%d' % number for number in range(40)]

    def put(self, name, timestamp):
        """Store an object as a proxy does: a device that answers 507 is
        replaced by the next hand-off.

        :returns: the devices that have it, and whether one was replaced
        """
        partition, nodes = self.objects.nodes(name)
        hand_offs = self.objects.ring.get_more_nodes(partition)
        body = b'%s at %s' % (name.encode(), timestamp.internal.encode())
        stored, waiting = [], list(nodes)
        while waiting:
            node = waiting.pop()
            try:
                direct_put_object(node, partition, 'a', 'c', name, body, len(
                    body), headers={'X-Timestamp': timestamp.internal})
                stored.append(node['device'])
            except DirectClientException as err:
                self.assertEqual(HTTP_INSUFFICIENT_STORAGE, err.http_status)
                waiting.append(next(hand_offs))
        self.acknowledged.newest[name] = timestamp.internal, body
        return stored, len(set(stored) - {each['device'] for each in nodes})

    def assert_served(self, without=()):
        """Each primary device's server answers with the newest version."""
        for name in self.names:
            partition, nodes = self.objects.nodes(name)
            for node in nodes:
                if node['device'] not in without:
                    headers, body = direct_get_object(
                        node, partition, 'a', 'c', name)
                    self.assertEqual(self.acknowledged.newest[name], (
                        headers['X-Backend-Timestamp'], body))

    def test_what_is_written_meanwhile_ends_on_three_replicas(self):
        for name in self.names:
            self.put(name, Timestamp.now())
        self.cluster.unmount(2, 'n2d1')
        try:
            replaced = 0
            for name in self.names:
                stored, by_hand_off = self.put(name, Timestamp.now())
                self.assertEqual((3, False), (len(stored), 'n2d1' in stored))
                replaced += by_hand_off
            self.assertGreater(replaced, 0)
            for _ in range(2):
                play_round(self.cluster, [1, 3, 4, 5])
            for name in self.names:
                self.assertEqual(
                    3, len(self.acknowledged.holders(name)), name)
            self.assert_served(without=['n2d1'])
        finally:
            self.cluster.mount(2, 'n2d1')
        # What the hand-offs hold is brought home at once, and they hold it
        # no longer than a pass more.
        self.converge(1)
        play_round(self.cluster)
        self.assertEqual([], self.objects.strays())
        self.assert_served()
