# SPDX-License-Identifier: Apache-2.0
"""uses and rounds: who is asked, and when."""

import os
from unittest import mock

from swift.common.swob import Request, Response

from swift_lightsync.proar.vouching.questions import put_question
from swift_lightsync.proar.vouching.rounds import Asker, Rounds
from swift_lightsync.proar.vouching.standings import Standings
from swift_lightsync.proar.vouching.uses import Uses
from swift_lightsync.proar.wire.messages import Ask
from tests.unit.proar.proxy_world import VouchedCase
from tests.unit.sync.fixtures import SwiftTestCase


class TestUses(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.devices_dir, 'sda')
        self.uses = Uses(self.path, 0)

    def test_what_is_marked_is_taken_once(self):
        self.assertEqual((frozenset(), False), self.uses.take())
        self.uses.mark([0, 65535, 7], 1)
        self.uses.mark_all(1)
        other = Uses(self.path, 0)
        self.assertEqual((frozenset({0, 7, 65535}), True), other.take())
        self.assertEqual((frozenset(), False), other.take())

    def test_a_mark_is_good_enough_for_so_many_seconds(self):
        with mock.patch('swift_lightsync.proar.vouching.uses.time') as time:
            time.monotonic.return_value = 100
            self.uses.mark([1], 3)
            self.uses.take()
            for now, peers in ((102, set()), (103, {1})):
                time.monotonic.return_value = now
                self.uses.mark([1], 3)
                self.assertEqual(peers, self.uses.take()[0])


class TestWhoIsAsked(VouchedCase):
    """The rounds of the primary role's device."""

    seconds = 3

    def setUp(self):
        super().setUp()
        number = self.servers.index(self.role[0])
        self.path = self.role[0].device
        asker = Asker(self.policy.object_ring.devs[number], self.policy,
                      self.role[0].manager(self.policy))
        self.of_role = Rounds(lambda: [asker], self.seconds, self.logger)
        self.others = {self.servers.index(each) for each in self.role[1:]}
        self.ask = self.enterContext(mock.patch(
            'swift_lightsync.proar.vouching.rounds.put_question',
            side_effect=put_question))

    def asked(self, seconds=1):
        """:returns: ids of the devices that are asked after some seconds"""
        self.at += int(seconds * 1e9)
        self.ask.reset_mock()
        with mock.patch('swift_lightsync.proar.vouching.rounds.PATIENCE', 1):
            self.of_role.ask_those_needed()
        return {peer for call in self.ask.mock_calls
                for peer in call.args[1].peers}

    def test_first_all_are_and_then_nobody_for_long(self):
        self.assertEqual({0, 1, 2, 3}, self.asked())
        for _ in range(29):
            self.assertEqual(set(), self.asked())
        self.assertEqual({0, 1, 2, 3}, self.asked(2))

    def test_while_it_is_read_the_other_roles_are(self):
        self.asked()
        self.put()
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual(self.others, self.asked())
        self.assertEqual(self.others, self.asked())
        # It answers alone all the time, and no more than a minute longer.
        self.assertEqual(b'one', self.request('GET').body)
        self.assertFalse(self.logger.counters['proar.asked_all.GET'])
        self.assertEqual({0, 1, 2, 3}, self.asked(31))
        self.assertEqual(self.others, self.asked())
        self.assertEqual({0, 1, 2, 3}, self.asked(31))
        self.assertEqual(set(), self.asked())

    def test_for_a_disk_that_notes_nothing_nobody_has_to_promise(self):
        with mock.patch.object(Standings, 'write', side_effect=OSError(30)):
            self.assertEqual({0, 1, 2, 3}, self.asked())
            self.assertEqual(set(), self.asked(31))
        self.assertEqual({0, 1, 2, 3}, self.asked(31))

    def test_a_write_that_it_misses_has_all_asked_at_once(self):
        self.asked()
        self.role[0].spoil = lambda req: Response(status=503, request=req) \
            if req.method == 'PUT' else None
        self.assertEqual(201, self.put())
        self.assertEqual({0, 1, 2, 3}, self.asked())
        # Those that hold it, the hand-off too, are asked until it has it.
        self.assertEqual(self.others | {3}, self.asked())

    def test_a_device_that_hears_of_another_ring_has_all_asked(self):
        self.asked()
        self.assertEqual(200, Request.blank(
            '/ask', method='PROAR', body=Ask(0, 7, 3.0, (1,), {
                self.servers.index(self.role[0]): 'sda'}).encode()
        ).get_response(self.role[0]._app).status_int)
        self.assertEqual({0, 1, 2, 3}, self.asked())
        self.assertEqual(set(), self.asked())
