# SPDX-License-Identifier: Apache-2.0
"""What is counted is what is there."""

import os
import tempfile
import unittest

from tools.demonstration.footprint import of_device


class TestOfDevice(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.device = directory.name

    def write(self, *path, size=0):
        path = os.path.join(self.device, *path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as new:
            new.write(b'x' * size)
        return path

    def entries(self, policy):
        found = of_device(self.device, policy)
        return found.objects.entries, found.fixed.entries

    def test_an_object_in_files_costs_a_file_and_two_directories(self):
        self.write('objects', '7', 'abc', 'f' * 32, '1.data')
        self.assertEqual((3, 1), self.entries(0))

    def test_files_of_partitions_do_not_grow_with_objects(self):
        for name in ('hashes.pkl', 'hashes.invalid', '.lock'):
            self.write('objects', '7', name)
        self.write('objects', 'auditor_status_ALL.json')
        self.assertEqual((0, 5), self.entries(0))

    def test_volumes_and_index_grow_with_objects_and_nothing_else(self):
        self.write('losf-1', 'volumes', 'v0000000001')
        self.write('losf-1', 'index', 'CURRENT')
        self.write('losf-1', 'index', '000001.ldb')
        self.write('losf-1', 'index.lock')
        self.assertEqual((3, 3), self.entries(1))

    def test_a_policy_costs_nothing_for_the_objects_of_another(self):
        self.write('objects', '7', 'abc', 'f' * 32, '1.data')
        self.write('losf-1', 'volumes', 'v0000000001')
        self.assertEqual((0, 0), self.entries(2))

    def test_space_is_what_is_allocated(self):
        path = self.write('losf-1', 'volumes', 'v0000000001', size=100000)
        os.truncate(path, 2 ** 30)
        found = of_device(self.device, 1).objects.allocated
        self.assertEqual(512 * os.stat(path).st_blocks, found)
        self.assertLess(found, 2 ** 29)
