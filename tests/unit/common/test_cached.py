# SPDX-License-Identifier: Apache-2.0
"""Values that are kept, in a process in which eventlet makes locks green."""

import subprocess
import sys
import unittest

from swift_lightsync.common.cached import cached_property

#: Eight pool threads ask eight objects for a value that takes a while.
THREADS = """
from swift_lightsync.common.cached import cached_property
from swift.common.concurrency import GreenPool, patcher, tpool
from swift.common.utils import eventlet_monkey_patch
sleep = patcher.original('time').sleep

class Slow:
    @cached_property
    def value(self):
        sleep(0.2)
        return 7

# It makes the locks green that there are.
eventlet_monkey_patch()
print(sum(GreenPool(8).imap(lambda each: tpool.execute(
    lambda: each.value), [Slow() for _ in range(8)])))
"""


class Counted:
    """Counts how often its value is worked out."""

    def __init__(self):
        self.asked = 0

    @cached_property
    def value(self):
        """What is kept."""
        self.asked += 1
        return [self.asked]


class TestCached(unittest.TestCase):

    def test_it_is_worked_out_once_for_each_object(self):
        one, other = Counted(), Counted()
        self.assertIs(one.value, one.value)
        self.assertIsNot(one.value, other.value)
        self.assertEqual((1, 1), (one.asked, other.asked))
        self.assertEqual('What is kept.', Counted.value.__doc__)

    def test_no_pool_thread_waits_for_another_for_good(self):
        done = subprocess.run(
            [sys.executable, '-c', THREADS], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, timeout=120, check=True)
        self.assertEqual(b'56\n', done.stdout)
