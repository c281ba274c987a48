# SPDX-License-Identifier: Apache-2.0
"""promises, stamps, standings: what the processes of a device share."""

import os
from unittest import mock

from swift_lightsync.proar.core.standing import Standing
from swift_lightsync.proar.names import MISSED, STANDING, roles_path
from swift_lightsync.proar.vouching import clock
from swift_lightsync.proar.vouching.promises import MARGIN, NS, Promises
from swift_lightsync.proar.vouching.stamps import HEADER, OtherBoot, Stamps
from swift_lightsync.proar.vouching.standings import Standings
from swift_lightsync.proar.wire.messages import LONGEST
from tests.unit.sync.fixtures import SwiftTestCase

OTHER_BOOT = '00000000-0000-0000-0000-000000000001'


class SharedCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.now = 10 ** 12
        self.enterContext(mock.patch.object(clock, 'time', mock.Mock(
            clock_gettime_ns=lambda _: self.now)))
        self.path = os.path.join(self.devices_dir, 'sda')

    def boot_again(self):
        self.enterContext(mock.patch(
            'swift_lightsync.proar.vouching.stamps.boot_id',
            return_value=OTHER_BOOT))
        self.enterContext(mock.patch(
            'swift_lightsync.proar.vouching.standings.boot_id',
            return_value=OTHER_BOOT))


class TestPromises(SharedCase):

    def setUp(self):
        super().setUp()
        self.promises = Promises(os.path.join(self.path, 'r', 'promises'))

    def test_none_stands_where_none_was_given(self):
        self.assertEqual((0, 0), self.promises.stand_until(1, 1))

    def test_one_stands_longer_than_the_asker_counts_on_it(self):
        self.assertTrue(self.promises.give([1, 7], 1, 3.0))
        until = self.now + int(3 * MARGIN * NS)
        self.assertEqual([(until, 0), (0, 0), (until, 0)], [
            self.promises.stand_until(asker, 1) for asker in (1, 2, 7)])
        self.now += 1
        self.promises.give([1], 1, 0.1)
        self.assertEqual(until, self.promises.stand_until(1, 1)[0])

    def test_under_another_ring_all_are_waited_for(self):
        self.promises.give([1], 1, 3.0)
        until = self.now + int(3 * MARGIN * NS)
        self.assertEqual((0, until), self.promises.stand_until(2, 2))
        self.assertEqual((0, until), self.promises.stand_until(None, 0))
        self.now += 1
        self.assertFalse(self.promises.give([2], 2, 3.0))
        self.assertEqual((0, until), self.promises.stand_until(5, 2))
        self.now = until
        self.assertTrue(self.promises.give([2], 2, 3.0))

    def test_after_another_start_of_the_machine_what_may_stand_is_waited_for(
            self):
        self.promises.give([1], 1, 3.0)
        self.boot_again()
        self.now = 5
        until = self.now + int(LONGEST * NS)
        self.assertEqual((0, until), self.promises.stand_until(1, 1))
        self.assertFalse(self.promises.give([1], 1, 3.0))

    def test_what_cannot_be_written_is_an_error(self):
        os.mkdir(os.path.join(self.path, 'r'))
        os.mkdir(os.path.join(self.path, 'r', 'promises'))
        self.assertRaises(OSError, self.promises.give, [1], 1, 3.0)
        self.assertRaises(OSError, self.promises.stand_until, 1, 1)


class TestStamps(SharedCase):

    def test_a_number_that_is_half_written_is_no_number(self):
        stamps = Stamps(os.path.join(self.path, 'stamps'))
        with stamps.locked() as writer:
            writer.write(1, 1 << 40)
        with open(stamps.path, 'r+b') as file:
            file.seek(HEADER + 16)
            file.write(b'\1')
        self.assertRaises(OSError, stamps.read, 1)
        self.assertEqual([0, 0], stamps.read(0, 2))

    def test_those_of_another_boot_are_none(self):
        stamps = Stamps(os.path.join(self.path, 'stamps'))
        with stamps.locked() as writer:
            writer.write(1, 5)
        self.boot_again()
        self.assertRaises(OtherBoot, stamps.read, 1)
        with stamps.locked() as writer:
            writer.write(0, 1)
        self.assertEqual([1, 0], stamps.read(0, 1))


class TestStandings(SharedCase):

    def setUp(self):
        super().setUp()
        self.standings = Standings(self.path, self.policy)

    def write(self):
        self.standings.write(Standing(clock.boot_id(), 0, 1, 3.0).after(
            self.now, {}))

    def obstacle(self, place=(7, 1)):
        return self.standings.obstacle(self.standings.read(), 1, place, ())

    def test_without_one_it_is_behind(self):
        self.assertIsNone(self.standings.read())
        self.write()
        self.assertEqual('', self.obstacle())
        self.assertIn('has ring 1', self.standings.obstacle(
            self.standings.read(), 2, (7, 1), ()))

    def test_nothing_is_made_where_a_device_is_away(self):
        os.rmdir(self.path)
        self.assertRaises(OSError, self.write)
        self.assertRaises(OSError, self.standings.miss, (7, 1))
        self.assertFalse(os.path.exists(self.path))

    def test_a_write_that_is_missed_counts_at_once_and_for_its_place(self):
        self.write()
        Standings(self.path, self.policy).miss((7, 1))
        self.assertIn('nobody was asked', self.obstacle())
        self.assertEqual('', self.obstacle((7, 2)))
        self.now += 1
        self.write()
        self.assertEqual('', self.obstacle())

    def test_after_another_start_of_the_machine_it_is_behind(self):
        self.write()
        self.standings.miss((7, 1))
        self.boot_again()
        self.assertIsNone(Standings(self.path, self.policy).read())

    def test_what_is_damaged_or_half_written_is_none(self):
        self.write()
        path = roles_path(self.path, self.policy, STANDING)
        with open(path, 'r+b') as file:
            content = file.read()
            for damaged in (b'', content[:20], content[:-1] + b'x'):
                file.seek(0)
                file.truncate()
                file.write(damaged)
                file.flush()
                self.assertIsNone(Standings(self.path, self.policy).read())

    def test_what_cannot_be_told_of_missed_writes_has_others_asked(self):
        self.write()
        os.mkdir(roles_path(self.path, self.policy, MISSED))
        self.assertTrue(self.obstacle())
