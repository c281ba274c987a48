# SPDX-License-Identifier: Apache-2.0
"""Logs of devices: swift_lightsync/proar/log/."""

import errno
import os
import shutil
from unittest import mock

from swift.common.concurrency import patcher

from swift_lightsync.proar.core.oplog import (
    CAPACITY,
    RECORD,
    SEGMENT,
    Header,
    eversion_of,
)
from swift_lightsync.proar.log import segment as segments
from swift_lightsync.proar.log import segment_writer
from swift_lightsync.proar.log.segment import (
    Segment,
    make_segment,
    open_segment,
    segment_path,
)
from tests.unit.proar.logs import BROKEN, FULL, LogTestCase, entry

native = patcher.original('threading')


class Flushes:
    """Counts the flushes of the log; the first of them wait for a word."""

    def __init__(self, case, gated=False):
        self.count, self.gate, self.begun = 0, native.Event(), native.Event()
        if not gated:
            self.gate.set()
        sync = Segment.sync

        def counted(segment):
            self.count += 1
            self.begun.set()
            self.gate.wait()
            sync(segment)
        case.enterContext(mock.patch.object(Segment, 'sync', counted))


class TestWriting(LogTestCase):

    def test_records_have_the_eversions_of_their_places(self):
        self.fill(3)
        self.assertEqual(['COMMITTED'] * 3, self.states())
        self.assertEqual([eversion_of(1, index) for index in (1, 2, 3)],
                         [each.eversion for each in self.entries()])

    def test_a_segment_is_laid_out_before_it_is_written(self):
        self.append()
        path = segment_path(self.directory, 1)
        status = os.stat(path)
        self.assertEqual(SEGMENT, status.st_size)
        self.assertLessEqual(SEGMENT, status.st_blocks * 512)
        self.assertEqual(['1.log'], self.files())

    def test_intents_that_come_together_share_a_flush(self):
        self.append()
        flushes = Flushes(self, gated=True)
        intents = [self.log.begin(entry(number)) for number in range(20)]
        intents[0].begin_sync()
        flushes.begun.wait()
        for intent in intents[1:]:
            intent.begin_sync()
        flushes.gate.set()
        for intent in intents:
            intent.sync()
        self.assertEqual(2, flushes.count)

    def test_nothing_is_written_before_it_is_to_be_synced(self):
        self.log.begin(entry())
        self.assertEqual([], self.entries())

    def test_an_outcome_costs_no_flush(self):
        flushes = Flushes(self)
        self.append().commit()
        self.append().commit()
        self.settle()
        self.assertEqual(4, flushes.count)
        self.assertEqual(['COMMITTED'] * 2, self.states())

    def test_outcomes_are_as_they_were_told(self):
        for end in (lambda intent: intent.commit(),
                    lambda intent: intent.abandon(),
                    lambda intent: intent.abandon(is_open=True),
                    lambda intent: None):
            end(self.append())
        self.settle()
        self.assertEqual(['COMMITTED', 'ABORTED', 'UNDECIDED', 'INTENT'],
                         self.states())

    def test_an_intent_that_is_given_up_before_it_is_written_is_none(self):
        flushes = Flushes(self, gated=True)
        first, second = (self.log.begin(entry()) for _ in range(2))
        first.begin_sync()
        flushes.begun.wait()
        second.begin_sync()
        second.abandon()
        flushes.gate.set()
        first.sync()
        self.settle()
        self.assertEqual(['INTENT'], self.states())

    def test_any_number_of_threads_write_at_once(self):
        def work(number):
            for _ in range(20):
                self.append(number).commit()
        threads = [native.Thread(target=work, args=(number,))
                   for number in range(1, 9)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.settle()
        self.assertEqual(['COMMITTED'] * 160, self.states())
        self.assertEqual(list(range(1, 9)), sorted(
            {each.timestamp // 10 ** 5 for each in self.entries()}))

    def test_processes_write_segments_of_their_own(self):
        other = self.other()
        self.append(1)
        self.append(2, other)
        self.append(3)
        self.assertEqual(['1.log', '2.log'], self.files())
        self.assertEqual([1, 3, 2], [each.timestamp // 10 ** 5
                                     for each in self.entries()])
        one, two = (open_segment(segment_path(self.directory, number))
                    for number in (1, 2))
        self.assertEqual(one.header.identity, two.header.identity)


class TestSegments(LogTestCase):

    def test_a_full_segment_is_followed_by_another(self):
        with mock.patch.object(segment_writer, 'BATCH', 5000):
            self.fill(CAPACITY + 10)
        states = self.states()
        self.assertEqual(CAPACITY + 10, len(states))
        self.assertEqual({'COMMITTED'}, set(states))
        self.assertLessEqual({'1.log', '2.log'}, set(self.files()))

    def test_a_segment_whose_writer_ended_is_gone_on_with(self):
        self.fill(2)
        self.append()
        self.close()
        self.append()
        self.assertEqual(['1.log'], self.files())
        # Whether it was done, only the disk can tell now.
        self.assertEqual(['COMMITTED', 'COMMITTED', 'UNDECIDED', 'INTENT'],
                         self.states())

    def test_one_with_little_room_is_not(self):
        self.append()
        self.close()
        self.overwrite(RECORD * (CAPACITY - 100),
                       entry().encode(eversion_of(1, CAPACITY - 100)))
        self.append()
        self.assertEqual(['1.log', '2.log'], self.files())

    def test_one_with_a_damaged_record_or_a_hole_is_not(self):
        self.append()
        self.close()
        self.overwrite(RECORD * 9, entry().encode(eversion_of(1, 9)))
        self.append()
        self.close()
        self.overwrite(RECORD + 20, b'x', number=2)
        self.append()
        self.assertEqual(['1.log', '2.log', '3.log'], self.files())

    def test_one_whose_header_is_damaged_is_set_aside(self):
        self.append()
        self.close()
        self.overwrite(0, b'x')
        self.append()
        self.assertEqual(['1.log', '1.log.damaged'], self.files())
        self.assertIn('1.log.damaged', self.logger.at('ERROR')[0])

    def test_one_whose_maker_died_is_made_again(self):
        os.mkdir(self.directory)
        with open(segment_path(self.directory, 1), 'wb') as file:
            file.write(bytes(RECORD))
        self.append()
        self.append(2, self.other())
        self.assertEqual(2, len(self.entries()))
        self.assertEqual(['1.log', '2.log'], self.files())

    def test_a_log_that_was_removed_begins_anew(self):
        self.append(1)
        shutil.rmtree(self.directory)
        self.assertIsNone(self.log.begin_now(entry()))
        self.append(2)
        self.assertEqual([200000], [each.timestamp
                                    for each in self.entries()])

    def test_a_file_of_another_number_is_no_segment(self):
        os.mkdir(self.directory)
        with open(segment_path(self.directory, 3), 'wb') as file:
            file.write(Header(4, bytes(16)).encode())
        self.append()
        self.assertEqual(['3.log.damaged'], [
            name for name in self.files() if name.endswith('.damaged')])

    def test_one_that_cannot_be_locked_is_left_to_its_writer(self):
        self.append()
        with mock.patch.object(segments.fcntl, 'fcntl', side_effect=OSError(
                errno.ENOLCK, 'No locks available')), \
                self.assertRaises(OSError):
            make_segment(segment_path(self.directory, 1), bytes(16))
        self.assertEqual(['1.log'], self.files())

    def test_two_do_not_make_the_same_segment(self):
        os.mkdir(self.directory)
        path = segment_path(self.directory, 1)
        first = make_segment(path, bytes(16))
        self.assertIsNone(make_segment(path, bytes(16)))
        self.assertTrue(open_segment(path).has_writer())
        first.close()
        self.assertFalse(open_segment(path).has_writer())


class TestFailures(LogTestCase):

    def test_what_cannot_be_synced_is_told_to_all_that_wait(self):
        self.append().commit()
        with mock.patch.object(Segment, 'sync', side_effect=BROKEN):
            intents = [self.log.begin(entry(number)) for number in (2, 3)]
            for intent in intents:
                intent.begin_sync()
            for intent in intents:
                with self.assertRaises(OSError) as raised:
                    intent.sync()
                self.assertIs(BROKEN, raised.exception)
        # Nothing may follow what is not known to be durable.
        self.append(4).commit()
        self.settle()
        self.assertEqual(
            [(eversion_of(1, 1), 'COMMITTED'), (eversion_of(1, 2), 'ABORTED'),
             (eversion_of(1, 3), 'ABORTED'),
             (eversion_of(2, 1), 'COMMITTED')],
            [(each.eversion, each.state.name) for each in self.entries()])

    def test_without_room_for_a_segment_nothing_can_be_begun(self):
        for name, error in (('posix_fallocate', FULL), ('fsync', BROKEN),
                            ('open', OSError(errno.EMFILE, 'too many'))):
            with mock.patch.object(segments.os, name, side_effect=error), \
                    self.assertRaises(OSError) as raised:
                self.log.begin(entry())
            self.assertEqual(error.errno, raised.exception.errno)
            self.assertEqual([], self.files() if os.path.isdir(
                self.directory) else [])
        self.append()
        self.assertEqual(1, len(self.entries()))

    def test_what_the_next_segment_needs_is_reserved_before_it_is_needed(
            self):
        self.append()
        self.close()
        with mock.patch.object(segment_writer, 'HEADROOM', CAPACITY):
            self.append()
            with mock.patch.object(segments.os, 'posix_fallocate',
                                   side_effect=FULL):
                self.append()
        self.assertEqual(['1.log', '2.log'], self.files())

    def test_a_read_only_device_is_told_before_anything_is_written(self):
        self.append()
        stat = mock.Mock(f_flag=os.ST_RDONLY)
        with mock.patch.object(segment_writer.os, 'statvfs',
                               return_value=stat):
            self.assertIsNone(self.log.begin_now(entry()))
            with self.assertRaises(OSError) as raised:
                self.log.begin(entry())
        self.assertEqual(errno.EROFS, raised.exception.errno)

    def test_a_device_without_its_directory_has_no_log(self):
        shutil.rmtree(self.device)
        with self.assertRaises(FileNotFoundError):
            self.log.begin(entry())
        os.mkdir(self.device)

    def test_an_outcome_that_cannot_be_written_is_left_to_the_disk(self):
        intent = self.append()
        with mock.patch.object(Segment, 'note', side_effect=BROKEN):
            intent.commit()
            self.settle()
        # Its writer has left the segment, which nobody has locked now.
        self.assertFalse(open_segment(
            segment_path(self.directory, 1)).has_writer())
