# SPDX-License-Identifier: Apache-2.0
"""The gate fails a run for each thing that differs from the baseline."""

import re
import unittest
from unittest import mock

from tests.upstream import gate, runner, subject
from tools import ToolError

NAME = 'test/unit/obj/test_x.py'


def results(passed=0, failed=0, skipped=0, excluded=()):
    return gate.Results({
        '%s::%s%d' % (NAME, outcome, index): outcome
        for outcome, number in (('passed', passed), ('failed', failed),
                                ('skipped', skipped))
        for index in range(number)}, list(excluded))


#: What a file of 5 tests that pass and 2 that skip with stock Swift gives,
#: the test that is excluded, the selection, and what is wrong.
CASES = {
    'the counts of stock Swift': (results(5, skipped=2), None, NAME, None),
    'a machine that skips less': (results(7), None, NAME, None),
    'a failure': (results(5, failed=1, skipped=2), None, NAME,
                  '::failed0 failed'),
    'a skip too many': (results(5, skipped=3), None, NAME,
                        ': 3 skipped, expected at most 2'),
    'a test that did not run': (results(4, skipped=2), None, NAME,
                                ': 4 passed, expected 5'),
    'a file that gave nothing': (results(), None, 'test/unit',
                                 ': 0 passed, expected 5'),
    'a file that was not selected': (results(), None, 'test/unit/ob', None),
    'an exclusion': (results(4, skipped=2, excluded=[NAME + '::left_out']),
                     NAME + '::left_out', NAME, None),
    'an exclusion that names no test': (
        results(5, skipped=2), NAME + '::gone', NAME,
        '::gone is excluded, but there is no such test'),
}


class TestViolations(unittest.TestCase):
    def test_what_differs_from_stock_swift_is_wrong_but_fewer_skips(self):
        for name, (got, excluded, selection, wrong) in CASES.items():
            with self.subTest(name):
                self.assertEqual([NAME + wrong] if wrong else [],
                                 gate.violations(
                    got, {NAME: gate.Counts(5, 2)},
                    {excluded: 'why'} if excluded else {}, (selection,)))

    def test_a_file_without_a_baseline_is_wrong(self):
        found = gate.violations(results(5), {}, {}, (NAME,))
        self.assertEqual([NAME + ' has no baseline: record one'], found)


class TestDataFiles(unittest.TestCase):
    def exclusions(self):
        for section in gate.exclusion_sections():
            for test, reason in gate.read_exclusions(section).items():
                yield section, test, reason

    def test_every_exclusion_is_of_a_subject_and_a_known_file(self):
        for section, test, _ in self.exclusions():
            name, _, kind = section.partition(' ')
            self.assertIn(name, subject.SUBJECTS)
            self.assertIn(test.partition('::')[0], gate.read_expected(kind))

    def test_what_another_subject_holds_is_run_with_it(self):
        for section, test, reason in self.exclusions():
            held = re.match('held by (.*?):', reason)
            if held:
                other = subject.load(held[1])
                self.assertIn(test.partition('::')[0], [
                    path for suite in other.suites
                    for path in runner.SUITES['unit'][suite]])
                self.assertNotIn(test, gate.read_exclusions(
                    section.replace(section.split()[0], held[1], 1)))

    def test_an_exclusion_without_a_reason_is_an_error(self):
        with mock.patch.object(gate, '_section', return_value={'a': ' '}):
            with self.assertRaisesRegex(ToolError, 'a has no reason'):
                gate.read_exclusions('lightsync unit')

    def test_a_baseline_that_is_not_two_numbers_is_an_error(self):
        for value in ('', '5', '5 2 1', 'five two'):
            with mock.patch.object(gate, '_section',
                                   return_value={NAME: value}):
                with self.assertRaisesRegex(ToolError, 'two numbers'):
                    gate.read_expected('unit')

    def test_a_failed_run_is_never_recorded(self):
        with mock.patch.object(gate, 'EXPECTED', '/nonexistent/expected'):
            with self.assertRaisesRegex(ToolError, '1 tests'):
                gate.record('unit', results(5, failed=1), '2.38.3')
