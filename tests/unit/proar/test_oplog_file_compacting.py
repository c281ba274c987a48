# SPDX-License-Identifier: Apache-2.0
"""oplog_file: compacting, and logs that are not what they were."""

import os
import threading
from unittest import mock

from swift_lightsync.proar.core.oplog import (
    CHUNK,
    Entry,
    Op,
    State,
    encode_header,
    place_of,
)
from swift_lightsync.proar.log.cursor_file import write_cursors
from swift_lightsync.proar.log.log_file import LostError
from tests.unit.proar.logs import FULL, HASH, LogTestCase


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

    @mock.patch('swift_lightsync.proar.log.oplog_file.PATIENCE', 0)
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
        with mock.patch('swift_lightsync.proar.log.oplog_file.sync_name',
                        sync_name):
            self.oplog.compact(2)
        writer.join()
        self.assertEqual([3, 4], self.eversions())

    @mock.patch('swift_lightsync.proar.log.oplog_file.PATIENCE', 120)
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
