# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""oplog_file: appending, reading, compacting; beside others, amid trouble."""

import errno
import os
import threading
import unittest
from unittest import mock

from swift.common.utils import Timestamp

from swift_lightsync.proar.cursor_file import read_cursors, write_cursors
from swift_lightsync.proar.log_file import LostError
from swift_lightsync.proar.oplog import CHUNK, RECORD, Entry, FormatError, \
    Op, State, encode_header, place_of
from swift_lightsync.proar.oplog_file import Exposure, LogView, Oplog
from tests.unit.proar.logs import HASH, NOW, LogTestCase

FULL = OSError(errno.ENOSPC, 'No space left on device')
BROKEN = OSError(errno.EIO, 'Input/output error')


class TestAppending(LogTestCase):

    def test_an_entry_is_read_as_it_was_appended(self):
        stamp = Timestamp(1234567890.12345, offset=7)
        intent = self.oplog.append(Op.DELETE, 254, HASH, stamp, NOW)
        wanted = Entry(Op.DELETE, 254, 1, HASH, 123456789012345, 7,
                       1700000000250000)
        self.assertEqual(wanted, intent.entry)
        self.assertEqual(LogView(1, 1, [wanted], []), self.other().read())

    def test_the_outcome_is_read_whatever_it_is(self):
        intents = [self.append() for _ in range(4)]
        intents[0].committed()
        intents[1].aborted()
        intents[2].undecided()
        self.assertEqual([(1, 'COMMITTED'), (2, 'ABORTED'), (3, 'INTENT'),
                          (4, 'INTENT')], self.states())

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

        with mock.patch('swift_lightsync.proar.log_file.fsync_dir', note):
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


class TestNoSpaceAndBrokenDisks(LogTestCase):

    def assert_fails(self, error):
        with self.assertRaises(OSError) as raised:
            self.append()
        self.assertEqual(error.errno, raised.exception.errno)

    def test_a_log_that_cannot_be_made_is_made_later(self):
        for name in ('pwrite', 'fsync'):
            with mock.patch('os.' + name, side_effect=FULL):
                self.assert_fails(FULL)
            self.assertEqual([], self.eversions())
        self.fill(1)
        self.assertEqual([1], self.eversions())

    def test_a_log_that_cannot_grow_grows_later(self):
        self.fill(255)
        for name in ('pwrite', 'fsync'):
            with mock.patch('os.' + name, side_effect=FULL):
                self.assert_fails(FULL)
            self.assertEqual(CHUNK, os.path.getsize(self.path))
        self.fill(1)
        self.assertEqual([255, 256], self.eversions(254))

    def test_half_a_chunk_is_no_chunk(self):
        write = os.pwrite
        with mock.patch('os.pwrite', lambda fd, data, place: write(
                fd, data[:100], place)):
            self.assert_fails(FULL)
        self.assertEqual(0, os.path.getsize(self.path))

    def test_an_intent_that_is_not_synced_is_aborted(self):
        with mock.patch('os.fdatasync', side_effect=BROKEN):
            self.assert_fails(BROKEN)
        self.fill(1)
        self.assertEqual([(1, 'ABORTED'), (2, 'COMMITTED')], self.states())
        self.assertFalse(self.oplog.in_progress(1))

    def test_no_failure_leaves_a_file_open_or_locked(self):
        self.fill(255)
        before = os.listdir('/proc/self/fd')
        for name in ('fsync', 'pwrite', 'fdatasync'):
            with mock.patch('os.' + name, side_effect=BROKEN):
                self.assert_fails(BROKEN)
        self.assertEqual(len(before), len(os.listdir('/proc/self/fd')))
        self.fill(1)
        self.assertTrue(self.oplog.compact(0))


class TestReading(LogTestCase):

    def test_what_is_not_there_has_no_entries(self):
        self.assertEqual(LogView(1, 0, [], []), self.oplog.read())
        self.assertFalse(self.oplog.in_progress(1))

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


class TestCompacting(LogTestCase):

    def test_what_all_hold_is_dropped(self):
        self.fill(300)
        self.append().undecided()
        self.assertTrue(self.oplog.compact(298))
        self.assertEqual([(299, 'COMMITTED'), (300, 'COMMITTED'),
                          (301, 'INTENT')], self.states())
        self.assertEqual(CHUNK, os.path.getsize(self.path))
        self.assertEqual(['3.log'], self.files())
        for _ in range(2):
            self.append(self.other())
            self.append()
        self.assertEqual(list(range(299, 306)), self.eversions())

    def test_a_damaged_record_is_kept_as_it_is(self):
        self.fill(4)
        self.overwrite(place_of(3, 1) + 20, b'\xff')
        self.assertTrue(self.oplog.compact(2))
        self.assertEqual([3], self.oplog.read().damaged)

    def test_both_files_go_when_nothing_is_left(self):
        self.fill(3)
        write_cursors(self.oplog.cursors_path, {1: 3})
        self.assertTrue(self.oplog.compact(3))
        self.assertEqual([], self.files())
        self.assertTrue(self.oplog.compact(3))
        self.fill(1)
        self.assertEqual([1], self.eversions())

    def test_a_log_whose_maker_died_goes_too(self):
        os.mkdir(self.directory)
        open(self.path, 'w').close()
        self.assertTrue(self.oplog.compact(0))
        self.assertEqual([], self.files())

    def test_one_in_the_place_of_another_is_neither_read_nor_dropped(self):
        self.fill(2)
        mark = self.oplog.read().mark
        self.assertTrue(self.oplog.compact(2))
        with self.assertRaises(LostError):
            self.oplog.read(2, mark)
        self.append(stamp=2).committed()
        self.append(stamp=2).committed()
        with self.assertRaises(LostError):
            self.oplog.read(2, mark)
        self.assertFalse(self.oplog.compact(2, mark))
        self.assertEqual([1, 2], self.eversions())

    def test_one_is_known_again_whatever_comes_of_its_entries(self):
        self.fill(2)
        intent = self.append()
        mark = self.oplog.read().mark
        intent.aborted()
        self.fill(1)
        self.assertTrue(self.other().compact(2))
        self.assertEqual(4, self.oplog.read(3, mark).last_update)
        self.assertTrue(self.oplog.compact(4, mark))

    def test_nothing_to_drop_changes_nothing(self):
        self.fill(3)
        self.assertTrue(self.oplog.compact(2))
        before = os.stat(self.path).st_ino
        self.assertTrue(self.oplog.compact(2))
        self.assertTrue(self.oplog.compact(0))
        self.assertEqual(before, os.stat(self.path).st_ino)

    @mock.patch('swift_lightsync.proar.oplog_file.PATIENCE', 0)
    def test_no_writer_is_overtaken(self):
        first, second = self.append(), self.append()
        for after in (0, 1, 2):
            self.assertFalse(self.oplog.compact(after))
        first.committed()
        self.assertFalse(self.oplog.compact(1))
        second.committed()
        self.assertTrue(self.oplog.compact(1))
        self.assertEqual([(2, 'COMMITTED')], self.states())

    def test_a_failure_leaves_the_log_as_it_was(self):
        self.fill(300)
        for name in ('pwrite', 'fsync', 'rename'):
            with mock.patch('os.' + name, side_effect=FULL), \
                    self.assertRaises(OSError):
                self.oplog.compact(200)
            self.assertEqual(300, len(self.eversions()))
        self.assertTrue(self.oplog.compact(200))
        self.assertEqual(100, len(self.eversions()))

    def test_nobody_appends_to_a_log_whose_name_is_not_durable(self):
        self.fill(3)
        started = threading.Event()

        def append():
            started.set()
            self.append(self.other()).committed()

        def sync_name(path):
            writer.start()
            started.wait()
            writer.join(0.1)
            self.assertEqual([3], self.eversions())

        writer = threading.Thread(target=append)
        with mock.patch('swift_lightsync.proar.oplog_file.sync_name',
                        sync_name):
            self.oplog.compact(2)
        writer.join()
        self.assertEqual([3, 4], self.eversions())

    def test_a_compaction_waits_for_a_writer_that_is_about_to_end(self):
        intent = self.append()
        writer = threading.Timer(0.1, intent.committed)
        writer.start()
        self.assertTrue(self.other().compact(1))
        writer.join()
        self.assertEqual([], self.eversions())

    def test_writers_lose_nothing_to_a_compaction(self):
        written = []

        def write(oplog):
            for _ in range(100):
                intent = self.append(oplog)
                written.append(intent.entry.eversion)
                intent.committed()

        threads = [threading.Thread(target=write, args=(self.other(),))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        held = []
        while any(thread.is_alive() for thread in threads):
            view = self.oplog.read()
            after = view.base + len(view.entries) // 2
            # Never all of it: a log that is gone would begin with 1.
            if len(view.entries) > 9 and self.oplog.compact(after):
                held += [entry.eversion for entry in view.entries
                         if entry.eversion <= after]
        for thread in threads:
            thread.join()
        held += self.eversions()
        self.assertEqual(sorted(written), sorted(held))
        self.assertEqual(list(range(1, 301)), sorted(held))


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

    def test_without_a_log_nothing_is_exposed(self):
        self.assertEqual(Exposure(), self.oplog.exposure())


class TestHints(LogTestCase):
    """An Oplog remembers an end; the log may be another one by then."""

    def test_of_a_log_that_was_removed(self):
        self.fill(300)
        self.assertTrue(self.other().compact(300))
        self.append().committed()
        self.assertEqual([1], self.eversions())

    def test_of_the_same_file_with_less_in_it(self):
        self.fill(300)
        content = encode_header(1) + Entry(
            Op.MODIFY, 1, 1, HASH, 1, 0, 1, State.COMMITTED).encode()
        with open(self.path, 'r+b') as file:
            file.write(content)
            file.truncate()
        self.append().committed()
        self.assertEqual([1, 2], self.eversions())


if __name__ == '__main__':
    unittest.main()
