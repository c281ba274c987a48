# SPDX-License-Identifier: Apache-2.0
"""troubles: what object-servers count."""

import os
import time
from unittest import mock

from swift.common.utils import dump_recon_cache

from swift_lightsync.proar.lag import DeviceLag, read, recorded
from swift_lightsync.proar.troubles import FILE, TroubleCounter, Troubles
from tests.unit.sync.fixtures import SwiftTestCase, wait_for

LAG = DeviceLag('sda', 0, 3, 1, 2.5, {1: 3}, 0, 0)


class TestTroubles(SwiftTestCase):

    def counter(self):
        return TroubleCounter({'recon_cache_path': self.root}, self.logger)

    def known(self):
        return read(self.root, 9).troubles

    def test_what_processes_counted_is_added_up(self):
        one, other = self.counter(), self.counter()
        one.count('sda', 'failed_intents')
        with mock.patch('os.getpid', return_value=7):
            for _ in range(2):
                other.count('sda', 'failed_intents')
                other.count('sdb', 'refused_log')
            # It records once a second at most.
            wait_for(lambda: self.known().get('sdb', Troubles()
                                              ).refused_log == 2, 'all told')
        self.assertEqual(3, self.known()['sda'].failed_intents)
        self.assertAlmostEqual(time.time(), self.known()['sda'].last,
                               delta=60)

    def test_the_converger_leaves_it_alone_and_it_the_convergers(self):
        dump_recon_cache(recorded({'sda': [LAG]}, 7), os.path.join(
            self.root, FILE), self.logger)
        self.counter().count('sda', 'refused_lag')
        dump_recon_cache(recorded({'sda': [LAG]}, 8), os.path.join(
            self.root, FILE), self.logger)
        self.assertEqual((1, 8, (LAG,)), (
            self.known()['sda'].refused_lag, read(self.root, 9).updated,
            read(self.root, 9).devices))
