# SPDX-License-Identifier: Apache-2.0
"""device_log: what no other device holds, as the log tells it."""

import os
from unittest import mock

from swift_lightsync.proar.core.oplog import State
from swift_lightsync.proar.log.segment import Segment, segment_path
from tests.unit.proar.logs import LogTestCase, note_all


class TestExposure(LogTestCase):

    def expose(self):
        found = self.log.exposure()
        return found.entries, found.since

    def test_without_a_log_there_is_none(self):
        self.assertEqual((0, None), self.expose())

    def test_it_is_what_no_other_device_holds_in_all_segments(self):
        self.fill(3)
        other = self.other()
        intent = self.append(9, other)
        self.assertEqual((3, self.entries()[0].logged / 1e6), self.expose())
        intent.commit()
        self.append(8, other).abandon()
        self.append(8, other).abandon()
        self.assertEqual(4, self.expose()[0])
        note_all(self.device, State.HELD, 2)
        self.assertEqual(1, self.expose()[0])

    def test_what_is_aside_does_not_count(self):
        self.fill(3)
        note_all(self.device, State.ASIDE, 3)
        self.assertEqual((0, None), self.expose())

    def test_what_a_dead_writer_left_counts(self):
        self.append(1)
        self.assertEqual(0, self.expose()[0])
        self.log.close()
        self.log = self.other()
        self.assertEqual(1, self.expose()[0])

    def test_a_segment_that_does_not_change_is_read_once(self):
        self.fill(1)
        self.close()
        os.utime(segment_path(self.directory, 1), (1, 1))
        self.expose()
        with mock.patch.object(Segment, 'content',
                               side_effect=AssertionError):
            self.assertEqual(1, self.expose()[0])

    def test_it_waits_for_what_was_told_and_not_for_what_comes_later(self):
        intents = [self.append(number) for number in (1, 2)]
        intents[0].commit()
        note = Segment.note

        def note_and_tell_more(*args):
            note(*args)
            intents[1].commit()
        with mock.patch.object(Segment, 'note', note_and_tell_more):
            self.assertLessEqual(1, self.expose()[0])

    def test_an_estimate_counts_what_has_begun_since(self):
        self.assertIsNone(self.log.estimate())
        self.expose()
        self.assertEqual(0, self.log.estimate().entries)
        self.append()
        self.assertEqual(1, self.log.estimate().entries)
