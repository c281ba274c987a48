# SPDX-License-Identifier: Apache-2.0
"""rounds, the verb PROAR and what is reported of them."""

import json
import os
from unittest import mock

from swift.common.swob import Request
from swift.common.utils import dump_recon_cache

from swift_lightsync.proar.lag import (
    FILE,
    PATH,
    DeviceStanding,
    decode,
    recorded,
)
from swift_lightsync.proar.names import MISSED, PROMISES, roles_path
from swift_lightsync.proar.vouching.promises import Promises
from swift_lightsync.recon_filter import filter_factory
from tests.unit.proar.proxy_world import VouchedCase


class TestReport(VouchedCase):

    def reported(self, number=0):
        return self.rounds[number].report(1000.0)['sda'][0]

    def test_one_whose_peers_all_vouch(self):
        self.assertEqual(DeviceStanding(
            'sda', 0, 0, (), None, (), 0, {}, 0, (1, 2, 3)), self.reported())

    def test_who_is_silent_and_since_when(self):
        self.servers[2].stop()
        self.at += int(self.seconds * 1e9)
        self.vouch()
        found = self.reported()
        self.assertEqual(((2,), 1000.0), (found.silent, found.silent_since))
        self.assertEqual(
            1000.0, self.rounds[0].report(2000.0)['sda'][0].silent_since)

    def test_how_long_it_may_have_lost_objects_and_whom_it_awaits(self):
        self.vouch()
        self.pass_in_service(1000 / 86400)
        self.assertEqual(960, self.reported().unsure_seconds)
        self.replicate()
        found = self.reported()
        self.assertEqual((None, ()), (found.unsure_seconds, found.awaited))

    def test_a_device_in_volumes_is_not_told_of(self):
        asker, = self.rounds[0]._devices()
        with mock.patch.object(type(asker.manager), 'quarantine_renamer',
                               lambda *args: None):
            found = self.reported()
        self.assertEqual((None, ()), (found.unsure_seconds, found.awaited))

    def test_what_others_hold(self):
        self.role[0].stop()
        self.put()
        self.role[0].start()
        self.vouch()
        self.assertEqual(1, self.reported(
            self.servers.index(self.role[0])).held)

    def test_the_filter_answers_it(self):
        roles = self.rounds[0].report(1000.0)
        dump_recon_cache(recorded({'sda': ()}, 1000.0, roles),
                         '%s/%s' % (self.root, FILE), self.logger)
        answer = Request.blank(PATH).get_response(
            filter_factory({}, recon_cache_path=self.root)(None))
        self.assertEqual((200, tuple(roles['sda'])), (
            answer.status_int, decode(answer.body).roles))


class TestVerb(VouchedCase):

    def ask(self, path, body, **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return Request.blank(path, method='PROAR', body=body, headers=headers
                             ).get_response(self.servers[0]._app)

    def question(self, **changes):
        return dict({'version': 1, 'policy': 0, 'ring': 0, 'seconds': 3.0,
                     'askers': [1], 'peers': {'0': 'sda'}}, **changes)

    def test_a_device_that_holds_nothing_vouches(self):
        answer = self.ask('/ask', self.question())
        self.assertEqual((200, {'0': {}}), (
            answer.status_int, json.loads(answer.body)['peers']))

    def test_it_promises_before_it_looks_and_the_asker_counts_from_before(
            self):
        self.at += 10 ** 15
        seen = []

        def look(path, policy, ring_version):
            promises = Promises(roles_path(path, policy, PROMISES))
            seen.append(any(promises.stand_until(asker, 0)[0] > self.at
                            for asker in range(8)))
            self.at += 10 ** 9
            return []
        before = self.at
        with mock.patch(
                'swift_lightsync.proar.vouching.answers.held_entries', look):
            self.vouch(self.servers[1])
        self.assertEqual({True}, set(seen))
        self.assertEqual({before + 1}, {
            told.asked for standing in self.rounds[1].standings.values()
            for told in standing.told.values()})

    def test_one_that_is_not_here_or_that_has_another_ring_does_not(self):
        for changes in ({'ring': 7}, {'peers': {'0': 'sdb'}},
                        {'peers': {'60000': 'sda'}}):
            answer = self.ask('/ask', self.question(**changes))
            self.assertEqual((200, {}), (
                answer.status_int, json.loads(answer.body)['peers']), changes)

    def test_what_is_no_message_is_400_and_names_what_is_wrong(self):
        for path, body, name in (
                ('/sda/asks', {}, b'/sda/asks'), ('/ask', b'{', b''),
                ('/ask', self.question(seconds=-1), b'seconds'),
                ('/ask', self.question(policy=9), b'policy: 9'),
                ('/ask', self.question(version=2), b'version'),
                ('/ask', self.question(askers=[70000]), b'askers'),
                ('/missed', {'version': 1}, b'policy')):
            answer = self.ask(path, body)
            self.assertEqual(400, answer.status_int, body)
            self.assertIn(name, answer.body)

    def tell(self):
        return self.ask('/missed', {
            'version': 1, 'policy': 0, 'device': 'sda', 'partition': 0,
            'slot': 1}).status_int

    def test_a_device_that_is_not_mounted_notes_nothing(self):
        self.servers[0]._app._diskfile_router[
            self.policy].mount_check = True
        self.assertEqual(507, self.tell())

    def test_one_that_cannot_note_it_says_so_once_a_minute(self):
        os.makedirs(roles_path(self.servers[0].device, self.policy, MISSED))
        self.assertEqual([507] * 3, [self.tell() for _ in range(3)])
        self.assertEqual(1, len(self.logger.at('ERROR')))
