# SPDX-License-Identifier: Apache-2.0
"""Output that nobody reads any more ends commands as other tools' does."""

import json
import os
import subprocess
import sys
import unittest
from unittest import mock

from swift_lightsync.common.command import UNREAD, until_unread
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.processes import DEADLINE, environment

SHORT = wrapped(work(operation('containers=c(1);objects=c(1)', 'read'),
                     'workers="1" totalOps="5"'),
                above='<storage type="mock"/>')


def buffered():
    """
    :returns: the environment of a process that writes at its end
    """
    found = environment()
    found.pop('PYTHONUNBUFFERED', None)
    return found


def unread():
    """
    :returns: the end of a pipe that nobody reads
    """
    reader, writer = os.pipe()
    os.close(reader)
    return writer


class TestCommands(DirectoryCase):

    def setUp(self):
        super().setUp()
        self.put('w.xml', SHORT)

    def run_it(self, *arguments, **streams):
        pipe = unread()
        try:
            return subprocess.run(
                [sys.executable, '-m', 'cosbench', *arguments],
                env=buffered(), timeout=DEADLINE, text=True, **{
                    'stderr': subprocess.PIPE, 'stdout': pipe,
                    **{key: pipe for key in streams}})
        finally:
            os.close(pipe)

    def test_a_command_ends_without_a_word(self):
        for arguments in (('validate', self.path('w.xml')), ('--help',)):
            done = self.run_it(*arguments)
            self.assertEqual((UNREAD, ''), (done.returncode, done.stderr))

    def test_a_result_that_nobody_reads_is_in_the_archive(self):
        done = self.run_it('run', self.path('w.xml'), '--json', '-',
                           '--drivers', '1', '--quiet',
                           '--archive', self.path('archive'))
        self.assertEqual(UNREAD, done.returncode)
        self.assertNotIn('roken', done.stderr)
        self.assertIn('report.html', os.listdir(self.path('archive/w1-n')))

    def test_a_run_whose_progress_nobody_reads_goes_on_to_its_end(self):
        done = self.run_it('run', self.path('w.xml'), '--json',
                           self.path('out.json'), '--drivers', '1',
                           '--archive', self.path('archive'), stderr=True)
        self.assertEqual(0, done.returncode)
        with open(self.path('out.json')) as stream:
            self.assertEqual('finished', json.load(stream)['state'])

    def test_without_any_output_a_command_does_its_work(self):
        done = subprocess.run(
            ['sh', '-c', 'exec "$@" >&-', 'sh', sys.executable, '-m',
             'cosbench', 'validate', self.path('w.xml')],
            env=environment(), timeout=DEADLINE, text=True,
            stderr=subprocess.PIPE)
        self.assertEqual((0, ''), (done.returncode, done.stderr))


class TestUntilUnread(unittest.TestCase):

    def test_what_is_read_is_flushed_and_ends_as_it_ended(self):
        with mock.patch.object(sys, 'stdout', mock.Mock()) as out:
            with until_unread():
                pass
            out.flush.assert_called_once_with()
            with self.assertRaises(ValueError), until_unread():
                raise ValueError
