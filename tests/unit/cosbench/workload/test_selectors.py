# SPDX-License-Identifier: Apache-2.0
"""selectors: which numbers, how often, for whom."""

import random
import unittest
from collections import Counter
from itertools import count
from math import sqrt

from hypothesis import given
from hypothesis import strategies as st

from cosbench.engine.core.choices import disjoint, walk
from cosbench.errors import ConfigError
from cosbench.workload.division import Share
from cosbench.workload.selector_text import parse, parse_sizes
from cosbench.workload.selectors import (
    OPEN_END,
    Bucket,
    Constant,
    Cyclic,
    Histogram,
    Hotspot,
    Sequential,
    Uniform,
    Zipf,
)
from tests.unit.cosbench.chances import ChanceCase, chi_square

DRAWS = 20000


def selector(text):
    return parse('objects', text)


def drawn(text, number, seed=1, share=None, shared=None):
    draw = selector(text).picker(random.Random(seed),
                                 count() if shared is None else shared, share)
    return [draw() for _ in range(number)]


class TestForms(unittest.TestCase):

    def test_each_form_has_its_selector(self):
        for text, expected in (
                ('c(0)', Constant(0)), ('c(64)', Constant(64)),
                ('u(1,32)', Uniform(1, 32)), ('u(5)', Uniform(5, OPEN_END)),
                ('r(1,32)', Cyclic(1, 32)), ('7-9', Cyclic(7, 9)),
                ('s(3,3)', Sequential(3, 3)),
                (' u(1,2) ', Uniform(1, 2)),
                ('zipf(3,9)', Zipf(3, 9, 0.99)),
                ('zipf(1,2,1.5)', Zipf(1, 2, 1.5)),
                ('hot(1,100,20,80)', Hotspot(1, 100, 20, 80)),
                ('h(1|64|10,512||1)', Histogram((
                    Bucket(1, 64, 10), Bucket(512, OPEN_END, 1))))):
            self.assertEqual(expected, selector(text), text)

    def test_what_is_no_selector_is_refused_by_name_and_value(self):
        for text in ('', 'u', 'u()', 'u(0,5)', 'u(5,1)', 'u( 1,2)',
                     'u(1, 2)', 'u(1,2,3)', 'u(1,2', 'x(1,2)', 'r(1)',
                     's(4)', 'c(1,10)', 'c()', 'c(-1)', '0-3', '3-1', '1-',
                     'h()', 'h(1|2)', 'h(1|2|0)', 'h(3|2|1)', 'h(0|2|1)',
                     'h(1|2|1,)', 'h(1|2|3',
                     'h(%s)' % ','.join(['1|2|1'] * 1001), 'u(1,2)KB',
                     'u(\u0661,9)', 'zipf(1)', 'zipf(2,1)', 'zipf(0,9)',
                     'zipf(1,9,0)', 'zipf(1,9,10.1)', 'zipf(1,9,-1)',
                     'zipf(1,9,)', 'hot(1,9)', 'hot(1,9,0,80)',
                     'hot(1,9,20,0)', 'hot(1,9,20,101)', 'hot(9,1,20,80)',
                     'u(1,%s)' % ('9' * 16), 'c(%s)' % ('9' * 5000)):
            with self.assertRaisesRegex(ConfigError,
                                        r"^objects='.*must be c\(n\)"):
                selector(text)

    @given(st.text(st.sampled_from('cursh()|,-0123456789 KB.zipfot')))
    def test_any_text_is_a_selector_or_refused(self, text):
        try:
            found = parse_sizes('sizes', text)
        except ConfigError:
            return
        self.assertGreaterEqual(found.least, 0)

    @given(st.integers(1, 10 ** 14), st.integers(0, 10 ** 14),
           st.sampled_from('urs'))
    def test_bounds_are_what_is_written(self, lower, more, kind):
        found = selector('%s(%d,%d)' % (kind, lower, lower + more))
        self.assertEqual((lower, lower + more), (found.least, found.most))


class TestSizes(unittest.TestCase):

    def test_units_are_decimal_and_binary(self):
        for text, expected in (
                ('c(64)B', 64), ('c(64)KB', 64000), ('c(64) MB', 64 * 10 ** 6),
                ('c(5)GB', 5 * 10 ** 9), ('c(64)KiB', 65536),
                ('c(1)MiB', 2 ** 20), ('c(1)GiB', 2 ** 30), ('c(0)B', 0)):
            draw = parse_sizes('sizes', text).picker(random.Random(), count())
            self.assertEqual(expected, draw(), text)

    def test_a_size_without_a_known_unit_is_refused(self):
        for text in ('c(64)', 'c(64)kb', 'c(64)kB', 'c(64)TB', 'c(64)KBs',
                     '64KB', 'KB', ''):
            with self.assertRaisesRegex(ConfigError, "^sizes='"):
                parse_sizes('sizes', text)


class TestDistributions(ChanceCase):

    def test_the_measure_refuses_what_does_not_fit(self):
        for bad in ([1] * 5000 + [2] * 5400, [1, 1, 1, 2] * 100):
            statistic, bound = chi_square(Counter(bad), {1: .5, 2: .5})
            self.assertGreater(statistic, bound)

    def test_uniform_draws_each_equally_often(self):
        self.assertEqual({8}, set(drawn('c(8)', 100)))
        for seed in range(5):
            self.assertFits(drawn('u(11,40)', DRAWS, seed),
                            dict.fromkeys(range(11, 41), 1 / 30))

    def test_uniform_under_division_draws_from_the_part(self):
        for index, part in enumerate((range(1, 5), range(5, 8), range(8, 11))):
            self.assertFits(
                drawn('u(1,10)', DRAWS, index, Share(index, 3)),
                dict.fromkeys(part, 1 / len(part)))

    def test_a_histogram_draws_buckets_by_weight_then_uniformly(self):
        # Overlapping buckets, one of weight 0, in no order.
        text = 'h(20|21|3,1|2|2,10|10|2,5|9|0,20|22|3)'
        expected = {1: .1, 2: .1, 10: .2, 20: .25, 21: .25, 22: .1}
        for seed in range(5):
            self.assertFits(drawn(text, DRAWS, seed), expected)
        # COSBench drew the first one once in two.
        self.assertFits(drawn('h(1|1|1,2|2|1,3|3|1,4|4|1)', DRAWS),
                        dict.fromkeys(range(1, 5), .25))
        # It is divided bucket by bucket.
        found = drawn('h(1|10|1,11|30|3)', DRAWS, 2, Share(1, 10))
        self.assertFits(found, {2: .25, 13: .375, 14: .375})

    def test_zipf_draws_each_rank_by_its_weight(self):
        for seed, exponent in enumerate((0.5, 0.99, 1, 1.2, 3)):
            weights = {rank: rank ** -exponent for rank in range(1, 41)}
            self.assertFits(
                drawn('zipf(11,50,%g)' % exponent, DRAWS, seed),
                {rank + 10: weight / sum(weights.values())
                 for rank, weight in weights.items()})
        self.assertEqual({5}, set(drawn('zipf(5,5)', 100)))

    def test_zipf_over_very_many_costs_and_stays_within_its_bounds(self):
        most = 10 ** 15 - 1
        found = drawn('zipf(1,%d,1.1)' % most, DRAWS)
        self.assertTrue(1 <= min(found) <= max(found) <= most)
        # zeta(1.1) is 10.58, of which 10 ** 15 ranks lack little.
        self.assertAlmostEqual(DRAWS / 10.27, found.count(1),
                               delta=4 * sqrt(DRAWS / 10))

    def test_zipf_and_hot_under_division_draw_from_the_part(self):
        self.assertFits(drawn('zipf(1,6,1)', DRAWS, 1, Share(1, 2)),
                        {4: 6 / 11, 5: 3 / 11, 6: 2 / 11})
        self.assertFits(drawn('hot(1,8,50,90)', DRAWS, 1, Share(1, 2)),
                        {5: .45, 6: .45, 7: .05, 8: .05})

    def test_hot_gives_the_first_ones_their_share_of_the_picks(self):
        self.assertFits(drawn('hot(1,10,20,80)', DRAWS), {
            number: .4 if number < 3 else .025 for number in range(1, 11)})
        # One is hot at least, and one is not.
        self.assertFits(drawn('hot(1,3,1,90)', DRAWS),
                        {1: .9, 2: .05, 3: .05})
        self.assertFits(drawn('hot(1,2,99,90)', DRAWS), {1: .9, 2: .1})
        self.assertEqual({4}, set(drawn('hot(4,4,20,80)', 100)))

    def test_an_open_end_is_reached(self):
        found = drawn('u(1)', DRAWS)
        self.assertGreater(max(found), OPEN_END * .99)
        self.assertLessEqual(max(found), OPEN_END)

    @given(st.sampled_from([
        'u(1,9)', 'r(1,9)', 'h(1|5|1,7||2)', 's(2,4)', 'zipf(1,9)',
        'hot(1,9,20,80)']),
           st.integers())
    def test_a_seed_repeats_the_numbers(self, text, seed):
        self.assertEqual(drawn(text, 20, seed), drawn(text, 20, seed))


class TestCursors(unittest.TestCase):

    def test_who_goes_on_where(self):
        """Cycles start over; workers share what is not divided."""
        shares = [Share(index, 2) for index in (0, 1)]
        for draws, expected, left in (
                ([('r(3,5)', 5, None)], [[3, 4, 5, 3, 4]], 5),
                ([('r(1,4)', 2, None), ('1-4', 3, None)],
                 [[1, 2], [3, 4, 1]], 5),
                ([('r(1,5)', 4, share) for share in shares],
                 [[1, 2, 3, 1], [4, 5, 4, 5]], 0),
                ([('s(1,3)', 2, share) for share in shares],
                 [[1, 2], [3, 1]], 4)):
            shared = count()
            self.assertEqual(expected, [
                drawn(text, number, share=share, shared=shared)
                for text, number, share in draws])
            self.assertEqual(left, next(shared))


class TestWalking(unittest.TestCase):

    def test_each_kind_can_be_walked(self):
        for text, expected in (
                ('c(7)', {7}), ('r(2,4)', {2, 3, 4}), ('1-2', {1, 2}),
                ('u(2,3)', {2, 3}), ('s(5,6)', {5, 6}),
                ('h(8|9|1,1|2|5,2|3|1)', {1, 2, 3, 8, 9})):
            parts = walk(selector(text), Share(0, 1))
            self.assertEqual(sorted(expected),
                             [n for part in parts for n in part], text)

    @given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 20)),
                    min_size=1, max_size=5), st.integers(1, 30))
    def test_each_number_is_walked_once_by_one_worker(self, buckets, workers):
        text = 'h(%s)' % ','.join('%d|%d|1' % (lower, lower + more)
                                  for lower, more in buckets)
        walked = [number for index in range(workers)
                  for part in walk(selector(text), Share(index, workers))
                  for number in part]
        self.assertEqual(
            sorted(set().union(*selector(text).spans())), walked)

    def test_neighbours_merge(self):
        self.assertEqual((range(1, 9),), disjoint(
            [range(4, 9), range(1, 4), range(2, 3)]))
