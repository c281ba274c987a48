# SPDX-License-Identifier: Apache-2.0
"""Each benchmark without a cluster, its workloads, and its arithmetic."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from collections import Counter
from math import sqrt
from unittest import mock

from cosbench.adaptors import installed
from cosbench.document.reader import read
from tools import ToolError
from tools.arguments import size_text, sizes
from tools.benchmarks import (
    cli,
    proar,
    request_log,
    trio,
    versioning,
    workload,
)
from tools.benchmarks.record import Record
from tools.benchmarks.workload import Stage

FIGURES = {'operations': 10, 'failed': 0, 'ops_per_second': 5.0,
           'mean_ms': 21.0, 'p50_ms': 20.0, 'p95_ms': 30.0, 'p99_ms': 40.0}


def bench(*argv):
    """Run the command; return exit status, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main(list(argv))
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


class TestCommand(unittest.TestCase):

    def test_what_is_not_allowed_is_named(self):
        for argv, said in (
                ('losf --ops fly', "'fly'; allowed: .*list of get, get-warm"),
                ('losf --iops 1', "'1'; allowed: at least 10"),
                ('proar --sizes 4G', "'4G'; allowed: .*KiB"),
                ('proar --modes x', "'x'; allowed: .*proar-sync2"),
                ('sync --size 9-8', "'9-8'; allowed: LOW-HIGH"),
                ('sync --timeout inf', "'inf'; allowed"),
                ('sync --nodes 3 --replicas 4', 'replicas is 4; .* 3'),
                ('versioning --batches 1,x', "'x'; allowed"),
                ('cosbench --json /none/x', 'directory that exists')):
            status, _, err = bench(*argv.split())
            self.assertEqual(2, status, argv)
            self.assertRegex(err, said)

    def test_sizes_are_read_and_shown(self):
        self.assertEqual((4096, 64 << 20, 100), sizes('4K,64M,100,4K'))
        self.assertEqual(['4 KiB', '64 MiB', '100 B'],
                         list(map(size_text, (4096, 64 << 20, 100))))


class TestWorkload(unittest.TestCase):

    def test_cosbench_takes_the_documents(self):
        text = workload.document('username=u;password=p;auth_url=http://h/',
                                 'some-', [
            Stage('write 4 KiB', 'write', (1, 9), 'c(4)KiB', 3, 20, 2),
            Stage('paced', 'read', (1, 9), rate=0.5, total=4),
            Stage('gone', 'delete', (1, 9), total_bytes=0, total=9)],
            policy='gold', versioned=True)
        found = read(text, installed()).workload
        self.assertEqual(['init', 'write 4 KiB', 'paced', 'gone'],
                         [stage.name for stage in found.stages])

    def test_a_run_that_fails_is_an_error_with_its_reason(self):
        with tempfile.TemporaryDirectory() as directory:
            client = workload.Client(directory, 1)
            with self.assertRaisesRegex(ToolError, 'exit status 2.*workflow'):
                client.run(b'<workload/>', 'bad')

    def test_a_stage_has_figures_and_two_results_have_intervals(self):
        text = (b'<workload name="m"><storage type="mock" config="'
                b'put_time=1"/><workflow><workstage name="w"><work name="w" '
                b'workers="2" runtime="2" interval="1"><operation '
                b'type="write" ratio="100" config="containers=c(1);'
                b'objects=u(1,9);sizes=c(1)KB"/></work></workstage>'
                b'</workflow></workload>')
        with tempfile.TemporaryDirectory() as directory:
            result = workload.Client(directory, 1).run(text, 'm')
            found = workload.figures(result, 'w')
            page = os.path.join(directory, 'page.html')
            with mock.patch('cosbench.reports.bootstrap.LEAST_BATCHES', 1):
                ratios = workload.intervals(result, result, page)
            self.assertTrue(os.path.getsize(page))
        self.assertGreater(found['operations'], 10)
        self.assertEqual(0, found['failed'])
        self.assertGreater(found['p99_ms'], 0)
        self.assertEqual(1, ratios['w', 'p50_ms'].median)
        with self.assertRaisesRegex(ToolError, 'no stage x'):
            workload.figures(result, 'x')


class TestArithmetic(unittest.TestCase):

    def test_lags_are_from_the_first_replica_to_the_last(self):
        with tempfile.TemporaryDirectory() as root:
            tops = [os.path.join(root, name) for name in 'abc']
            for name, copies in (('x', 'abc'), ('y', 'ab')):
                for copy in copies:
                    path = os.path.join(root, copy, '0', 'abc', name)
                    os.makedirs(path)
                    open(os.path.join(path, '1.data'), 'w').close()
            os.makedirs(os.path.join(root, 'a', '0', 'abc', 'z'))
            open(os.path.join(root, 'a', '0', 'abc', 'z', '1.ts'),
                 'w').close()
            found = trio.arrivals(tops)
        self.assertEqual({'x': 3, 'y': 2}, {
            name: len(times) for name, times in found.items()})
        self.assertEqual(([3.0], 1), trio.lags(
            {'x': [4.0, 1.0, 2.0], 'y': [1.0, 5.0]}))
        self.assertEqual(([3.0, 4.0], 0), trio.lags(
            {'x': [4.0, 1.0, 2.0], 'y': [1.0, 5.0]}, 2))

    def test_balance_has_the_deviation_that_chance_makes(self):
        self.assertEqual((20, 4.0, sqrt(40 * 0.5 * 0.5)),
                         proar.balance(40, [24, 16]))
        # Each write to each device: there is no chance.
        self.assertEqual((10, 0, 0), proar.balance(10, [10, 10, 10]))

    def test_slow_disks_are_balanced_apart_and_cases_together(self):
        rows = proar.balance_table([
            Record('proar', case, 1, {
                'operations': 20, 'per_device': {'n1d1': 12, 'n2d1': 8}})
            for case in ('4 KiB', '1 MiB', '4 KiB slow disk')]).splitlines()
        self.assertEqual(['proar', '40', '24', '16', '20.0', '4.0'],
                         rows[2].split()[:6])
        self.assertTrue(rows[3].startswith('proar slow disk'))

    def count(self, waits, cycles=1):
        """Count the round trips of requests that wait ``waits(delay)``."""
        self.delays = []
        return versioning.count_rounds(
            self.delays.append, lambda: waits(self.delays[-1]), cycles)

    def test_round_trips_are_how_often_a_request_waits_for_the_delay(self):
        for rounds in (0, 1, 2, 5):
            self.assertAlmostEqual(rounds, self.count(
                lambda delay: [0.07 + rounds * delay] * 3))
        self.assertEqual([0.2, 0.4, 0.6, 0], self.delays)

    def test_requests_that_are_late_do_not_count_if_one_is_not(self):
        self.assertAlmostEqual(2, self.count(
            lambda delay: [5 + delay, 2 * delay, 3 - delay]))
        self.assertAlmostEqual(1, self.count(
            lambda delay: [delay + (len(self.delays) > 6)], 3))

    def test_a_count_that_fails_leaves_no_delay(self):
        with self.assertRaises(ZeroDivisionError):
            self.count(lambda delay: 1 / 0)
        self.assertEqual([0.2, 0], self.delays)


def site(**values):
    """Return a class whose instances are contexts with values."""
    def make(*args):
        found = mock.MagicMock(**values)
        found.__enter__.return_value = found
        found.auth = 'username=u;password=p;auth_url=http://h/'
        found.name = next((each for each in args if each in (
            'fs', 'kv', 'stock', 'proar')), '')
        return found
    return make


def write_master(bench_, _):
    bench_._partitions, bench_._storage, bench_._master = 4, None, ''


#: arguments, what stands for a cluster, how many records, a word of the table
SMOKE = (
    ('losf --ops get,put,head,churn-2k --runs 2', {
        'losf.Node': site(**{
            'direct_io': True, 'pids.return_value': [os.getpid()],
            'logs': ['/none'], 'request.return_value': [0.1, 0.2],
            'index_bytes.return_value': 50,
            'space.return_value': {'allocated_per_live': 1.25}}),
        'losf.commands': mock.Mock()}, 2 + 2 * 4 * 2, 'allocated / live'),
    ('proar --sizes 4K --runs 1', {
        'proar.Since': lambda logs: mock.Mock(
            **{'devices.return_value': Counter(n1d1=9),
               'methods.return_value': Counter(FLUSH=18, PUT=9)}),
        'proar.Trio': site(**{
            'logs': ['/none'], 'converged.return_value': ([0.1], 0)}),
        'proar.Throttle': mock.Mock(), 'proar.commands': mock.Mock(),
        'proar.cpu_of': lambda *args: {'proxy-server': 1.0}},
     7 * 2 + 2, 'sampling noise'),
    ('versioning --sizes 4K --batches 100 --runs 1', {
        'versioning.Keeper': site(**{
            'count_rounds.return_value': {'PUT': 2.0, 'GET': 1.0}})},
     4 * 2 + 4 * 2 * 2, 'round trips'),
    ('sync --runs 1 --objects 10', {
        'sync.Contestant': site(), 'sync.Cluster': mock.Mock(),
        'sync.Sync._write_master': write_master,
        'sync.Trial.play': lambda *args: {
            'pass_seconds': 1.0, 'messages': 2.0, 'live_nodes': 5}},
     7 * 2, 'messages/partition +stock +2.50'),
    ('cosbench --runs 1 --seconds 0.2 --contestants aiohttp,client '
     '--scenarios get-1k,put-64k', {}, 4, '/aiohttp'))


class TestFlushes(unittest.TestCase):

    def test_a_flush_is_logged_and_takes_longer(self):
        waits = []
        with tempfile.NamedTemporaryFile() as file, \
                mock.patch('os.fsync', lambda file: waits.append('flushed')), \
                mock.patch('os.fdatasync', lambda file: None):
            log = request_log.RequestLog(None, file.name)
            logged = request_log.Since([file.name])
            for _ in range(2):
                # A server loads its filters more than once.
                request_log.slow_flushes(log, 0.25, waits.append)
            os.fsync(7)
            os.fdatasync(7)
            self.assertEqual(Counter(FLUSH=2), logged.methods())
        self.assertEqual([0.25, 'flushed', 0.25], waits)


class TestSmoke(unittest.TestCase):

    def test_each_benchmark_reports_what_its_clusters_do(self):
        common = {'workload.Client.run': lambda client, text, *args: read(
                      text, installed()),
                  'workload.figures': lambda result, stage: dict(FIGURES),
                  'losf.operations': lambda result: 40,
                  'workload.intervals': lambda *args: {}}
        for argv, stand_ins, count, words in SMOKE:
            with self.subTest(argv=argv), contextlib.ExitStack() as stack:
                for target, value in {**common, **stand_ins}.items():
                    stack.enter_context(mock.patch(
                        'tools.benchmarks.' + target, value))
                directory = stack.enter_context(
                    tempfile.TemporaryDirectory())
                path = os.path.join(directory, 'out.json')
                status, out, err = bench(*argv.split(), '--json', path,
                                         '--output', directory)
                self.assertEqual(0, status, err)
                self.assertRegex(out, words)
                with open(path) as text:
                    records = json.load(text)['records']
                self.assertEqual(count, len(records))
        self.assertGreater(records[0]['figures']['per_cpu_second'], 100)
