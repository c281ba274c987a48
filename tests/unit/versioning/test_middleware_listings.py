# SPDX-License-Identifier: Apache-2.0
"""Containers that have versions are listed."""

import json

from swift.common.swob import Request

from tests.unit.versioning.object_case import SUSPEND, ContainerCase
from tests.unit.versioning.strategy_case import of_both_modes


@of_both_modes
class TestListings(ContainerCase):

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
