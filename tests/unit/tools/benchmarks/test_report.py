# SPDX-License-Identifier: Apache-2.0
import json
import tempfile
import unittest
from dataclasses import dataclass

from tools.benchmarks.report import Metric, cell, lines, table, write_json
from tools.benchmarks.spread import Spread, ratios


@dataclass(frozen=True)
class Row:
    replicator: str
    scenario: str
    run: int
    seconds: float


ROWS = [Row('stock', 'stable', 1, 4.0), Row('stock', 'stable', 2, 8.0),
        Row('stock', 'stable', 3, 5.0), Row('lightsync', 'stable', 1, 1.0),
        Row('lightsync', 'stable', 2, 1.0),
        Row('lightsync', 'stable', 3, 5.0)]
METRICS = [Metric('seconds', 'pass, s', 1)]


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


class TestReport(unittest.TestCase):

    def rows(self, records):
        return [line.split('  ') for line in
                table(records, METRICS).splitlines()]

    def test_a_cell_shows_the_spread_unless_there_is_none(self):
        self.assertEqual('2.0 [1.0 - 1,234.5]',
                         cell(Spread(2, 1, 1234.5), 1))
        self.assertEqual('2.0', cell(Spread(2, 2, 2), 1))
        self.assertEqual('-', cell(None, 1))

    def test_contestants_stand_side_by_side_with_their_ratio(self):
        heading, _, row = table(ROWS, METRICS).splitlines()
        self.assertEqual(['scenario', 'metric', 'stock', 'lightsync',
                          'lightsync/stock'], heading.split())
        self.assertIn('5.0 [4.0 - 8.0]', row)
        self.assertIn('1.0 [1.0 - 5.0]', row)
        self.assertIn('0.250 [0.125 - 1.000]', row)

    def test_a_scenario_that_one_side_did_not_finish_has_no_ratio(self):
        row = table(ROWS[:3] + [Row('lightsync', 'create', 1, 2.0)],
                    METRICS).splitlines()
        self.assertTrue(row[2].endswith('-'), row[2])
        self.assertTrue(row[3].endswith('-'), row[3])
        self.assertIn('2.0', row[3])

    def test_without_the_reference_there_are_no_ratios(self):
        text = table(ROWS[3:], METRICS)
        self.assertNotIn('/', text)
        self.assertNotIn('stock', text)

    def test_columns_are_aligned(self):
        text = lines([('a', 'bb', 'c'), ('long', 'b', '1'),
                      ('x', 'y', '100')])
        self.assertEqual(['a     bb    c', '----  --  ---', 'long  b     1',
                          'x     y   100'], text.splitlines())

    def test_json_is_a_list_with_an_object_for_each_record(self):
        with tempfile.NamedTemporaryFile() as output:
            write_json(output.name, ROWS)
            found = json.load(output)
        self.assertEqual(6, len(found))
        self.assertEqual({'replicator': 'stock', 'scenario': 'stable',
                          'run': 1, 'seconds': 4.0}, found[0])


if __name__ == '__main__':
    unittest.main()
