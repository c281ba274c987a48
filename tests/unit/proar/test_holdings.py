# SPDX-License-Identifier: Apache-2.0
"""holdings: what a device must not deny when it is asked."""

import os
from unittest import mock

from swift_lightsync.proar.core.oplog import RECORD, FormatError, Op, State
from swift_lightsync.proar.log import holdings as module
from swift_lightsync.proar.log.holdings import held_entries
from swift_lightsync.proar.log.segment import open_segment, segment_path
from tests.unit.proar.logs import LogTestCase
from tests.unit.sync.fixtures import wait_for

PLACE = 3, 2


class TestHoldings(LogTestCase):

    def found(self, peer=9, policy=0, ring=0):
        """:returns: the places of which a peer lacks something"""
        return {(entry.partition, entry.slot) for entry in held_entries(
            self.device, policy, ring) if entry.is_lacked_by(peer, ring)}

    def commit(self):
        """Log one operation, and return when its outcome is noted."""
        self.append().commit()
        wait_for(lambda: self.states() == ['COMMITTED'], 'it is noted')

    def note(self, state, holders=()):
        segment = open_segment(segment_path(self.directory, 1))
        with segment.file:
            segment.note(1, state, holders)

    def test_a_device_without_a_log_holds_nothing(self):
        self.assertEqual(set(), self.found())

    def test_an_intent_counts_before_it_is_decided_and_not_when_aborted(self):
        intent = self.append()
        self.assertEqual({PLACE}, self.found())
        intent.abandon()
        wait_for(lambda: not self.found(), 'it counts no more')

    def test_it_counts_for_its_policy(self):
        self.append()
        self.assertEqual(set(), self.found(policy=1))

    def test_it_counts_for_each_peer_until_that_has_it(self):
        self.commit()
        self.note(State.HELD, {7})
        self.assertEqual(set(), self.found(7))
        self.assertEqual({PLACE}, self.found(8))
        self.note(State.CONVERGED, {7, 8})
        self.assertEqual(set(), self.found(9))

    def test_what_converged_is_lacked_by_a_device_that_another_ring_adds(
            self):
        self.commit()
        self.note(State.CONVERGED, {7, 8})
        self.assertEqual(set(), self.found(9))
        self.assertEqual({PLACE}, self.found(9, ring=5))
        self.assertEqual(set(), self.found(7, ring=5))

    def test_rows_do_not_count(self):
        self.append(op=Op.ROW)
        self.assertEqual(set(), self.found())

    def test_what_is_carried_to_a_newer_segment_meanwhile_is_found(self):
        self.commit()
        here = segment_path(self.directory, 1)
        lists = iter([[1], [2]])

        def numbers(directory):
            found = next(lists)
            if found == [1]:
                os.rename(here, here + '.moved')
            return found
        with mock.patch.object(module, 'numbers', numbers), \
                mock.patch.object(module, 'segment_path', lambda *args: here
                                  + '.moved' if args[1] == 2 else here), \
                mock.patch('swift_lightsync.proar.log.segment.number_of',
                           return_value=1):
            self.assertEqual({PLACE}, self.found())

    def test_what_cannot_be_read_is_an_error(self):
        self.commit()
        self.overwrite(RECORD + 20, b'damaged!')
        self.assertRaises(FormatError, self.found)
        path = segment_path(self.directory, 1)
        self.overwrite(0, b'damaged!')
        self.assertRaises(FormatError, self.found)
        os.unlink(path)
        os.mkdir(path)
        self.assertRaises(OSError, self.found)
