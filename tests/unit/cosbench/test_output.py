# SPDX-License-Identifier: Apache-2.0
"""Output that nobody reads any more ends commands as other tools' does."""

import json
import os
import subprocess
import sys

from swift_lightsync.common.command import UNREAD
from tests.unit.cosbench.directory_case import DirectoryCase
from tests.unit.cosbench.documents import reads
from tests.unit.cosbench.processes import DEADLINE, environment


class TestCommands(DirectoryCase):

    def setUp(self):
        super().setUp()
        self.put('w.xml', reads('workers="1" totalOps="5"'))

    def run_it(self, *arguments, **streams):
        # It writes at its end, into a pipe that nobody reads.
        buffered = environment()
        buffered.pop('PYTHONUNBUFFERED', None)
        reader, pipe = os.pipe()
        os.close(reader)
        try:
            return subprocess.run(
                [sys.executable, '-m', 'cosbench', *arguments],
                env=buffered, timeout=DEADLINE, text=True, **{
                    'stderr': subprocess.PIPE, 'stdout': pipe,
                    **{key: pipe for key in streams}})
        finally:
            os.close(pipe)

    def test_a_command_ends_without_a_word(self):
        done = self.run_it('validate', self.path('w.xml'))
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
