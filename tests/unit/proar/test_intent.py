# SPDX-License-Identifier: Apache-2.0
"""intent: an operation ends in one of three ways."""

import os
from unittest import mock

from swift_lightsync.proar.core.oplog import STATE_OFFSET, place_of
from tests.unit.proar.logs import LogTestCase


class TestIntent(LogTestCase):

    def test_each_end_writes_its_state_and_lets_go_of_the_lock(self):
        for eversion, (end, state) in enumerate(
                (('committed', 2), ('aborted', 3), ('undecided', 1)), 1):
            intent = self.append()
            self.assertTrue(self.oplog.in_progress(eversion))
            getattr(intent, end)()
            with open(self.path, 'rb') as file:
                file.seek(place_of(eversion, 1) + STATE_OFFSET)
                self.assertEqual(bytes([state]), file.read(1))
            self.assertFalse(self.oplog.in_progress(eversion))

    def test_the_state_is_written_before_the_lock_is_let_go_of(self):
        intent = self.append()
        write = os.pwrite
        seen = []

        def write_and_look(*args):
            write(*args)
            seen.append((self.oplog.in_progress(1), self.states()))

        with mock.patch('os.pwrite', write_and_look):
            intent.committed()
        self.assertEqual([(True, [(1, 'COMMITTED')])], seen)

    def test_a_state_that_cannot_be_written_is_for_the_disk_to_tell(self):
        intent = self.append()
        with mock.patch('os.pwrite', side_effect=OSError):
            intent.committed()
        self.assertEqual([(1, 'INTENT')], self.states())
        self.assertFalse(self.oplog.in_progress(1))
