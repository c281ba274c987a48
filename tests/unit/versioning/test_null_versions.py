# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: objects that were there before versioning, and those
that are written while it is suspended.
"""

from unittest import mock

from swift.common.swob import HTTPForbidden, HTTPServiceUnavailable, Request

from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    LIFE,
    hidden_container,
)
from swift_lightsync.versioning.data import object_writes
from swift_lightsync.versioning.data.object_writes import ObjectWrites
from tests.unit.versioning.object_case import ObjectCase
from tests.unit.versioning.strategy_case import of_both_modes

ID = 'X-Object-Version-Id'
HIDDEN = 'a/' + hidden_container('c')
LONG = 'o' * 1000


@of_both_modes
class TestSuspended(ObjectCase):
    """What is written while versions are suspended."""

    def test_a_put_makes_a_null_version_and_tells_no_id(self):
        self.suspend()
        self.assertIsNone(self.ask.put('o', 'one'))
        self.assertEqual('null', self.ask('GET', 'c/o').headers[ID])
        self.assertEqual([('o', 'null', True)], self.ask.versions())
        self.assertEqual([b'one', b'one'], [self.body(), self.one('null')])
        item, = self.ask.listing()
        self.assertNotIn('symlink_path', item)
        self.assertEqual({HIDDEN}, {path.rpartition('/')[0] for path
                                    in self.ask.proxy.writes('PUT')})

    def test_a_put_replaces_the_null_version_alone(self):
        version = self.ask.put('o', 'one')
        self.suspend()
        for body in 'two', 'three':
            self.assertIsNone(self.ask.put('o', body))
        self.assertEqual([('o', 'null', True), ('o', version, False)],
                         self.ask.versions())
        self.assertEqual([b'three', b'one'], [self.body(),
                                              self.one(version)])
        self.assertEqual(2, len(self.ask.proxy.objects))

    def test_data_that_cannot_be_deleted_fails_no_put(self):
        self.suspend()
        self.ask.put('o', 'one')
        with mock.patch.object(self.ask.proxy, '_object_DELETE',
                               lambda req, *_: HTTPServiceUnavailable(
                                   request=req)):
            self.ask.put('o', 'two')
        self.assertEqual(b'two', self.body())

    def test_a_delete_makes_a_null_delete_marker(self):
        version = self.ask.put('o', 'one')
        self.suspend()
        resp = self.ask('DELETE', 'c/o')
        self.assertEqual((204, None), (resp.status_int,
                                       resp.headers.get(ID)))
        self.assertEqual(404, self.status('DELETE'))
        self.assertEqual([404, 404], [self.body(), self.one('null')])
        self.assertEqual([('o', version, False)], self.ask.versions())
        self.assertEqual([], self.ask.listing())
        self.assertEqual(b'one', self.one(version))

    def test_s3_lists_null_delete_markers(self):
        version = self.ask.put('o', 'one')
        self.suspend()
        self.ask('DELETE', 'c/o')
        self.assertEqual([('o', 'null', True), ('o', version, False)],
                         self.ask.versions(source='S3'))

    def test_a_delete_removes_the_data_of_the_null_version(self):
        version = self.ask.put('o', 'one')
        self.suspend()
        self.ask.put('o', 'two')
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual(404, self.one('null'))
        self.assertEqual(['o'],
                         [name for name, *_ in self.ask.versions()])
        self.assertEqual(b'one', self.one(version))
        self.assertEqual(1, len(self.ask.proxy.objects))

    def test_a_null_delete_marker_says_what_it_is_and_can_be_purged(self):
        self.ask.put('o', 'one')
        self.suspend()
        self.ask('DELETE', 'c/o')
        resp = self.ask('HEAD', 'c/o', query='version-id=null')
        self.assertEqual((404, 'null', DELETE_MARKER), (
            resp.status_int, resp.headers[ID], resp.headers['Content-Type']))
        self.assertEqual(204, self.status('DELETE',
                                          query='version-id=null'))
        self.assertEqual(b'one', self.body())

    def test_the_null_version_expires(self):
        self.suspend()
        self.ask.put('o', 'one', **{'X-Delete-At': str(
            int(self.ask.now) + 100)})
        self.assertEqual(200, self.status('GET'))
        self.ask.now += 100
        self.assertEqual(404, self.status('GET'))
        self.assertEqual(b'one', self.one('null'))

    def test_a_reader_that_a_put_overtakes_reads_the_new_data(self):
        self.suspend()
        self.ask.put('o', 'one')
        get, done = self.ask.proxy._object_GET, []

        def overtaken(req, *path):
            if not done:
                done.append(True)
                self.ask.put('o', 'two')
            return get(req, *path)
        with mock.patch.object(self.ask.proxy, '_object_GET', overtaken):
            self.assertEqual(b'two', self.body())


@of_both_modes
class TestOlderObjects(ObjectCase):
    """Objects that are older than the versioning of their container."""

    def row(self, obj='o'):
        """Return the ``Entry`` of the only version of an object."""
        entry, = self.ask.strategy().history(obj)
        return entry

    def test_it_is_read_where_it_is_and_is_the_null_version(self):
        self.ask.put_old('o')
        self.assertEqual('null', self.ask('GET', 'c/o').headers[ID])
        self.assertEqual([b'old', b'old'], [self.body(), self.one('null')])
        self.assertEqual([('o', 'null', True)], self.ask.versions())
        self.assertEqual(['a/c/o'], self.ask.proxy.writes('PUT'))
        self.assertEqual([LIFE], list(self.ask.held()))

    def test_one_that_is_adopted_meanwhile_is_read(self):
        for query in '', 'version-id=null':
            for method in 'GET', 'HEAD':
                self.ask.put_old('o')
                self.adopt_before('_object_' + method)
                resp = self.ask(method, 'c/o', query=query)
                self.assertEqual((200, 'null'), (
                    resp.status_int, resp.headers[ID]))
                self.ask('DELETE', 'c/o', query='version-id=null')

    def test_a_post_finds_one_that_is_adopted_meanwhile(self):
        self.ask.put_old('o')
        self.adopt_before('_object_GET')
        self.assertEqual(202, self.status('POST', headers={
            'X-Object-Meta-Colour': 'red'}))
        self.assertEqual('red', self.ask('HEAD', 'c/o').headers[
            'X-Object-Meta-Colour'])

    def adopt_before(self, name):
        """Adopt the object before the proxy's next request of a kind."""
        answer = getattr(self.ask.proxy, name)

        def overtaken(req, *path):
            delattr(self.ask.proxy, name)
            self.adopt()
            return answer(req, *path)
        setattr(self.ask.proxy, name, overtaken)

    def adopt(self):
        """As the propagator does."""
        req = Request.blank('/v1/a/c/o', environ={'swift.infocache': {}})
        ObjectWrites(self.ask.filter.versioned(req.environ, 'a', 'c'),
                     'o', req).adopt()

    def test_one_that_is_being_adopted_is_listed_once(self):
        self.ask.put_old('o')
        with mock.patch.object(object_writes, 'delete_data'):
            self.adopt()
        self.assertIn(('a', 'c', 'o'), self.ask.proxy.objects)
        self.assertEqual([('o', 'null', True)], self.ask.versions())
        self.assertEqual(1, len(self.ask.listing()))
        version = self.ask.put('o', 'new')
        self.assertEqual([('o', version, True), ('o', 'null', False)],
                         self.ask.versions())

    def test_once_it_is_old_it_is_for_owners_alone(self):
        self.ask.put_old('o')

        def reach(method):
            return self.ask(method, 'c/o', query='version-id=null', environ={
                'swift.authorize': lambda req: None if req.acl
                else HTTPForbidden(request=req)}).status_int
        self.containers_acl('.r:*')
        self.assertEqual(200, reach('GET'))
        version = self.ask.put('o', 'new')
        self.assertEqual([403, 403], [reach('GET'), reach('DELETE')])
        self.assertEqual(b'old', self.one('null'))
        self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.assertEqual([200, 204], [reach('GET'), reach('DELETE')])

    def containers_acl(self, acl):
        for name in 'X-Container-Read', 'X-Container-Write':
            self.ask.proxy.containers['a', 'c'][name] = acl

    def test_a_put_adopts_it(self):
        self.ask.put_old('o', **{'X-Object-Meta-Colour': 'red'})
        stamp = self.ask.proxy.own['c']['o'].stamp
        version = self.ask.put('o', 'new')
        self.assertEqual([('o', version, True), ('o', 'null', False)],
                         self.ask.versions())
        self.assertEqual([b'new', b'old'], [self.body(), self.one('null')])
        self.assertEqual('red', self.ask(
            'HEAD', 'c/o', query='version-id=null').headers[
                'X-Object-Meta-Colour'])
        self.assertNotIn(('a', 'c', 'o'), self.ask.proxy.objects)
        self.assertEqual({}, self.ask.proxy.own['c'])
        null = self.ask.strategy().history('o')[1]
        self.assertEqual((stamp, True, 'north', 3), (
            null.version.id, null.null, null.version.site, null.size))

    def test_it_comes_back_when_the_others_are_purged(self):
        self.ask.put_old('o')
        version = self.ask.put('o', 'new')
        self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.assertEqual(b'old', self.body())
        self.assertEqual(['o'], [item['name'] for item in
                                 self.ask.listing()])

    def test_a_delete_adopts_it(self):
        self.ask.put_old('o')
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual([404, b'old'], [self.body(), self.one('null')])
        self.assertEqual([], self.ask.listing())

    def test_a_post_adopts_it(self):
        self.ask.put_old('o')
        self.assertEqual(202, self.status(
            'POST', headers={'X-Object-Meta-Colour': 'blue',
                             'Content-Type': 'text/new'}))
        self.assertEqual('blue', self.ask('HEAD', 'c/o').headers[
            'X-Object-Meta-Colour'])
        self.assertEqual('text/new', self.ask.listing()[0]['content_type'])
        self.assertTrue(self.row().null)
        self.assertEqual(404, self.status('POST', path='c/another'))

    def test_a_suspended_write_replaces_it(self):
        for method in 'PUT', 'DELETE':
            self.ask.put_old(method)
            self.suspend()
            self.ask(method, 'c/' + method, body='new'
                     if method == 'PUT' else '')
            self.assertTrue(self.row(method).null)
            self.assertEqual(1, len(self.ask.proxy.objects))

    def test_its_null_version_can_be_purged(self):
        self.ask.put_old('o')
        self.assertEqual(204, self.status('DELETE',
                                          query='version-id=null'))
        self.assertEqual([], self.ask.versions())
        self.assertEqual([404, 404], [self.body(), self.one('null')])
        self.assertEqual({}, self.ask.proxy.objects)

    def test_the_null_version_can_be_purged_after_a_put(self):
        self.ask.put_old('o')
        version = self.ask.put('o', 'new')
        self.assertEqual(204, self.status('DELETE',
                                          query='version-id=null'))
        self.assertEqual([('o', version, True)], self.ask.versions())
        self.assertEqual([b'new', 404], [self.body(), self.one('null')])

    def test_without_a_null_version_its_purge_hides_the_object(self):
        version = self.ask.put('o', 'one')
        self.assertEqual(204, self.status('DELETE',
                                          query='version-id=null'))
        self.assertEqual(404, self.status('GET'))
        self.assertEqual(b'one', self.one(version))

    def test_if_none_match_sees_it(self):
        self.ask.put_old('o')
        once = {'If-None-Match': '*'}
        self.assertEqual(412, self.status('PUT', headers=once, body='y'))
        # Also where the container does not count it yet.
        self.ask.put_old('p')
        self.ask.proxy.own['c'].clear()
        self.assertEqual(412, self.status('PUT', 'c/p', headers=once,
                                          body='y'))

    def test_nothing_is_asked_for_where_there_are_no_such_objects(self):
        self.ask.put('o', 'one')
        self.ask('DELETE', 'c/o')
        self.assertEqual([], self.ask.proxy.writes('GET'))
        self.assertEqual([], self.ask.proxy.writes('HEAD'))

    def test_adoption_is_finished_by_the_next_write(self):
        for failing in ('_object_PUT', '_object_DELETE'):
            with self.subTest(failing=failing):
                name = failing[1:]
                self.ask.put_old(name)
                with mock.patch.object(self.ask.proxy, failing,
                                       lambda req, *_: HTTPServiceUnavailable(
                                           request=req)):
                    self.assertEqual(503, self.status(
                        'PUT', 'c/' + name, body='new'))
                    self.assertEqual(b'old', self.body(path='c/' + name))
                version = self.ask.put(name, 'new')
                self.assertEqual(
                    [(name, version, True), (name, 'null', False)],
                    self.ask.versions('prefix=' + name))
                self.assertEqual(b'old', self.one('null', 'c/' + name))

    def test_a_reader_that_adoption_overtakes_finds_it(self):
        self.ask.put_old('o')
        get, done = self.ask.proxy._object_GET, []

        def overtaken(req, *path):
            if not done and path[1] == 'c':
                done.append(True)
                self.ask('POST', 'c/o')
            return get(req, *path)
        with mock.patch.object(self.ask.proxy, '_object_GET', overtaken):
            self.assertEqual(b'old', self.body())

    def test_a_newer_one_of_a_proxy_that_knows_no_versions_stays(self):
        self.ask.put_old('o', 'old')
        self.ask.put('o', 'new')
        self.ask.put_old('o', 'stale')
        self.assertEqual(b'new', self.body())
        self.ask('DELETE', 'c/o')
        self.assertEqual(b'stale', self.one('null'))
        self.assertEqual(1, sum(entry.null for entry in
                                self.ask.strategy().history('o')))

    def test_its_expiry_hides_it_and_keeps_the_data(self):
        end = str(int(self.ask.now) + 100)
        self.ask.put_old('o', **{'X-Delete-At': end})
        self.ask('POST', 'c/o', {'X-Delete-At': end})
        self.assertEqual(end, self.ask('HEAD', 'c/o').headers['X-Delete-At'])
        stored, = self.ask.proxy.objects.values()
        self.assertNotIn('X-Delete-At', stored.headers)
        self.ask.now += 100
        self.assertEqual([404, b'old'], [self.body(), self.one('null')])

    def test_adoption_hides_an_expiry_that_nobody_changes(self):
        end = str(int(self.ask.now) + 100)
        self.ask.put_old('o', **{'X-Delete-At': end})
        self.ask.put('o', 'new')
        resp = self.ask('HEAD', 'c/o', query='version-id=null')
        self.assertEqual(end, resp.headers['X-Delete-At'])
        self.assertFalse(any('X-Delete-At' in each.headers for each
                             in self.ask.proxy.objects.values()))

    def test_listings_say_of_an_slo_what_they_said_before(self):
        self.ask.put_old('o', 'manifest', **{
            'Content-Type': 'application/x-slo',
            'X-Object-Sysmeta-Slo-Size': '4711',
            'X-Object-Sysmeta-Container-Update-Override-Etag':
                'abc; slo_etag=def'})
        self.ask('POST', 'c/o', {'X-Object-Meta-A': 'b'})
        item, = self.ask.listing()
        self.assertEqual((4711, 'abc; slo_etag=def', 'application/x-slo'), (
            item['bytes'], item['hash'], item['content_type']))

    def test_an_etag_that_only_encryption_reads_is_not_taken(self):
        self.ask.put_old('o', **{
            'X-Object-Sysmeta-Container-Update-Override-Etag':
                'abc; swift_meta=def'})
        self.ask('POST', 'c/o', {'X-Object-Meta-A': 'b'})
        self.assertRegex(self.row().etag, '^[0-9a-f]{32}$')

    def test_one_with_a_name_too_long_for_versions_stays_what_it_is(self):
        self.ask.put_old(LONG)
        path = 'c/' + LONG
        self.assertEqual(400, self.status('PUT', path, body='new'))
        self.assertEqual([b'old', b'old'], [self.body(path=path),
                                            self.one('null', path)])
        self.assertEqual(202, self.status('POST', path))
        self.assertEqual([(LONG, 'null', True)], self.ask.versions())
        for method in 'GET', 'DELETE':
            self.assertEqual(404, self.status(
                method, path, query='version-id=1234567890.12345'))
        self.assertEqual(204, self.status('DELETE', path))
        self.assertEqual([LIFE], list(self.ask.held()))
        self.assertEqual([], self.ask.listing())

    # Listings

    def test_it_is_listed_among_others(self):
        for name in 'a', 'm', 'z':
            self.ask.put_old(name)
        made = {name: self.ask.put(name) for name in ('b', 'm', 'y')}
        expected = [('a', 'null', True), ('b', made['b'], True),
                    ('m', made['m'], True), ('m', 'null', False),
                    ('y', made['y'], True), ('z', 'null', True)]
        self.assertEqual(expected, self.ask.versions())
        self.assertEqual(expected[::-1], self.ask.versions('reverse=on'))
        self.assertEqual(expected[2:4], self.ask.versions('prefix=m'))
        for query, names in (
                ('', 'abmyz'), ('reverse=on', 'zymba'), ('limit=3', 'abm'),
                ('limit=3&marker=b', 'myz'), ('end_marker=m', 'ab'),
                ('reverse=on&limit=2', 'zy')):
            self.assertEqual(list(names), [
                item['name'] for item in self.ask.listing(query=query)],
                query)

    def test_one_that_is_not_adopted_yet_is_behind_what_is(self):
        self.ask.put_old('o')
        self.ask.put_old('p')
        own = dict(self.ask.proxy.own['c'])
        version = self.ask.put('o', 'new')
        self.ask('DELETE', 'c/p')
        # What the container says of it may be behind.
        self.ask.proxy.own['c'].update(own)
        item = self.ask.listing()[0]
        self.assertEqual('/v1/a/c/o?version-id=' + version,
                         item['symlink_path'])
        if self.mode == 'read-repair':
            self.assertEqual(1, len(self.ask.listing()))

    def test_subdirs_of_both_are_one(self):
        for name in 'a-1', 'b':
            self.ask.put_old(name)
        self.ask.put('a-2')
        self.ask.put('c-1')
        for query in '', 'versions&':
            self.assertEqual(['a-', 'b', 'c-'], [
                item.get('subdir') or item['name'] for item in
                self.ask.listing(query=query + 'delimiter=-')])

    def test_all_of_them_count(self):
        self.ask.put_old('o', 'four')
        self.ask.put('p', 'two')
        headers = self.ask('HEAD', 'c').headers
        self.assertEqual(('7', '2'), (headers['X-Container-Bytes-Used'],
                                      headers['X-Container-Object-Count']))
        item, = (item for item in self.ask.listing('')
                 if item['name'] == 'c')
        self.assertEqual((7, 2), (item['bytes'], item['count']))
