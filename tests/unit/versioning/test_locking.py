# SPDX-License-Identifier: Apache-2.0
"""Writers of one container wait for each other in order."""

import os
import tempfile
import unittest
from unittest import mock

from swift.common.concurrency import sleep, spawn
from swift.common.exceptions import LockTimeout
from swift.common.utils import lock_parent_directory

from swift_lightsync.versioning.server import locking


class TestLocked(unittest.TestCase):
    """What ``locked`` gives, and to whom first."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, 'hash.db.pending')

    def test_those_who_ask_first_get_it_first(self):
        order = []

        def write(number):
            with locking.locked(self.path, 10):
                sleep(0)
                order.append(number)

        for thread in [spawn(write, number) for number in range(20)]:
            thread.wait()
        self.assertEqual(order, list(range(20)))

    def test_one_of_a_process_asks_for_the_file(self):
        asking = most = 0

        class Lock:
            def __enter__(self):
                nonlocal asking, most
                asking += 1
                most = max(most, asking)
                sleep(0)

            def __exit__(self, *_error):
                nonlocal asking
                asking -= 1

        def write():
            with locking.locked(self.path, 10):
                sleep(0)

        with mock.patch.object(locking, 'lock_parent_directory',
                               lambda *_: Lock()):
            for thread in [spawn(write) for _ in range(5)]:
                thread.wait()
        self.assertEqual(most, 1)

    def test_who_waits_in_vain_is_told(self):
        with locking.locked(self.path, 10):
            with self.assertRaises(LockTimeout):
                with locking.locked(self.path, 0.01):
                    self.fail('both have it')
        with locking.locked(self.path, 10):
            pass

    def test_other_processes_are_kept_out(self):
        with locking.locked(self.path, 10):
            with self.assertRaises(LockTimeout):
                with lock_parent_directory(self.path, 0.01):
                    self.fail('both have it')

    def test_nothing_is_kept_of_paths_that_nobody_locks(self):
        with locking.locked(self.path, 10):
            self.assertIn(self.path, locking._semaphores)
        self.assertNotIn(self.path, locking._semaphores)


if __name__ == '__main__':
    unittest.main()
