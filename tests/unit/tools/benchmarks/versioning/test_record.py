# SPDX-License-Identifier: Apache-2.0

import os
import tempfile
import unittest
from dataclasses import asdict, replace

from tools.benchmarks.sizes import KIB, MIB
from tools.benchmarks.versioning import plots
from tools.benchmarks.versioning.client import Outcome
from tools.benchmarks.versioning.measure import Run, What, object_names
from tools.benchmarks.versioning.record import Record, p50_ratio, table
from tools.benchmarks.versioning.settings import MODES

try:
    import matplotlib
except ImportError:
    matplotlib = None
ASKED = ('mode', 'op', 'size', 'concurrency', 'p50_ms', 'p99_ms',
         'metadata_round_trips')
WHAT = What('none', 'PUT', 4 * KIB, 100)


def record(mode, *p50s, op='PUT', concurrency=1, rounds=None, **fields):
    return Record.of(
        replace(WHAT, mode=mode, op=op, concurrency=concurrency, **fields),
        [Run(number, 0, p50, 2 * p50, p50, 1000 / p50)
         for number, p50 in enumerate(p50s, 1)], rounds)


class TestRun(unittest.TestCase):

    def test_times_and_rates_are_of_what_succeeded(self):
        found = Run.of(3, Outcome(2, (0.1, 0.3, 0.2), ('status 503',)))
        self.assertEqual((3, 1, 200, 1.5), (
            found.run, found.failed, found.p50_ms, found.ops_per_second))
        self.assertAlmostEqual(200, found.mean_ms)
        self.assertAlmostEqual(298, found.p99_ms)

    def test_each_object_gets_several_versions_if_there_are_so_many(self):
        self.assertEqual({'o-%d' % number for number in range(10)},
                         set(object_names(100)))
        self.assertEqual(('o-0', 'o-1', 'o-0'), object_names(20)[:3])
        self.assertEqual(('o-0', 'o-0'), object_names(2))
        self.assertEqual(100, len(object_names(100)))


class TestRecord(unittest.TestCase):

    def test_it_has_the_medians_of_the_runs_and_all_failures(self):
        runs = [Run(1, 2, 9, 90, 9, 1), Run(2, 0, 1, 10, 1, 5),
                Run(3, 1, 5, 50, 5, 3)]
        found = asdict(Record.of(WHAT, runs, 1.98))
        self.assertLessEqual(set(ASKED), set(found))
        self.assertEqual(
            ('none', 'PUT', 4096, 1, 5, 50, 1.98, 3, 3),
            tuple(found[name] for name in (*ASKED, 'ops_per_second',
                                           'failed')))
        self.assertEqual([9, 1, 5], [run['p50_ms'] for run in found['runs']])

    def test_ratios_are_of_the_same_run(self):
        found = p50_ratio(record('read-repair', 5, 20, 10),
                          record('none', 10, 20, 40))
        self.assertEqual((0.5, 0.25, 1), (found.median, found.low,
                                          found.high))


class TestTable(unittest.TestCase):

    def row(self, records, mode):
        return next(line for line in table(records).splitlines()[1:]
                    if mode in line.split())

    def test_a_mode_is_compared_with_the_same_work_of_stock_swift(self):
        records = [record('none', 10), record('object_versioning', 40),
                   record('none', 1, size=MIB), record('none', 2, op='GET'),
                   record('write-repair', 20, rounds=2.04)]
        row = self.row(records, 'write-repair')
        self.assertEqual(['2.04', '0.50', '2.00'], row.split()[-3:])
        self.assertEqual(['-', '-', '-'], self.row(
            records[:1], 'none').split()[-3:])

    def test_the_goals_stand_beside_their_ratios(self):
        for mode, op, reference, text in (
                ('read-repair', 'PUT', 'object_versioning', '0.25 (<= 0.5)'),
                ('write-repair', 'GET', 'none', '0.25 (<= 1.1)')):
            records = [record(mode, 10, op=op), record(reference, 40, op=op)]
            self.assertIn(text, self.row(records, mode))
            batch = [replace(each, concurrency=8) for each in records]
            self.assertNotIn('<=', self.row(batch, mode))

    def test_runs_that_differ_show_their_least_and_greatest(self):
        self.assertIn('20.0 [10.0 - 30.0]',
                      table([record('none', 30, 10, 20)]))


class TestPlots(unittest.TestCase):

    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.directory = os.path.join(root.name, 'figures')

    @unittest.skipUnless(matplotlib, 'needs matplotlib')
    def test_single_requests_and_batches_have_a_figure_each(self):
        single = [record(mode, 10, 20, op=op, size=size) for mode in MODES
                  for op in ('PUT', 'GET') for size in (4 * KIB, MIB)]
        batches = [replace(each, concurrency=8) for each in single]
        paths = plots.draw(self.directory, single + batches)
        self.assertEqual(['batches.svg', 'sequential.svg'],
                         sorted(map(os.path.basename, paths)))
        for path in paths:
            with open(path) as file:
                text = file.read()
            self.assertIn('<svg', text)
            for mode in MODES:
                self.assertIn(mode, text)

    @unittest.skipUnless(matplotlib, 'needs matplotlib')
    def test_an_op_that_was_not_measured_leaves_an_empty_panel(self):
        self.assertEqual(1, len(plots.draw(self.directory,
                                           [record('none', 1)])))


if __name__ == '__main__':
    unittest.main()
