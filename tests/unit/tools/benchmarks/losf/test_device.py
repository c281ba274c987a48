# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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
