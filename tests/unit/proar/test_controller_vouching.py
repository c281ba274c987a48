# SPDX-License-Identifier: Apache-2.0
"""controller: what readers see after a fail-over, however late."""

import errno
import glob
import os
from functools import partial
from unittest import mock

from swift.common.swob import Response
from swift.obj.diskfile import BaseDiskFile, BaseDiskFileManager

from swift_lightsync.proar.log.holdings import CUT
from swift_lightsync.proar.log.segment import logs_path
from swift_lightsync.proar.names import SLOT_HEADER
from tests.unit.proar.proxy_world import VouchedCase


class TestBehind(VouchedCase):

    def fail_over(self, *requests):
        """Make requests while the primary role is away."""
        with self.away(self.role[0]):
            answers = [request() for request in requests]
        self.assertTrue(all(status < 300 for status in answers), answers)

    def test_the_primary_role_answers_alone_while_it_is_vouched(self):
        self.put()
        self.asked()
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual([1, 0, 0, 0], self.asked())
        self.at += int(self.seconds * 1e9)
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual(1, self.logger.counters['proar.asked_all.GET'])
        self.assertFalse(self.app.error_limiter.stats)

    def test_one_that_is_back_after_days_shows_what_was_acknowledged(self):
        self.put()
        self.fail_over(lambda: self.put(b'two'))
        self.at += 10 ** 15
        self.cache.entries.clear()
        for _ in range(5):
            self.assertEqual(b'two', self.request('GET').body)

    def test_so_it_does_once_it_has_asked_and_the_others_hold_the_write(self):
        self.put()
        self.fail_over(lambda: self.put(b'two'), self.paint)
        self.vouch()
        self.assertEqual(b'two', self.request('GET').body)
        self.assertEqual('red', self.colour())

    def test_nothing_acknowledged_is_404(self):
        self.fail_over(self.put)
        self.at += 10 ** 15
        self.assertEqual(200, self.status('GET'))
        for server in self.role[1:] + [self.handoff]:
            server.stop()
        self.assertEqual(503, self.status('GET'))

    def test_a_delete_that_it_missed_is_404(self):
        self.put()
        self.fail_over(lambda: self.status('DELETE'))
        self.assertEqual(404, self.status('GET'))

    def test_what_is_deleted_is_404_to_delete_though_others_lag(self):
        for server in self.role:
            self.hold(server, b'one', -2)
        self.assertEqual(204, self.status('DELETE'))
        self.asked()
        self.assertEqual(404, self.status('DELETE'))
        self.assertEqual([1, 0, 0, 0], self.asked())
        # Here it may not be what was there last.
        self.fail_over(lambda: self.put(b'two'))
        self.assertEqual(204, self.status('DELETE'))

    def test_files_that_another_replaces_just_then_are_looked_for_again(self):
        """Swift answers 503; others have what was there before."""
        self.put()
        for server in self.role[1:]:
            self.hold(server, b'zero', -1)
        stock = BaseDiskFileManager.open_data_file
        for method, status in (('GET', 200), ('HEAD', 200), ('POST', 202),
                               ('DELETE', 204)):
            is_gone = iter((True, True))

            def open_data_file(*args, is_gone=is_gone):
                if next(is_gone, False):
                    raise FileNotFoundError(errno.ENOENT, 'replaced')
                return stock(*args)
            self.asked()
            with mock.patch.object(BaseDiskFileManager, 'open_data_file',
                                   open_data_file):
                self.assertEqual(status, self.status(method))
            self.assertEqual([1, 0, 0, 0], self.asked(method))

    def test_a_tombstone_that_is_replaced_just_then_is_looked_for_again(self):
        """Swift takes it for an object that never was; others lag."""
        for server in self.role:
            self.hold(server, b'zero', -4)
        stock = BaseDiskFile._read_and_validate_metadata
        for method, status in (('GET', 200), ('HEAD', 200), ('POST', 202),
                               ('DELETE', 204)):
            self.assertEqual(204, self.status('DELETE'))
            replace = iter((partial(self.hold, self.role[0], b'new', **{
                'X-Timestamp': '%d.50000' % self.clock}),))

            def read(*args, replace=replace, **kwargs):
                next(replace, bool)()
                return stock(*args, **kwargs)
            self.asked()
            with mock.patch.object(BaseDiskFile,
                                   '_read_and_validate_metadata', read):
                answer = self.request(method)
            self.assertEqual(status, answer.status_int)
            if method == 'GET':
                self.assertEqual(b'new', answer.body)
            self.assertEqual([1, 0, 0, 0], self.asked(method))

    def test_what_all_roles_have_not_is_404_though_it_is_behind(self):
        self.at += 10 ** 15
        self.handoff.stop()
        self.assertEqual(404, self.status('GET'))

    def test_a_body_is_resumed_from_those_that_are_no_primary_role(self):
        self.put(b'x' * 300000)
        for server in self.role[1:]:
            self.hold(server, b'x' * 300000, 0)
        self.break_off(self.role[0])
        self.assertEqual(300000, len(self.request('GET').body))


class TestFences(VouchedCase):

    def test_a_write_that_a_vouched_role_misses_is_told_to_it_first(self):
        """Only this proxy does not reach it: others read it."""
        self.put()
        self.role[0].spoil = lambda req: None if req.method in (
            'PROAR', 'GET', 'HEAD') else Response(status=503, request=req)
        self.assertEqual(201, self.put(b'two'))
        self.app.error_limiter.stats.clear()
        self.asked()
        self.assertEqual(b'two', self.request('GET').body)
        self.assertEqual([], self.waited)

    def test_one_that_cannot_be_told_is_waited_for(self):
        self.put()
        with self.away(self.role[0]):
            self.assertEqual(201, self.put(b'two'))
        self.assertAlmostEqual(1.05 * self.seconds, sum(self.waited), 1)
        self.assertEqual(b'two', self.request('GET').body)

    def test_one_whose_log_was_cut_vouches_when_others_have_it_all(self):
        """Its entries are gone; the object-replicator brings the writes."""
        self.put()
        with self.away(self.role[0]):
            self.put(b'two')
        for server in (*self.role[1:], self.handoff):
            log = logs_path(server.device)
            for path in glob.glob(os.path.join(log, '*.log')):
                os.rename(path, path + CUT)
        self.settle()
        self.assertEqual(b'two', self.request('GET').body)
        self.hold(self.role[0], b'two', 0)
        with mock.patch('swift_lightsync.proar.vouching.answers.'
                        'has_replicated', return_value=True):
            self.settle()
        before = self.logger.counters['proar.asked_all.GET']
        self.assertEqual(b'two', self.request('GET').body)
        self.assertEqual(before, self.logger.counters['proar.asked_all.GET'])
        self.assertEqual([], glob.glob(os.path.join(log, '*' + CUT)))

    def settle(self):
        """As long as answers count, and a round of questions thereafter."""
        self.at += int(2 * self.seconds * 1e9)
        self.vouch()

    def test_the_second_write_of_an_outage_waits_for_nothing(self):
        self.role[0].stop()
        self.put()
        self.waited.clear()
        self.put(b'two')
        self.assertEqual([], self.waited)

    def test_a_role_whose_peer_cannot_tell_is_behind(self):
        self.put()
        self.role[1].stop()
        self.vouch(self.role[0])
        self.assertEqual(b'one', self.request('GET').body)
        self.assertFalse(self.logger.counters['proar.asked_all.GET'])
        self.at += int(self.seconds * 1e9)
        self.vouch(self.role[0])
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual(1, self.logger.counters['proar.asked_all.GET'])

    def test_a_hand_off_that_holds_something_counts(self):
        with self.away(*self.role[:2]):
            self.put()
        self.role[2].stop()
        self.vouch(self.role[0])
        self.assertEqual(b'one', self.request('GET').body)

    def test_what_was_logged_for_another_slot_is_told_by_the_ring_of_now(
            self):
        """As when the regions, or the number of rows, have changed."""
        self.put()
        name = self.name
        # The log of another role has it, for a slot of its own.
        number = self.servers.index(self.role[1])
        self.assertEqual(201, self.role[1].direct('PUT', name, b'two', {
            'X-Timestamp': '%d.00000' % (self.clock + 1),
            'Content-Type': 'text/plain', SLOT_HEADER: str(number)
        }).status_int)
        self.clock += 1
        self.vouch()
        self.assertEqual(b'two', self.request('GET').body)
