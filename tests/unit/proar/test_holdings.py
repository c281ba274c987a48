# SPDX-License-Identifier: Apache-2.0
"""holdings: what a device must not deny when it is asked."""

import os

from swift.common.utils import Timestamp

from swift_lightsync.proar.core.oplog import FormatError, Op
from swift_lightsync.proar.log.cursor_file import write_cursors
from swift_lightsync.proar.log.holdings import holdings, is_held
from swift_lightsync.proar.log.oplog_file import Oplog
from swift_lightsync.proar.names import cursors_path, log_path
from tests.unit.sync.fixtures import SwiftTestCase


class TestHoldings(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.device = os.path.join(self.devices_dir, 'sda')

    def append(self, partition, slot):
        return Oplog(log_path(self.device, 0, partition),
                     cursors_path(self.device, 0, partition)).append(
            Op.MODIFY, slot, bytes(16), Timestamp(1), 1)

    def cursors(self, partition, cursors):
        write_cursors(cursors_path(self.device, 0, partition), cursors)

    def found(self, peer=None):
        return holdings(self.device, self.policy, peer)

    def test_a_device_without_logs_holds_nothing(self):
        self.assertEqual(set(), self.found())
        self.assertFalse(is_held(self.device, self.policy, 1, 0))

    def test_an_intent_counts_before_it_is_decided_and_not_when_aborted(self):
        intent = self.append(7, 2)
        self.assertEqual({(7, 2)}, self.found())
        self.assertTrue(is_held(self.device, self.policy, 7, 2))
        intent.aborted()
        self.assertEqual(set(), self.found())

    def test_each_place_counts_until_its_peers_have_it(self):
        for slot in 0, 1:
            self.append(7, slot).committed()
        self.append(8, 2).committed()
        self.cursors(7, {1: 1, 2: 2})
        self.assertEqual({(7, 1), (8, 2)}, self.found())
        self.assertEqual({(7, 1), (8, 2)}, self.found(1))
        self.assertEqual({(8, 2)}, self.found(2))

    def test_a_peer_that_is_new_in_the_ring_has_nothing(self):
        self.append(7, 0).committed()
        self.cursors(7, {1: 1, 2: 1})
        self.assertEqual(set(), self.found())
        self.assertEqual({(7, 0)}, self.found(3))
        self.assertTrue(is_held(self.device, self.policy, 7, 0, 3))

    def test_what_cannot_be_read_is_an_error(self):
        self.append(7, 0).committed()
        with open(log_path(self.device, 0, 7), 'r+b') as log:
            log.write(b'damaged!')
        self.assertRaises(FormatError, self.found)
        os.unlink(log_path(self.device, 0, 7))
        os.mkdir(log_path(self.device, 0, 7))
        self.assertRaises(OSError, self.found)
