# SPDX-License-Identifier: Apache-2.0
"""remembered and memory: a log that went back in time is noticed."""

import json
import os
import shutil
import unittest
from unittest import mock

from swift.common.recon import RECON_OBJECT_FILE

from swift_lightsync.proar.core.remembered import LogPosition, Remembered
from swift_lightsync.proar.log.segment import logs_path
from swift_lightsync.proar.vouching.memory import Memory, has_replicated
from tests.unit.proar.logs import entries_of
from tests.unit.proar.proxy_world import VouchedCase
from tests.unit.sync.fixtures import SwiftTestCase, wait_for

ONE, OTHER = '11' * 16, '22' * 16


def position(*segments, identity=ONE):
    return LogPosition(identity, segments)


class TestRemembered(unittest.TestCase):

    def after(self, *positions, is_filled=lambda since: False):
        known = Remembered()
        for number, each in enumerate(positions, 100):
            known = known.after(each, number, is_filled)
        return known

    def test_it_is_read_as_it_was_encoded(self):
        known = self.after(position(*((number, number, number)
                                      for number in range(1, 9))))
        self.assertEqual(8, len(known.segments))
        self.assertEqual(known, Remembered.decode(known.encode()))
        for data in b'', known.encode()[:-40], b'x' * 128, bytes(128):
            self.assertEqual(Remembered(), Remembered.decode(data))

    def test_a_log_that_goes_on_is_not_older(self):
        for later in (position((1, 5, 9)), position((1, 6, 6)),
                      position((1, 4, 5), (2, 0, 0)),
                      # Segments that all hold are removed.
                      position((2, 1, 1)), position((9, 0, 0)),
                      # Another log: another disk.
                      position((1, 1, 1), identity=OTHER)):
            self.assertEqual(0, self.after(
                position((1, 5, 7)), later).older_since, later)

    def test_one_that_lacks_what_was_durable_is_older(self):
        for later in (position((1, 4, 4)), position((1, 0, 0)),
                      position((1, 4, 4), (2, 9, 9))):
            self.assertEqual(101, self.after(
                position((1, 5, 7)), later).older_since, later)
        self.assertEqual(101, self.after(
            position((4, 1, 1)), position((3, 100, 100))).older_since)

    def test_what_a_power_cut_may_take_does_not_count(self):
        self.assertEqual(0, self.after(
            position((1, 5, 7)), position((1, 0, 5))).older_since)

    def test_it_stays_older_until_all_was_brought_to_it(self):
        older = (position((1, 5, 5)), position((1, 3, 3)),
                 position((1, 4, 4)), position((1, 9, 9)))
        self.assertEqual(101, self.after(*older).older_since)
        known = self.after(*older, is_filled=lambda since: since == 101)
        self.assertEqual((0, {1: 9}), (known.older_since, known.segments))
        known = self.after(*older[:3], is_filled=lambda since: since == 101)
        self.assertEqual((0, {1: 4}), (known.older_since, known.segments))


class TestReplicated(SwiftTestCase):

    def test_a_pass_of_before_counts_not_though_the_clock_was_set_back(self):
        device = os.path.join(self.root, 'sda')
        os.mkdir(device)
        memory = Memory(device, self.policy, self.root)

        def older(last, passed):
            with open(os.path.join(self.root, RECON_OBJECT_FILE),
                      'w') as recon:
                json.dump(self.passed(passed, 0.0), recon)
            return memory.older((2,), {2: position((1, last, last))})
        with mock.patch('swift_lightsync.proar.vouching.memory.time.time',
                        return_value=1000.0):
            self.assertEqual((), older(5, 5000.5))
            self.assertEqual([(2,)] * 2, [older(3, 5000.5)] * 2)
        self.assertEqual((2,), older(3, 5000.5))
        self.assertEqual((), older(3, 6000.5))

    def test_a_pass_that_began_later_and_failed_nowhere(self):
        def told(**changes):
            with open(os.path.join(self.root, RECON_OBJECT_FILE),
                      'w') as recon:
                json.dump({**self.passed(1000.0, 2.0), **changes}, recon)
            return has_replicated(self.root, 800)
        self.assertFalse(has_replicated(self.root, 800))
        self.assertTrue(told())
        for change in ({'object_replication_time': 4.0},
                       {'replication_stats': {'failure': 1}},
                       {'object_replication_last': None},
                       {'object_replication_time': []}):
            self.assertFalse(told(**change))

        def of_disks(*passes):
            return told(object_replication_per_disk=dict(enumerate(passes)))
        # Swift tells the earliest end and the shortest time of all.
        self.assertTrue(of_disks(self.passed(1000.0, 2.0),
                                 self.passed(1300.0, 8.0)))
        for other in (self.passed(1000.0, 4.0),
                      self.passed(1300.0, 2.0, failures=1)):
            self.assertFalse(of_disks(self.passed(1000.0, 2.0), other))
        # They are of processes that there are no more.
        self.assertTrue(of_disks(self.passed(900.0, 4.0)))

    def passed(self, ended, minutes, failures=0):
        return {'object_replication_last': ended,
                'object_replication_time': minutes,
                'replication_stats': {'failure': failures}}


class TestRestored(VouchedCase):
    """The disk of the primary role goes back to an image of it."""

    def setUp(self):
        super().setUp()
        self.device = self.role[0].device
        self.image = os.path.join(self.root, 'image')
        self.assertEqual(201, self.put(b'one'))
        self.settle()
        shutil.copytree(self.device, self.image)
        self.assertEqual(201, self.put(b'two'))
        self.settle()
        for server in self.role[1:]:
            # As a converger brings it: it is in no log of theirs.
            self.hold(server, b'two', at=0, **{
                'X-Backend-Replication': 'true'})
        self.vouch()

    def settle(self):
        wait_for(lambda: all(each.state.name == 'COMMITTED' for each in
                             entries_of(self.device)), 'it is noted')

    def restore(self):
        self.role[0]._app._log(os.getpid(), self.device).close()
        self.role[0]._app._log.cache_clear()
        shutil.rmtree(self.device)
        shutil.copytree(self.image, self.device)
        # As nothing of before the start of a machine counts.
        shutil.rmtree(os.path.join(self.device, 'proar_roles'))
        self.rounds.pop(self.servers.index(self.role[0]))
        self.vouch()

    def test_it_does_not_answer_alone_what_was_there_before(self):
        self.restore()
        self.assertTrue(os.path.isdir(logs_path(self.device)))
        self.assertEqual((200, b'one'), self.on(self.role[0]))
        for _ in range(3):
            self.assertEqual(b'two', self.request('GET').body)
            self.vouch()
        number = self.servers.index(self.role[0])
        self.assertEqual(
            {0, 1, 2, 3} - {number},
            set(self.rounds[number].report(1.0)['sda'][0].older))

    def test_it_does_when_the_replicators_have_ended_a_pass(self):
        self.restore()
        self.hold(self.role[0], b'two', at=0, **{
            'X-Backend-Replication': 'true'})
        with mock.patch('swift_lightsync.proar.vouching.memory.'
                        'has_replicated', return_value=True):
            self.vouch()
        before = self.logger.counters['proar.asked_all.GET']
        self.assertEqual(b'two', self.request('GET').body)
        self.assertEqual(before, self.logger.counters['proar.asked_all.GET'])
