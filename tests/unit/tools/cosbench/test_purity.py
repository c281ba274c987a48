# SPDX-License-Identifier: Apache-2.0
"""The workload model computes, and does nothing else."""

import unittest
from unittest import mock

from tests.unit import test_architecture

CORE = ['tools.cosbench.' + name for name in (
    'errors', 'config', 'division', 'selectors', 'model', 'names',
    'headers', 'operations', 'elements', 'pacing', 'build', 'engine.mission',
    'engine.window', 'engine.draws', 'engine.states', 'stepping',
    'controller.plan', 'controller.states', 'adaptors.errors',
    'adaptors.http1.response')]


class TestPurity(unittest.TestCase):

    def check(self, rule):
        with mock.patch.object(test_architecture, 'CORE', CORE):
            test_architecture.TestArchitecture(rule).debug()

    def test_the_core_imports_what_computes_and_the_core_only(self):
        self.check('test_the_core_imports_what_computes_and_the_core_only')

    def test_the_core_calls_nothing_that_reads_or_writes(self):
        self.check('test_the_core_calls_nothing_that_reads_or_writes')


if __name__ == '__main__':
    unittest.main()
