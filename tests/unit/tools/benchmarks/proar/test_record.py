# SPDX-License-Identifier: Apache-2.0
import unittest
from dataclasses import asdict, replace
from math import sqrt

from tools.benchmarks.proar.client import Outcome, Write
from tools.benchmarks.proar.measure import Phase, Run, percentile
from tools.benchmarks.proar.record import (
    METRICS,
    Balance,
    Record,
    balance_table,
    goal,
    latency_table,
)
from tools.benchmarks.proar.settings import MODES, Settings
from tools.benchmarks.sizes import KIB, MIB, size_text

PHASE = Phase(requests=10, failed=0, p50_ms=20, p95_ms=30, p99_ms=40,
              mean_ms=22, ops_per_second=50, converged_per_second=40,
              lag_p50_s=0.1, lag_p99_s=0.2, incomplete=0)
RUN = Run(run=1, single=PHASE, loaded=replace(PHASE, p50_ms=60),
          per_device={'n1d1': 12, 'n2d1': 8},
          cpu_of={'proxy-server': 0.5, 'object-server': 1.5})
ASKED = ('mode', 'size', 'requests', 'p50_ms', 'p95_ms', 'p99_ms',
         'ops_per_second', 'backend_requests', 'per_device', 'lag_p99_s',
         'cpu_seconds')


def record(mode, runs, size=4 * MIB):
    return Record.of(Settings(), mode, size, runs)


class TestPhase(unittest.TestCase):

    def phase(self, last, *failed):
        return Phase.of(Outcome(100, 2, (
            Write('a', 0.1, 101, 201), Write('b', 0.3, 102, 201),
            *failed)), last)

    def test_the_lag_is_from_the_answer_to_the_last_replica(self):
        found = self.phase({'a': 101.5, 'b': 104})
        self.assertEqual((2, 200, 200), (
            found.requests, found.p50_ms, found.mean_ms))
        self.assertAlmostEqual(1.25, found.lag_p50_s)
        self.assertAlmostEqual(1.985, found.lag_p99_s)
        self.assertEqual((1, 0.5, 0), (
            found.ops_per_second, found.converged_per_second,
            found.incomplete))

    def test_a_replica_that_was_there_before_the_answer_has_no_lag(self):
        found = self.phase({'a': 100.9, 'b': 101.9})
        self.assertEqual((0, 1), (found.lag_p99_s,
                                  found.converged_per_second))

    def test_an_object_that_never_has_all_replicas_is_counted(self):
        found = self.phase({'a': 101.5})
        self.assertEqual((1, 0, 0.5), (
            found.incomplete, found.converged_per_second, found.lag_p99_s))

    def test_a_write_that_fails_is_waited_for_in_vain(self):
        found = self.phase({'a': 101, 'b': 102}, Write('c', 10, 111, 503))
        self.assertEqual((3, 1, 300, 1, 0), (
            found.requests, found.failed, found.p50_ms,
            found.ops_per_second, found.incomplete))

    def test_a_percentile_is_what_so_many_are_below(self):
        self.assertAlmostEqual(95, percentile(list(range(101)), 95))
        self.assertEqual(7, percentile([7], 99))


class TestRecord(unittest.TestCase):

    def test_it_has_the_medians_of_times_and_the_sums_of_counts(self):
        runs = [replace(RUN, run=number, single=replace(
            PHASE, p50_ms=p50)) for number, p50 in ((1, 9), (2, 1), (3, 5))]
        found = asdict(record('proar', runs))
        self.assertLessEqual(set(ASKED), set(found))
        self.assertEqual(
            (5, 60, 60, {'n1d1': 36, 'n2d1': 24}, 6),
            tuple(found[name] for name in (
                'p50_ms', 'requests', 'backend_requests', 'per_device',
                'cpu_seconds')))
        self.assertEqual([9, 1, 5], [run['single']['p50_ms']
                                     for run in found['runs']])

    def test_the_slow_disk_is_named_where_there_is_one(self):
        self.assertIsNone(record('stock', [RUN]).slow_iops)
        self.assertEqual(Settings().slow_iops,
                         record('stock-slow', [RUN]).slow_iops)

    def test_cpu_is_told_for_each_write(self):
        self.assertEqual(100, RUN.cpu_ms)


class TestLatencyTable(unittest.TestCase):

    def rows(self, *records):
        header, _, *rows = latency_table(records).splitlines()
        return {row[:19].split('  ')[0] + ' ' + row.split()[2]: row.split()
                for row in rows}

    def test_a_mode_is_compared_with_its_reference_of_the_same_size(self):
        rows = self.rows(
            record('stock', [RUN]),
            record('proar', [replace(RUN, single=replace(
                PHASE, p50_ms=10, mean_ms=5.5))]),
            record('stock', [replace(RUN, single=replace(
                PHASE, p50_ms=1))], 4 * KIB))
        self.assertEqual(['0.50', '0.25', '1.00', '<=', '0.5'],
                         rows['4 MiB proar'][-5:])
        self.assertEqual(['-'] * 4, rows['4 MiB stock'][-4:])

    def test_ratios_are_of_the_same_run(self):
        def runs(*values):
            return [replace(RUN, run=number, single=replace(
                PHASE, p50_ms=value)) for number, value in enumerate(values)]

        rows = latency_table([record('stock-slow', runs(10, 20, 40)),
                              record('proar-slow', runs(5, 20, 10))])
        self.assertIn('0.50 [0.25 - 1.00]', rows)

    def test_without_a_reference_there_is_no_ratio(self):
        self.assertEqual(['-', '-', '-', '<=', '0.5'],
                         self.rows(record('proar', [RUN]))[
                             '4 MiB proar'][-5:])

    def test_every_metric_is_measured(self):
        header = latency_table([record('stock', [RUN])]).splitlines()[0]
        for metric in METRICS:
            self.assertIn(metric.title, header)

    def test_the_goals_are_of_large_objects_and_of_a_slow_disk(self):
        self.assertEqual((1, 0.5, 0.5, 0.5), (
            goal('proar', 4 * KIB), goal('proar', 4 * MIB),
            goal('proar-slow', 4 * KIB), goal('proar-slow', 64 * MIB)))
        for mode in ('stock', 'stock-slow', 'proar-sync2'):
            self.assertIn(mode, MODES)
            self.assertIsNone(goal(mode, 4 * MIB))

    def test_sizes_are_readable(self):
        self.assertEqual(['100 B', '4 KiB', '64 MiB'], [
            size_text(size) for size in (100, 4 * KIB, 64 * MIB)])


class TestBalance(unittest.TestCase):

    def test_the_noise_is_that_of_independent_choices(self):
        found = Balance.of(1800, [600, 590, 610])
        self.assertEqual(600, found.mean)
        self.assertAlmostEqual(sqrt(200 / 3), found.deviation)
        self.assertAlmostEqual(20, found.noise)

    def test_what_all_devices_take_has_none(self):
        self.assertEqual(Balance(10, 0, 0), Balance.of(10, [10, 10, 10]))

    def test_the_requests_of_all_sizes_are_counted_together(self):
        rows = balance_table([record('proar', [RUN]),
                              record('proar', [RUN], 4 * KIB)]).splitlines()
        self.assertEqual(['proar', '40', '40', '24', '16', '20.0', '4.0'],
                         rows[2].split()[:7])


if __name__ == '__main__':
    unittest.main()
