# SPDX-License-Identifier: Apache-2.0
"""activity: when rounds were played, and whose neighbour is idle."""

import os
import re
import tempfile
import time
import unittest

from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.core import idleness
from swift_lightsync.sync.core.idleness import Idleness
from swift_lightsync.sync.names import ROUNDS_FILE
from tests.unit.sync import documented
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.fixtures import CapturingLogger

NEIGHBOUR = ('10.0.0.1', 6200, 'sda')


def age(directory, device, seconds):
    """Make it longer ago that a device's rounds were played."""
    path = os.path.join(directory, ROUNDS_FILE % device)
    with open(path, 'ab'):
        then = time.time() - seconds
        os.utime(path, (then, then))


class ActivityTestCase(unittest.TestCase):

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory())
        self.logger = CapturingLogger()
        self.subject = self.activity()

    def activity(self, **conf):
        return Activity(dict({'recon_cache_path': self.root}, **conf),
                        self.logger)


class TestActivity(ActivityTestCase):

    def test_what_one_process_notes_another_knows_of_each_device(self):
        other = self.activity()
        age(self.root, 'sda', 1000)
        age(self.root, 'sdb', 1000)
        self.subject.note_round('sda')
        self.assertLess(other.idle_seconds('sda'), 100)
        self.assertGreaterEqual(other.idle_seconds('sdb'), 1000)
        self.assertEqual([], self.logger.lines)

    def test_a_time_to_come_is_not_believed(self):
        age(self.root, 'sda', -5000)
        self.assertGreater(self.subject.idle_seconds('sda'), 4900)

    def test_what_is_not_known(self):
        self.assertEqual(0, int(self.subject.seconds_since_round('sda')))
        self.subject._begin -= 500
        self.assertIn(self.subject.idle_seconds('sda'), range(500, 600))
        self.assertIn(self.subject.idle_seconds('x' * 300), range(500, 600))

    def test_what_cannot_be_noted_is_logged(self):
        self.activity(recon_cache_path=self.root + '/no').note_round('sda')
        line, = self.logger.at('WARNING')
        self.assertRegex(line, 'the rounds of sda .*No such file')

    def test_the_file_is_the_documented_one(self):
        self.assertIn('`%s` in `recon_cache_path`'
                      % (ROUNDS_FILE % '<device>'), documented.protocol())


class TestIdleness(ActivityTestCase):

    def setUp(self):
        super().setUp()
        self.idleness = Idleness(self.subject)

    def is_idle(self, seconds, own):
        """Return whether a neighbour is found to be idle.

        :param seconds: for which the neighbour was idle
        :param own: since our own rounds were played the last time
        """
        self.idleness.begin_pass()
        if own is not None:
            age(self.root, 'sda', own)
        self.idleness.note_round('sda')
        self.idleness.note_answer('sda', NEIGHBOUR, seconds)
        return self.idleness.is_idle('sda', NEIGHBOUR)

    def test_it_takes_more_than_thrice_our_interval_and_300_seconds(self):
        for own, seconds, idle in (
                (None, 300, False), (None, 301, True), (0, 300, False),
                (30, 301, True), (99, 300, False), (200, 301, False),
                (200, 599, False), (200, 700, True), (3600, 10800, False),
                (3600, 11000, True), (30, None, False), (30, 0, False)):
            with self.subTest(own=own, seconds=seconds):
                self.assertEqual(idle, self.is_idle(seconds, own))

    def test_these_are_the_documented_numbers(self):
        times, seconds = documented.found(
            r'more than (\w+) times the\ntime between .*?more than (\d+)\n',
            re.M | re.S)
        self.assertEqual((idleness.IDLE_INTERVALS, idleness.IDLE),
                         ({'three': 3}[times], int(seconds)))

    def test_rounds_are_noted_once_a_pass(self):
        for _ in range(2):
            self.idleness.begin_pass()
            self.idleness.note_round('sda')
            self.assertLess(self.subject.seconds_since_round('sda'), 100)
            age(self.root, 'sda', 1000)
            self.idleness.note_round('sda')
            self.assertGreaterEqual(
                self.subject.seconds_since_round('sda'), 1000)

    def test_a_pass_of_some_partitions_is_none(self):
        age(self.root, 'sda', 1000)
        self.idleness.begin_pass(partial=True)
        self.idleness.note_round('sda')
        self.assertGreaterEqual(self.subject.seconds_since_round('sda'), 1000)
        self.assertFalse(self.idleness.note_answer('sda', NEIGHBOUR, 2900))
        self.assertTrue(self.idleness.note_answer('sda', NEIGHBOUR, 3100))

    def test_each_pass_asks_anew(self):
        self.assertTrue(self.is_idle(301, None))
        self.idleness.begin_pass()
        self.assertFalse(self.idleness.is_idle('sda', NEIGHBOUR))


class TestStoppedReplicator(ClusterTestCase):

    def stop(self, number):
        """A node's replicator has not run for a while."""
        age(self.nodes[number].conf['recon_cache_path'], 'sda', 1000)

    def converges(self, running, rounds, **conf):
        daemons = {number: self.replicator(number, **conf)
                   for number in running}
        for _ in range(rounds):
            for number in running:
                self.run_pass(number, daemons[number])
        self.assert_same_objects()

    def test_the_others_and_itself_get_all(self):
        for batch in ('1', '100'):
            for idle in range(4):
                with self.subTest(batch=batch, idle=idle):
                    self.doCleanups()
                    self.setUp()
                    self.start_full(4)
                    running = [n for n in range(4) if n != idle]
                    for number in running:
                        self.nodes[number].put('o%d' % number, 2)
                    self.stop(idle)
                    self.converges(running, 3, sync_batch_partitions=batch)

    def test_it_costs_a_message_a_pass(self):
        self.start_full(3)
        self.stop(1)
        for number in (0, 2):
            self.assertEqual(0, self.run_pass(number).failure)
        self.assertEqual(3, sum(each.get('LIGHTSYNC', 0)
                                for each in self.requests()))
        # It runs again.
        self.run_pass(1)
        for number in (0, 2):
            self.run_pass(number)
        self.assertEqual(3, sum(each.get('LIGHTSYNC', 0)
                                for each in self.requests()))
