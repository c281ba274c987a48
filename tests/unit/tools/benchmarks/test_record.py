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

    def test_ratios_are_taken_run_by_run_where_both_sides_have_one(self):
        for mine, references, found in (
                ({1: 1.0, 2: 1.0, 3: 5.0}, {1: 4.0, 2: 8.0, 3: 5.0},
                 Spread(0.25, 0.125, 1.0)),
                ({1: 1.0, 2: 1.0, 3: 7.0}, {1: 2.0, 2: 0},
                 Spread(0.5, 0.5, 0.5)),
                ({1: 1.0}, {2: 1.0}, None)):
            self.assertEqual(found, ratios(mine, references))

    def test_percentiles_are_between_the_values(self):
        self.assertEqual(7, percentile([7], 99))
        self.assertEqual(2.98, percentile([1, 2, 3], 99))


class TestTable(unittest.TestCase):

    def test_a_cell_shows_the_spread_unless_there_is_none(self):
        for spread, text in ((Spread(2, 1, 1234.5), '2.0 [1.0 - 1,234.5]'),
                             (Spread(2, 2, 2), '2.0'), (None, '-')):
            self.assertEqual(text, cell(spread, 1))

    def test_each_contestant_has_its_ratio_to_the_reference(self):
        no_ratio = [Metric('seconds', 'pass, s', 1, has_ratio=False)]
        other_case = Record('lightsync', 'create', 1, {'seconds': 2.0})
        interval = {('stable', 'seconds', 'lightsync', 'stock'):
                    Spread(0.25, 0.2, 0.3)}
        for records, metrics, intervals, ends in (
                (RECORDS, METRICS, None,
                 ['5.0 [4.0 - 8.0]       -',
                  '1.0 [1.0 - 5.0]  0.250 [0.125 - 1.000]']),
                # that which the other side did not finish has none
                ([*RECORDS[:3], other_case], METRICS, None, [' -', ' -']),
                # a figure whose ratios mean nothing
                (RECORDS, no_ratio, None, [' -', ' -']),
                # of one run, the confidence interval
                (RECORDS[::3], METRICS, interval,
                 [' -', ' 0.250 [0.200 - 0.300]']),
                # nobody to compare with
                (RECORDS[3:], METRICS, None, ['5.0]'])):
            heading, _, *rows = table(records, metrics, ['stock'],
                                      intervals).splitlines()
            self.assertEqual(len(ends), len(rows))
            self.assertEqual(len(ends) > 1, heading.endswith('/stock'))
            for row, end in zip(rows, ends):
                self.assertTrue(' '.join(row.split()).endswith(
                    ' '.join(end.split())), row)

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
                          'figures': {'seconds': 4.0, 'more': {}},
                          'seconds': 4.0, 'more': {}},
                         found['records'][0])
