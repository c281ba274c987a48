# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: requests to the latest of an object."""

from socket import gethostname
from unittest import mock

from swift.common.swob import (
    HTTPForbidden,
    HTTPPreconditionFailed,
    HTTPServiceUnavailable,
    str_to_wsgi,
    wsgi_quote,
)

from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    hidden_container,
)
from swift_lightsync.versioning.data.object_data import DELETE_AT
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from tests.unit.versioning.memory import MemoryRows
from tests.unit.versioning.object_case import ObjectCase
from tests.unit.versioning.strategy_case import of_both_modes

ID = 'X-Object-Version-Id'
UNKNOWN = '1234567890.12345'


@of_both_modes
class TestLatest(ObjectCase):
    """What holds in both modes."""

    def test_what_is_no_utf8_is_left_to_the_proxy(self):
        seen = []

        def proxy(env, start_response):
            seen.append(env['PATH_INFO'])
            return HTTPPreconditionFailed()(env, start_response)
        self.ask.filter.app = proxy
        self.assertEqual(412, self.status('PUT', path='c/%FF'))
        self.assertEqual(['/v1/a/c/\xff'], seen)

    # PUT and GET

    def test_each_put_is_a_version_and_the_newest_is_the_latest(self):
        first = self.ask.put('o', 'one')
        second = self.ask.put('o', 'two')
        self.assertLess(first, second)
        resp = self.ask('GET', 'c/o')
        self.assertEqual((b'two', second), (resp.body, resp.headers[ID]))
        self.assertEqual('/v1/a/c/o?version-id=' + second,
                         resp.headers['Content-Location'])
        self.assertEqual(b'one', self.one(first))

    def test_the_hidden_container_is_not_looked_up(self):
        self.ask.put('o', 'one')
        del self.ask.proxy.seen[:]
        self.assertEqual(200, self.status('GET'))
        self.assertNotIn('a/' + hidden_container('c'), [
            path for _, path, *_ in self.ask.proxy.seen])

    def test_what_other_filters_know_of_a_container_is_not_asked_again(self):
        self.ask.put('o', 'one')
        self.ask.put_old('old')
        known = {'swift.infocache': {}}
        for obj, body in ('o', b'one'), ('old', b'old'):
            before = len(self.ask.proxy.seen)
            self.assertEqual(body, self.ask(
                'GET', 'c/' + obj, environ=known).body)
            asked = [each[0] for each in self.ask.proxy.seen[before:]]
            self.assertEqual(obj == 'o', 'HEAD' in asked)

    def test_data_is_written_without_rows_into_the_hidden_container(self):
        self.ask.put('o')
        (_, path, rowless, _), = [
            each for each in self.ask.proxy.seen
            if each[0] == 'PUT' and each[1].count('/') > 1]
        self.assertEqual('a/' + hidden_container('c'),
                         path.rpartition('/')[0])
        self.assertTrue(rowless)

    def test_an_object_whose_name_is_not_ascii_comes_back(self):
        name = 'c/\u2661%'
        path = wsgi_quote(str_to_wsgi(name))
        version = self.ask('PUT', path, body='x').headers[ID]
        self.assertEqual(b'x', self.one(version, path))
        self.assertEqual('\u2661%', self.ask.versions()[0][0])

    def test_a_name_that_not_all_sites_can_store_is_refused(self):
        # Three nulls, V and a stamp.
        most = 1024 - 3 - 1 - 33
        self.assertEqual(400, self.status(
            'PUT', 'c/' + 'o' * (most + 1)))
        self.assertEqual(201, self.status('PUT', 'c/' + 'o' * most))

    def test_a_content_type_that_is_not_ascii_is_in_listings(self):
        kind = str_to_wsgi('text/plän')
        version = self.ask.put('o', **{'Content-Type': kind})
        self.ask('PUT', 'c/o', query='version-id=' + version)
        self.ask.put('p')
        self.ask('POST', 'c/p', {'Content-Type': kind})
        self.ask.put('o', 'new')
        self.ask('PUT', 'c/o', query='version-id=' + version)
        for item in self.ask.listing():
            self.assertEqual('text/plän', item['content_type'])
        self.assertEqual(kind, self.ask('HEAD', 'c/o').headers[
            'Content-Type'])

    def test_a_put_that_fails_leaves_no_version(self):
        resp = self.ask('PUT', 'c/o', {'Etag': 'e' * 32}, 'data')
        self.assertEqual(422, resp.status_int)
        self.assertEqual([], self.ask.versions())
        self.assertEqual(404, self.status('GET'))

    def test_if_none_match_refuses_to_overwrite(self):
        once = {'If-None-Match': '*'}
        self.assertEqual(201, self.status('PUT', headers=once, body='x'))
        self.assertEqual(412, self.status('PUT', headers=once, body='y'))
        self.assertEqual(1, len(self.ask.versions()))
        self.ask('DELETE', 'c/o')
        self.assertEqual(201, self.status('PUT', headers=once, body='z'))

    def test_the_content_type_is_guessed_from_the_object_s_name(self):
        self.ask('PUT', 'c/page.html', body='x',
                 headers={'Content-Type': ''})
        self.assertEqual('text/html',
                         self.ask('GET', 'c/page.html').content_type)
        self.assertEqual('text/html',
                         self.ask.listing()[0]['content_type'])

    def test_a_conditional_get_is_answered_from_the_version(self):
        self.ask.put('o', 'data')
        etag = self.ask('HEAD', 'c/o').etag
        self.assertEqual(304, self.status(
            'GET', headers={'If-None-Match': etag}))
        self.assertEqual(412, self.status(
            'GET', headers={'If-Match': 'another'}))

    def test_an_override_of_the_row_s_etag_is_in_listings(self):
        self.ask.put('o', 'data', **{
            'X-Object-Sysmeta-Container-Update-Override-Etag':
            'abc; slo_etag=def'})
        self.assertEqual(['abc; slo_etag=def'] * 2, [
            self.ask.listing()[0]['hash'],
            self.ask.listing(query='versions')[0]['hash']])

    def test_the_size_of_an_slo_is_in_listings(self):
        self.ask('PUT', 'c/o', {
            'Content-Type': 'text/plain;swift_bytes=4711'}, 'manifest',
            environ={'swift.content_type_overridden': True})
        for query in '', 'versions':
            item, = self.ask.listing(query=query)
            self.assertEqual((4711, 'text/plain'),
                             (item['bytes'], item['content_type']))

    # DELETE

    def test_a_delete_hides_the_object_and_keeps_its_versions(self):
        first = self.ask.put('o', 'one')
        resp = self.ask('DELETE', 'c/o')
        marker = resp.headers[ID]
        self.assertEqual(204, resp.status_int)
        self.assertEqual(DELETE_MARKER,
                         resp.headers['X-Backend-Content-Type'])
        self.assertEqual(404, self.status('GET'))
        self.assertEqual([], self.ask.listing())
        self.assertEqual([('o', marker, True), ('o', first, False)],
                         self.ask.versions())
        self.assertEqual(b'one', self.one(first))

    def test_a_delete_of_nothing_is_404_and_a_marker(self):
        for _ in range(2):
            resp = self.ask('DELETE', 'c/o')
            self.assertEqual(404, resp.status_int)
            self.assertIn(ID, resp.headers)
        self.assertEqual(2, len(self.ask.versions()))

    def test_a_marker_is_404_and_says_what_it_is(self):
        marker = self.ask('DELETE', 'c/o').headers[ID]
        resp = self.ask('HEAD', 'c/o', query='version-id=' + marker)
        self.assertEqual((404, marker, DELETE_MARKER), (
            resp.status_int, resp.headers[ID],
            resp.headers['Content-Type']))

    # POST

    def test_a_post_changes_the_latest_and_makes_no_version(self):
        version = self.ask.put('o')
        resp = self.ask('POST', 'c/o', {
            'Content-Type': 'text/new', 'X-Object-Meta-Colour': 'red'})
        self.assertEqual(202, resp.status_int)
        resp = self.ask('HEAD', 'c/o', query='version-id=' + version)
        self.assertEqual(('red', 'text/new'), (
            resp.headers['X-Object-Meta-Colour'],
            resp.headers['Content-Type']))
        for query in 'versions', '':
            item, = self.ask.listing(query=query)
            self.assertEqual('text/new', item['content_type'])
        self.assertEqual([('o', version, True)], self.ask.versions())

    def test_a_post_to_what_is_deleted_is_404(self):
        self.ask.put('o')
        self.ask('DELETE', 'c/o')
        self.assertEqual(404, self.status('POST'))

    def test_a_post_may_not_make_a_marker_of_a_version(self):
        self.ask.put('o')
        self.assertEqual(400, self.status(
            'POST', headers={'Content-Type': DELETE_MARKER}))
        self.assertEqual(200, self.status('GET'))

    # Expiry

    def test_the_latest_expires_and_its_version_stays(self):
        end = str(int(self.ask.now) + 100)
        version = self.ask.put('o', 'one', **{'X-Delete-At': end})
        resp = self.ask('GET', 'c/o')
        self.assertEqual((end, None), (
            resp.headers['X-Delete-At'], resp.headers.get(DELETE_AT)))
        self.ask.now += 100
        self.assertEqual(404, self.status('GET'))
        self.assertEqual(b'one', self.one(version))

    def test_a_post_sets_and_ends_an_expiry(self):
        self.ask.put('o', 'one')
        self.ask('POST', 'c/o', {'X-Delete-After': '10'})
        self.assertIn('X-Delete-At', self.ask('GET', 'c/o').headers)
        self.ask('POST', 'c/o')
        self.ask.now += 100
        self.assertEqual(200, self.status('GET'))

    def test_an_end_in_the_past_is_refused(self):
        self.assertEqual(400, self.status(
            'PUT', headers={'X-Delete-At': '1'}, body='x'))

    # Who may

    def test_who_may_read_the_container_may_read_the_latest_only(self):
        version = self.ask.put('o', 'one')

        def authorize(req):
            if req.acl is None:
                return HTTPForbidden(request=req)
        self.ask.proxy.containers['a', 'c']['X-Container-Read'] = 'friend'
        for query, status in (('', 200), ('version-id=' + version, 403)):
            self.assertEqual(status, self.status(
                'GET', query=query, environ={'swift.authorize': authorize}))

    def test_nothing_is_written_before_the_request_is_authorized(self):
        version = self.ask.put('o', 'one')
        before = dict(self.ask.held())
        for method, query in (
                ('PUT', ''), ('POST', ''), ('DELETE', ''),
                ('DELETE', 'version-id=' + version),
                ('PUT', 'version-id=' + version),
                ('DELETE', 'version-id=null')):
            self.assertEqual(403, self.status(
                method, query=query, environ={
                    'swift.authorize': lambda req: HTTPForbidden(
                        request=req)}), (method, query))
        self.assertEqual(before, self.ask.held())
        self.assertEqual(1, len(self.ask.proxy.objects))

    def test_the_authorization_of_later_requests_is_left_alone(self):
        self.ask.put('o')

        def authorize(req):
            return None
        environ = {'swift.authorize': authorize}
        self.ask('GET', 'c/o', environ=environ)
        self.assertIs(authorize, environ['swift.authorize'])
        self.assertNotIn('swift.authorize_override', environ)

    def test_cors_is_that_of_the_user_s_container(self):
        self.ask.put('o')
        self.ask.proxy.containers['a', 'c'][
            'X-Container-Meta-Access-Control-Allow-Origin'] = 'http://x'
        self.ask.proxy.cors_allow_origin = ()
        for origin, allowed in (('http://x', 'http://x'),
                                ('http://y', None)):
            resp = self.ask('GET', 'c/o', {'Origin': origin})
            self.assertEqual(allowed, resp.headers.get(
                'Access-Control-Allow-Origin'))

    # Trouble, and what is none of ours

    def test_rows_that_cannot_be_had_are_a_503(self):
        self.ask.put('o')

        def gate():
            raise RowsUnavailable('c', [503, 503], 2)
        self.ask.proxy.rows['c'].gate = gate
        for method in 'GET', 'PUT', 'DELETE', 'POST':
            self.assertEqual(503, self.status(method, body='x'), method)
        self.assertEqual(4, self.ask.logger.counters['rows.unavailable'])

    def test_a_container_of_which_nobody_knows_is_a_503(self):
        self.ask.put('o')
        before = self.ask.proxy.writes('PUT')
        known = self.ask.proxy.containers['a', 'c'].copy()
        for kind in 'container', 'account':
            with mock.patch.object(
                    self.ask.proxy, '_%s_HEAD' % kind,
                    lambda req, *path: HTTPServiceUnavailable(request=req)):
                for method in 'GET', 'PUT', 'DELETE', 'POST':
                    self.assertEqual(503, self.status(method, body='x'),
                                     (kind, method))
                self.assertEqual(503, self.status(
                    'POST', 'c', headers={'X-Versions-Enabled': 'true'}))
        self.assertEqual(before, self.ask.proxy.writes('PUT'))
        self.assertEqual(known, self.ask.proxy.containers['a', 'c'])

    def test_options_go_through(self):
        self.ask.proxy._object_OPTIONS = lambda req, *path: \
            HTTPForbidden(request=req)
        self.assertEqual(403, self.status('OPTIONS'))
        self.assertEqual(('OPTIONS', 'a/c/o', False),
                         self.ask.proxy.seen[-1][:3])

    def test_a_container_without_versions_is_swift_s_alone(self):
        self.ask('PUT', 'plain')
        for method in 'PUT', 'GET', 'POST', 'DELETE':
            resp = self.ask(method, 'plain/o', body='x'
                            if method == 'PUT' else '')
            self.assertTrue(resp.is_success, method)
            self.assertNotIn(ID, resp.headers)
        self.assertEqual(400, self.status(
            'GET', 'plain/o', query='version-id=' + UNKNOWN))
        self.assertEqual({'a/plain/o'}, {
            path for _, path, rowless, _ in self.ask.proxy.seen
            if path.count('/') > 1})

    def test_the_target_of_a_symlink_has_no_part_in_its_version_id(self):
        self.ask.put('o', 'one')
        self.ask.put('o', 'two')
        resp = self.ask('GET', 'c/o', query='version-id=' + UNKNOWN,
                        environ={'swift.source': 'SYM'})
        self.assertEqual(b'two', resp.body)

    def test_a_wrong_clock_changes_no_metadata(self):
        self.ask.put('o', 'one', **{'X-Object-Meta-Colour': 'red'})
        with mock.patch.object(MemoryRows, 'write',
                               side_effect=ClockRefused('ahead')):
            self.assertEqual(503, self.status('POST', headers={
                'X-Object-Meta-Colour': 'blue'}))
        self.assertEqual('red', self.ask('HEAD', 'c/o').headers[
            'X-Object-Meta-Colour'])

    def test_a_wrong_clock_is_a_503_that_names_this_proxy(self):
        self.ask.put('o', 'one')
        refused = ClockRefused('it is 61.000 s ahead')
        with mock.patch.object(MemoryRows, 'write', side_effect=refused):
            self.assertEqual(503, self.status('PUT', body='two'))
        self.assertEqual(b'one', self.body())
        line = self.ask.logger.at('ERROR')[-1]
        for each in gethostname(), '61.000 s ahead':
            self.assertIn(each, line)
        self.assertEqual(1, self.ask.logger.counters['clock.refused'])
