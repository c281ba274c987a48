# SPDX-License-Identifier: Apache-2.0
import unittest
from dataclasses import asdict, replace
from types import SimpleNamespace

from tools.benchmarks.losf.measure import percentile_99
from tools.benchmarks.losf.record import (
    GOALS,
    METRICS,
    Record,
    Run,
    goal,
    table,
)
from tools.benchmarks.losf.settings import CACHES, OPS, Settings

RUN = Run(run=1, operations=200, reads=9.6, writes=0, flushes=0, sectors=80,
          rpcs=0, cpu_ms=2, ops_per_second=100, p50_ms=3, p99_ms=30,
          rss_mib=60)


def record(backend, runs, op='get', cache='cold', iops=None, index=5000.0):
    site = SimpleNamespace(
        backend=backend, settings=Settings(iops=iops), direct_io=True,
        index_bytes_per_object=index)
    return Record.of(site, op, cache, runs)


class TestRecord(unittest.TestCase):

    def test_it_has_the_medians_and_all_runs(self):
        runs = [replace(RUN, run=number, reads=reads, p99_ms=1 / reads)
                for number, reads in ((1, 9), (2, 1), (3, 5))]
        found = asdict(record('fs', runs, iops=120))
        self.assertEqual(5, found['reads'])
        self.assertEqual(1 / 5, found['p99_ms'])
        self.assertEqual([9, 1, 5], [each['reads']
                                     for each in found['runs']])
        self.assertEqual(('fs', 'get', 'cold', 120, 200000, 5000.0), tuple(
            found[name] for name in ('backend', 'op', 'cache', 'iops',
                                     'objects', 'index_bytes_per_object')))


class TestPercentile(unittest.TestCase):

    def test_it_is_what_99_percent_are_below(self):
        self.assertAlmostEqual(99, percentile_99(list(range(101))))
        self.assertEqual(7, percentile_99([7]))


class TestGoals(unittest.TestCase):

    def test_each_is_of_something_that_is_measured(self):
        fields = {each.field for each in METRICS} | {
            'index_bytes_per_object'}
        for op, cache, field in GOALS:
            self.assertIn(op, (None, *OPS))
            self.assertIn(cache, (None, *CACHES))
            self.assertIn(field, fields)

    def test_those_of_a_cache_an_op_and_all_are_found(self):
        self.assertEqual('kv <= 1.5', goal('get', 'cold', 'reads', False))
        self.assertEqual('', goal('get', 'warm', 'reads', False))
        self.assertEqual('kv <= 2', goal('put', 'warm', 'flushes', False))
        self.assertEqual('kv/fs <= 1.3', goal('list', 'cold', 'cpu_ms',
                                              False))

    def test_a_rate_has_one_on_a_throttled_device_only(self):
        self.assertEqual('', goal('put', 'cold', 'ops_per_second', False))
        self.assertEqual('kv/fs >= 3', goal('put', 'cold', 'ops_per_second',
                                            True))


class TestTable(unittest.TestCase):

    def rows(self, *records):
        return {(line[:9].strip(), line[11:25].strip()): line[25:].split()
                for line in table(records).splitlines()}

    def test_the_backends_stand_side_by_side_with_ratio_and_goal(self):
        rows = self.rows(
            record('fs', [RUN]),
            record('kv', [replace(RUN, reads=1.2)], index=45.0))
        self.assertEqual(['9.60', '1.20', '0.125', 'kv', '<=', '1.5'],
                         rows['get cold', 'reads'])
        self.assertEqual(['5,000.0', '45.0', '0.009', 'kv', '<=', '48'],
                         rows['index', 'bytes/object'])

    def test_runs_show_their_spread(self):
        runs = [replace(RUN, run=number, reads=number)
                for number in (1, 2, 3)]
        self.assertEqual(
            '2.00 [1.00 - 3.00] 1.00 0.500 [0.333 - 1.000]'.split(),
            self.rows(record('fs', runs), record('kv', [
                replace(each, reads=1) for each in runs]))[
                    'get cold', 'reads'][:9])

    def test_what_was_not_measured_is_a_dash(self):
        rows = self.rows(record('fs', [RUN]))
        self.assertEqual(['9.60', '-', '-'], rows['get cold', 'reads'][:3])
        self.assertEqual(['5,000.0', '-', '-'],
                         rows['index', 'bytes/object'][:3])


if __name__ == '__main__':
    unittest.main()
