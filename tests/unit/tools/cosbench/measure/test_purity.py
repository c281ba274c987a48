# SPDX-License-Identifier: Apache-2.0
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
