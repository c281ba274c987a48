# SPDX-License-Identifier: Apache-2.0
"""filling and losses: whether a device has all that was ever brought to it."""

import os
import shutil
import time
import unittest

from swift_lightsync.proar.core.filling import NS, SKEW, Filling
from swift_lightsync.proar.core.standing import Standing, Told
from swift_lightsync.proar.vouching.losses import last_loss, make_quarantine
from tests.unit.sync.fixtures import SwiftTestCase

WEEK = 7 * 86400.0


def told(time=1000.0, passed=0.0, ring=1, is_older=False):
    return Told(100, ring, True, (), is_older, passed, time)


class TestFilling(unittest.TestCase):

    def filled(self, *rounds, peers=(1, 2)):
        filling = Filling(7, 100)
        for each in rounds:
            filling = filling.after(100, each)
        return filling.is_complete(peers, WEEK)

    def test_it_is_complete_when_all_have_passed_since(self):
        before, after = (1000.0, 900.0), (2000.0, 1001.0 + SKEW)
        self.assertTrue(self.filled(
            {1: before, 2: before}, {1: after}, {2: after}, {1: (3000., 0.)}))
        for late in before, (2000.0, 1000.0 + SKEW), (2000.0, 0.0):
            self.assertFalse(self.filled(
                {1: before, 2: before}, {1: after}, {2: late}))
        self.assertFalse(self.filled({}, peers=(1,)))

    def test_a_pass_that_was_known_before_counts_whatever_the_clocks_say(self):
        """Its clock stands years in the past when it is first heard."""
        wrong, right = (1000.0, 9e8), (1e9, 9e8)
        self.assertFalse(self.filled({1: wrong}, {1: right}, peers=(1,)))
        self.assertTrue(self.filled({1: wrong}, {1: right},
                                    {1: (1e9, 9.5e8)}, peers=(1,)))

    def test_it_is_complete_after_long_service_whatever_the_clocks_say(self):
        filling, at = Filling(7, 100), 100
        for gap in 3599, 3600, -3600, 3599:
            self.assertFalse(filling.is_complete((1,), 2 * 3599))
            at += gap * 10 ** 9
            filling = filling.after(at, {})
        self.assertTrue(filling.is_complete((1,), 2 * 3599))


class TestStanding(unittest.TestCase):

    def next(self, known, answers, loss=7, boot='boot', ring=1, began=200):
        return Standing(boot, 0, ring, 3.0).after(
            began, answers).filled_after(began, answers, known, loss)

    def has_all(self, standing, loss=7):
        return standing.has_all((1,), loss, WEEK)

    def filled(self, **change):
        """Return one that is filled, or would be but for a change."""
        known = self.next(None, {})
        for each in told(), told(2000.0, 1500.0), told():
            known = self.next(known, {1: each})
        return self.next(known, {}, **change)

    def test_it_has_all_when_it_is_filled(self):
        self.assertTrue(self.has_all(self.filled()))
        self.assertTrue(self.has_all(self.filled(boot='other')))

    def test_a_restart_of_the_machine_is_no_service(self):
        known = self.next(self.next(None, {}), {}, began=300 * NS)
        served = known.filling.served
        self.assertGreater(served, 299)
        known = self.next(known, {}, boot='other', began=310 * NS)
        self.assertEqual(served, known.filling.served)

    def test_not_after_another_loss_or_with_another_ring(self):
        self.assertFalse(self.has_all(self.filled(), loss=8))
        self.assertFalse(self.has_all(self.filled(loss=8), loss=8))
        self.assertFalse(self.has_all(self.filled(ring=2)))

    def test_not_if_its_losses_cannot_be_told(self):
        self.assertFalse(self.has_all(self.filled(loss=0), loss=0))

    def test_not_while_its_log_was_newer(self):
        known = self.filled()
        self.assertFalse(self.has_all(known.after(
            300, {2: told(is_older=True)})))

    def test_what_was_answered_before_it_was_known_does_not_count(self):
        known = self.next(None, {1: told(passed=500.0)})
        self.assertEqual({}, known.filling.awaited)

    def test_what_one_with_another_ring_says_does_not_count(self):
        known = self.next(self.next(None, {}), {1: told(ring=2)})
        self.assertEqual({}, known.filling.awaited)


class TestLastLoss(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.device = os.path.join(self.root, 'sda')
        self.objects = os.path.join(self.device, 'quarantined', 'objects')
        os.mkdir(self.device)
        make_quarantine(self.device, self.policy)

    def test_it_differs_after_each_change_of_the_quarantine(self):
        changes = [
            lambda: None,
            lambda: os.mkdir(os.path.join(self.objects, 'f' * 32)),
            lambda: os.rmdir(os.path.join(self.objects, 'f' * 32)),
            lambda: shutil.rmtree(self.objects),
            lambda: make_quarantine(self.device, self.policy),
            lambda: make_quarantine(self.device, self.policy)]
        found = []
        for change in changes:
            change()
            found.append(last_loss(self.device, self.policy))
            time.sleep(0.02)  # The kernel's clock of files is coarse.
        self.assertEqual(0, found[3])
        self.assertEqual(found[4], found[5])
        self.assertEqual(5, len(set(found)))

    def test_nothing_is_made_where_a_device_is_away(self):
        shutil.rmtree(self.device)
        make_quarantine(self.device, self.policy)
        self.assertFalse(os.path.exists(self.device))
        self.assertEqual(0, last_loss(self.device, self.policy))
