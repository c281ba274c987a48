# SPDX-License-Identifier: Apache-2.0
"""The subjects can be loaded, whether what they name is installed or not."""

import contextlib
import io
import unittest
from pathlib import Path
from unittest import mock

from tests.upstream import __main__ as program
from tests.upstream import runner, subject

ROOT = Path(__file__).parents[2]


class TestSubjects(unittest.TestCase):
    def test_each_names_what_is_replaced_once(self):
        for name in subject.names():
            rows = subject.load(name).rows
            self.assertTrue(rows)
            self.assertEqual(len(rows), len({row.stock for row in rows}))

    def test_each_names_suites_that_there_are(self):
        for name in subject.names():
            loaded = subject.load(name)
            broken = [each.suite for row in loaded.rows
                      for each in row.sabotages]
            for suite in loaded.suites + tuple(broken):
                self.assertIn(suite, runner.SUITES['unit'])

    def test_each_probe_names_suites_that_there_are(self):
        for name in ('lightsync', 'kv'):
            for suite in subject.load(name, 'probe').suites:
                self.assertIn(suite, runner.SUITES['probe'])

    def test_what_is_ours_is_in_modules_that_there_are(self):
        for name in subject.names():
            loaded = subject.load(name)
            ours = [row.ours for row in loaded.rows] + [
                each.name for each in loaded.privates]
            for module in {each.partition(':')[0] for each in ours}:
                if module.startswith(('swift_lightsync.', 'swift_losf.')):
                    self.assertTrue(
                        (ROOT / module.replace('.', '/')).with_suffix(
                            '.py').exists(), module)

    def test_a_subject_needs_nothing_installed_to_be_read(self):
        self.assertEqual(
            'swift_losf.diskfile.kvfile:KVDiskFileReader',
            subject.load('kv').rows[-1].ours)


class TestCommandLine(unittest.TestCase):
    def runs(self, *argv):
        with mock.patch.object(runner, 'gated', return_value=0) as gated:
            self.assertEqual(0, program.main(argv))
        return gated.call_args[0][0]

    def test_the_default_is_lightsync(self):
        run = self.runs('unit')
        self.assertEqual(('lightsync', 'lightsync unit'),
                         (run.subject, run.exclusions))

    def test_a_subject_brings_its_suites_and_exclusions(self):
        run = self.runs('unit', '--subject', 'full_exchange')
        self.assertEqual('full_exchange unit', run.exclusions)
        self.assertEqual(runner.SUITES['unit']['replicator'], run.selection)

    def test_all_loaders_have_the_same_exclusions(self):
        run = self.runs('functional', '--subject', 'write_repair',
                        '--loader', 'encryption')
        self.assertEqual(('write_repair functional', 'functional-encryption'),
                         (run.exclusions, run.section))

    def test_suites_that_are_named_are_run_with_any_subject(self):
        run = self.runs('unit', 'server', '--subject', 'full_exchange')
        self.assertEqual(runner.SUITES['unit']['server'], run.selection)

    def test_stock_swift_has_no_exclusions(self):
        run = self.runs('unit', '--stock')
        self.assertEqual((None, None), (run.subject, run.exclusions))

    def test_a_probe_is_run_in_the_cluster_of_its_subject(self):
        for subject_argv, cluster in (
                ((), '--replicator lightsync'),
                (('--subject', 'kv'),
                 '--replicator stock --policies gold:3:kv,silver:3'),
                (('--stock',), '--replicator stock')):
            run = self.runs('probe', 'dark_data', *subject_argv)
            command = ' '.join(run.command(Path('/work'), Path('/tree')))
            self.assertIn('saio %s --probe run ' % cluster, command)
            self.assertTrue(
                command.endswith(' /tree/test/probe/test_dark_data.py'))

    def test_a_probe_of_a_subject_without_a_cluster_is_an_error(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(2, program.main([
                'probe', '--subject', 'full_exchange', 'dark_data']))
        self.assertIn('cannot be run against full_exchange',
                      said.getvalue())

    def test_an_unknown_subject_is_an_error(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with self.assertRaises(SystemExit):
                program.main(['unit', '--subject', 'nonsense'])
        self.assertIn("'nonsense' (choose from 'full_exchange'",
                      said.getvalue())
