# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the HTTP client: its options, processes and table."""

import argparse
import contextlib
import io
import json
import os
import tempfile
import unittest

from tools.benchmarks.cosbench import __main__ as program
from tools.benchmarks.cosbench import command
from tools.benchmarks.cosbench.command import Record, table


def run(*argv):
    """:returns: (exit status, stdout, stderr)"""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = program.main(argv)
    return status, out.getvalue(), err.getvalue()


def record(name, number, each):
    return Record(name, 'get-1k', number, 32, 100, 0, 1.0, 2.0, each, 50.0)


class TestBenchmark(unittest.TestCase):

    def test_each_contestant_is_measured_and_its_requests_succeed(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'records.json')
            status, out, err = run(
                '--seconds', '0.1', '--runs', '1', '--workers', '4',
                '--scenarios', ','.join(command.SCENARIOS), '--json', path)
            with open(path, encoding='utf8') as source:
                records = json.load(source)
        self.assertEqual(0, status, err)
        self.assertEqual(24, len(records))
        for each in records:
            self.assertGreater(each['operations'], 0)
            self.assertEqual(0, each['failures'])
            self.assertAlmostEqual(
                each['operations'] / each['cpu_seconds'],
                each['operations_per_cpu_second'])
        self.assertEqual(26, len(out.splitlines()))

    def test_a_wrong_option_is_named(self):
        for argv, words in (
                (('--runs', '0'), '--runs is 0; allowed: 1 to'),
                (('--workers', '9999'), '--workers is 9999'),
                (('--seconds', 'nan'), '--seconds is nan'),
                (('--contestants', 'curl'), "'curl'; allowed: .*aiohttp"),
                (('--scenarios', 'x'), 'get-1k'),
                (('--json', '/no/such/x'), '--json')):
            with self.subTest(argv):
                status, _, err = run(*argv)
                self.assertEqual(2, status)
                self.assertRegex(err, words)

    def test_the_arguments_have_help(self):
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        self.assertIn('at the same time', parser.format_help())


class TestTable(unittest.TestCase):

    def test_ratios_are_taken_run_by_run(self):
        text = table([record('aiohttp', 1, 10.0), record('aiohttp', 2, 20.0),
                      record('client', 1, 40.0), record('client', 2, 60.0)])
        self.assertIn('3.50 [3.00 - 4.00]', text)
        self.assertIn('50 [40 - 60]', text)

    def test_without_the_reference_there_is_no_ratio(self):
        self.assertTrue(table([record('client', 1, 40.0)]).endswith(' -'))


if __name__ == '__main__':
    unittest.main()
