# SPDX-License-Identifier: Apache-2.0
"""What a run of tests notes of those that failed: a real run."""

import os
import subprocess
import sys
import unittest
from tempfile import TemporaryDirectory

TESTS = """
import unittest


class TestSubtests(unittest.TestCase):

    def test_one_fails(self):
        for value in 1, 2, 3:
            with self.subTest(value):
                self.assertNotEqual(2, value)

    def test_passes(self):
        pass
"""


class TestLastFailed(unittest.TestCase):

    def run_tests(self, directory, *arguments):
        env = dict(os.environ, PYTHONPATH=os.getcwd(), TMPDIR=directory)
        return subprocess.run(
            [sys.executable, '-m', 'pytest', '-v', '-p', 'tests.conftest',
             *arguments, 'test_subtests.py'],
            cwd=directory, env=env, capture_output=True, text=True).stdout

    def test_a_test_with_a_failed_subtest_is_run_again(self):
        with TemporaryDirectory() as directory:
            with open(os.path.join(directory, 'test_subtests.py'), 'w') as out:
                out.write(TESTS)
            self.assertIn('test_one_fails',
                          self.run_tests(directory, '-n', '2'))
            again = self.run_tests(
                directory, '--last-failed', '--last-failed-no-failures',
                'none')
        self.assertIn('1 deselected', again)
        self.assertIn('SUBFAILED[2]', again)


if __name__ == '__main__':
    unittest.main()
