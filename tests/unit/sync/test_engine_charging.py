# SPDX-License-Identifier: Apache-2.0
"""core.engine.charging: what a request that fails costs a pass."""

import random
import unittest

from swift_lightsync.sync.core.engine.actions import (
    Failed,
    Outcome,
    Pause,
    Reply,
)
from swift_lightsync.sync.core.engine.peers import Peers
from swift_lightsync.sync.core.failure_table import FailureTable
from swift_lightsync.sync.core.failures import Failures
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import device_key, endpoint
from tests.unit.sync.fixtures import node

HERE = ('127.0.0.1', 6200)
ONE, OTHER_DISK, TWO = (node(1, 6200, ip='127.0.0.2'),
                        node(2, 6200, 'sdb', ip='127.0.0.2'),
                        node(3, 6200, ip='127.0.0.3'))
SILENT, HANGING = Reply(Outcome.SILENT), Reply(Outcome.HANGING)


class NoRounds:

    def note_round(self, device):
        pass

    def seconds_since_round(self, device):
        return 0.0


class ChargingTestCase(unittest.TestCase):

    def setUp(self):
        self.now = 1e9
        self.failures = Failures(FailureTable(), lambda: self.now)
        self.subject = Peers(self.failures, lambda: self.now,
                             random.Random(1), NoRounds())
        self.begin_pass()

    def begin_pass(self, batched=True):
        for _ in self.subject.beginning({
                device_key(each): each for each in (ONE, OTHER_DISK, TWO)},
                batched):
            self.fail('nobody refuses, so nothing is done')

    def call(self, replies, to=ONE, whole_node=False):
        """Send a request that is answered with these.

        :returns: its Reply, and the other actions
        """
        replies, actions, result = list(replies), [], None
        process = self.subject.calling(HERE, to, 'request', whole_node)
        while True:
            try:
                action = process.send(result)
            except StopIteration as end:
                return end.value, actions
            result = None
            if action == 'request':
                result = replies.pop(0)
            elif isinstance(action, Pause):
                self.now += action.seconds
            else:
                actions.append(action)


class TestSilence(ChargingTestCase):

    def test_in_a_pass_that_batches_it_is_met_once(self):
        self.call([SILENT], whole_node=True)
        for each, failed in ((ONE, True), (OTHER_DISK, True), (TWO, False)):
            self.assertEqual(failed, self.subject.has_failed(each))
        # It is charged as one, which does not make the node fail.
        self.assertFalse(self.failures.has_failed(endpoint(ONE)))
        self.begin_pass()
        self.assertFalse(self.subject.has_failed(ONE))

    def test_it_does_not_matter_what_was_asked(self):
        self.call([SILENT], to=OTHER_DISK)
        self.assertTrue(self.subject.has_failed(ONE))

    def test_message_by_message_it_is_met_five_times(self):
        self.begin_pass(batched=False)
        for _ in range(4):
            self.call([SILENT])
            self.assertFalse(self.subject.has_failed(ONE))
        self.call([SILENT])
        self.assertTrue(self.subject.has_failed(ONE))

    def test_over_passes_it_adds_up(self):
        for _ in range(5):
            self.assertFalse(self.subject.has_failed(ONE))
            self.call([SILENT], whole_node=True)
            self.begin_pass()
        self.assertTrue(self.subject.has_failed(ONE))

    def test_who_answers_or_after_esi_is_asked_again(self):
        self.call([SILENT])
        self.call([Reply(Outcome.ANSWERED, 'x')], to=OTHER_DISK)
        self.assertFalse(self.subject.has_failed(ONE))
        self.call([SILENT])
        self.now += self.failures.interval
        self.assertFalse(self.subject.has_failed(ONE))

    def test_it_is_told_once_a_pass_to_a_device_of_each_other_node(self):
        _, (told,) = self.call([SILENT], whole_node=True)
        self.assertEqual((Failed, endpoint(ONE), [TWO]), (
            type(told), told.key, told.others))
        _, (told,) = self.call([SILENT])
        self.assertIsNone(told.notice)


class TestOthers(ChargingTestCase):

    def test_a_device_that_hangs_is_left_alone_at_once_its_node_is_not(self):
        self.call([HANGING])
        self.assertTrue(self.subject.has_failed(ONE))
        self.assertFalse(self.subject.has_failed(OTHER_DISK))

    def test_a_conversation_that_hangs_is_the_nodes(self):
        self.call([HANGING], whole_node=True)
        self.assertTrue(self.subject.has_failed(OTHER_DISK))

    def test_who_is_busy_is_asked_until_the_pass_has_no_more_time(self):
        busy = Reply(Outcome.ANSWERED, refusal=Answer.BUSY)
        reply, actions = self.call([busy, busy, Reply(
            Outcome.ANSWERED, 'x')])
        self.assertEqual(('x', []), (reply.value, actions))
        reply, _ = self.call([busy] * 99)
        self.assertIs(Answer.BUSY, reply.answer)
        self.assertFalse(self.subject.has_failed(ONE))
