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
