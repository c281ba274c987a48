# SPDX-License-Identifier: Apache-2.0
"""The appender: disks that fail, and watermarks."""

import errno
import os

from swift_losf.diskfile.vfile import VFileWriter
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.volumes import LONG, AppenderTest, bytes_of, hash_of


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
        self.assertEqual(4608, pending.location.offset)
        self.assertEqual(2, len(self.found()))

    def test_a_long_file_that_does_not_fit_is_cut_off(self):
        writer = VFileWriter(self.appender)
        self.disk.space = 4096 + LONG
        with self.assertRaises(OSError) as caught:
            for _ in range(20):
                writer.write(bytes(65536))
        self.assertEqual(errno.ENOSPC, caught.exception.errno)
        self.assertEqual(4096, os.path.getsize(self.layout.volume(1)))
        self.disk.space = None
        self.assertEqual(4096, self.put(1, b'x').location.offset)

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
        self.assertEqual(4608, pending.watermark())
        pending.done()
        self.assertEqual(5120, self.put(2, b'x').watermark())

    def test_it_is_the_first_other_that_is_not_registered(self):
        first, second, third = (self.put(n, b'x') for n in range(3))
        self.assertEqual(4608, first.watermark())
        self.assertEqual(4096, third.watermark())
        second.done()
        self.assertEqual(5120, first.watermark())
        first.done()
        self.assertEqual(5632, third.watermark())

    def test_a_file_that_is_being_written_holds_it_back(self):
        pending = self.put(1, bytes_of(1, LONG))
        end = pending.watermark()
        writer = self.writer()
        writer.write(bytes(LONG))
        self.assertEqual(end, pending.watermark())
        writer.finish('1.data', {}, 1, hash_of(2)).done()
        self.assertEqual(end + 300544, pending.watermark())

    def test_one_that_was_aborted_does_not_hold_it_back(self):
        pending = self.put(1, bytes_of(1, LONG))
        end = pending.watermark()
        writer = self.writer()
        writer.write(bytes(LONG))
        writer.abort()
        self.assertEqual(end, pending.watermark())

    def test_a_volume_stays_locked_until_all_is_registered(self):
        appender = self.new_appender(max_volume_size=4500)
        pending = self.put(1, b'x', appender=appender)
        self.assertIsNone(WritableVolume.take(self.layout.volume(1)))
        pending.done()
        volume = WritableVolume.take(self.layout.volume(1))
        self.assertIsNotNone(volume)
        volume.close()
