# SPDX-License-Identifier: Apache-2.0
import errno
import os
import subprocess
import sys
from dataclasses import replace
from unittest import mock

from swift_lightsync.common.files import opened
from swift_losf.diskfile.vfile import (
    CorruptRecord,
    MissingRecord,
    VFileReader,
    read_metadata,
)
from swift_losf.format.header import ALIGNMENT, SMALL, FormatError, aligned
from swift_losf.volumes.ranges import lock_range, punch_hole
from swift_losf.volumes.volume import pread
from tests.descriptors import open_below
from tests.unit.losf.volumes import NAME, VolumeTest, bytes_of, hash_of

LONG = SMALL + 100000
LENGTHS = (0, 1, 4095, 65536, 65537, SMALL, SMALL + 1, LONG, 2 ** 20)


class VFileTest(VolumeTest):

    def open(self, number, location, name=NAME):
        reader = VFileReader.open(self.layout, location, hash_of(number),
                                  name)
        self.addCleanup(reader.close)
        return reader

    def metadata(self, number, location, name=NAME):
        return read_metadata(self.layout, location, hash_of(number), name)

    def change(self, location, offset, data):
        """Overwrite a part of a record."""
        fd = self.open_volume(location.volume)
        os.pwrite(fd, data, location.offset + offset)

    def flip(self, location, offset, bit=0):
        fd = self.open_volume(location.volume)
        byte, = os.pread(fd, 1, location.offset + offset)
        self.change(location, offset, bytes([byte ^ 1 << bit]))


class TestWriteAndRead(VFileTest):

    def test_data_of_any_length_comes_back(self):
        for number, length in enumerate(LENGTHS):
            data = bytes_of(number, length)
            location = self.put(number, data).location
            reader = self.open(number, location)
            self.assertEqual((length, length),
                             (reader.size, location.data_length))
            self.assertEqual(data, reader.read())
            self.assertEqual(b'', reader.read())
            self.assertEqual({'number': number}, reader.metadata)

    def test_chunks_of_any_length_make_the_same_file(self):
        data = bytes_of(1, LONG)
        for chunk in (777, 65536, 100000, LONG):
            writer = self.writer()
            for start in range(0, LONG, chunk):
                total = writer.write(data[start:start + chunk])
            self.assertEqual(LONG, total)
            pending = writer.finish(NAME, {}, 1, hash_of(1))
            self.assertEqual(data, self.read(1, pending.location))

    def test_what_can_be_seen_as_bytes_can_be_written(self):
        writer = self.writer()
        for chunk in (b'a', bytearray(b'b'), memoryview(b'c')):
            writer.write(chunk)
        location = writer.finish(NAME, {}, 1, hash_of(1)).location
        self.assertEqual(b'abc', self.read(1, location))

    def test_ranges_come_back(self):
        for length in (3000, 200000, LONG):
            data = bytes_of(1, length)
            reader = self.open(1, self.put(1, data).location)
            for start in (0, 1, 65535, 65536, 131071, length - 1, length,
                          length + 5):
                for size in (0, 1, 2, 65536, 70000, -1, None):
                    self.assertEqual(start, reader.seek(start))
                    stop = length if size is None or size < 0 \
                        else start + size
                    expected = data[start:stop]
                    self.assertEqual(expected, reader.read(size))
                    self.assertEqual(start + len(expected), reader.tell())

    def test_nobody_seeks_what_is_before_the_data(self):
        reader = self.open(1, self.put(1, b'0123456789').location)
        with self.assertRaisesRegex(ValueError, 'seek to -1'):
            reader.seek(-1)

    def test_a_closed_reader_reads_nothing(self):
        reader = self.open(1, self.put(1, b'x').location)
        reader.close()
        reader.close()
        for call in (reader.read, reader.tell, reader.fileno,
                     lambda: reader.seek(0)):
            with self.assertRaisesRegex(ValueError, 'closed'):
                call()

    def test_short_files_are_read_at_once(self):
        location = self.put(1, bytes_of(1, SMALL)).location
        with mock.patch('swift_losf.volumes.volume.os.pread',
                        side_effect=os.pread) as reads:
            self.read(1, location)
            self.assertEqual(1, reads.call_count)
            self.metadata(1, location)
            self.assertEqual(2, reads.call_count)

    def test_metadata_of_long_files_is_read_without_the_data(self):
        location = self.put(1, bytes_of(1, 2 ** 22)).location
        with mock.patch('swift_losf.volumes.volume.os.pread',
                        side_effect=os.pread) as reads:
            self.assertEqual({'number': 1}, self.metadata(1, location)[0])
        self.assertEqual(2, reads.call_count)
        self.assertLess(sum(call.args[1] for call in reads.mock_calls), 999)

    def test_the_time_written_comes_back(self):
        with mock.patch('time.time_ns', lambda: 123456789):
            location = self.put(1, b'x').location
        self.assertEqual(123456789, self.open(1, location).written)
        self.assertEqual(({'number': 1}, 123456789),
                         self.metadata(1, location))

    def test_a_fragment_keeps_its_record_when_it_becomes_durable(self):
        location = self.put(1, b'x', '1.00001#2.data').location
        self.assertEqual(b'x', self.read(1, location, '1.00001#2#d.data'))
        with self.assertRaises(CorruptRecord):
            self.read(1, location, '1.00001#3#d.data')


class TestWriter(VFileTest):

    def test_an_aborted_file_leaves_nothing(self):
        pending = self.put(1, b'x')
        pending.done()
        end = pending.location.offset + pending.location.length
        for length in (10, LONG):
            writer = self.writer()
            writer.write(bytes(length))
            writer.abort()
            writer.close()
            with self.assertRaisesRegex(ValueError, 'finished, aborted'):
                writer.write(b'x')
        # Up to where the next one begins, zeros.
        self.assertEqual(aligned(end, ALIGNMENT),
                         os.path.getsize(self.layout.volume(1)))
        self.assertEqual(['v0000000001'], self.volumes())

    def test_abort_leaves_a_finished_file_alone(self):
        for number, length in ((1, 10), (2, LONG)):
            writer = self.writer()
            writer.write(bytes_of(number, length))
            location = writer.finish(NAME, {}, 1, hash_of(number)).location
            writer.abort()
            self.assertEqual(bytes_of(number, length),
                             self.read(number, location))
            with self.assertRaisesRegex(ValueError, 'finished, aborted'):
                writer.finish(NAME, {}, 1, hash_of(number))

    def test_what_cannot_be_stored_aborts_the_file(self):
        for length in (10, LONG):
            writer = self.writer()
            writer.write(bytes(length))
            with self.assertRaises(FormatError):
                writer.finish(NAME, {'a': object()}, 1, hash_of(1))
            with self.assertRaises(ValueError):
                writer.write(b'x')
        self.assertEqual([], self.found())

    def test_long_files_are_synced_as_they_come(self):
        writer = self.writer(bytes_per_sync=2 ** 20)
        with mock.patch('os.fdatasync', side_effect=os.fdatasync) as sync:
            for _ in range(64):
                writer.write(bytes(65536))
            self.assertEqual(4, sync.call_count)
        writer.abort()

    def test_what_blocks_is_run_where_it_may(self):
        ran = []

        def run(function, *args):
            ran.append(function.__name__)
            return function(*args)
        writer = self.writer(bytes_per_sync=2 ** 20, run=run)
        for _ in range(33):
            writer.write(bytes(65536))
        self.assertEqual(['_take', 'sync', 'sync'], ran)
        writer.abort()

    def test_a_file_of_any_length_takes_little_memory(self):
        done = subprocess.run([sys.executable, '-c', '''
import itertools, resource, sys
from swift_losf.format.header import VolumeType
from swift_losf.format.layout import Layout
from swift_losf.diskfile.vfile import VFileReader, VFileWriter
from swift_losf.volumes.appender import Appender
from tests.unit.losf.volumes import Options
layout = Layout(sys.argv[1], 0)
appender = Appender(layout, VolumeType.DATA, Options(),
                    itertools.count(1).__next__)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
writer = VFileWriter(appender)
for _ in range(1024):
    writer.write(bytes(65536))
location = writer.finish('1.data', {}, 1, bytes(16)).location
reader = VFileReader.open(layout, location, bytes(16), '1.data')
while reader.read(65536):
    pass
print(peak() - before)
''', self.device], stdout=subprocess.PIPE, check=True, timeout=120)
        self.assertLess(int(done.stdout), 8192, 'KiB for 64 MiB')


class TestDamage(VFileTest):

    def test_every_flipped_bit_of_a_short_record_is_detected(self):
        location = self.put(1, b'some data').location
        for bit in range(location.length * 8):
            self.flip(location, bit // 8, bit % 8)
            with self.assertRaises(CorruptRecord, msg=bit) as caught:
                self.open(1, location)
            self.assertEqual(errno.EUCLEAN, caught.exception.errno)
            self.assertEqual([], self.found(), bit)
            self.flip(location, bit // 8, bit % 8)
        self.assertEqual(b'some data', self.read(1, location))

    def test_damage_to_header_or_footer_is_found_without_the_data(self):
        for length in (10, LONG):
            location = self.put(1, bytes_of(1, length)).location
            footer = location.footer_offset - location.offset
            for at in (0, 20, 63, footer, footer + 30, location.length - 1):
                self.flip(location, at)
                with self.assertRaises(CorruptRecord) as caught:
                    self.metadata(1, location)
                self.assertEqual(errno.EUCLEAN, caught.exception.errno)
                self.flip(location, at)
            self.flip(location, 64)
            self.assertEqual({'number': 1}, self.metadata(1, location)[0])

    def test_damage_to_a_block_is_found_when_it_is_read(self):
        location = self.put(1, bytes_of(1, LONG)).location
        self.flip(location, 64 + 2 * 65536 + 7)
        reader = self.open(1, location)
        self.assertEqual(bytes_of(1, 2 * 65536), reader.read(2 * 65536))
        for start, size in ((2 * 65536, 1), (3 * 65536 - 1, 10), (0, -1)):
            reader.seek(start)
            with self.assertRaisesRegex(CorruptRecord, 'block 2') as caught:
                reader.read(size)
            self.assertEqual(errno.EIO, caught.exception.errno)
            self.assertEqual(start, reader.tell())
        reader.seek(3 * 65536)
        self.assertEqual(bytes_of(1, LONG)[3 * 65536:], reader.read())

    def test_a_record_that_is_not_the_one_wanted_is_corrupt(self):
        location = self.put(1, b'data').location
        other = self.put(2, b'data').location
        for number, where, name, message in (
                (2, location, NAME, 'the hash'),
                (1, other, NAME, 'the hash'),
                (1, location, '2.data', 'the name'),
                (1, replace(location, data_length=5), NAME, ''),
                (1, replace(location, offset=4112), NAME, 'magic')):
            with self.assertRaisesRegex(CorruptRecord, message):
                self.open(number, where, name)

    def test_a_record_copied_to_another_place_is_corrupt(self):
        location = self.put(1, b'data').location
        fd = self.open_volume()
        record = pread(fd, location.length, location.offset)
        os.pwrite(fd, record, 40960)
        with self.assertRaisesRegex(CorruptRecord, 'CRC of the record'):
            self.open(1, replace(location, offset=40960))

    def test_a_volume_that_was_cut_short_is_damage(self):
        for length in (10, LONG):
            location = self.put(1, bytes_of(1, length)).location
            for size in (location.offset + location.length - 1,
                         location.offset + 70, location.offset):
                os.truncate(self.layout.volume(location.volume), size)
                with self.assertRaises(CorruptRecord):
                    self.open(1, location)

    def test_an_error_of_the_disk_is_not_damage(self):
        location = self.put(1, b'data').location
        error = OSError(errno.EIO, 'the disk is broken')
        before = open_below(self.device)
        with mock.patch('swift_losf.volumes.volume.os.pread',
                        side_effect=error):
            with self.assertRaises(OSError) as caught:
                self.open(1, location)
        self.assertIs(error, caught.exception)
        self.assertEqual(before, open_below(self.device))


class TestGivenBack(VFileTest):

    def registered(self, number, data):
        pending = self.put(number, data)
        pending.done()
        return pending.location

    def punch(self, location):
        """As the index server: False if a reader has it."""
        with opened(self.layout.volume(location.volume), os.O_RDWR) as fd:
            if not lock_range(fd, location.offset, location.length):
                return False
            punch_hole(fd, location.offset, location.length)
            return True

    def test_a_record_without_space_is_missing(self):
        for length in (0, 10, SMALL, LONG):
            location = self.registered(1, bytes_of(1, length))
            self.assertTrue(self.punch(location))
            for read in (self.open, self.metadata):
                with self.assertRaises(MissingRecord) as caught:
                    read(1, location)
                self.assertEqual(errno.ENOENT, caught.exception.errno)

    def test_a_record_is_kept_until_its_registration_is_answered(self):
        for length in (10, LONG):
            several = [self.put(each, bytes_of(each, length))
                       for each in (1, 2)]
            for pending in several:
                self.assertFalse(self.punch(pending.location))
                pending.done()
                self.assertTrue(self.punch(pending.location))

    def test_a_record_without_volume_is_missing(self):
        location = self.put(1, b'x').location
        os.unlink(self.layout.volume(1))
        with self.assertRaises(MissingRecord):
            self.open(1, location)

    def test_a_long_file_is_kept_while_it_is_read(self):
        location = self.registered(1, bytes_of(1, LONG))
        reader = self.open(1, location)
        self.assertFalse(self.punch(location))
        self.assertEqual(bytes_of(1, LONG), reader.read())
        reader.close()
        self.assertTrue(self.punch(location))

    def test_a_short_file_that_was_opened_can_be_read(self):
        location = self.registered(1, bytes_of(1, SMALL))
        reader = self.open(1, location)
        self.assertTrue(self.punch(location))
        self.assertEqual(bytes_of(1, SMALL), reader.read())

    def test_what_is_just_being_given_back_is_missing_not_damaged(self):
        for length in (10, LONG):
            location = self.registered(1, bytes_of(1, length))
            fd = self.open_volume(location.volume)
            self.assertTrue(lock_range(fd, location.offset, location.length))
            # half of it is gone
            self.change(location, 64, bytes(location.length - 64))
            with self.assertRaises(MissingRecord):
                self.open(1, location)

    def test_damage_that_was_a_race_is_read_again(self):
        location = self.put(1, b'data').location
        real, torn = os.pread, []

        def pread(fd, length, offset):
            data = real(fd, length, offset)
            if not torn:
                torn.append(True)
                return data[:64] + bytes(len(data) - 64)
            return data

        with mock.patch('swift_losf.volumes.volume.os.pread', pread):
            self.assertEqual(b'data', self.read(1, location))

    def test_readers_leave_no_descriptor(self):
        location = self.registered(1, bytes_of(1, LONG))
        before = open_below(self.device)
        for _ in range(5):
            self.read(1, location)
            self.metadata(1, location)
            with self.assertRaises(CorruptRecord):
                self.open(1, location, 'x')
        self.assertEqual(before, open_below(self.device))
