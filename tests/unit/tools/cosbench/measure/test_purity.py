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
"""What measures computes, and does nothing else."""

import unittest
from unittest import mock

from tests.unit import test_architecture

CORE = ['tools.cosbench.errors'] + ['tools.cosbench.measure.' + name
                                    for name in (
                                        'sample', 'document', 'buckets',
                                        'histogram',
                                        'tally', 'timeline', 'chart',
                                        'summary', 'drivers', 'late',
                                        'result')]
#: Codecs, numbers in less memory, and the library of the histograms.
ALSO_PURE = {'array', 'base64', 'binascii', 'hdrh'}


@mock.patch.object(test_architecture, 'PURE',
                   test_architecture.PURE | ALSO_PURE)
@mock.patch.object(test_architecture, 'CORE', CORE)
class TestPurity(unittest.TestCase):

    def check(self, rule):
        test_architecture.TestArchitecture(rule).debug()

    def test_it_imports_what_computes_only(self):
        self.check('test_the_core_imports_what_computes_and_the_core_only')

    def test_it_calls_nothing_that_reads_or_writes(self):
        self.check('test_the_core_calls_nothing_that_reads_or_writes')


if __name__ == '__main__':
    unittest.main()
