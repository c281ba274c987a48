# SPDX-License-Identifier: Apache-2.0
"""A policy of erasure coding in volumes, on real servers and disks."""

import os
import shutil

from swiftclient.exceptions import ClientException

from tests.functional.clusters import wait_for
from tests.functional.fragments_case import FragmentsCase, with_cluster
from tests.functional.served import ServedObjects
from tools.cluster import Policy

setUpModule, tearDownModule = with_cluster(
    Policy('ec', 1, 6, part_power=4, parity=2, kv=True), nodes=4, devices=2)


class VolumesCase(FragmentsCase):
    """Fragments in volumes."""

    objects_class = ServedObjects

    def wait_until_served(self):
        for node in self.objects.ring.devs:
            wait_for(lambda: self.objects.ask(
                node, 'HEAD', 'nothing').status == 404,
                'the index of %(device)s serves' % node, 120)

    def fragments(self, name, device):
        partition, _, object_hash = self.place(name)
        return [file for file, _ in self.objects.index(device).list_hash(
            partition, bytes.fromhex(object_hash))]

    def lose_fragments(self, count):
        """Take so many fragments of each object away, as a disk does."""
        for name in self.bodies:
            partition, nodes, object_hash = self.place(name)
            for node in nodes[1:1 + count]:
                self.objects.index(node['device']).remove(
                    partition, bytes.fromhex(object_hash))
        # Their suffixes are hashed anew.
        for objects in map(self.objects.objects_path, self.objects.devices()):
            for partition in os.listdir(objects):
                shutil.rmtree(os.path.join(objects, partition))
                os.mkdir(os.path.join(objects, partition))


class TestClients(VolumesCase):

    def test_an_object_is_put_read_changed_and_deleted(self):
        for length in (0, 1, 4096, 65536, 3 * 2 ** 20 + 17):
            with self.subTest(length=length):
                self.put(1, length)
                self.assert_readable()
                self.wait_for_all()
                self.client.post_object(self.container, 'o0', {
                    'X-Object-Meta-Color': 'red'})
                self.assertEqual('red', self.client.head_object(
                    self.container, 'o0')['x-object-meta-color'])
                self.client.delete_object(self.container, 'o0')
                with self.assertRaises(ClientException) as caught:
                    self.client.get_object(self.container, 'o0')
                self.assertEqual(404, caught.exception.http_status)

    def test_an_overwritten_object_leaves_no_older_fragments(self):
        for _ in range(3):
            self.put(4)
        self.wait_for_all()
        self.assert_readable()


class TestRepair(VolumesCase):

    def test_fragments_that_are_missing_are_rebuilt(self):
        self.put(6)
        self.wait_for_all()
        self.lose_fragments(2)
        self.assert_readable()
        self.assert_put_right()

    def test_a_disk_that_was_replaced_is_filled(self):
        self.put()
        self.cluster.kill(2)
        for path in self.cluster.device_paths(2).values():
            for name in ('losf-1', 'objects-1'):
                shutil.rmtree(os.path.join(path, name), ignore_errors=True)
        self.assert_readable()
        self.cluster.start(2)
        self.wait_until_served()
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()

    def test_what_was_written_while_a_node_was_down_comes_home(self):
        self.write_without_node_3()
        self.assert_put_right()


class TestNewRing(VolumesCase):
    """The last one: for some seconds the proxy goes on by the old ring."""

    def test_a_ring_that_changes_takes_the_fragments_with_it(self):
        self.put()
        device = self.place('o0')[1][0]
        self.objects.change_ring(('set_weight', 'd%d' % device['id'], '0'))
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()
