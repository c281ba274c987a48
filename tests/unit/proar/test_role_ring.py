# SPDX-License-Identifier: Apache-2.0
"""role_ring: which of a partition's devices has the primary role."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.proar.core.role_ring import points, roles, slot_of, unit

HASHES = st.binary(min_size=16, max_size=16)


class TestRoleRing(unittest.TestCase):

    def test_the_example_of_the_document(self):
        path_hash = bytes.fromhex('d41d8cd98f00b204e9800998ecf8427e')
        self.assertEqual(1431655765, unit(3))
        self.assertEqual(1, slot_of(path_hash, 3))
        self.assertEqual(['b', 'c', 'a'], roles(['a', 'b', 'c'], 1))

    @given(HASHES, st.integers(1, 20))
    def test_a_slot_is_the_last_point_that_is_not_behind_the_object(
            self, path_hash, slots):
        point = int.from_bytes(path_hash[4:8], 'big')
        self.assertEqual(
            max(index for index, start in enumerate(points(slots))
                if start <= point), slot_of(path_hash, slots))

    def test_the_last_slot_has_what_the_division_leaves(self):
        for slots in range(1, 20):
            self.assertEqual(slots - 1, slot_of(b'\xff' * 16, slots))
            self.assertEqual(0, slot_of(bytes(16), slots))

    @given(HASHES, HASHES)
    def test_what_chose_the_partition_does_not_choose_the_slot(
            self, one, other):
        self.assertEqual(slot_of(one, 3),
                         slot_of(other[:4] + one[4:8] + other[8:], 3))

    @given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
    def test_each_device_has_one_role_and_the_slots_is_the_first(
            self, devices, data):
        slot = data.draw(st.integers(0, len(devices) - 1))
        found = roles(devices, slot)
        self.assertEqual(devices[slot], found[0])
        self.assertEqual(sorted(set(devices)), sorted(found))

    def test_what_has_no_slot_is_an_error_that_says_why(self):
        with self.assertRaisesRegex(ValueError, 'slots: 0, '):
            slot_of(bytes(16), 0)
        with self.assertRaisesRegex(ValueError, 'path hash: 15 bytes'):
            slot_of(bytes(15), 3)
