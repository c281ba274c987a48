# SPDX-License-Identifier: Apache-2.0
"""Volumes that nobody appends to, and waiting for one."""

import os
import time
from unittest import mock

from swift_lightsync.common.files import try_lock
from swift_losf.volumes import volume_pool
from swift_losf.volumes.volume import unlock
from tests.unit.losf.volumes import (
    LONG,
    NAME,
    PARTITION,
    VolumeTest,
    bytes_of,
    hash_of,
)
from tests.waiting import wait_for


class TestIdleVolumes(VolumeTest):

    def setUp(self):
        super().setUp()
        self.appender = self.new_appender(volume_idle_time=0.05)

    def open_files(self):
        """:returns: how many volumes this process has open"""
        # One that was made nameless is still called so here.
        count = 0
        for fd in os.listdir('/proc/self/fd'):
            try:
                path = os.readlink('/proc/self/fd/' + fd)
            except FileNotFoundError:
                continue
            count += os.path.dirname(path) == self.layout.volumes
        return count

    def wait_until_closed(self):
        wait_for(lambda: not self.open_files(), 'all are closed', 120)

    def let_time_pass(self):
        later = time.monotonic() + 1000
        with mock.patch.object(volume_pool.time, 'monotonic', lambda: later):
            self.appender.pool._close_idle()

    def test_they_are_closed_and_used_again(self):
        for number, length in enumerate((10, LONG, 10)):
            pending = self.put(number, bytes_of(number, length))
            pending.done()
            self.wait_until_closed()
            self.assertEqual(bytes_of(number, length),
                             self.read(number, pending.location))
        self.assertEqual(['v0000000001'], self.volumes())

    def test_all_that_are_idle_are_closed_each_in_its_time(self):
        writers = [self.writer() for _ in range(3)]
        for writer in writers:
            writer.write(bytes(LONG))
        for writer in writers:
            writer.abort()
        self.wait_until_closed()
        self.assertEqual(3, len(self.volumes()))

    def test_one_with_a_record_that_is_not_registered_stays(self):
        first, second = self.put(1, b'x'), self.put(2, b'y')
        second.done()
        self.let_time_pass()
        self.assertEqual(1, self.open_files())
        first.done()
        self.wait_until_closed()

    def test_one_that_is_written_to_stays(self):
        writer = self.writer()
        writer.write(bytes(LONG))
        self.let_time_pass()
        self.assertEqual(1, self.open_files())
        writer.finish(NAME, {}, PARTITION, hash_of(1)).done()
        self.wait_until_closed()


class TestWaiting(VolumeTest):

    def test_the_index_server_may_lock_the_only_one_for_a_moment(self):
        self.put(1, b'x').done()
        self.appender.close()
        fd = self.open_volume()
        self.assertTrue(try_lock(fd))
        appender = self.new_appender(max_volume_count=1)
        with mock.patch.object(volume_pool, '_sleep', lambda _: unlock(fd)):
            pending = self.put(2, b'y', appender=appender)
        self.assertEqual(1, pending.location.volume)

    def test_it_does_not_wait_for_ever(self):
        self.put(1, b'x').done()
        self.appender.close()
        self.assertTrue(try_lock(self.open_volume()))
        appender = self.new_appender(max_volume_count=1)
        begun = time.monotonic()
        with self.assertRaisesRegex(OSError, 'max_volume_count allows 1'):
            self.put(2, b'y', appender=appender)
        self.assertGreaterEqual(time.monotonic() - begun, volume_pool.PATIENCE)
