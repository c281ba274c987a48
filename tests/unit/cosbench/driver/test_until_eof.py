# SPDX-License-Identifier: Apache-2.0
"""until_eof: nothing of a command outlives standard input."""

import subprocess
import sys
import unittest

from cosbench.driver import until_eof
from tests.unit.cosbench.driver.scripts import HOLD, Scripts, wait_for_end
from tests.unit.cosbench.processes import DEADLINE
from tests.waiting import is_running


class TestLeash(unittest.TestCase):

    def setUp(self):
        self.scripts = Scripts(self)

    def command(self, text, seconds=DEADLINE, **written):
        self.scripts.write('go', text, **written)
        return [sys.executable, '-I', until_eof.__file__, str(seconds),
                self.scripts.path('go')]

    def start(self, command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        for end in (process.stderr.close, process.stdin.close, process.wait,
                    process.kill):
            self.addCleanup(end)
        return process

    def end(self, process):
        """:returns: exit status"""
        process.stdin.close()
        return process.wait(DEADLINE)

    def test_the_whole_group_ends_with_standard_input(self):
        process = self.start(self.command(HOLD))
        pids = self.scripts.pids()
        self.assertEqual(0, self.end(process))
        wait_for_end(*pids)

    def test_who_ignores_sigterm_is_killed(self):
        process = self.start(self.command("trap '' TERM; " + HOLD, 0.1))
        pids = self.scripts.pids()
        self.assertEqual(0, self.end(process))
        wait_for_end(*pids)

    def test_sigterm_comes_first(self):
        process = self.start(self.command(
            "trap 'echo bye > said; exit 3' TERM; " + HOLD))
        self.scripts.pids()
        # Told to end, it may end as it likes.
        self.assertEqual(0, self.end(process))
        self.assertEqual(['bye'], self.scripts.lines('said'))

    def test_what_runs_in_the_background_lives_until_then(self):
        process = self.start(self.command(HOLD.replace('wait', '')))
        first, second = self.scripts.pids()
        wait_for_end(first)
        self.assertTrue(is_running(second))
        self.assertEqual(0, self.end(process))
        wait_for_end(second)

    def test_a_command_that_has_ended_gives_its_status(self):
        for text, status in (('exit 7', 7), ('kill -9 $$', 137),
                             ('exit 0', 0)):
            process = self.start(self.command(
                'echo $$ > pids; echo $$ >> pids; ' + text))
            wait_for_end(self.scripts.pids()[0])
            self.assertEqual(status, self.end(process))
            self.scripts.remove('pids')

    def test_a_command_that_cannot_be_run_says_why(self):
        process = self.start(self.command('', mode=0o644))
        self.assertEqual(until_eof.CANNOT_RUN, process.wait(DEADLINE))
        self.assertIn(b'Permission denied', process.stderr.read())
