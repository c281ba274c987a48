# SPDX-License-Identifier: Apache-2.0
"""controller: writes while the primary role does not answer."""

import itertools
from unittest import mock

from swift.common.swob import Response

from swift_lightsync.proar.names import (
    ALONE,
    FAILOVER_HEADER,
    LAG,
    REFUSED_HEADER,
    RING,
    SLOT_HEADER,
)
from tests.unit.proar.proxy_world import ProxyCase

REFUSAL = {REFUSED_HEADER.replace('-', '_'): LAG}


class CountingBody:
    """A request's body that counts how often it is read."""

    def __init__(self, body):
        self.body = body
        self.reads = 0

    def read(self, size=-1):
        self.reads += 1
        body, self.body = self.body, b''
        return body


class TestQuorum(ProxyCase):

    def test_each_way_not_to_answer_fails_a_put_over(self):
        for spoil in (lambda: self.role[0].answer(503),
                      lambda: self.role[0].answer(500),
                      lambda: self.role[0].answer(507),
                      lambda: self.role[0].answer(503, **REFUSAL),
                      self.role[0].stop):
            self.app.error_limiter.stats.clear()
            spoil()
            self.assertEqual(201, self.put(b'%d' % self.clock))
            self.assertEqual([(200, b'%d' % (self.clock - 1))] * 2, [
                self.on(server) for server in self.role[1:]])

    def test_the_body_is_untouched_when_it_is_decided(self):
        body = CountingBody(b'one')
        reads = []
        self.role[0].answer(503)
        for server in self.role[1:]:
            server.spoil = lambda req: reads.append(body.reads) \
                if req.method == 'PUT' else None
        self.assertEqual(201, self.put(None, headers={
            'Content-Length': '3'}, **{'wsgi.input': body}))
        self.assertEqual([0, 0], reads)

    def test_post_and_delete_are_failed_over(self):
        for server in self.role:
            self.hold(server, at=0)
        self.role[0].answer(503)
        self.assertEqual(202, self.paint())
        self.assertEqual(['red'] * 2, [
            server.direct('HEAD', self.name).headers['X-Object-Meta-Colour']
            for server in self.role[1:]])
        self.assertEqual(204, self.status('DELETE'))

    def test_each_who_takes_it_is_told_the_slot(self):
        self.role[0].stop()
        self.put()
        self.status('POST')
        self.status('DELETE')
        for server in self.role[1:] + [self.handoff]:
            self.assertTrue(server.requests)
            for headers in (headers for method, headers in server.requests
                            if method != 'HEAD'):
                self.assertEqual(('1', 'true'), (
                    headers[SLOT_HEADER], headers[FAILOVER_HEADER]))

    def test_it_is_counted(self):
        self.role[0].stop()
        self.put()
        self.assertEqual(1, self.logger.counters['proar.failover.PUT'])

    def test_a_post_of_what_nobody_has_is_503(self):
        self.role[0].stop()
        self.assertEqual(503, self.status('POST'))

    def test_a_post_of_what_is_deleted_is_404(self):
        for server in self.role[1:]:
            self.hold(server, at=0)
            self.hold(server, method='DELETE')
        self.role[0].stop()
        self.assertEqual(404, self.status('POST'))

    def lag(self, until):
        """Have a role lack the object, until it is asked so many times."""
        self.hold(self.role[1], at=0)
        self.role[0].stop()
        asked = itertools.count(1)
        return mock.patch(
            'swift_lightsync.proar.proxy.controller.sleep',
            lambda _: next(asked) == until and self.hold(self.role[2], at=-1))

    def test_a_post_waits_for_a_role_that_lacks_the_object(self):
        with self.lag(2):
            self.assertEqual(202, self.paint())
        self.assertEqual('red', self.role[2].direct(
            'HEAD', self.name).headers['X-Object-Meta-Colour'])

    def test_a_post_does_not_wait_for_ever(self):
        with self.lag(9):
            self.assertEqual(503, self.paint())

    def test_a_post_that_was_seen_is_404_if_the_object_is_deleted(self):
        self.hold(self.role[1], at=0)
        self.role[0].stop()
        seen = []

        def delete(_):
            seen.append(self.role[1].direct('HEAD', self.name).headers[
                'X-Object-Meta-Colour'])
            for server in self.role[1:]:
                self.hold(server, method='DELETE')
        with mock.patch('swift_lightsync.proar.proxy.controller.sleep',
                        delete):
            self.assertEqual(404, self.paint())
        self.assertEqual(['red'], seen)

    def test_a_role_whose_refusal_is_out_of_date_is_asked_again(self):
        """It has heard meanwhile that all have one ring."""
        self.role[0].stop()
        refusals = iter(('', ''))
        for server in self.role[1:]:
            server.spoil = lambda req: Response(status=503, headers={
                REFUSED_HEADER: RING}, request=req) \
                if req.method == 'PUT' and next(refusals, None) == '' \
                else None
        self.assertEqual(201, self.put())

    def test_a_delete_of_what_nobody_has_is_204_for_its_tombstone_stands(self):
        self.role[0].stop()
        self.assertEqual(204, self.status('DELETE'))

    def test_a_delete_that_leaves_no_tombstone_is_503(self):
        self.role[0].stop()
        self.assertEqual(503, self.status('DELETE', headers={
            'X-If-Delete-At': str(self.clock)}))

    def test_no_quorum_is_503(self):
        for server in self.role[1:] + [self.handoff]:
            server.answer(503)
        self.role[0].stop()
        self.assertEqual(503, self.put())

    def test_a_primary_role_that_dies_during_a_put_is_503(self):
        self.role[0].spoil = lambda req: \
            Response(status=500, request=req) if req.body else None
        self.assertEqual(503, self.put())
        self.assertEqual([1, 0, 0, 0], self.asked())


def refuse(req):
    """As a device that lags does: writes of its slots, but for fail-overs."""
    if SLOT_HEADER in req.headers and FAILOVER_HEADER not in req.headers \
            and req.method not in ('GET', 'HEAD'):
        return Response(status=503, headers={REFUSED_HEADER: LAG},
                        request=req)
    return None


class TestRefusedForLag(ProxyCase):

    def test_it_does_not_make_reads_past_the_primary_role(self):
        self.put()
        self.role[0].spoil = refuse
        for _ in range(self.app.error_limiter.suppression_limit + 2):
            self.assertEqual(201, self.put(b'two'))
            self.assertEqual(202, self.status('POST'))
        self.asked()
        self.assertEqual(b'two', self.request('GET').body)
        self.assertEqual([1, 0, 0, 0], self.asked())

    def test_its_404_holds_when_it_is_asked_with_all(self):
        self.role[0].spoil = refuse
        self.assertEqual(404, self.status('POST'))
        self.assertEqual(404, self.status('DELETE'))

    def test_the_fail_over_goes_to_it_as_well(self):
        self.role[0].spoil = refuse
        self.put()
        self.assertEqual([(200, b'one')] * 3, [
            self.on(server) for server in self.role])


class TestBackup(ProxyCase):

    options = {'on_primary_failure': 'backup'}

    def test_the_next_role_alone_takes_the_write_and_is_told_so(self):
        self.role[0].stop()
        self.assertEqual(201, self.put())
        (_method, headers), = self.role[1].requests
        self.assertEqual(('1', 'alone'), (
            headers[SLOT_HEADER], headers[FAILOVER_HEADER]))
        self.assertEqual([0, 1, 0, 0], self.asked())
        self.assertEqual((200, b'one'), self.on(self.role[1]))
        self.assertEqual(b'one', self.request('GET').body)

    def test_a_post_that_nobody_has_anything_of_is_503(self):
        self.role[0].stop()
        self.assertEqual(503, self.status('POST'))

    def test_without_the_next_role_a_quorum_takes_the_write(self):
        self.role[0].stop()
        self.role[1].stop()
        self.assertEqual(201, self.put())
        self.assertEqual([(200, b'one')] * 2, [
            self.on(self.role[2]), self.on(self.handoff)])

    def test_a_next_role_that_holds_too_much_alone_is_one_of_a_quorum(self):
        self.role[1].spoil = lambda req: Response(
            status=503, headers={REFUSED_HEADER: LAG}, request=req) \
            if req.headers[FAILOVER_HEADER] == ALONE else None
        self.role[0].stop()
        self.assertEqual(201, self.put())
        self.assertEqual([(200, b'one')] * 2, [
            self.on(server) for server in self.role[1:]])


class TestBackupOfTwo(ProxyCase):

    options = {'on_primary_failure': 'backup', 'min_sync_copies': '2'}

    def test_the_two_next_roles_take_it(self):
        self.role[0].stop()
        self.assertEqual(201, self.put())
        # the first of them for the primary role's attempt, too
        self.assertEqual([0, 2, 1, 0], self.asked('PUT'))
        self.assertEqual([(200, b'one')] * 2, [
            self.on(server) for server in self.role[1:]])


class TestTooFewForABackup(ProxyCase):

    options = {'on_primary_failure': 'backup', 'min_sync_copies': '2'}
    primaries = 2

    def test_one_copy_is_not_enough(self):
        self.role[0].stop()
        self.assertEqual(503, self.put())
        self.assertEqual(404, self.on(self.role[1])[0])


class TestFail(ProxyCase):

    options = {'on_primary_failure': 'fail'}

    def test_it_is_503_and_nobody_else_is_asked(self):
        self.role[0].stop()
        for method in ('PUT', 'POST', 'DELETE'):
            self.assertEqual(503, self.status(method))
        self.assertEqual([0, 0, 0, 0], self.asked())
