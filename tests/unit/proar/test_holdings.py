# SPDX-License-Identifier: Apache-2.0
"""holdings: what a device must not deny when it is asked."""

import os
from unittest import mock

from swift_lightsync.proar.core.oplog import FormatError, State
from swift_lightsync.proar.log import holdings as module
from swift_lightsync.proar.log.holdings import holdings
from swift_lightsync.proar.log.segment import open_segment, segment_path
from tests.unit.proar.logs import LogTestCase
from tests.unit.sync.fixtures import wait_for

PLACE = 3, 2


class TestHoldings(LogTestCase):

    def found(self, peer=None, policy=0):
        return holdings(self.device, policy, peer)

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
        for peer in 8, None:
            self.assertEqual({PLACE}, self.found(peer))
        self.note(State.CONVERGED, {7, 8})
        self.assertEqual(set(), self.found(9))

    def test_what_is_remembered_of_a_segment_is_that_of_its_time(self):
        self.commit()
        with mock.patch.object(module, 'TICK', 0):
            self.assertEqual({PLACE}, self.found())
            path = segment_path(self.directory, 1)
            self.note(State.CONVERGED)
            os.utime(path, ns=(0, os.stat(path).st_mtime_ns + 1))
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
        path = segment_path(self.directory, 1)
        self.overwrite(0, b'damaged!')
        self.assertRaises(FormatError, self.found)
        os.unlink(path)
        os.mkdir(path)
        self.assertRaises(OSError, self.found)
