# SPDX-License-Identifier: Apache-2.0
"""What the tests of the appender share: a disk that fails, and threads."""

import threading
from unittest import mock

from tests.unit.losf.volumes import FailingDisk, VolumeTest, bytes_of
from tests.waiting import wait_for

LONG = 300000


class AppenderTest(VolumeTest):
    disk_class = FailingDisk

    def setUp(self):
        super().setUp()
        self.disk = self.disk_class()
        # Nothing is laid out: test_laying_out.py has that.
        for name, value in ('os', self.disk), ('ROOM', 2 ** 63):
            patched = mock.patch('swift_losf.volumes.writable.' + name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def syncs(self):
        return sum(1 for each in self.disk.log if each[0] == 'sync')

    def put_many(self, lengths):
        """
        Put files from a thread each.

        :returns: the outcome of each, by number: a Pending or an OSError
        """
        outcomes = {}

        def put(number, length):
            try:
                outcomes[number] = self.put(number, bytes_of(number, length))
            except OSError as err:
                outcomes[number] = err
        threads = [threading.Thread(target=put, args=each, daemon=True)
                   for each in enumerate(lengths)]
        for thread in threads:
            thread.start()
        return threads, outcomes

    def wait(self, condition):
        wait_for(condition, 'it holds', 120)

    def join(self, threads):
        for thread in threads:
            thread.join(120)
            self.assertFalse(thread.is_alive())
