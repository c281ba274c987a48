# SPDX-License-Identifier: Apache-2.0
"""oplog_file: appending and reading, beside others."""

import os
import threading
from unittest import mock

from swift.common.utils import Timestamp

from swift_lightsync.proar.core.oplog import (
    CHUNK,
    RECORD,
    Entry,
    FormatError,
    Op,
    place_of,
)
from swift_lightsync.proar.log.cursor_file import read_cursors, write_cursors
from swift_lightsync.proar.log.oplog_file import Exposure, LogView, Oplog
from tests.unit.proar.logs import HASH, NOW, LogTestCase


class TestAppending(LogTestCase):

    def test_an_entry_is_read_as_it_was_appended(self):
        stamp = Timestamp(1234567890.12345, offset=7)
        intent = self.oplog.append(Op.DELETE, 254, HASH, stamp, NOW)
        wanted = Entry(Op.DELETE, 254, 1, HASH, 123456789012345, 7,
                       1700000000250000)
        self.assertEqual(wanted, intent.entry)
        self.assertEqual(LogView(1, 1, [wanted], []), self.other().read())

    def test_eversions_go_on_past_each_chunk_and_each_process(self):
        count = 3 * CHUNK // RECORD
        others = [self.oplog, self.other()]
        for number in range(count):
            self.append(others[number % 2]).committed()
        self.assertEqual(list(range(1, count + 1)), self.eversions())
        self.append(self.other()).committed()
        self.assertEqual([count + 1], self.eversions(count))

    def test_an_append_overwrites_what_is_laid_out(self):
        self.fill(1)
        self.assertEqual(CHUNK, os.path.getsize(self.path))
        self.fill(254)
        self.assertEqual(CHUNK, os.path.getsize(self.path))
        self.fill(1)
        self.assertEqual(2 * CHUNK, os.path.getsize(self.path))

    def test_an_append_syncs_its_record_before_it_returns(self):
        with mock.patch('os.fdatasync') as sync:
            sync.side_effect = lambda fd: self.assertEqual(
                [1], self.eversions())
            self.append()
        self.assertEqual(1, sync.call_count)

    def test_a_record_is_seen_locked_or_not_at_all(self):
        seen = []
        write = os.pwrite

        def look_and_write(fd, data, place):
            # Before and after: what is there is in progress.
            for turn in range(2):
                seen.extend(self.other().in_progress(eversion)
                            for eversion in self.eversions())
                if not turn:
                    result = write(fd, data, place)
            return result

        with mock.patch('os.pwrite', look_and_write):
            intent = self.append()
        self.assertEqual([True], seen)
        intent.committed()

    def test_the_name_is_durable_before_there_is_a_header(self):
        synced = []
        blank = []

        def note(path):
            synced.append(path)
            with open(self.path, 'rb') as file:
                blank.append(not any(file.read()))

        with mock.patch('swift_lightsync.proar.log.log_file.fsync_dir', note):
            self.append().committed()
        self.assertEqual([self.directory, os.path.dirname(self.directory)],
                         synced)
        self.assertEqual([True, True], blank)

    def test_the_device_is_not_made(self):
        oplog = Oplog(self.directory + '/no/proar/3.log', '')
        with self.assertRaises(FileNotFoundError):
            self.append(oplog)
        self.assertFalse(os.path.exists(self.directory))

    def test_threads_get_an_eversion_each(self):
        def work(oplog):
            for _ in range(50):
                self.append(oplog).committed()
        threads = [threading.Thread(target=work, args=(oplog,))
                   for oplog in (self.oplog, self.oplog, self.other(),
                                 self.other())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([(number, 'COMMITTED') for number
                          in range(1, 201)], self.states())


class TestReading(LogTestCase):

    def test_what_is_not_there_has_no_entries(self):
        self.assertEqual(LogView(1, 0, [], []), self.oplog.read())
        self.assertFalse(self.oplog.in_progress(1))
        self.assertEqual(Exposure(), self.oplog.exposure())

    def test_a_log_that_is_being_made_has_none_either(self):
        os.mkdir(self.directory)
        for size in (0, 63, CHUNK):
            with open(self.path, 'wb') as file:
                file.write(bytes(size))
            self.assertEqual(LogView(1, 0, [], []), self.oplog.read())
            self.assertFalse(self.oplog.in_progress(1))
        self.fill(1)
        self.assertEqual([1], self.eversions())

    def test_only_what_is_behind_is_read(self):
        self.fill(300)
        self.assertEqual([299, 300], self.eversions(298))
        for after in (300, 301, 1000, 1 << 63):
            self.assertEqual(LogView(1, 300, [], []), self.oplog.read(after))

    def test_a_damaged_record_keeps_its_eversion(self):
        self.fill(4)
        self.overwrite(place_of(2, 1) + 20, b'\xff')
        # One that is sound, and in the place of another.
        self.overwrite(place_of(3, 1), self.oplog.read(3).entries[0].encode())
        view = self.oplog.read()
        self.assertEqual([1, 4], [each.eversion for each in view.entries])
        self.assertEqual([2, 3], view.damaged)
        self.assertEqual(4, view.last_update)
        self.assertEqual([3], self.oplog.read(2).damaged)

    def test_a_record_that_is_being_written_is_not_damaged(self):
        self.fill(1)
        write = os.pwrite
        views = []

        def write_in_halves(fd, data, place):
            write(fd, data[:32], place)
            reader = threading.Thread(
                target=lambda: views.append(self.other().read()))
            reader.start()
            write(fd, data[32:], place + 32)
            self.reader = reader
            return len(data)

        with mock.patch('os.pwrite', write_in_halves):
            intent = self.append()
        self.reader.join()
        intent.committed()
        self.assertEqual([], views[0].damaged)

    def test_a_log_ends_where_a_power_cut_took_a_record(self):
        self.fill(4)
        self.overwrite(place_of(3, 1), bytes(RECORD))
        self.assertEqual([1, 2], self.eversions())
        self.assertEqual(2, self.other().read(4).last_update)
        self.append(self.other()).committed()
        self.assertEqual([1, 2, 3, 4], self.eversions())

    def test_a_damaged_header_is_an_error_and_set_aside_by_a_writer(self):
        self.fill(1)
        write_cursors(self.oplog.cursors_path, {5: 1})
        self.overwrite(8, b'\x09')
        for method in (self.oplog.read, lambda: self.oplog.compact(1),
                       lambda: self.oplog.in_progress(1)):
            with self.assertRaises(FormatError):
                method()
        self.assertEqual(Exposure(), self.oplog.exposure())
        self.fill(1)
        self.assertEqual([2], self.eversions())
        self.assertIn('3.log.damaged', self.files())
        self.assertIn('version', self.logger.at('ERROR')[0])


class TestLocks(LogTestCase):

    def test_an_entry_is_in_progress_until_its_writer_ends_it(self):
        first, second = self.append(), self.append()
        for end, entries in ((second.committed, [True, False]),
                             (first.undecided, [False, False])):
            end()
            for oplog in self.oplog, self.other():
                self.assertEqual(entries, [oplog.in_progress(eversion)
                                           for eversion in (1, 2)])
        self.assertFalse(self.oplog.in_progress(3))

    def test_an_intent_that_nobody_has_any_more_is_over(self):
        intent = self.append()
        self.assertTrue(self.oplog.in_progress(1))
        del intent
        self.assertFalse(self.oplog.in_progress(1))
        self.assertEqual([(1, 'INTENT')], self.states())


class TestCursors(LogTestCase):

    def cursors(self, cursors):
        os.makedirs(self.directory, exist_ok=True)
        write_cursors(self.oplog.cursors_path, cursors)

    def test_a_new_log_begins_after_the_greatest(self):
        self.cursors({1: 4, 2: 9})
        self.assertEqual(LogView(10, 9, [], []), self.oplog.read())
        self.fill(1)
        self.assertEqual([10], self.eversions())
        self.assertEqual({1: 4, 2: 9},
                         read_cursors(self.oplog.cursors_path))

    def test_they_go_before_an_eversion_is_given_anew(self):
        self.fill(3)
        self.cursors({1: 5})
        self.append(self.other()).committed()
        self.assertEqual({}, read_cursors(self.oplog.cursors_path))
        self.cursors({1: 4})
        self.append(self.other()).committed()
        self.assertEqual({1: 4}, read_cursors(self.oplog.cursors_path))

    def test_exposed_is_what_the_best_peer_does_not_hold(self):
        for number in range(6):
            self.oplog.append(Op.MODIFY, 2, HASH, Timestamp(1),
                              NOW + number).committed()
        for cursors, exposure in (
                ({}, Exposure(6, NOW)), ({1: 0}, Exposure(6, NOW)),
                ({1: 2, 2: 4}, Exposure(2, NOW + 4)), ({1: 6}, Exposure()),
                # Of a log that was lost.
                ({1: 7}, Exposure(6, NOW)),
                ({1: 7, 2: 5}, Exposure(1, NOW + 5))):
            self.cursors(cursors)
            self.assertEqual(exposure, self.oplog.exposure())
            self.assertEqual(exposure, self.other().exposure())

    def test_the_oldest_of_what_is_exposed_is_none_that_was_aborted(self):
        self.append().aborted()
        self.assertEqual(Exposure(), self.oplog.exposure())
        self.oplog.append(Op.MODIFY, 2, HASH, Timestamp(1), NOW + 9)
        self.assertEqual(NOW + 9, self.oplog.exposure().since)
