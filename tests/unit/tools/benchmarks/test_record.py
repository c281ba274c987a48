# SPDX-License-Identifier: Apache-2.0
"""Ratios, spreads, tables and JSON of what was measured."""

import json
import os
import tempfile
import unittest

from tools.benchmarks.record import (
    Metric,
    Record,
    Spread,
    cell,
    in_turn,
    lines,
    percentile,
    ratios,
    table,
    write_json,
)

METRICS = [Metric('seconds', 'pass, s', 1)]
RECORDS = [Record(name, 'stable', run, {'seconds': seconds, 'more': {}})
           for name, all_seconds in (('stock', (4.0, 8.0, 5.0)),
                                     ('lightsync', (1.0, 1.0, 5.0)))
           for run, seconds in enumerate(all_seconds, 1)]


class TestSpread(unittest.TestCase):

    def test_it_has_the_median_and_both_ends(self):
        self.assertEqual(Spread(3, 1, 9), Spread.of([9, 1, 3]))

    def test_ratios_are_taken_run_by_run(self):
        self.assertEqual(Spread(0.25, 0.125, 1.0), ratios(
            {1: 1.0, 2: 1.0, 3: 5.0}, {1: 4.0, 2: 8.0, 3: 5.0}))

    def test_a_run_without_a_reference_has_no_ratio(self):
        self.assertEqual(Spread(0.5, 0.5, 0.5),
                         ratios({1: 1.0, 2: 1.0, 3: 7.0}, {1: 2.0, 2: 0}))
        self.assertIsNone(ratios({1: 1.0}, {2: 1.0}))

    def test_percentiles_are_between_the_values(self):
        self.assertEqual(7, percentile([7], 99))
        self.assertEqual(2.98, percentile([1, 2, 3], 99))


class TestTable(unittest.TestCase):

    def rows(self, *args, **kwargs):
        return table(*args, **kwargs).splitlines()

    def test_a_cell_shows_the_spread_unless_there_is_none(self):
        self.assertEqual('2.0 [1.0 - 1,234.5]',
                         cell(Spread(2, 1, 1234.5), 1))
        self.assertEqual('2.0', cell(Spread(2, 2, 2), 1))
        self.assertEqual('-', cell(None, 1))

    def test_each_contestant_has_its_ratio_to_the_reference(self):
        heading, _, stock, ours = self.rows(RECORDS, METRICS, ['stock'])
        self.assertTrue(heading.endswith('/stock'))
        self.assertIn('5.0 [4.0 - 8.0]', stock)
        self.assertTrue(stock.endswith(' -'))
        self.assertIn('1.0 [1.0 - 5.0]', ours)
        self.assertTrue(ours.endswith('0.250 [0.125 - 1.000]'))

    def test_what_one_side_did_not_finish_has_no_ratio(self):
        rows = self.rows(RECORDS[:3] + [Record(
            'lightsync', 'create', 1, {'seconds': 2.0})], METRICS, ['stock'])
        self.assertEqual(4, len(rows))
        self.assertTrue(rows[3].endswith(' -'), rows[3])

    def test_without_the_reference_there_are_no_ratios(self):
        self.assertNotIn('stock', table(RECORDS[3:], METRICS, ['stock']))

    def test_a_ratio_of_one_run_has_its_confidence_interval(self):
        text = table([RECORDS[0], RECORDS[3]], METRICS, ['stock'], {
            ('stable', 'seconds', 'lightsync', 'stock'):
            Spread(0.25, 0.2, 0.3)})
        self.assertIn('0.250 [0.200 - 0.300]', text)

    def test_ratios_that_mean_nothing_are_left_out(self):
        rows = self.rows(RECORDS, [Metric(
            'seconds', 'pass, s', 1, has_ratio=False)], ['stock'])
        self.assertTrue(rows[3].endswith(' -'))

    def test_columns_are_aligned(self):
        text = lines([('a', 'bb', 'c'), ('long', 'b', '1'),
                      ('x', 'y', '100')], left=2)
        self.assertEqual(['a     bb    c', '----  --  ---', 'long  b     1',
                          'x     y   100'], text.splitlines())


class TestRun(unittest.TestCase):

    def test_neither_side_is_always_the_one_to_go_first(self):
        self.assertEqual([['a', 'b'], ['b', 'a']],
                         [in_turn('ab', run) for run in (1, 2)])

    def test_json_has_machine_versions_settings_and_records(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'out.json')
            write_json(path, 'sync', {'seed': 3}, RECORDS)
            with open(path) as text:
                found = json.load(text)
        self.assertEqual(('sync', {'seed': 3}),
                         (found['benchmark'], found['settings']))
        self.assertLess({'date', 'cores', 'kernel', 'swift'},
                        set(found['machine']))
        self.assertEqual({'contestant': 'stock', 'case': 'stable', 'run': 1,
                          'figures': {'seconds': 4.0, 'more': {}}},
                         found['records'][0])
