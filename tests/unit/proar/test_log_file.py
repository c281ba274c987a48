# SPDX-License-Identifier: Apache-2.0
"""log_file: records in their places, locks, what is made and how far."""

import errno
import os
import tempfile
import unittest

from swift_lightsync.proar.core.oplog import (
    CHUNK,
    RECORD,
    Entry,
    FormatError,
    Op,
    encode_header,
    place_of,
)
from swift_lightsync.proar.log import log_file
from swift_lightsync.proar.log.log_file import LogFile

BASE = 100
FLAGS = os.O_RDWR | os.O_CREAT


def entry(eversion):
    return Entry(Op.MODIFY, 1, eversion, bytes(16), 1, 0, 1)


class TestLogFile(unittest.TestCase):

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.directory, '3.log')
        self.file = self.open()
        log_file.begin(self.file, self.path, BASE)
        self.log = LogFile(self.file)

    def open(self, flags=FLAGS):
        return self.enterContext(log_file.open_log(self.path, flags))

    def fill(self, count):
        for eversion in range(BASE, BASE + count):
            self.log.write(entry(eversion))

    def test_a_log_begins_with_its_header_and_a_chunk_of_zeros(self):
        with open(self.path, 'rb') as file:
            self.assertEqual(encode_header(BASE).ljust(CHUNK, b'\0'),
                             file.read())
        self.assertEqual((BASE, BASE - 1), (self.log.base, self.log.last()))

    def test_records_follow_each_other_without_a_gap(self):
        self.fill(3)
        with open(self.path, 'rb') as file:
            content = file.read()
        for eversion in range(BASE, BASE + 3):
            place = place_of(eversion, BASE)
            self.assertEqual(entry(eversion).encode(),
                             content[place:place + RECORD])

    def test_those_after_one_are_read_over_the_bounds_of_chunks(self):
        count = 2 * CHUNK // RECORD
        self.fill(count)
        for after in (0, BASE - 1, BASE, BASE + CHUNK // RECORD,
                      BASE + count - 2, BASE + count - 1):
            self.assertEqual(
                list(range(max(after, BASE - 1) + 1, BASE + count)),
                [eversion for eversion, _ in self.log.records(after)])

    def test_the_last_is_found_from_any_that_is_known(self):
        self.fill(300)
        for known in (0, BASE, BASE + 255, BASE + 299, BASE + 300, 10 ** 9):
            self.assertEqual(BASE + 299, self.log.last(known))

    def test_a_record_is_locked_for_others(self):
        self.fill(2)
        other = LogFile(self.open(os.O_RDONLY))
        third = LogFile(self.open())
        third.write(entry(BASE + 2))
        self.assertEqual([True, True, True, False], [
            other.is_locked(BASE + number) for number in range(4)])
        # An open file is not in its own way.
        self.assertEqual([False, True], [
            self.log.is_locked(BASE), self.log.is_locked(BASE + 2)])
        self.file.close()
        self.assertEqual([False, True], [
            other.is_locked(BASE), other.is_locked(BASE + 2)])
        self.assertTrue(other.has_locks())
        third.file.close()
        self.assertFalse(other.has_locks())

    def test_a_file_without_a_header_is_blank_and_no_log(self):
        for content in (b'', b'x', bytes(CHUNK)):
            with open(self.path, 'wb') as file:
                file.write(content)
            self.assertTrue(log_file.is_blank(self.file))
            self.assertRaises(FormatError, LogFile, self.file)

    def test_a_file_is_known_by_its_name_until_that_is_anothers(self):
        self.assertTrue(log_file.is_named(self.file, self.path))
        os.rename(self.path, self.path + '2')
        self.assertFalse(log_file.is_named(self.file, self.path))
        self.open()
        self.assertFalse(log_file.is_named(self.file, self.path))
        self.assertTrue(log_file.is_named(self.file, self.path + '2'))

    def test_a_file_is_not_inherited(self):
        self.assertFalse(os.get_inheritable(self.file.fileno()))

    def test_what_is_written_in_part_is_for_want_of_space(self):
        full = self.enterContext(open('/dev/full', 'r+b', buffering=0))
        for write in (lambda: log_file.write_all(full, b'x' * 64, 0),
                      lambda: log_file.lay_out(full, 0)):
            with self.assertRaises(OSError) as raised:
                write()
            self.assertIn(raised.exception.errno,
                          (errno.ENOSPC, errno.EINVAL))
