# SPDX-License-Identifier: Apache-2.0
"""What tests of batches share: three nodes with two devices each."""

import contextlib
import os
from unittest import mock

from swift.common import storage_policy
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.obj.diskfile import get_part_path

from swift_lightsync.sync.core import replica_ring
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.fixtures import node, ring_of_parts

PARTS = 64
#: The partitions with an object in them.
FULL = range(0, PARTS, 9)
STATS = ('attempted', 'failure', 'hashmatch', 'remove', 'rsync', 'success',
         'suffix_count', 'suffix_hash', 'suffix_sync')


class BatchTestCase(ClusterTestCase):
    """Three nodes with two devices each, two policies."""

    names = ('sda', 'sdb')
    hosts = 3
    replicas = 3
    # A partition's turn for a full exchange would come at random.
    daemon_options = {'full_exchange_interval': '1e9'}

    def setUp(self):
        super().setUp()
        self.policies = [self.policy, StoragePolicy(1, 'one')]
        self.enterContext(mock.patch.object(
            storage_policy, '_POLICIES',
            StoragePolicyCollection(self.policies)))
        self.start(self.hosts)
        self.spread()

    def spread(self):
        """Devices and partitions, evenly; device i is on node i mod 3."""
        self.disks = []
        for number in range(len(self.names) * self.hosts):
            host = self.ring_nodes[number % self.hosts]
            device = self.names[number // self.hosts]
            self.disks.append(node(
                number, host['replication_port'], device, host['ip']))
            os.makedirs(os.path.join(
                self.nodes[number % self.hosts].devices_dir, device),
                exist_ok=True)
        # Each device has neighbours on all other nodes.
        self.parts = [[(part + row * (1 + part // 6 % (self.hosts - 1)))
                       % len(self.disks) for row in range(self.replicas)]
                      for part in range(PARTS)]
        ring = ring_of_parts(self.root, self.disks, self.parts)
        for policy in self.policies:
            policy.object_ring = ring

    def fill(self, policies=None, rows=None):
        """Make all partitions, with an object in some of them."""
        for policy in policies or self.policies:
            for part in range(PARTS):
                for row in rows or range(self.replicas):
                    os.makedirs(self.path(part, row, policy))
                    if part in FULL:
                        self.put_one('o', part, row, policy)

    def put_one(self, name, part, row, policy=None):
        number = self.parts[part][row]
        self.put(self.nodes[number % self.hosts].disk,
                 self.disks[number]['device'], name, partition=part,
                 policy=policy)

    def path(self, part, row=0, policy=None):
        number = self.parts[part][row]
        return get_part_path(
            os.path.join(self.nodes[number % self.hosts].devices_dir,
                         self.disks[number]['device']),
            policy or self.policy, part)

    def row_of(self, part, host=0):
        return [number % self.hosts for number
                in self.parts[part]].index(host)

    def suffixes(self, part, row):
        return {name for name in os.listdir(self.path(part, row))
                if len(name) == 3}

    def pairs(self, host=0, parts=range(PARTS)):
        """The pairs of a device of a node and its clockwise neighbours."""
        return set(self.first_neighbours(host, parts))

    def held(self, host=0):
        """How many partitions of a policy a node has."""
        return sum(number % self.hosts == host
                   for part in self.parts for number in part)

    def one_pass(self, number=0, daemon=None):
        self.requests()
        daemon = daemon or self.daemons[number]
        self.run_pass(number, daemon)
        total = daemon.total_stats
        return {name: getattr(total, name) for name in STATS}

    @staticmethod
    @contextlib.contextmanager
    def asking(daemon):
        """The roots of each message."""
        found, genuine = [], daemon.neighbours.client.ask_shared

        def ask(sender, node, roots, hand_offs):
            found.append(roots)
            return genuine(sender, node, roots, hand_offs)

        with mock.patch.object(daemon.neighbours.client, 'ask_shared', ask):
            yield found

    def sent(self, verb='LIGHTSYNC'):
        return sum(counts.get(verb, 0) for counts in self.requests())

    def first_neighbours(self, host=0, parts=range(PARTS)):
        """Give each device of a node with its clockwise neighbours."""
        for part in parts:
            rows = [self.disks[number] for number in self.parts[part]]
            for here in self.parts[part]:
                if here % self.hosts == host:
                    yield here, replica_ring.clockwise(
                        rows, part, here)[0]['id']
