# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: containers and their listings."""

import json
import os
from unittest import mock

from swift.common import storage_policy
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.swob import (
    HTTPConflict,
    HTTPForbidden,
    HTTPServiceUnavailable,
    Request,
)

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.proxy import middleware
from swift_lightsync.versioning.proxy.filter_options import Mode
from swift_lightsync.versioning.rows.rows import (
    ClockRefused,
    RowsUnavailable,
    VerbMissing,
)
from tests.unit.sync.fixtures import SwiftTestCase
from tests.unit.versioning.fakes import MemoryRows
from tests.unit.versioning.proxies import Pipeline

HIDDEN = ('a', hidden_container('c'))
ENABLE = {'X-Versions-Enabled': 'true'}
SUSPEND = {'X-Versions-Enabled': 'false'}


class ContainerCase:
    """What holds in both modes."""

    mode = None

    def setUp(self):
        super().setUp()
        self.ask = Pipeline(self, self.mode)
        self.containers = self.ask.proxy.containers
        self.ask('PUT', 'c', ENABLE)

    def refused(self, reason, container='d'):
        resp = self.ask('POST', container, ENABLE)
        self.assertEqual(400, resp.status_int)
        self.assertIn(reason, resp.body)
        self.assertNotIn(('a', hidden_container(container)),
                         self.containers)

    # Enable

    def test_enabling_makes_a_hidden_container_of_the_same_policy(self):
        self.ask('PUT', 'd', dict(ENABLE, **{'X-Storage-Policy': 'gold'}))
        self.ask('POST', 'c', ENABLE)
        self.assertEqual(['gold', None, 'zero'], [
            self.ask.proxy.policies.get(('a', hidden_container('d'))),
            self.ask.proxy.policies.get(('a', 'c')),
            self.ask.proxy.policies.get(HIDDEN)])

    def test_one_that_is_made_again_has_the_policy_of_its_hidden_one(self):
        self.ask('PUT', 'd', ENABLE)
        del self.containers['a', 'd']
        hidden = self.containers['a', hidden_container('d')]
        hidden['X-Backend-Storage-Policy-Index'] = '1'
        with mock.patch.object(
                storage_policy, '_POLICIES', StoragePolicyCollection([
                    StoragePolicy(0, 'zero', True),
                    StoragePolicy(1, 'gold')])):
            self.assertEqual(201, self.ask('PUT', 'd', ENABLE).status_int)
        self.assertEqual('gold', self.ask.proxy.policies.get(('a', 'd')))

    def test_who_may_not_enable_it_makes_nothing(self):
        before = set(self.containers)
        resp = self.ask('PUT', 'd', ENABLE, environ={
            'swift.authorize': lambda req: HTTPForbidden(request=req)})
        self.assertEqual(403, resp.status_int)
        self.assertEqual(before, set(self.containers))

    def test_a_name_whose_hidden_one_would_be_too_long_is_refused(self):
        self.assertEqual(201, self.ask('PUT', 'd' * 241,
                                       ENABLE).status_int)
        for name in 'd' * 242, 'd' * 240 + '%C3%A9':
            resp = self.ask('PUT', name, ENABLE)
            self.assertEqual(400, resp.status_int)
            self.assertIn(b'242 longer than 241', resp.body)

    def test_a_head_says_whether_versions_are_made(self):
        for headers, said in ((ENABLE, 'True'), (SUSPEND, 'False')):
            self.ask('POST', 'c', headers)
            self.assertEqual(said, self.ask('HEAD', 'c').headers[
                'X-Versions-Enabled'])
        self.ask('PUT', 'd')
        self.assertNotIn('X-Versions-Enabled',
                         self.ask('HEAD', 'd').headers)

    def test_a_container_keeps_its_mode(self):
        other = {'write-repair': 'read-repair',
                 'read-repair': 'write-repair'}[self.mode]
        self.ask.put('o', 'one')
        self.ask.filter = middleware.Versioning(
            self.ask.proxy, {'mode': other, 'site': 'north',
                             'site_preference': 'north, south'},
            logger=self.ask.logger, now=lambda: self.ask.now)
        self.ask('POST', 'c', ENABLE)
        self.assertEqual(b'one', self.ask('GET', 'c/o').body)
        self.assertEqual(self.mode, self.containers['a', 'c'][
            'X-Container-Sysmeta-Site-Versions-Mode'])

    def test_containers_of_other_versioning_are_refused(self):
        for header, value, reason in (
                ('X-Container-Sysmeta-Versions-Location', 'v',
                 b'legacy versioned writes'),
                ('X-Container-Sysmeta-Versions-Container', 'v',
                 b'versioned_writes filter'),
                ('X-Container-Sync-To', '//realm/cluster/a/c',
                 b'container syncing')):
            self.ask('PUT', 'd')
            self.containers['a', 'd'][header] = value
            self.refused(reason)
            del self.containers['a', 'd']

    def test_an_error_leaves_no_hidden_container(self):
        self.assertEqual(404, self.ask('POST', 'd', ENABLE).status_int)
        self.assertNotIn(('a', hidden_container('d')), self.containers)

    def test_an_operator_can_forbid_it(self):
        self.ask = Pipeline(self, self.mode, allow_versioning='false')
        self.assertEqual(412, self.ask('PUT', 'c', ENABLE).status_int)

    def test_another_proxy_app_is_refused_by_name(self):
        self.ask.filter.app = other = mock.Mock(spec=['__call__'])
        other._pipeline_final_app = other._pipeline_request_logging_app = \
            self.ask.proxy
        with mock.patch.object(middleware, 'Application', list):
            resp = self.ask('PUT', 'd', ENABLE)
        self.assertEqual(500, resp.status_int)
        self.assertIn(b'egg:swift-lightsync#proxy', resp.body)
        self.assertIn(b'MemoryProxy', resp.body)

    def test_container_servers_without_the_verb_are_named(self):
        missing = VerbMissing(
            'egg:swift-lightsync#container: 10.0.0.1:6201/sda')
        with mock.patch.object(MemoryRows, 'check_verb', side_effect=missing):
            for container in 'd', 'c':
                resp = self.ask('PUT', container, ENABLE)
                self.assertEqual(503, resp.status_int)
                self.assertIn(b'egg:swift-lightsync#container', resp.body)
                line = self.ask.logger.at('ERROR')[-1]
                for each in '10.0.0.1:6201/sda', '#container':
                    self.assertIn(each, line)
        self.assertEqual({'c', HIDDEN[1]}, self.there())

    # Delete

    def test_a_container_with_versions_is_not_deleted(self):
        version = self.ask.put('o')
        self.ask('DELETE', 'c/o')
        self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertEqual(b'data', self.ask(
            'GET', 'c/o', query='version-id=' + version).body)

    def test_a_container_goes_with_its_last_version(self):
        self.ask.put('o')
        self.ask('DELETE', 'c/o')
        for _name, version, _latest in self.ask.versions():
            self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual({}, self.containers)

    def test_a_null_delete_marker_goes_with_its_container(self):
        self.ask('POST', 'c', SUSPEND)
        self.ask('DELETE', 'c/o')
        self.assertEqual([], self.ask.versions())
        self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual({}, self.containers)

    def test_of_s3_a_null_delete_marker_keeps_a_container(self):
        self.ask('POST', 'c', SUSPEND)
        self.ask('DELETE', 'c/o')
        self.assertEqual(409, self.ask(
            'DELETE', 'c', environ={'swift.source': 'S3'}).status_int)
        self.assertEqual([('o', 'null', True)],
                         self.ask.versions(source='S3'))

    def test_a_null_delete_marker_hides_what_lies_below(self):
        version = self.ask.put('o')
        self.ask('POST', 'c', SUSPEND)
        self.ask('DELETE', 'c/o')
        self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertEqual(404, self.ask('GET', 'c/o').status_int)
        self.assertEqual([('o', version, False)], self.ask.versions())

    def test_an_object_from_before_keeps_a_container(self):
        self.ask.put_old('o')
        self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertEqual(b'old', self.ask('GET', 'c/o').body)

    def deleting(self, answer):
        """Let the proxy answer a DELETE of the user's container."""
        original = self.ask.proxy._container_DELETE

        def delete(req, account, container, _):
            if container == 'c':
                return answer(req, lambda: original(req, account, container,
                                                    _))
            return original(req, account, container, _)
        return mock.patch.object(self.ask.proxy, '_container_DELETE', delete)

    def there(self):
        return {name for _, name in self.ask.proxy.containers}

    def test_the_hidden_container_goes_first(self):
        seen = []

        def answer(req, delete):
            seen.append(self.there())
            return delete()
        with self.deleting(answer):
            self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual(([{'c'}], set()), (seen, self.there()))

    def test_a_container_that_cannot_be_deleted_keeps_its_hidden_one(self):
        def answer(req, delete):
            return HTTPServiceUnavailable(request=req)
        with self.deleting(answer):
            self.assertEqual(503, self.ask('DELETE', 'c').status_int)
        self.assertEqual(2, len(self.there()))
        self.assertEqual(201, self.ask(
            'PUT', 'c/o', body='x').status_int)

    def test_a_version_that_comes_meanwhile_is_kept(self):
        class_ = self.ask.filter.strategy(
            {}, 'a', 'c', Mode(self.mode), 0).__class__

        def versions_too_early(strategy, **_limit):
            self.ask.put('o', 'late')
            return []
        with mock.patch.object(class_, 'versions', versions_too_early):
            self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertEqual(b'late', self.ask('GET', 'c/o').body)

    def test_what_some_replicas_have_deleted_is_there_again(self):
        original, puts = self.ask.proxy._container_DELETE, []

        def refused(req, account, container, _):
            puts.clear()
            return HTTPConflict(request=req) if container != 'c' else \
                original(req, account, container, _)
        put = self.ask.proxy._container_PUT

        def made(req, account, container, _):
            puts.append(container)
            return put(req, account, container, _)
        with mock.patch.object(self.ask.proxy, '_container_DELETE', refused), \
                mock.patch.object(self.ask.proxy, '_container_PUT', made):
            self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertEqual([HIDDEN[1]], puts)

    def test_what_was_half_deleted_is_deleted(self):
        def answer(req, delete):
            raise RuntimeError('the proxy is killed')
        with self.deleting(answer), self.assertRaises(RuntimeError):
            self.ask('DELETE', 'c')
        self.assertEqual({'c'}, self.there())
        missing = RowsUnavailable('/a/c', [404, 404, 404], 2, missing=True)
        with mock.patch.object(self.ask.proxy.rows['c'], 'read',
                               side_effect=missing):
            self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual(set(), self.there())

    def test_who_may_not_delete_it_learns_nothing(self):
        self.ask.put('o')
        self.assertEqual(403, self.ask('DELETE', 'c', environ={
            'swift.authorize': lambda req: HTTPForbidden(request=req)
        }).status_int)

    # Life records

    def with_peers(self):
        """Give the site a peer."""
        path = os.path.join(self.root, 'sites.conf')
        with open(path, 'w') as out:
            out.write('[south]\nendpoints = http://127.0.0.1:1\nkey = %s\n' %
                      ('k' * 32))
        self.ask = Pipeline(self, self.mode, sites_conf=path)
        self.containers = self.ask.proxy.containers

    def life(self):
        """Return the container's life record."""
        return self.ask.filter.strategy({}, 'a', 'c', Mode(self.mode),
                                        0).life()

    def test_without_peers_there_is_no_life_record(self):
        self.ask('POST', 'c', ENABLE)
        self.assertIsNone(self.life())

    def test_each_change_is_recorded_for_peers(self):
        self.with_peers()
        self.ask('PUT', 'c')
        self.assertIsNone(self.life())
        stamps = []
        for method, headers in (('POST', ENABLE), ('PUT', {
                'X-Container-Read': '.r:*'}), ('POST', {
                'X-Remove-Container-Read': 'x'}), ('POST', SUSPEND)):
            self.ask(method, 'c', headers)
            life = self.life()
            self.assertEqual((True, 'north'), (life.exists, life.site))
            stamps.append(life.stamp)
        self.assertEqual(sorted(set(stamps)), stamps)
        # Clients make containers before uploads, to be sure.
        self.ask('PUT', 'c')
        self.assertEqual(stamps[-1], self.life().stamp)

    def test_what_swift_refuses_is_not_recorded(self):
        self.with_peers()
        self.ask('PUT', 'c', ENABLE)
        before = self.life()
        with mock.patch.object(
                self.ask.proxy, '_container_POST',
                lambda req, *path: HTTPServiceUnavailable(request=req)):
            self.assertEqual(503, self.ask('POST', 'c', ENABLE).status_int)
        self.assertEqual(before, self.life())

    def test_a_wrong_clock_makes_changes_and_deletes_no_container(self):
        self.with_peers()
        refused = mock.patch.object(MemoryRows, 'write',
                                    side_effect=ClockRefused('ahead'))
        with refused:
            self.assertEqual(503, self.ask('PUT', 'c', ENABLE).status_int)
        self.assertEqual({}, self.containers)
        self.ask('PUT', 'c', ENABLE)
        with refused:
            for method, headers in (('POST', {'X-Container-Read': '.r:*'}),
                                    ('DELETE', {})):
                self.assertEqual(503, self.ask(method, 'c',
                                               headers).status_int)
        self.assertIn(('a', 'c'), self.containers)
        self.assertNotIn('X-Container-Read', self.ask('HEAD', 'c').headers)

    def test_a_deletion_is_recorded_and_the_hidden_container_stays(self):
        self.with_peers()
        self.ask('PUT', 'c', ENABLE)
        version = self.ask.put('o')
        self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertTrue(self.life().exists)
        self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual((False, {HIDDEN[1]}),
                         (self.life().exists, self.there()))
        self.assertEqual([], self.ask.listing(''))
        self.ask('PUT', 'c', ENABLE)
        self.assertTrue(self.life().exists)

    def test_a_deletion_that_swift_refuses_is_taken_back(self):
        self.with_peers()
        self.ask('PUT', 'c', ENABLE)
        before = self.life()
        with self.deleting(lambda req, delete: HTTPServiceUnavailable(
                request=req)):
            self.assertEqual(503, self.ask('DELETE', 'c').status_int)
        self.assertTrue(self.life().exists)
        self.assertLess(before.stamp, self.life().stamp)

    # How long versions are kept

    def test_a_container_says_how_long_its_versions_are_kept(self):
        names = ('X-Versions-Keep', 'X-Versions-Expire-Noncurrent')
        for given, shown in (
                (('5', '30'), ('5', '30')), ((' 7 ', None), ('7', '30')),
                (('0', ''), ('0', None)), (('', None), (None, None))):
            resp = self.ask('POST', 'c', {
                name: value for name, value in zip(names, given)
                if value is not None})
            self.assertEqual(204, resp.status_int)
            for method in 'HEAD', 'GET':
                headers = self.ask(method, 'c').headers
                self.assertEqual(shown, tuple(map(headers.get, names)))

    def test_they_are_set_where_versions_are_enabled(self):
        self.ask('PUT', 'd', dict(ENABLE, **{'X-Versions-Keep': '3'}))
        self.assertEqual('3', self.ask('HEAD', 'd').headers[
            'X-Versions-Keep'])

    def test_what_cannot_be_kept_so_is_refused(self):
        self.ask('PUT', 'd')
        for container, name, value, reason in (
                ('c', 'X-Versions-Keep', '-1', b'0 to 1000000'),
                ('c', 'X-Versions-Keep', 'x', b'whole number'),
                ('c', 'X-Versions-Expire-Noncurrent', '0', b'1 to 36500'),
                ('d', 'X-Versions-Keep', '1', b'no versions')):
            resp = self.ask('POST', container, {name: value})
            self.assertEqual(400, resp.status_int)
            self.assertIn(name.encode(), resp.body)
            self.assertIn(reason, resp.body)

    # Listings

    def test_a_listing_has_the_latest_of_each_object(self):
        self.ask.put('a', 'x')
        version = self.ask.put('a', 'four')
        self.ask.put('b')
        self.ask('DELETE', 'c/b')
        item, = self.ask.listing()
        self.assertEqual(
            ('a', 4, True, '/v1/a/c/a?version-id=' + version),
            (item['name'], item['bytes'], item['version_symlink'],
             item['symlink_path']))
        self.assertNotIn('sv_', json.dumps(item))

    def test_a_listing_is_paged_and_rolled_up(self):
        for name in 'a', 'b-1', 'b-2', 'c', 'd':
            self.ask.put(name)
        self.ask('DELETE', 'c/c')
        for query, expected in (
                ('', ['a', 'b-1', 'b-2', 'd']), ('limit=1', ['a']),
                ('limit=2&marker=b-1', ['b-2', 'd']),
                ('delimiter=-', ['a', 'b-', 'd']),
                ('prefix=b', ['b-1', 'b-2']),
                ('reverse=on&limit=2', ['d', 'b-2']),
                ('end_marker=b-2', ['a', 'b-1']),
                ('reverse=on&delimiter=-', ['d', 'b-', 'a']),
                ('delimiter=-&marker=a&limit=1', ['b-']),
                ('path=', ['a', 'b-1', 'b-2', 'd'])):
            self.assertEqual(expected, [
                item.get('name') or item['subdir']
                for item in self.ask.listing(query=query)], query)

    def test_a_path_lists_no_subdirs(self):
        for name in 'a/1', 'a/2', 'a/b/3', 'c', 'd/4', 'e':
            self.ask.put(name)
        for query, expected in (
                ('path=', ['c', 'e']), ('path=&limit=1', ['c']),
                ('path=&limit=1&marker=c', ['e']),
                ('path=&limit=1&reverse=on', ['e']),
                ('path=a', ['a/1', 'a/2'])):
            self.assertEqual(expected, [
                item['name'] for item in self.ask.listing(query=query)],
                query)

    def test_versions_are_listed_newest_first(self):
        one, two = self.ask.put('a'), self.ask.put('a')
        other = self.ask.put('b')
        expected = [('a', two, True), ('a', one, False),
                    ('b', other, True)]
        self.assertEqual(expected, self.ask.versions())
        self.assertEqual(expected[::-1], self.ask.versions('reverse=on'))

    def test_what_is_listed_of_a_version(self):
        version = self.ask.put('o', 'data', **{'Content-Type': 'text/x'})
        item, = self.ask.listing(query='versions')
        self.assertRegex(item.pop('last_modified'), '^2023-11-14T')
        self.assertEqual({
            'name': 'o', 'bytes': 4, 'content_type': 'text/x',
            'hash': '8d777f385d3dfec8815d20f7496026dc',
            'version_id': version, 'is_latest': True}, item)

    def pages(self, limit, **params):
        """All versions, a page at a time."""
        found, query = [], 'limit=%d' % limit
        for name, value in params.items():
            query += '&%s=%s' % (name, value)
        page = self.ask.versions(query)
        while page:
            found += page
            name, version, _ = page[-1]
            page = self.ask.versions('%s&marker=%s&version_marker=%s' % (
                query, name, version))
        return found

    def test_pages_give_what_one_listing_gives(self):
        for name in 'aabbbcd':
            self.ask.put(name)
        self.ask('POST', 'c', SUSPEND)
        self.ask.put('b')
        for limit in range(1, 9):
            for params in {}, {'reverse': 'on'}, {'prefix': 'b'}:
                query = '&'.join('%s=%s' % each for each in params.items())
                self.assertEqual(self.ask.versions(query),
                                 self.pages(limit, **params),
                                 (limit, params))

    def test_the_latest_is_known_where_a_page_begins_or_ends(self):
        one, two, three = (self.ask.put('a') for _ in range(3))
        self.assertEqual(
            [('a', two, False)], self.ask.versions(
                'limit=1&marker=a&version_marker=' + three))
        self.assertEqual([('a', one, False)], self.ask.versions(
            'limit=1&reverse=on'))
        self.assertEqual([('a', three, True)], self.ask.versions('limit=1'))

    def test_names_are_rolled_up(self):
        for name in 'a', 'b-1', 'b-2', 'b-3', 'c', 'd-1':
            self.ask.put(name)
            self.ask.put(name)
        names = ['a', 'a', 'b-', 'c', 'c', 'd-']
        for reverse, expected in (('', names), ('on', names[::-1])):
            self.assertEqual(expected, [
                item if isinstance(item, str) else item[0] for item in
                self.ask.versions('delimiter=-&reverse=' + reverse)])
        self.assertEqual(['b-', 'c'], [
            item if isinstance(item, str) else item[0] for item in
            self.ask.versions('delimiter=-&marker=a&limit=2')])
        self.assertEqual(['c', 'c', 'd-'], [
            item if isinstance(item, str) else item[0] for item in
            self.ask.versions('delimiter=-&marker=b-')])

    def test_wrong_parameters_are_refused(self):
        for query in ('delimiter=1', 'version_marker=null',
                      'marker=a&version_marker=bad'):
            self.assertEqual(400, self.ask(
                'GET', 'c', query='versions&' + query).status_int, query)
        self.assertEqual(412, self.ask(
            'GET', 'c', query='versions&limit=10001').status_int)

    def test_versions_are_listed_as_json_only(self):
        for accept, status in (('text/plain', 406), ('*/*', 200)):
            req = Request.blank('/v1/a/c?versions', {'swift.infocache': {}},
                                headers={'Accept': accept})
            self.assertEqual(status, req.get_response(
                self.ask.filter).status_int)
            self.assertIs(False, req.environ['swift.format_listing'])

    def test_a_container_without_versions_has_null_versions(self):
        self.ask('PUT', 'd')
        self.ask('PUT', 'd/o', body='x')
        self.assertEqual([('o', 'null', True)],
                         self.ask.versions(path='d'))

    # Counts

    def test_bytes_are_those_of_all_versions_and_objects_are_counted(self):
        self.ask('POST', 'c', SUSPEND)
        self.ask.put('plain', 'xx')
        self.ask('POST', 'c', ENABLE)
        self.ask.put('o', 'one')
        self.ask.put('o', 'three')
        self.ask.put('gone', 'yyyy')
        self.ask('DELETE', 'c/gone')
        headers = self.ask('HEAD', 'c').headers
        self.assertEqual(('14', '2'), (
            headers['X-Container-Bytes-Used'],
            headers['X-Container-Object-Count']))
        found, = [item for item in self.ask.listing('')
                  if item['name'] == 'c']
        self.assertEqual(14, found['bytes'])


class TestWriteRepair(ContainerCase, SwiftTestCase):
    mode = 'write-repair'


class TestReadRepair(ContainerCase, SwiftTestCase):
    mode = 'read-repair'

    def test_many_versions_are_not_counted_one_by_one(self):
        self.ask.put('o')
        self.ask.put('o')
        with mock.patch('swift_lightsync.versioning.proxy.container_listing.'
                        'COUNT_LIMIT', 1):
            self.assertEqual('2', self.ask('HEAD', 'c').headers[
                'X-Container-Object-Count'])
