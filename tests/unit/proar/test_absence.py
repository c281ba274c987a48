# SPDX-License-Identifier: Apache-2.0
"""absence: a 404 while a role is silent."""

import os
import shutil
from unittest import mock

from swift.common.concurrency import Semaphore
from swift.common.swob import Response

from swift_lightsync.common.admission import Admission
from swift_lightsync.proar.log.segment import logs_path
from swift_lightsync.proar.names import STANDING, roles_path
from swift_lightsync.proar.server.absence import doubters
from swift_lightsync.proar.vouching.standings import Standings
from tests.unit.proar.proxy_world import VouchedCase


class AbsenceCase(VouchedCase):
    """A role is silent, and the primary role has never heard of an object."""

    def setUp(self):
        super().setUp()
        self.vouch()
        self.pass_days(8)

    def pass_days(self, days):
        self.pass_in_service(days)
        self.vouch()  # Now all know that the others have all.

    def renew_disk(self, server):
        os.unlink(roles_path(server.device, self.policy, STANDING))
        self.vouch()
        self.vouch()

    def lose(self, *servers):
        """Have servers be away for longer than their word counts."""
        for server in servers:
            server.stop()
        self.at += int(self.seconds * 1e9)
        self.vouch(*(each for each in self.servers if each not in servers))


class TestAbsence(AbsenceCase):

    def statuses(self):
        return [self.status(method) for method in (
            'GET', 'HEAD', 'POST', 'DELETE')]

    def test_it_is_404_when_all_other_devices_vouch(self):
        for server in self.role[1:]:
            self.lose(server)
            self.assertEqual([404] * 4, self.statuses())
            server.start()
            self.app.error_limiter.stats.clear()

    def cut_off(self):
        """Have the proxy, but not the primary role, miss all others."""
        for server in self.servers:
            if server is not self.role[0]:
                server.spoil = lambda req: None if req.method == 'PROAR' \
                    else Response(status=503, request=req)

    def test_it_is_404_of_a_vouched_role_though_no_other_is_reached(self):
        self.cut_off()
        self.assertEqual([404] * 2, [
            self.status(method) for method in ('GET', 'HEAD')])

    def test_a_new_disk_hides_nothing_though_no_other_is_reached(self):
        for server in self.role[1:]:
            self.hold(server)
        self.renew_disk(self.role[0])
        self.assertEqual(200, self.status('GET'))
        self.cut_off()
        self.assertEqual([503] * 3, [
            self.status(method) for method in ('GET', 'HEAD', 'POST')])
        self.assertEqual(503, self.put(headers={'If-None-Match': '*'}))

    def test_nobody_waits_for_words_if_all_roles_have_answered(self):
        self.at += int(self.seconds * 1e9)
        with mock.patch('swift_lightsync.proar.server.absence.sleep') as slept:
            self.assertEqual(404, self.status('GET'))
            self.assertEqual(404, self.status('GET', headers={
                'X-Newest': 'true'}))
        slept.assert_not_called()

    def test_it_is_503_when_a_quorum_may_know_of_a_write(self):
        self.lose(self.role[1], self.handoff)
        self.assertEqual(503, self.status('GET'))

    def test_what_a_hand_off_and_the_silent_role_took_is_there(self):
        self.take_at_two(self.role[2])
        self.lose(self.role[1])
        self.assertEqual(200, self.status('GET'))
        # The reader does not reach the hand-off, whom the primary role asks.
        self.handoff.spoil = lambda req: None if req.method == 'PROAR' \
            else Response(status=503, request=req)
        self.assertEqual(503, self.status('GET'))

    def fill(self):
        self.vouch()
        self.replicate()

    def test_a_new_disk_is_filled_when_all_others_have_passed_or_after_days(
            self):
        for fill, status in ((lambda: self.pass_days(6), 503),
                             (lambda: self.pass_days(8), 404),
                             (self.fill, 404)):
            self.renew_disk(self.role[0])
            fill()
            self.lose(self.role[1])
            self.assertEqual(status, self.status('GET'))
            self.role[1].start()
            self.app.error_limiter.stats.clear()

    def test_that_it_is_filled_outlives_converger_and_machine(self):
        standings = Standings(self.role[0].device, self.policy)
        self.vouch()
        served = standings.read().filling.served
        self.assertGreater(served, 8 * 86400 - 1)
        for boot in 'before', 'after':
            self.rounds.clear()
            with mock.patch('swift_lightsync.proar.vouching.rounds.boot_id',
                            return_value=boot), \
                    mock.patch('swift_lightsync.proar.vouching.standings.'
                               'boot_id', return_value=boot):
                self.vouch(self.role[0])
                self.assertEqual(served, standings.read().filling.served)

    def test_it_is_503_after_another_disk_was_mounted(self):
        self.lose(self.role[1])
        self.assertEqual(404, self.status('GET'))
        os.unlink(roles_path(self.role[0].device, self.policy, STANDING))
        self.assertEqual(503, self.status('GET'))

    def test_it_is_503_from_a_quarantine_until_all_others_have_passed(self):
        quarantined = os.path.join(self.role[0].device, 'quarantined')
        self.lose(self.role[1])
        for change in (lambda: os.mkdir(os.path.join(
                quarantined, 'objects', 'f' * 32)),
                lambda: shutil.rmtree(quarantined)):
            change()
            for _ in range(2):
                self.assertEqual(503, self.status('GET'))
                self.vouch(self.role[0])
            self.role[1].start()
            self.fill()
            self.lose(self.role[1])
            self.app.error_limiter.stats.clear()
            self.assertEqual(404, self.status('GET'))

    def take_at_two(self, away):
        """Have two devices take a write that the primary role misses.

        :param away: the server that is away, too
        """
        with self.away(self.role[0], away):
            self.assertEqual(201, self.put())

    def lose_disk(self, server):
        """Give a server an empty disk, while what it told is too old."""
        self.forget_log(server)
        shutil.rmtree(server.device)
        os.mkdir(server.device)
        self.lose(self.role[1])

    def test_what_the_silent_role_took_is_there_if_the_other_lost_it(self):
        self.take_at_two(self.handoff)
        self.lose_disk(self.role[2])
        self.assertEqual(503, self.status('GET'))
        self.cut_off()
        self.assertEqual(503, self.status('GET'))

    def test_what_the_silent_role_took_is_there_if_a_hand_off_lost_it(self):
        self.take_at_two(self.role[2])
        self.lose_disk(self.handoff)
        self.assertEqual(503, self.status('GET'))
        self.cut_off()
        self.assertEqual(503, self.status('GET'))

    def test_what_the_silent_role_took_is_there_if_the_other_damaged_it(self):
        self.take_at_two(self.handoff)
        self.role[2].damage(self.name)
        self.assertEqual(404, self.on(self.role[2])[0])
        self.forget_log(self.role[2])
        self.lose(self.role[1])
        self.assertEqual(503, self.status('GET'))

    def forget_log(self, server):
        """Have a log not name what is gone, as a converger does."""
        server._app._log(os.getpid(), server.device).close()
        server._app._log.cache_clear()
        shutil.rmtree(logs_path(server.device))

    def test_what_comes_while_it_looks_is_seen(self):
        self.lose(self.role[1])

        def look(*args):
            found = doubters(*args)
            self.hold(self.role[0])
            return found
        with mock.patch('swift_lightsync.proar.server.absence.doubters', look):
            self.assertEqual(200, self.status('GET'))

    def test_those_whose_word_is_old_are_asked_first(self):
        self.lose(self.role[1])
        self.at += int(self.seconds * 1e9)
        with mock.patch('swift_lightsync.proar.server.absence.sleep',
                        lambda _: self.vouch(self.role[0])):
            self.assertEqual(404, self.status('GET'))

    def test_so_many_wait_for_words_and_no_more(self):
        self.lose(self.role[1])
        self.at += int(self.seconds * 1e9)
        waiting = Admission(1, 0.0, Semaphore, 'wait')
        with mock.patch('swift_lightsync.proar.server.absence.sleep',
                        lambda _: self.vouch(self.role[0])), \
                mock.patch('swift_lightsync.proar.server.absence.WAITING',
                           waiting):
            with waiting.admitted():
                self.assertEqual(503, self.status('GET'))
            self.assertEqual(404, self.status('GET'))


class TestAbsenceOfBackup(AbsenceCase):
    """The next role may have taken a write alone."""

    options = {'on_primary_failure': 'backup'}

    def test_it_is_404_only_if_the_next_role_vouches(self):
        self.lose(self.role[2])
        self.assertEqual(404, self.status('GET'))
        self.role[2].start()
        self.app.error_limiter.stats.clear()
        self.lose(self.role[1])
        self.assertEqual(503, self.status('GET'))
