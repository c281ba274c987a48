# SPDX-License-Identifier: Apache-2.0
"""Conditions: whether they hold, do not, or are open."""

import unittest

from cosbench.errors import ConfigError
from cosbench.experiment.core.expression import parse
from cosbench.experiment.core.judgement import (
    Answer,
    check,
    judge,
    operation_of,
)
from tests.unit.cosbench.experiment.simulated import rounds, run

HOLDS, NOT, OPEN = Answer.HOLDS, Answer.NOT, Answer.OPEN
#: 10% slower, whatever the round.
SLOWER = rounds((5, 5.5), (6, 6.61), (7, 7.69), (5, 5.51))
NOISY = rounds((5, 7), (6, 5), (7, 9), (5, 4))


def answer(text, runs, name='other'):
    found, = [each for each in judge([parse(text)], runs, 'base', .95)
              if each.configuration == name]
    return found.answer


class TestAnswers(unittest.TestCase):

    def test_an_interval_on_one_side_decides(self):
        for text, right in (
                ('mean(read) > base', HOLDS), ('mean(read) < base', NOT),
                ('mean(read) > 1.2 * base', NOT),
                ('mean(read) <= 1.2 * base', HOLDS),
                ('mean(read) - base > 0.2', HOLDS),
                ('mean(read) / base.mean(read) >= 1.05', HOLDS),
                ('mean() > 1s', NOT), ('mean() > 1ms', HOLDS)):
            self.assertEqual(right, answer(text, SLOWER), text)

    def test_runs_that_differ_too_much_decide_nothing(self):
        self.assertEqual(OPEN, answer('mean(read) > base', NOISY))
        self.assertEqual(OPEN, answer('mean(read) > base', rounds((5, 9))))
        self.assertEqual(NOT, answer('mean(read) > 100 * base', NOISY))

    def test_words_join_answers_as_far_as_they_are_known(self):
        holds, fails, open_ = ('mean() > base', 'mean() < base',
                               'mean() > 1.1 * base')
        for text, right in (
                ('%s and %s' % (holds, open_), OPEN),
                ('%s and %s' % (fails, open_), NOT),
                ('%s or %s' % (holds, open_), HOLDS),
                ('%s or %s' % (fails, open_), OPEN),
                ('not %s' % open_, OPEN), ('not %s' % fails, HOLDS),
                ('not (%s or %s)' % (holds, fails), NOT)):
            self.assertEqual(right, answer(text, SLOWER), text)

    def test_failures_of_all_runs_are_counted_together(self):
        runs = {'base': [run(), run(failures=2)],
                'other': [run(failures=1), run(failures=4)]}
        for text, right in (
                ('failures(read) > 4', HOLDS), ('failures(read) > 5', NOT),
                ('failures(read) > 2 * base', HOLDS),
                ('success(read) < 99%', NOT),
                ('success(read) < 99.9%', HOLDS)):
            self.assertEqual(right, answer(text, runs), text)

    def test_a_driver_that_was_the_limit_leaves_it_open(self):
        runs = {'base': SLOWER['base'], 'other': [
            *SLOWER['other'][:3], run(5.51, limits=['driver a used 99%'])]}
        found, = judge([parse('mean(read) > base')], runs, 'base', .95)
        self.assertEqual((OPEN, 'a driver was the limit: driver a used 99%'),
                         (found.answer, found.why))
        self.assertEqual(NOT, answer('failures(read) > 0', runs))

    def test_figures_that_a_run_has_not_leave_it_open(self):
        runs = {'base': [run(), run()], 'other': [run(), run(0.0)]}
        self.assertEqual(OPEN, answer('mean(read) / mean(read) > 1', runs))

    def test_the_base_is_not_compared_with_itself(self):
        conditions = [parse('mean(read) > base'), parse('mean(read) > 1')]
        self.assertEqual(
            [('mean(read) > base', 'other'), ('mean(read) > 1', 'base'),
             ('mean(read) > 1', 'other')],
            [(each.condition, each.configuration)
             for each in judge(conditions, SLOWER, 'base', .95)])

    def test_more_conditions_each_need_to_be_surer(self):
        # About twice as slow, known to within a little less than that.
        runs = rounds((5, 7), (5, 6.2), (5, 6.6), (5, 5.6))
        one = parse('mean(read) > 1.05 * base')
        self.assertEqual(HOLDS, judge([one], runs, 'base', .95)[0].answer)
        self.assertEqual({OPEN}, {each.answer for each in judge(
            [one] * 20, runs, 'base', .95)})


class TestOperations(unittest.TestCase):

    NAMES = ['main/a/read', 'main/b/read', 'main/b/write']

    def test_as_much_of_a_name_as_tells_it_from_others(self):
        for name, right in (('write', 2), ('a/read', 0), ('main/b/read', 1)):
            self.assertEqual(self.NAMES[right],
                             operation_of(name, self.NAMES))
        self.assertEqual('x/y/z', operation_of('', ['x/y/z']))
        for name in ('read', '', 'rite', 'nothing'):
            with self.assertRaisesRegex(ConfigError, 'main/b/write'):
                operation_of(name, self.NAMES)

    def test_a_condition_that_cannot_be_answered_is_refused(self):
        with self.assertRaisesRegex(ConfigError, 'p99.lost. > 1.*lost: must'):
            check([parse('p99(lost) > 1')], self.NAMES, True)
        with self.assertRaisesRegex(ConfigError, 'one configuration only'):
            check([parse('p99(write) > base')], self.NAMES, False)
        check([parse('p99(write) > base')], self.NAMES, True)
