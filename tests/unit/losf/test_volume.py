# SPDX-License-Identifier: Apache-2.0
import errno
import os
import subprocess
import sys
import time
from dataclasses import replace
from unittest import mock

from swift_losf.format.header import (
    HEADER_LENGTH,
    QUARANTINED_OFFSET,
    FormatError,
    VolumeType,
)
from swift_losf.format.layout import Layout
from swift_losf.format.record import BlockSums, NewRecord
from swift_losf.volumes import writable
from swift_losf.volumes.ranges import lock_range, punch_hole, unlock_range
from swift_losf.volumes.volume import (
    iter_records,
    mark_durable,
    mark_quarantined,
    pread,
    read_header,
)
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.volumes import VolumeTest, bytes_of, hash_of


class TestScan(VolumeTest):

    def put_all(self, lengths):
        locations = []
        for number, length in enumerate(lengths):
            pending = self.put(number, bytes_of(number, length))
            pending.done()
            locations.append(pending.location)
        return locations

    def test_it_begins_at_the_next_record(self):
        locations = self.put_all([10, 10, 10])
        for start, first in ((0, 0), (8192, 0), (8193, 1), (8320, 1),
                             (8321, 2), (8449, 3)):
            self.assertEqual(
                locations[first:],
                [each.location for each in self.found(start=start)], start)

    def test_it_does_not_go_behind_the_end(self):
        locations = self.put_all([10, 10])
        fd = self.open_volume()
        header = read_header(fd)
        for end, count in ((8192, 0), (8193, 0), (8320, 1), (8321, 1),
                           (locations[1].offset + locations[1].length, 2),
                           (2 ** 40, 2)):
            self.assertEqual(
                count, len(list(iter_records(fd, header, 0, end))), end)

    def test_it_skips_holes(self):
        locations = self.put_all([10, 300, 9000, 10])
        fd = self.open_volume()
        for gone in (1, 2):
            punch_hole(fd, locations[gone].offset, locations[gone].length)
        self.assertEqual([locations[0], locations[3]],
                         [each.location for each in self.found()])

    def test_it_is_quick_in_a_hole_of_a_terabyte(self):
        self.put_all([10])
        os.truncate(self.layout.volume(1), 2 ** 40)
        self.assertEqual(1, len(self.found()))

    def test_it_finds_those_behind_a_damaged_one_and_names_that(self):
        locations = self.put_all([10, 100000, 10])
        for part in (locations[1].data_offset + 70000,
                     locations[1].footer_offset):
            fd = self.open_volume()
            byte = os.pread(fd, 1, part)
            os.pwrite(fd, bytes([byte[0] ^ 1]), part)
            damaged = []
            found = self.found(damaged=lambda *args: damaged.append(args))
            self.assertEqual([locations[0], locations[2]],
                             [each.location for each in found])
            (offset, err), = damaged
            self.assertEqual(locations[1].offset, offset)
            self.assertIsInstance(err, FormatError)
            os.pwrite(fd, byte, part)

    def forge(self, salt, at):
        """:returns: a whole record for an offset of the first volume"""
        real = read_header(self.open_volume())
        header = replace(real, salt=salt or real.salt)
        sums = BlockSums()
        sums.add(b'forged')
        record = NewRecord.make(1, hash_of(66), '2.data', {}, 6, sums.pack(),
                                time.time_ns())
        _, head, footer = record.place(header, at)
        return head + b'forged' + footer

    def unfinished(self, salt):
        """A PUT that was killed while it sent what looks like a record."""
        at = self.found()[-1].location.offset + 2 * 4096
        fd = self.open_volume()
        os.pwrite(fd, b'x' * 4096 + self.forge(salt, at), at - 4096)
        return [each.location.offset for each in self.found()
                if each.location.offset == at]

    def test_what_a_client_sends_is_never_taken_for_a_record(self):
        self.put_all([10])
        self.assertEqual([], self.unfinished(b'guessed!'))
        # it takes the salt, which never leaves the volume
        self.assertEqual(1, len(self.unfinished(None)))

    def test_a_copy_of_a_volume_within_one_has_no_records(self):
        self.put_all([10, 5000, 10])
        with open(self.layout.volume(1), 'rb') as volume:
            copy = volume.read()
        self.put(9, bytes(4096 - HEADER_LENGTH) + copy).done()
        location = self.found()[-1].location
        fd = self.open_volume()
        os.pwrite(fd, bytes(HEADER_LENGTH), location.offset)
        self.assertEqual(b'\xc3LOSFobj', os.pread(
            fd, 8, location.offset + 3 * 4096))
        self.assertEqual(3, len(self.found()))

    def test_marks_are_found_again(self):
        locations = self.put_all([10, 10, 10, 10])
        mark_quarantined(self.layout, locations[1])
        mark_durable(self.layout, locations[2])
        mark_durable(self.layout, locations[3])
        mark_quarantined(self.layout, locations[3])
        self.assertEqual(
            [(False, False), (True, False), (False, True), (True, True)],
            [(each.header.quarantined, each.header.durable)
             for each in self.found()])

    def test_a_mark_does_not_fill_a_hole(self):
        location, = self.put_all([10])
        fd = self.open_volume()
        punch_hole(fd, location.offset, location.length)
        mark_quarantined(self.layout, location)
        self.assertEqual(b'\0', os.pread(
            fd, 1, location.offset + QUARANTINED_OFFSET))

    def test_a_read_ends_at_the_end_of_the_file(self):
        self.put_all([10])
        fd = self.open_volume()
        size = os.fstat(fd).st_size
        self.assertEqual(10, len(pread(fd, 100, size - 10)))
        self.assertEqual(b'', pread(fd, 100, size))

    def test_a_hole_that_cannot_be_punched_is_an_error(self):
        self.put_all([10])
        with open(self.layout.volume(1), 'rb') as volume:
            with self.assertRaisesRegex(OSError, 'punching 5 .* at 4096'):
                punch_hole(volume.fileno(), 4096, 5)


class TestRangeLocks(VolumeTest):

    def setUp(self):
        super().setUp()
        self.put(1, b'x').done()

    def test_readers_share_and_keep_a_writer_out(self):
        self.appender.close()
        first, second, sweeper = (self.open_volume() for _ in range(3))
        self.assertTrue(lock_range(first, 4096, 4096, shared=True))
        self.assertTrue(lock_range(second, 4096, 4096, shared=True))
        self.assertFalse(lock_range(sweeper, 8191, 10))
        self.assertTrue(lock_range(sweeper, 8192, 4096))
        unlock_range(first, 4096, 4096)
        self.assertFalse(lock_range(sweeper, 4096, 4096))
        unlock_range(second, 4096, 4096)
        self.assertTrue(lock_range(sweeper, 4096, 4096))
        self.assertFalse(lock_range(first, 4096, 1, shared=True))

    def test_below_its_watermark_they_do_not_meet_the_one_that_appends(self):
        self.assertIsNone(WritableVolume.take(self.layout.volume(1)))
        ends = []
        for _ in range(3):
            pending = self.put(1, b'x')
            end = pending.watermark()
            ends.append(end)
            sweeper = self.open_volume()
            self.assertFalse(lock_range(sweeper, 0, end + 1))
            pending.done()
            self.assertTrue(lock_range(sweeper, 0, end))
            self.assertFalse(lock_range(sweeper, end, 1))
            unlock_range(sweeper, 0, end)
        self.assertEqual(sorted(set(ends)), ends)

    def test_a_descriptor_that_is_no_volume_is_an_error(self):
        fd = os.open(self.layout.volume(1), os.O_RDONLY)
        os.close(fd)
        with self.assertRaises(OSError) as caught:
            lock_range(fd, 0, 1)
        self.assertEqual(errno.EBADF, caught.exception.errno)


class TestWritableVolume(VolumeTest):

    def create(self, number=1, layout=None):
        volume = WritableVolume.create(layout or self.layout, number,
                                       VolumeType.DATA)
        self.addCleanup(volume.close)
        return volume

    def test_a_new_one_has_its_header_and_is_locked(self):
        volume = self.create(5)
        header = read_header(self.open_volume(5))
        self.assertEqual(volume.header, header)
        self.assertEqual((5, VolumeType.DATA, 0),
                         (header.number, header.type, header.policy))
        self.assertIsNone(WritableVolume.take(self.layout.volume(5)))
        self.assertEqual(8192, volume.end)

    def test_it_gets_its_name_when_it_is_on_disk(self):
        events = []

        class Disk:
            def __getattr__(self, name):
                def call(*args, **kwargs):
                    events.append(name)
                    return getattr(os, name)(*args, **kwargs)
                known = getattr(os, name)
                return call if name in (
                    'pwritev', 'fsync', 'link') else known

        with mock.patch.object(writable, 'os', Disk()):
            self.create()
        self.assertEqual(['pwritev', 'fsync', 'link', 'fsync'], events)

    def test_one_that_exists_is_not_replaced(self):
        first = self.create()
        with self.assertRaises(FileExistsError):
            self.create()
        self.assertEqual(first.header, read_header(self.open_volume()))

    def test_the_directory_of_a_device_is_never_made(self):
        layout = Layout(os.path.join(self.device, 'unmounted'), 0)
        with self.assertRaises(FileNotFoundError):
            self.create(layout=layout)
        self.assertEqual([], os.listdir(self.device))

    def test_the_directories_that_it_makes_are_synced(self):
        with mock.patch('swift_losf.volumes.writable.'
                        'sync_directory') as synced:
            self.create(1)
            self.create(2)
        self.assertEqual([mock.call(self.device),
                          mock.call(self.layout.root)], synced.mock_calls)

    def test_salts_differ(self):
        self.assertNotEqual(self.create(1).header.salt,
                            self.create(2).header.salt)

    def test_it_appends_at_the_next_multiple_of_the_alignment(self):
        volume = WritableVolume.create(self.layout, 1, VolumeType.DATA)
        volume.write_at([b'x' * 5000], 4096)
        volume.close()
        volume = WritableVolume.take(self.layout.volume(1))
        self.addCleanup(volume.close)
        self.assertEqual(9152, volume.end)

    def test_what_is_gone_or_no_volume_cannot_be_taken(self):
        os.makedirs(self.layout.volumes)
        path = self.layout.volume(1)
        self.assertIsNone(WritableVolume.take(path))
        with open(path, 'wb') as file:
            file.write(bytes(5000))
        with self.assertRaises(FormatError):
            WritableVolume.take(path)

    def test_one_that_is_set_aside_while_it_is_taken_is_left_alone(self):
        WritableVolume.create(self.layout, 1, VolumeType.DATA).close()
        path = self.layout.volume(1)
        real = os.fstat

        def fstat(fd):
            if os.path.exists(path):
                os.rename(path, path + '.broken')
            return real(fd)

        with mock.patch('swift_losf.volumes.writable.os.fstat', fstat):
            self.assertIsNone(WritableVolume.take(path))

    def test_a_write_that_comes_in_parts_is_continued(self):
        volume = self.create()
        pieces = [bytes_of(number, 1000 + number) for number in range(5)]

        def pwritev(fd, buffers, offset):
            return os.pwrite(fd, b''.join(buffers)[:700], offset)

        with mock.patch('swift_losf.volumes.writable.os.pwritev', pwritev):
            volume.write_at([b''] + pieces + [b''], 4096)
        self.assertEqual(b''.join(pieces), pread(volume.fd, 9999, 4096))
        volume.write_at([b'x'] * 3000, 4096)
        self.assertEqual(b'x' * 3000, pread(volume.fd, 3000, 4096))

    def test_the_lock_ends_with_the_process(self):
        WritableVolume.create(self.layout, 2, VolumeType.DATA).close()
        path = self.layout.volume(2)
        process = subprocess.Popen(
            [sys.executable, '-c', 'import sys\n'
             'from swift_losf.volumes.writable import WritableVolume\n'
             'volume = WritableVolume.take(sys.argv[1])\n'
             'print(volume is not None, flush=True)\n'
             'sys.stdin.read()', path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(b'True\n', process.stdout.readline())
            self.assertIsNone(WritableVolume.take(path))
        finally:
            process.kill()
            process.communicate()
        volume = WritableVolume.take(path)
        self.assertIsNotNone(volume)
        volume.close()
