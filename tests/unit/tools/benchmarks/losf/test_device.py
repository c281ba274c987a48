# SPDX-License-Identifier: Apache-2.0
import unittest

from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf.device import BlockStats

#: of a loop device, Linux 6.18
STAT = ('     100        3     2270       28      602        5     8872  '
        '    748        0      772     1182        0        0        0  '
        '      0      600      405\n')


class TestBlockStats(unittest.TestCase):

    def test_it_takes_what_the_kernel_documents(self):
        self.assertEqual(BlockStats(
            reads=100, sectors_read=2270, writes=602, sectors_written=8872,
            flushes=600), BlockStats.parse(STAT))

    def test_a_difference_is_one_of_each_counter(self):
        now = BlockStats.parse(STAT)
        before = BlockStats(90, 2000, 600, 8000, 595)
        self.assertEqual(BlockStats(10, 270, 2, 872, 5), now - before)

    def test_a_kernel_that_does_not_count_flushes_is_refused(self):
        with self.assertRaisesRegex(BenchError, '15 fields.*5.5'):
            BlockStats.parse(' '.join(STAT.split()[:15]))


if __name__ == '__main__':
    unittest.main()
