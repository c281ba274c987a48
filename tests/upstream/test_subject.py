# SPDX-License-Identifier: Apache-2.0
"""The table of subjects is sound, and the command line picks from it."""

import contextlib
import io
import unittest
from pathlib import Path
from pkgutil import resolve_name
from unittest import mock

from tests.upstream import __main__ as program
from tests.upstream import runner, subject


class TestSubjects(unittest.TestCase):
    def test_each_names_what_is_replaced_once(self):
        for loaded in subject.SUBJECTS.values():
            self.assertTrue(loaded.rows)
            self.assertEqual(len(loaded.rows),
                             len({row.stock for row in loaded.rows}))

    def test_each_names_what_there_is(self):
        for loaded in (*subject.SUBJECTS.values(), *subject.PROBES.values()):
            for name in (*(name for row in loaded.rows
                           for name in (row.stock, row.ours)),
                         *loaded.privates, loaded.content or 'os:path'):
                resolve_name(name)

    def test_each_names_suites_that_there_are(self):
        for kind, table in (('unit', subject.SUBJECTS),
                            ('probe', subject.PROBES)):
            for loaded in table.values():
                self.assertLessEqual({*loaded.suites, *(
                    suite for row in loaded.rows
                    for _, suite, _ in row.sabotages)},
                    set(runner.SUITES[kind]))


class TestCommandLine(unittest.TestCase):
    def runs(self, *argv):
        with mock.patch.object(runner, 'gated', return_value=0) as gated:
            self.assertEqual(0, program.main(argv))
        return gated.call_args[0][0]

    def says(self, *argv):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with contextlib.suppress(SystemExit):
                self.assertEqual(2, program.main(argv))
        return said.getvalue()

    def test_a_subject_brings_its_suites_and_exclusions(self):
        for argv, suites, exclusions in (
                ((), 'obj', 'lightsync unit'),
                (('--subject', 'full_exchange'), 'replicator',
                 'full_exchange unit'),
                (('server', '--subject', 'full_exchange'), 'server',
                 'full_exchange unit'),
                (('--stock',), 'obj', None)):
            run = self.runs('unit', *argv)
            self.assertEqual((runner.SUITES['unit'][suites], exclusions),
                             (run.selection, run.exclusions))

    def test_all_loaders_have_the_same_exclusions(self):
        run = self.runs('functional', '--subject', 'write_repair',
                        '--loader', 'encryption')
        self.assertEqual(('write_repair functional', 'functional-encryption'),
                         (run.exclusions, run.section))

    def test_all_systems_are_held_to_what_versions_leave_out(self):
        run = self.runs('sites')
        command = ' '.join(run.command(Path('/work'), Path('/tree')))
        self.assertIn('--upstream-exclusions write_repair functional',
                      command)
        self.assertNotIn('--upstream-subject', command)
        self.assertTrue(command.endswith(' /tree/test/functional'))

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

    def test_what_cannot_be_run_is_an_error(self):
        self.assertIn('cannot be run against full_exchange', self.says(
            'probe', '--subject', 'full_exchange', 'dark_data'))
        self.assertIn("'nonsense' (choose from 'container'",
                      self.says('unit', '--subject', 'nonsense'))
