# SPDX-License-Identifier: Apache-2.0
"""A process ends with its parent, by the signal that it asked for."""

import signal
import subprocess
import sys
import unittest

from swift_lightsync.common.parent import end_with_parent

CHILD = '''
import os, signal, sys, time
from swift_lightsync.common.parent import end_with_parent
def told(*args):
    os.write(1, b'told')
    os._exit(0)
signal.signal(signal.SIGTERM, told)
reader, writer = os.pipe()
parent = os.getpid()
if not os.fork():
    if {late}:
        while os.getppid() == parent:
            time.sleep(0.001)
    end_with_parent(parent, signal.{how})
    os.write(writer, b'.')
    while True:
        time.sleep(1)
os.close(writer)
if not {late}:
    os.read(reader, 1)  # until it has asked for the signal
os._exit(0)
'''


class TestEndWithParent(unittest.TestCase):

    def output(self, how, late=False):
        """Return what is written until both processes have ended."""
        return subprocess.run(
            [sys.executable, '-c', CHILD.format(how=how, late=late)],
            stdout=subprocess.PIPE, timeout=300, check=True).stdout

    def test_it_gets_the_signal_when_its_parent_ends(self):
        self.assertEqual(b'told', self.output('SIGTERM'))

    def test_it_can_be_killed(self):
        self.assertEqual(b'', self.output('SIGKILL'))

    def test_it_ends_if_its_parent_has_ended_before(self):
        self.assertEqual(b'', self.output('SIGTERM', late=True))

    def test_a_signal_that_does_not_exist_is_refused(self):
        with self.assertRaises(OSError):
            end_with_parent(how=signal.NSIG + 100)


if __name__ == '__main__':
    unittest.main()
