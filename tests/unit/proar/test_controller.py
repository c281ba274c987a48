# SPDX-License-Identifier: Apache-2.0
"""controller: requests while the primary role answers."""


from swift.common.swob import Response

from swift_lightsync.proar.names import (
    FAILOVER_HEADER,
    REFUSED_HEADER,
    RING,
    SLOT_HEADER,
)
from tests.unit.proar.proxy_world import ProxyCase


class TestWrites(ProxyCase):

    def test_a_put_goes_to_the_primary_role_alone(self):
        self.assertEqual(201, self.put())
        (_, headers), = self.role[0].requests
        # One request carries all container updates.
        self.assertEqual(3, len(headers['X-Container-Host'].split(',')))
        self.assertEqual([1, 0, 0, 0], self.asked())
        self.assertEqual((200, b'one'), self.on(self.role[0]))
        self.assertEqual([404, 404], [
            self.on(server)[0] for server in self.role[1:]])

    def test_so_do_post_and_delete_with_the_slot_and_as_no_fail_over(self):
        self.put()
        self.assertEqual(202, self.paint())
        self.assertEqual('red', self.colour())
        self.assertEqual(204, self.status('DELETE'))
        for _method, headers in self.role[0].requests:
            self.assertEqual('1', headers[SLOT_HEADER])
            self.assertNotIn(FAILOVER_HEADER, headers)
        self.assertEqual([4, 0, 0, 0], self.asked())

    def test_a_newer_version_makes_a_put_202_as_in_stock_swift(self):
        self.put()
        self.clock -= 10
        self.assertEqual(202, self.put(b'older'))
        self.assertEqual((200, b'one'), self.on(self.role[0]))

    def test_footers_of_middleware_are_stored(self):
        def footers(found):
            found['X-Object-Sysmeta-Note'] = 'late'
        self.assertEqual(201, self.put(**{
            'swift.callback.update_footers': footers}))
        self.assertEqual('late', self.request('GET').headers[
            'X-Object-Sysmeta-Note'])

    def test_a_wrong_etag_is_422(self):
        self.assertEqual(422, self.put(headers={'ETag': '0' * 32}))

    def test_the_verbs_are_authorized_with_the_container_s_acl(self):
        asked = []

        def deny(req):
            asked.append(req.acl)
            return Response(status=403, request=req)
        for method in ('PUT', 'POST', 'DELETE', 'GET', 'HEAD'):
            self.assertEqual(403, self.status(
                method, **{'swift.authorize': deny}), method)
        self.assertEqual([0, 0, 0, 0], self.asked())

    def test_a_container_that_does_not_exist_is_404_and_nobody_is_asked(self):
        for method in ('PUT', 'POST', 'DELETE'):
            self.assertEqual(404, self.status(method, **{'swift.infocache': {
                'container/a/c': {'status': 404, 'storage_policy': 0,
                                  'read_acl': None, 'write_acl': None,
                                  'sync_key': None}}}))
        self.assertEqual([0, 0, 0, 0], self.asked())

    def test_all_requests_bear_the_transaction_s_id(self):
        for method in ('PUT', 'GET', 'POST', 'DELETE'):
            self.status(method, **{'swift.trans_id': 'tx-7'})
        self.assertEqual({'tx-7'}, {
            headers['X-Trans-Id'] for _, headers in self.role[0].requests})

    def test_cors_headers_are_those_of_the_container(self):
        info = {'status': 200, 'storage_policy': 0, 'read_acl': None,
                'write_acl': None, 'sync_key': None,
                'cors': {'allow_origin': '*', 'expose_headers': ''}}
        for method in ('PUT', 'GET', 'POST', 'DELETE', 'DELETE'):
            resp = self.request(method, headers={'Origin': 'http://example.com'},
                **{'swift.infocache': {'container/a/c': info}})
            self.assertEqual(
                '*', resp.headers['Access-Control-Allow-Origin'])

    def test_slots_have_different_primary_roles(self):
        self.name = self.named(2)
        self.put()
        self.assertEqual([0, 1, 0, 0], self.asked())

    def test_an_expiry_reaches_the_object_server(self):
        self.assertEqual(201, self.put(headers={'X-Delete-After': '60'}))
        (_, headers), = self.role[0].requests
        self.assertEqual(str(self.clock + 60), headers['X-Delete-At'])


class TestConditionalPut(ProxyCase):

    NEW = {'If-None-Match': '*'}

    def test_it_is_412_if_the_primary_role_has_the_object(self):
        self.put()
        self.assertEqual(412, self.put(b'two', headers=self.NEW))
        self.assertEqual((200, b'one'), self.on(self.role[0]))

    def test_it_is_412_if_others_have_it(self):
        # as after a new device took the place of the primary role
        self.role[0].stop()
        self.put()
        self.role[0].start()
        self.cache.entries.clear()
        self.assertEqual(412, self.put(b'two', headers=self.NEW))

    def test_it_is_201_if_nobody_has_it_and_after_a_delete(self):
        for body in (b'one', b'two'):
            self.assertEqual(201, self.put(body, headers=self.NEW))
            self.assertEqual((200, body), self.on(self.role[0]))
            self.assertEqual([404, 404], [
                self.on(server)[0] for server in self.role[1:]])
            self.status('DELETE')

    def test_others_decide_if_the_primary_role_only_refuses(self):
        self.role[0].spoil = lambda req: Response(
            status=503, request=req, headers={REFUSED_HEADER: RING}) \
            if req.method == 'PUT' else None
        for status in (201, 412):
            self.assertEqual(status, self.put(headers=self.NEW))

    def test_it_is_503_without_the_primary_role(self):
        self.role[0].stop()
        self.assertEqual(503, self.put(headers=self.NEW))
        self.assertEqual([0, 0, 0, 0], self.asked('PUT'))

    def test_other_tags_are_400_as_in_stock_swift(self):
        self.assertEqual(400, self.put(headers={'If-None-Match': '"x"'}))

    def test_it_does_not_say_what_exists_to_who_may_not_write(self):
        self.put()
        self.assertEqual(403, self.put(headers=self.NEW, **{
            'swift.authorize': lambda req: Response(
                status=403, request=req)}))


class TestTwoCopies(ProxyCase):

    options = {'min_sync_copies': '2'}

    def test_a_write_is_held_by_two_when_it_is_acknowledged(self):
        self.assertEqual(201, self.put())
        self.assertEqual([(200, b'one')] * 2 + [404], [
            self.on(self.role[0]), self.on(self.role[1]),
            self.on(self.role[2])[0]])
        self.assertEqual([1, 1, 0, 0], self.asked('PUT'))

    def test_the_first_alone_logs_it(self):
        self.put()
        self.status('POST')
        for _method, headers in self.role[0].requests:
            self.assertEqual('1', headers[SLOT_HEADER])
        for _method, headers in self.role[1].requests:
            self.assertNotIn(SLOT_HEADER, headers)

    def test_the_primary_role_alone_is_read(self):
        self.put()
        self.asked()
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual([1, 0, 0, 0], self.asked())

    def test_delete_takes_both(self):
        self.put()
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual([404, 404], [
            self.on(server)[0] for server in self.role[:2]])

    def test_without_the_second_the_write_is_failed_over(self):
        self.role[1].stop()
        self.assertEqual(201, self.put())
        self.assertEqual((200, b'one'), self.on(self.role[2]))
        self.assertEqual(1, self.logger.counters['proar.failover.PUT'])

    def test_a_post_that_the_first_took_counts_in_the_fail_over(self):
        for server in self.role:
            self.hold(server, at=0)
        self.role[1].stop()
        self.assertEqual(202, self.paint())
        self.assertEqual('red', self.colour())

    def test_a_delete_that_the_first_took_is_204(self):
        self.role[1].stop()
        self.put()
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual(404, self.status('GET'))

    def test_two_who_disagree_are_overruled_by_all(self):
        self.put()
        self.hold(self.role[1], b'newer', 5)
        self.assertEqual(409, self.status('DELETE'))
        self.assertEqual([2, 2, 1, 0], self.asked('DELETE'))

    def test_a_second_that_dies_at_the_end_of_a_put_is_503(self):
        self.role[1].spoil = lambda req: req.method == 'PUT' and \
            req.body is not None and Response(status=500, request=req) or None
        self.assertEqual(503, self.put())
