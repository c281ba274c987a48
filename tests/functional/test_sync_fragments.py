# SPDX-License-Identifier: Apache-2.0
"""The reconstructor that asks by conversations, on real servers."""

import os
import re
import shutil

from tests.functional.clusters import wait_for
from tests.functional.fragments_case import (
    OURS,
    ROUNDS,
    STOCK,
    FragmentsCase,
    with_cluster,
)
from tools.cluster import Policy

setUpModule, tearDownModule = with_cluster(
    Policy('ec', 1, 6, part_power=4, parity=2), nodes=4, devices=2)
TOLD = re.compile(r'and (\d+) messages: (\d+) of (\d+) partitions were equal')


class FilesCase(FragmentsCase):
    """Fragments that are files, and what the reconstructors log."""

    daemon = OURS

    def wait_until_served(self):
        for node in self.cluster.spec.node_numbers():
            wait_for(lambda: self.cluster.pids(node, 'replication-server'),
                     'node %d serves' % node, 120)

    def directory(self, name, device):
        partition, _, object_hash = self.place(name)
        return os.path.join(self.objects.objects_path(device), str(partition),
                            object_hash[-3:], object_hash)

    def fragments(self, name, device):
        path = self.directory(name, device)
        return os.listdir(path) if os.path.isdir(path) else []

    def told(self, log):
        """Return messages, equal partitions, and all of them, of a pass."""
        return [int(number) for number in TOLD.search(log).groups()]

    def assert_settled(self):
        """In a further pass all is equal, for a message a node."""
        for _ in range(ROUNDS):
            passes = [self.told(log) for log in self.reconstruct()]
            if all(equal == total for _, equal, total in passes):
                break
        for messages, equal, total in passes:
            self.assertEqual(total, equal)
            self.assertGreater(total, 0)
            # One where the set is known; else it is sent as well.
            self.assertLessEqual(messages, 2 * self.cluster.spec.nodes)


class TestRepair(FilesCase):

    def test_a_stable_pass_costs_messages_to_nodes(self):
        self.put()
        self.wait_for_all()
        self.assert_settled()

    def test_lost_fragments_and_suffixes_are_rebuilt(self):
        self.put()
        self.assert_put_right()
        self.assert_settled()
        for number, name in enumerate(self.bodies):
            device = self.place(name)[1][number % 6]['device']
            directory = self.directory(name, device)
            suffix = os.path.dirname(directory)
            # An object, a suffix, a partition; what is lost by a disk is
            # seen when its suffix is hashed anew.
            lost = [directory, suffix, os.path.dirname(suffix)][number % 3]
            shutil.rmtree(lost, ignore_errors=True)
            hashes = os.path.join(os.path.dirname(suffix), 'hashes.pkl')
            if os.path.exists(hashes):
                os.unlink(hashes)
        self.assertNotEqual([], self.wrong())
        self.assert_put_right()
        self.assert_settled()

    def test_what_was_written_while_a_node_was_down_comes_home(self):
        self.write_without_node_3()
        self.assert_put_right()
        self.assert_settled()


class TestZMixed(FilesCase):
    """The last one: a node of stock Swift."""

    def test_a_stock_node_is_dealt_with_as_by_stock_swift(self):
        self.cluster.kill(2)
        for server in ('object-server', 'replication-server'):
            path = self.cluster.conf_path(server, 2)
            with open(path) as conf:
                text = conf.read()
            with open(path, 'w') as conf:
                conf.write(re.sub(
                    'reconstructor_class = .*', '', text.replace(
                        'egg:swift-lightsync#object', 'egg:swift#object')))
        self.put()
        self.cluster.start(2)
        self.wait_until_served()
        self.assertNotEqual([], self.wrong())
        for _ in range(ROUNDS):
            self.reconstruct([1, 3, 4])
            self.reconstruct([2], STOCK)
            if not self.wrong():
                break
        self.assertEqual([], self.wrong())
        messages, equal, total = self.told(self.reconstruct([1])[0])
        self.assertLess(equal, total)
