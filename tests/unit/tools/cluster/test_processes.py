# SPDX-License-Identifier: Apache-2.0
"""Processes are found, ended and waited for."""

import os
import signal
import socket
import subprocess
import sys
import unittest

from tools import ToolError
from tools.cluster import ports, processes

# They are ready when they are what they will be: a process in the middle of an
# exec has no command line.
HEEDFUL = 'import signal; print("ready", flush=True); signal.pause()'
STUBBORN = ('import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); '
            'print("ready", flush=True); signal.pause()')


class TestEnd(unittest.TestCase):

    def start(self, *argv):
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def find(self, pid):
        return lambda: [each for each in processes.all_processes()
                        if each.pid == pid]

    def test_a_process_that_heeds_the_signal_ends_by_it(self):
        process = self.start(sys.executable, '-c', HEEDFUL)
        process.stdout.readline()
        self.assertEqual({process.pid},
                         processes.end(self.find(process.pid)))
        self.assertEqual(-signal.SIGTERM, process.wait())

    def test_a_process_that_does_not_is_killed(self):
        process = self.start(sys.executable, '-c', STUBBORN)
        process.stdout.readline()
        processes.end(self.find(process.pid), timeout=0.1)
        self.assertEqual(-signal.SIGKILL, process.wait())

    def test_nothing_to_end_is_no_error(self):
        self.assertEqual(set(), processes.end(list))


class TestWaitUntil(unittest.TestCase):

    def test_the_result_comes_as_soon_as_there_is_one(self):
        answers = iter([0, 0, 7])
        self.assertEqual(7, processes.wait_until(
            lambda: next(answers), 60, 'an answer'))

    def test_what_did_not_happen_is_named(self):
        with self.assertRaisesRegex(ToolError, 'still not: rain'):
            processes.wait_until(lambda: False, 0, 'rain')


class TestPorts(unittest.TestCase):

    def test_a_listening_port_is_seen_and_cannot_be_bound(self):
        with socket.socket() as sock:
            sock.bind(('127.0.0.1', 0))
            sock.listen()
            pid = os.getpid()
            ip, port = sock.getsockname()
            self.assertTrue(ports.listens(pid, ip, port))
            self.assertFalse(ports.listens(pid, '127.0.0.2', port))
            self.assertEqual('Address already in use',
                             ports.bind_error(ip, port))
            self.assertEqual('', ports.bind_error('127.0.0.2', port))
        self.assertFalse(ports.listens(pid, ip, port))

    def test_every_port_from_a_free_base_port_can_be_bound(self):
        base = ports.free_base_port()
        self.assertEqual({''}, {ports.bind_error('127.0.0.1', base + offset)
                                for offset in range(10)})

    def test_what_one_process_has_found_another_does_not_find(self):
        base = ports.free_base_port()
        done = subprocess.run(
            [sys.executable, '-c', 'from tools.cluster import ports\n'
             'ports.SEARCHED = range(%d, %d, 10)\n'
             'ports.free_base_port()' % (base, base + 10)],
            stderr=subprocess.PIPE, text=True)
        self.assertIn('no free ports for a cluster', done.stderr)
