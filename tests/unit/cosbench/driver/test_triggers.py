# SPDX-License-Identifier: Apache-2.0
"""Triggers of a driver: what is run, with what, and when it ends."""

import os
import signal
import subprocess
import unittest

from cosbench.driver.triggers import ENVIRONMENT, MAX_LINES
from tests.unit.cosbench.driver.scripts import HOLD, Scripts, wait_for_end
from tests.unit.cosbench.processes import (
    DEADLINE,
    Listener,
    ask_driver,
    cosbench,
)
from tests.waiting import wait_for


class TriggerCase(unittest.TestCase):

    def setUp(self):
        self.scripts = Scripts(self)

    def ask(self, method, target, found=None):
        return ask_driver(self.url, method, target, found)

    def start(self, trigger, key='t1'):
        return self.ask('POST', '/v1/triggers', {
            'id': key, 'trigger': trigger, 'lease': 60})

    def end(self, key='t1'):
        """:returns: the reason"""
        status, found = self.ask('DELETE', '/v1/triggers/' + key)
        self.assertEqual(200, status, found)
        return found['reason']

    def ids(self):
        return self.ask('GET', '/v1/status')[1]['triggers']


class TestTriggers(TriggerCase):

    def setUp(self):
        super().setUp()
        self.driver = Listener(self, 'driver', '--triggers',
                               self.scripts.root)
        self.url = self.driver.url

    def test_a_script_runs_until_it_is_told_to_end(self):
        self.scripts.write('hold.sh', HOLD)
        self.assertEqual(201, self.start('hold.sh')[0])
        pids = self.scripts.pids()
        self.assertEqual(['t1'], self.ids())
        self.assertEqual('', self.end())
        wait_for_end(*pids)
        self.assertEqual([], self.ids())
        self.assertEqual(404, self.ask('DELETE', '/v1/triggers/t1')[0])

    def test_arguments_arrive_as_they_are(self):
        self.scripts.write('say', 'for each in "$@"; do echo "[$each]"; '
                           'done > new; mv new said')
        arguments = ['-k', '$(id)', '`id`', '; id', '"a  b"', '*', '', 'ä']
        self.start('say(%s)' % ', '.join(arguments))
        said = wait_for(lambda: self.scripts.lines('said'), 'it says it',
                        DEADLINE)
        self.assertEqual(['[%s]' % each for each in arguments], said)

    def test_the_environment_has_no_secrets(self):
        self.scripts.write('say', 'cat /proc/$PPID/environ /proc/$$/environ '
                           '> new; mv new said')
        self.start('say')
        found, = wait_for(lambda: self.scripts.lines('said'), 'it says it',
                          DEADLINE)
        self.assertEqual(
            {'%s=%s' % each for each in ENVIRONMENT.items()},
            set(found.strip('\0').split('\0')))

    def test_one_that_fails_is_told_of_with_what_it_said_last(self):
        self.scripts.write('fail', 'echo $$ > pids; echo $$ >> pids; '
                           'echo first; echo no disk >&2; exit 3')
        self.start('fail')
        wait_for_end(self.scripts.pids()[0])
        self.assertEqual('exit status 3: no disk', self.end())

    def test_what_is_no_executable_of_the_directory_is_refused(self):
        self.scripts.write('data', 'echo', mode=0o644)
        os.symlink('/bin/sh', self.scripts.path('sh'))
        os.mkdir(self.scripts.path('directory'))
        for trigger, words in (
                ('other', 'executable file'), ('data', 'executable file'),
                ('sh(-c, id)', 'no link'), ('directory', 'executable file'),
                ('../bin/sh', 'without a directory'),
                ('..', 'without a directory'), ('/bin/sh', 'without'),
                ('a\nb', 'control'), ('', 'must be')):
            status, found = self.start(trigger)
            self.assertEqual(400, status, found)
            self.assertIn(words, found['error'])
        self.assertEqual([], self.ids())

    def test_what_is_no_question_is_refused(self):
        self.scripts.write('go', '')
        for found in ({}, [], {'id': 't', 'trigger': 'go'},
                      {'id': 't', 'trigger': 1, 'lease': 1},
                      {'id': '../t', 'trigger': 'go', 'lease': 1},
                      {'id': 't', 'trigger': 'go', 'lease': 'x'},
                      {'id': 't', 'trigger': 'go', 'lease': 1, 'more': 1}):
            self.assertEqual(400, self.ask('POST', '/v1/triggers', found)[0])
        self.assertEqual(404, self.ask('GET', '/v1/triggers/other')[0])

    def test_the_same_twice_is_one_another_is_refused(self):
        self.scripts.write('hold.sh', HOLD)
        self.assertEqual([201, 200, 409], [
            self.start(trigger)[0] for trigger in (
                'hold.sh(1)', 'hold.sh(1)', 'hold.sh(2)')])

    def test_nothing_is_left_of_a_driver_that_ends_or_is_killed(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.scripts.write('hold.sh', HOLD)
            self.start('hold.sh')
            pids = self.scripts.pids()
            self.driver.kill(number)
            wait_for_end(*pids)
            self.scripts.remove('pids')
            self.driver.end()
            self.driver.start()
            self.url = self.driver.url


class TestLog(TriggerCase):

    def test_what_a_script_says_is_in_the_log_and_has_an_end(self):
        driver = Listener(self, 'driver', '--triggers', self.scripts.root,
                          level='info', log=subprocess.PIPE)
        self.url = driver.url
        self.scripts.write(
            'say', r"printf 'a\033[31m\302\205b\n'; seq %d; "
            'echo $$ > pids; echo $$ >> pids' % (2 * MAX_LINES))
        self.start('say')
        wait_for_end(self.scripts.pids()[0])
        self.end()
        driver.process.terminate()
        _, said = driver.process.communicate(timeout=DEADLINE)
        lines = [line for line in said.decode().splitlines()
                 if 'cosbench.trigger' in line]
        self.assertIn('t1: a?[31m?b', lines[1])
        # It runs, what it says, that there is more, and its end.
        self.assertEqual(MAX_LINES + 3, len(lines))
        self.assertIn('t1: %d' % (MAX_LINES - 1), lines[MAX_LINES])
        self.assertIn('not logged', lines[MAX_LINES + 1])


class TestOff(TriggerCase):

    def test_without_leave_none_is_run(self):
        self.url = Listener(self, 'driver').url
        self.scripts.write('go', '')
        self.assertIsNone(self.ids())
        status, found = self.start('go')
        self.assertEqual(403, status)
        self.assertIn('--triggers', found['error'])

    def test_a_directory_that_is_none_or_open_to_all_is_refused(self):
        self.scripts.write('file', '')
        os.chmod(self.scripts.root, 0o777)
        for path in (self.scripts.root, self.scripts.path('file'),
                     self.scripts.path('other')):
            done = cosbench('driver', '--port', 0, '--triggers', path)
            self.assertEqual(2, done.returncode)
            self.assertIn('--triggers=', done.stderr)
