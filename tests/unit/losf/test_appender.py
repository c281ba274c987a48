# SPDX-License-Identifier: Apache-2.0
"""The appender: disks that fail, watermarks, and volumes that are idle."""

import errno
import fcntl
import os
import time
from unittest import mock

from swift_lightsync.common.files import try_lock
from swift_losf.diskfile.vfile import VFileWriter
from swift_losf.volumes import volume_pool
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.volumes import (
    LONG,
    NAME,
    PARTITION,
    AppenderTest,
    VolumeTest,
    bytes_of,
    hash_of,
)
from tests.waiting import wait_for


class TestErrors(AppenderTest):

    def test_a_full_disk_leaves_no_tail_and_the_volume_goes_on(self):
        self.put(1, b'x').done()
        size = os.path.getsize(self.layout.volume(1))
        for code, length in ((errno.ENOSPC, 10000), (errno.ENOSPC, LONG)):
            self.disk.space = 5000
            with self.assertRaises(OSError) as caught:
                self.put(2, bytes_of(2, length))
            self.assertEqual(code, caught.exception.errno)
        self.disk.space = None
        # cut off to the end of the last record, or its padding
        self.assertLess(os.path.getsize(self.layout.volume(1)) - size, 4096)
        pending = self.put(3, b'later')
        self.assertEqual(8320, pending.location.offset)
        self.assertEqual(2, len(self.found()))

    def test_a_long_file_that_does_not_fit_is_cut_off(self):
        writer = VFileWriter(self.appender)
        self.disk.space = 8192 + LONG
        with self.assertRaises(OSError) as caught:
            for _ in range(20):
                writer.write(bytes(65536))
        self.assertEqual(errno.ENOSPC, caught.exception.errno)
        self.assertEqual(8192, os.path.getsize(self.layout.volume(1)))
        self.disk.space = None
        self.assertEqual(8192, self.put(1, b'x').location.offset)

    def test_a_long_file_whose_sync_fails_is_not_there(self):
        self.put(1, bytes_of(1, LONG)).done()
        self.disk.failing_syncs = 1
        with self.assertRaises(OSError) as caught:
            self.put(2, bytes_of(2, LONG))
        self.assertEqual(errno.EIO, caught.exception.errno)
        self.assertEqual(1, len(self.found()))
        self.assertEqual(2, self.put(3, bytes_of(3, LONG)).location.volume)

    def test_a_volume_that_cannot_be_cut_is_not_used_again(self):
        self.put(1, b'x').done()
        self.disk.space, self.disk.failing_cuts = 100, True
        with self.assertRaises(OSError) as caught:
            self.put(2, b'x')
        self.assertEqual(errno.ENOSPC, caught.exception.errno)
        self.disk.space, self.disk.failing_cuts = None, False
        self.assertEqual(2, self.put(3, b'x').location.volume)
        self.assertEqual(1, len(self.found()))

    def test_a_volume_that_cannot_be_made_leaves_nothing(self):
        self.disk.space = 100
        with self.assertRaises(OSError) as caught:
            self.put(1, b'x')
        self.assertEqual(errno.ENOSPC, caught.exception.errno)
        self.assertEqual([], self.volumes())
        self.disk.space = None
        self.assertEqual(2, self.put(1, b'x').location.volume)


class TestWatermark(AppenderTest):

    def test_it_is_the_end_if_all_before_is_registered(self):
        pending = self.put(1, b'x')
        self.assertEqual(8320, pending.watermark())
        pending.done()
        self.assertEqual(8448, self.put(2, b'x').watermark())

    def test_it_is_the_first_other_that_is_not_registered(self):
        first, second, third = (self.put(n, b'x') for n in range(3))
        self.assertEqual(8320, first.watermark())
        self.assertEqual(8192, third.watermark())
        second.done()
        self.assertEqual(8448, first.watermark())
        first.done()
        self.assertEqual(8576, third.watermark())

    def test_a_file_that_is_being_written_holds_it_back(self):
        pending = self.put(1, bytes_of(1, LONG))
        end = pending.watermark()
        writer = self.writer()
        writer.write(bytes(LONG))
        self.assertEqual(end, pending.watermark())
        writer.finish('1.data', {}, 1, hash_of(2)).done()
        self.assertEqual(end + 300096, pending.watermark())

    def test_one_that_was_aborted_does_not_hold_it_back(self):
        pending = self.put(1, bytes_of(1, LONG))
        end = pending.watermark()
        writer = self.writer()
        writer.write(bytes(LONG))
        writer.abort()
        self.assertEqual(end, pending.watermark())

    def test_a_volume_stays_locked_until_all_is_registered(self):
        appender = self.new_appender(max_volume_size=4200)
        pending = self.put(1, b'x', appender=appender)
        self.assertIsNone(WritableVolume.take(self.layout.volume(1)))
        pending.done()
        volume = WritableVolume.take(self.layout.volume(1))
        self.assertIsNotNone(volume)
        volume.close()


class TestIdleVolumes(VolumeTest):

    def setUp(self):
        super().setUp()
        self.appender = self.new_appender(volume_idle_time=0.05)

    def wait_until_closed(self):
        wait_for(lambda: not self.open_volumes(), 'all are closed', 120)

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
        for writer in self.long_writers(3):
            writer.abort()
        self.wait_until_closed()
        self.assertEqual(3, len(self.volumes()))

    def test_one_with_a_record_that_is_not_registered_stays(self):
        first, second = self.put(1, b'x'), self.put(2, b'y')
        second.done()
        self.let_time_pass()
        self.assertEqual(1, len(self.open_volumes()))
        first.done()
        self.wait_until_closed()

    def test_one_that_is_written_to_stays(self):
        writer = self.writer()
        writer.write(bytes(LONG))
        self.let_time_pass()
        self.assertEqual(1, len(self.open_volumes()))
        writer.finish(NAME, {}, PARTITION, hash_of(1)).done()
        self.wait_until_closed()


class TestWaiting(VolumeTest):

    def test_the_index_server_may_lock_the_only_one_for_a_moment(self):
        self.put(1, b'x').done()
        self.appender.close()
        fd = self.open_volume()
        self.assertTrue(try_lock(fd))
        appender = self.new_appender(max_volume_count=1)
        with mock.patch.object(volume_pool, '_sleep', lambda _: fcntl.flock(
                fd, fcntl.LOCK_UN)):
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
