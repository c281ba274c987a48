# SPDX-License-Identifier: Apache-2.0
"""PROAR §IV-A: the primary role hash ring."""

import random
import unittest
from collections import Counter
from hashlib import md5

from swift_lightsync.proar.core import role_ring

OBJECTS = 30000


def path_hashes(count, partition=None):
    """Path hashes of objects, all of one partition if it is given."""
    for number in range(count):
        digest = md5(b'/a/c/%d' % number, usedforsecurity=False).digest()
        yield digest if partition is None else partition + digest[4:]


def sigmas(counts, expected):
    """How far counts are from what they should be, in sigmas of sampling."""
    total = sum(expected)
    return max(abs(count - mean) / (mean * (1 - mean / total)) ** 0.5
               for count, mean in zip(counts, expected))


class TestPrimaryRoleHashRing(unittest.TestCase):

    def test_algorithm_1_points_are_even(self):
        # ULONG_MAX of 32 bits, divided by the number of replicas.
        for replicas in range(1, 12):
            unit = 0xffffffff // replicas
            self.assertEqual([i * unit for i in range(replicas)],
                             role_ring.points(replicas))

    def test_iv_a_an_object_belongs_to_the_point_before_it(self):
        # "If HashArray[i] < object1.id < HashArray[i+1], the primary role OSD
        # of object1 is osd.i."
        array = role_ring.points(3) + [1 << 32]
        for path_hash in path_hashes(1000):
            object_id = int.from_bytes(path_hash[4:8], 'big')
            slot = role_ring.slot_of(path_hash, 3)
            self.assertLessEqual(array[slot], object_id)
            self.assertLess(object_id, array[slot + 1])

    def test_iv_a_all_devices_of_a_partition_play_the_primary_role(self):
        # "The workload of the primary role OSD and replication role OSDs
        # [is] more balanced": within what chance does, in one partition.
        for replicas in 2, 3, 5:
            counts = Counter(role_ring.slot_of(path_hash, replicas)
                             for path_hash in path_hashes(OBJECTS, b'part'))
            self.assertEqual(set(range(replicas)), set(counts))
            self.assertLess(sigmas(
                counts.values(), [OBJECTS / replicas] * replicas), 4)

    def test_iv_a_roles_are_balanced_over_devices_of_many_partitions(self):
        chance = random.Random(1)
        devices = range(12)
        rows = {number: chance.sample(devices, 3) for number in range(64)}
        counts, expected = Counter(), Counter()
        for path_hash in path_hashes(OBJECTS):
            row = rows[path_hash[0] >> 2]
            counts[role_ring.roles(
                row, role_ring.slot_of(path_hash, 3))[0]] += 1
            expected.update({device: 1 / 3 for device in row})
        self.assertLess(sigmas([counts[device] for device in devices],
                               [expected[device] for device in devices]), 4)

    def test_iv_a_a_backup_takes_the_place_of_the_one_that_is_down(self):
        # "PROARHash can hash the backup OSD to the same value": nobody else's
        # objects move.
        for path_hash in path_hashes(1000):
            slot = role_ring.slot_of(path_hash, 3)
            before = role_ring.roles(['a', 'b', 'c'], slot)
            after = role_ring.roles(['a', 'backup', 'c'], slot)
            self.assertEqual(
                [{'b': 'backup'}.get(role, role) for role in before], after)
