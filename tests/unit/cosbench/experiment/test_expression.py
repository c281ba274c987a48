# SPDX-License-Identifier: Apache-2.0
"""Conditions: what they mean, and which texts are none."""

import unittest

from cosbench.errors import ConfigError
from cosbench.experiment.core.condition import (
    Comparison,
    Logic,
    Named,
    Number,
    Sum,
)
from cosbench.experiment.core.expression import parse


class TestConditions(unittest.TestCase):

    def test_base_is_the_same_figure_of_the_base(self):
        p99 = Named('p99', 'read')
        self.assertEqual(
            Comparison('>', p99, Sum('*', Number(1.05), Named(
                'p99', 'read', True))),
            parse(' p99( read ) > 1.05 * base ').truth)
        self.assertEqual(parse('p99(read)>base').truth,
                         parse('p99(read) > base . p99(read)').truth)

    def test_signs_bind_as_in_arithmetic(self):
        for text, same in (
                ('mean()+2*3 > 1', 'mean()+(2*3) > 1'),
                ('8/2/2 < mean()', '(8/2)/2 < mean()'),
                ('8-2-2 < mean()', '(8-2)-2 < mean()'),
                ('-mean()*2 < 1', '(-mean())*2 < 1'),
                ('mean()>1 or p50()>1 and p99()>1',
                 'mean()>1 or (p50()>1 and p99()>1)'),
                ('not mean()>1 and p50()>1', '(not mean()>1) and p50()>1')):
            self.assertEqual(parse(same).truth, parse(text).truth)
        self.assertIsInstance(parse('(mean() + 1) * 2 > 3').truth, Comparison)
        self.assertIsInstance(parse('not (mean() > 3)').truth, Logic)

    def test_numbers_have_units(self):
        for text, value in (('20', 20), ('20ms', 20), ('1.5 s', 1500),
                            ('50us', .05), ('2%', .02), ('1e3', 1000),
                            ('3MB', 3e6), ('1KiB', 1024), ('.5', .5)):
            self.assertAlmostEqual(
                value, parse('mean() > ' + text).truth.right.value)

    def test_an_operation_may_have_any_name_but_brackets(self):
        self.assertEqual(Named('p50', 'main/a b-c.d/list files#2'), parse(
            'p50(main/a b-c.d/list files#2) < 1').truth.left)

    def test_what_is_no_condition_is_refused_at_its_place(self):
        for text, place, words in (
                ('', 1, 'the end'), ('p99(read)', 10, '<='),
                ('p99(read) > ', 13, 'the end'),
                ('p98(read) > 1', 1, 'p999'), ('1 > 2', 1, 'a figure'),
                ('p99(read) > 1 2', 15, 'and, or'),
                ('p99(read) > 5 lightyears', 15, 'KiB'),
                ('(p99(read) > 1', 15, r'must be \)'),
                ('p99(a) + p50(b) > base', 1, r'base\.p99'),
                ('base > 1', 1, 'one figure'),
                ('__import__("os") > 1', 1, 'a number'),
                ('p99(read) = 1', 11, 'a number'),
                ('mean() > 1 and', 15, 'the end'),
                ('(' * 40 + 'mean() > 1' + ')' * 40, 31, 'in each other'),
                ('-' * 900 + 'mean() > 1', 30, 'in each other')):
            with self.assertRaisesRegex(ConfigError, words) as caught:
                parse(text)
            self.assertIn('at character %d: ' % place, str(caught.exception))
        with self.assertRaisesRegex(ConfigError, 'at most 1000'):
            parse('x' * 10 ** 6)
