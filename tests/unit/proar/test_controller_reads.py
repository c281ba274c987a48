# SPDX-License-Identifier: Apache-2.0
"""controller: what readers see."""



from tests.unit.proar.proxy_world import ProxyCase

BODY = b'x' * 300000


class TestReads(ProxyCase):

    def test_the_primary_role_alone_is_asked(self):
        self.put()
        self.asked()
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual(200, self.status('HEAD'))
        self.assertEqual([2, 0, 0, 0], self.asked())

    def test_what_it_has_holds_though_others_have_more(self):
        self.hold(self.role[0])
        self.hold(self.role[1], b'two', 2)
        self.assertEqual(b'one', self.request('GET').body)

    def test_its_tombstone_holds(self):
        self.hold(self.role[0], None, 2, 'DELETE')
        self.hold(self.role[1])
        self.assertEqual(404, self.status('GET'))
        self.assertEqual([1, 0, 0, 0], self.asked('GET'))

    def test_conditions_and_ranges_are_answered_by_it(self):
        self.put(b'0123456789')
        etag = self.request('HEAD').headers['ETag']
        for wanted, headers in (
                (206, {'Range': 'bytes=2-4'}),
                (206, {'Range': 'bytes=0-1,4-5'}),
                (416, {'Range': 'bytes=20-'}),
                (304, {'If-None-Match': etag}),
                (412, {'If-Match': '"other"'})):
            self.asked()
            self.assertEqual(wanted, self.status('GET', headers=headers))
            self.assertEqual([1, 0, 0, 0], self.asked(), headers)

    def test_a_body_that_breaks_off_is_resumed_from_another_role(self):
        for server in self.role:
            self.hold(server, BODY)
        self.break_off(self.role[0])
        self.assertEqual(BODY, self.request('GET').body)
        self.assertEqual([1, 1, 0, 0], self.asked('GET'))

    def test_it_is_not_resumed_from_another_version(self):
        self.hold(self.role[0], BODY)
        for server in self.role[1:]:
            self.hold(server, b'y' * len(BODY))
        self.break_off(self.role[0])
        with self.assertRaises(Exception):
            self.request('GET').body

    def test_with_x_newest_all_are_asked(self):
        self.hold(self.role[0])
        self.hold(self.role[1], b'two', 2)
        self.assertEqual(b'two', self.request('GET', headers={
            'X-Newest': 'true'}).body)


class TestNotFound(ProxyCase):

    def test_what_nobody_has_is_404(self):
        for method in ('GET', 'HEAD', 'POST', 'DELETE'):
            self.assertEqual(404, self.status(method))

    def test_a_primary_role_that_is_new_at_its_place_hides_nothing(self):
        for server in self.role[1:]:
            self.hold(server)
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual(202, self.status('POST'))
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual(404, self.status('GET'))

    def test_a_post_of_what_one_has_is_not_404(self):
        self.hold(self.role[2])
        self.assertEqual(503, self.status('POST'))

    def test_a_post_of_what_is_deleted_is_404_though_others_lag(self):
        for server in self.role[1:]:
            self.hold(server, b'one', -2)
        self.hold(self.role[0], None, -1, 'DELETE')
        self.assertEqual(404, self.paint())
        for server in self.role[1:]:
            self.assertNotIn('X-Object-Meta-Colour', server.direct(
                'HEAD', self.name).headers)

    def test_a_post_of_what_is_made_anew_just_then_is_taken_there(self):
        self.hold(self.role[1], None, -2, 'DELETE')
        self.hold(self.role[2], b'one', -3)

        def make_it(req):
            if req.method == 'HEAD':
                self.role[0].recover()
                self.hold(self.role[0], b'two', -1)
        self.role[0].spoil = make_it
        self.assertEqual(202, self.paint())
        self.assertEqual([2, 0, 0, 0], self.asked('POST'))

    def test_nor_does_one_that_put_the_object_in_quarantine(self):
        self.put()
        self.hold(self.role[1])
        self.role[0].damage(self.name)
        self.assertEqual(b'one', self.request('GET').body)

    def test_it_is_503_if_the_others_do_not_answer(self):
        """The primary role does not say that it cannot have lost it."""
        for server in self.role[1:] + [self.handoff]:
            server.answer(503)
        for method in 'GET', 'HEAD', 'POST':
            self.assertEqual(503, self.status(method))

    def test_an_expired_object_is_404_though_others_have_an_older_one(self):
        self.hold(self.role[1], b'one', -1)
        self.put(headers={'X-Delete-At': str(self.clock + 2)})
        self.assertEqual(404, self.status('GET'))


class TestPrimaryRoleUnavailable(ProxyCase):

    def test_the_newest_of_the_others_is_read(self):
        self.hold(self.role[0], b'two', 3)
        self.hold(self.role[1], b'old', 1)
        self.hold(self.role[2], b'one', 2)
        for spoil in (lambda: self.role[0].answer(503),
                      lambda: self.role[0].answer(507),
                      self.role[0].stop):
            self.app.error_limiter.stats.clear()
            spoil()
            self.assertEqual(b'one', self.request('GET').body)
            self.assertEqual('3', self.request('HEAD').headers[
                'Content-Length'])

    def test_that_may_be_on_a_hand_off(self):
        self.hold(self.handoff)
        self.role[0].stop()
        self.assertEqual(b'one', self.request('GET').body)

    def test_a_404_is_503(self):
        self.put()
        self.role[0].stop()
        for method in ('GET', 'HEAD'):
            self.assertEqual(503, self.status(method))
        self.assertTrue([line for line in self.logger.at('ERROR')
                         if self.name in line])

    def test_a_tombstone_is_404(self):
        self.hold(self.role[1], None, method='DELETE')
        self.role[0].stop()
        self.assertEqual(404, self.status('GET'))

    def test_a_tombstone_beats_an_older_version_that_another_has(self):
        self.role[0].stop()
        for older, newer in (self.role[1:], self.role[:0:-1]):
            self.clock += 10
            self.hold(older, b'one', 1)
            self.hold(newer, None, 2, 'DELETE')
            self.assertEqual(404, self.status('GET'))

    def test_while_it_is_error_limited_it_is_not_asked(self):
        self.hold(self.role[1])
        self.role[0].answer(507)
        self.status('GET')
        self.role[0].recover()
        self.asked()
        self.assertEqual(b'one', self.request('GET').body)
        self.assertEqual([0, 1, 0, 0], self.asked('GET'))
