# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import unittest


class TestMemory(unittest.TestCase):

    def test_it_prints_what_each_replicator_held_in_each_pass(self):
        lines = subprocess.check_output(
            [sys.executable, '-m', 'tools.benchmarks.sync_memory',
             '--partitions', '16'], timeout=300).splitlines()
        found = [json.loads(line) for line in lines]
        self.assertEqual(['stock', 'lightsync'],
                         [each['replicator'] for each in found])
        for each in found:
            self.assertEqual(3, len(each['most']))
            for most, held in zip(each['most'], each['held']):
                self.assertGreaterEqual(most, held)
                self.assertGreater(held, 1)
