# SPDX-License-Identifier: Apache-2.0
"""One index server as a child: started, watched, restarted, stopped."""

import os
import signal
import subprocess
import sys

from swift.common.concurrency import sleep

from swift_losf.daemon.supervisor import State, Supervised
from swift_losf.options import ManagerOptions
from tests.unit.losf.kv_world import wait_for
from tests.unit.losf.manager_world import DirectoryTestCase
from tests.waiting import is_running

OPTIONS = ManagerOptions(stop_timeout=1)
SLEEPER = 'import time; time.sleep(600)'
STUBBORN = ('import signal, sys, time; '
            'signal.signal(signal.SIGTERM, signal.SIG_IGN); '
            'print("x y INFO deaf", file=sys.stderr, flush=True); '
            'time.sleep(600)')


class TestSupervised(DirectoryTestCase):

    def setUp(self):
        super().setUp()
        self.now = 1000.0

    def supervised(self, script=SLEEPER):
        self.child = Supervised('sda.1', [sys.executable, '-c', script],
                                OPTIONS, self.logger)
        self.addCleanup(self.end)
        return self.child

    def end(self):
        if self.child.pid:
            os.kill(self.child.pid, signal.SIGKILL)

    def tend(self, presence='m'):
        self.child.tend(presence, self.now)

    def let_die(self):
        """Have the running child die, and the next look see it."""
        os.kill(self.child.pid, signal.SIGKILL)
        self.wait_for_death()

    def wait_for_death(self, presence='m'):
        def dead():
            self.tend(presence)
            return not self.child.pid
        wait_for(dead, 'the child ends')

    def test_it_runs_as_long_as_its_device_is_there(self):
        child = self.supervised()
        self.tend(None)
        self.assertEqual((State.ABSENT, None), (child.state, child.pid))
        self.tend()
        pid = child.pid
        self.assertTrue(is_running(pid))
        self.assertEqual(State.RUNNING, child.state)
        self.tend()
        self.assertEqual(pid, child.pid)
        self.tend(None)
        self.assertEqual(State.STOPPING, child.state)
        self.wait_for_death(None)
        self.assertFalse(is_running(pid))
        self.assertEqual((State.ABSENT, 0), (child.state, child.restarts))
        self.assertEqual(0, self.logger.counters['index_server.death.sda.1'])

    def test_it_may_be_the_first_to_notice_that_its_device_is_gone(self):
        child = self.supervised('pass')
        self.tend()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        self.wait_for_death(None)
        self.assertEqual((State.ABSENT, 0), (child.state, child.restarts))
        self.assertEqual(0, self.logger.counters['index_server.death.sda.1'])
        self.assertEqual([], self.logger.at('ERROR'))

    def test_it_is_started_anew_when_something_else_is_mounted(self):
        child = self.supervised()
        self.tend('m')
        pid = child.pid

        def other():
            self.tend('n')
            return child.pid not in (None, pid)
        wait_for(other, 'another child')
        self.assertEqual((State.RUNNING, 0), (child.state, child.restarts))
        self.assertFalse(is_running(pid))

    def test_one_that_dies_is_started_again_ever_later(self):
        child = self.supervised()
        self.tend()
        for number, delay in enumerate((1, 2, 4, 8, 16, 32, 60, 60), 1):
            self.let_die()
            self.assertEqual((State.DELAYED, number),
                             (child.state, child.restarts))
            self.now += delay - 0.01
            self.tend()
            self.assertIsNone(child.pid)
            self.now += 0.01
            self.tend()
            self.assertEqual(State.RUNNING, child.state)
        self.assertEqual(8, self.logger.counters['index_server.death.sda.1'])
        self.assertEqual(9, self.logger.counters['index_server.start.sda.1'])

    def test_one_that_has_lived_is_started_again_soon(self):
        child = self.supervised()
        self.tend()
        for _ in range(4):
            self.let_die()
            self.now += 60
            self.tend()
        self.now += 10
        self.let_die()
        self.now += 1
        self.tend()
        self.assertEqual(State.RUNNING, child.state)

    def test_one_that_does_not_stop_is_killed(self):
        child = self.supervised(STUBBORN)
        self.tend()
        wait_for(lambda: self.logger.at('INFO')[-1].endswith('deaf'),
                 'it ignores SIGTERM')
        pid = child.pid
        child.stop(self.now)
        self.now += OPTIONS.stop_timeout - 0.01
        self.tend(None)
        sleep(0.1)
        self.assertTrue(is_running(pid))
        self.assertFalse(self.logger.at('ERROR'))
        self.now += 0.01
        self.wait_for_death(None)
        self.assertIn('has not ended within 1 s; killing it',
                      self.logger.at('ERROR')[0])

    def test_what_it_says_is_logged_at_its_level(self):
        self.supervised(
            'import sys; sys.stderr.write("d t ERROR torn\\nd t INFO ok\\n'
            'Traceback\\n" + "x" * 9000)')
        self.tend()
        self.wait_for_death()
        wait_for(lambda: len(self.logger.at('WARNING')) == 3, 'lines')
        self.assertEqual('index server sda.1: torn',
                         self.logger.at('ERROR')[0])
        self.assertIn('index server sda.1: ok', self.logger.at('INFO'))
        self.assertEqual('index server sda.1: Traceback',
                         self.logger.at('WARNING')[0])

    def test_one_that_cannot_be_started_is_tried_again(self):
        self.child = Supervised('sda', ['/nowhere/x'], OPTIONS, self.logger)
        self.tend()
        self.assertEqual(State.DELAYED, self.child.state)
        self.assertIn('cannot start: ', self.logger.at('ERROR')[0])
        self.tend()
        self.assertEqual(1, len(self.logger.at('ERROR')))
        self.now += 1
        self.tend()
        self.assertEqual(2, len(self.logger.at('ERROR')))

    def test_it_dies_with_its_parent_however_that_dies(self):
        parent = subprocess.Popen([sys.executable, '-W', 'ignore', '-c', '''
import logging, sys, time
from swift.common.utils.logs import SwiftLogAdapter
from swift_losf.options import ManagerOptions
from swift_losf.daemon.supervisor import Supervised
from tests.unit.sync.fixtures import CapturingLogger
child = Supervised('x', [sys.executable, '-c', %r], ManagerOptions(),
                   CapturingLogger())
child.tend('m', 0)
print(child.pid, flush=True)
time.sleep(600)
''' % SLEEPER], stdout=subprocess.PIPE, text=True)
        with parent:
            pid = int(parent.stdout.readline())
            self.assertTrue(is_running(pid))
            parent.kill()
        wait_for(lambda: not is_running(pid), 'the child ends')
