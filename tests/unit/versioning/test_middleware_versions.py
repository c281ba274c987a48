# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: one version of an object."""

from unittest import mock

from swift.common.swob import HTTPServiceUnavailable

from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    Entry,
    version_name,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.data import object_writes
from tests.unit.versioning.object_case import ObjectCase
from tests.unit.versioning.strategy_case import of_both_modes

ID = 'X-Object-Version-Id'
CURRENT = 'X-Object-Current-Version-Id'
UNKNOWN = '1234567890.12345'


@of_both_modes
class TestVersion(ObjectCase):
    """What holds in both modes."""

    # Purge

    def test_a_purge_removes_one_version_and_its_data(self):
        first, second = self.ask.put('o', 'one'), self.ask.put('o', 'two')
        resp = self.ask('DELETE', 'c/o', query='version-id=' + first)
        self.assertEqual((204, first, second), (
            resp.status_int, resp.headers[ID], resp.headers[CURRENT]))
        self.assertEqual(404, self.one(first))
        self.assertEqual([('o', second, True)], self.ask.versions())
        self.assertEqual(1, len(self.ask.proxy.objects))

    def test_the_predecessor_of_a_purged_latest_comes_back(self):
        first, second = self.ask.put('o', 'one'), self.ask.put('o', 'two')
        resp = self.ask('DELETE', 'c/o', query='version-id=' + second)
        self.assertEqual(first, resp.headers[CURRENT])
        self.assertEqual(b'one', self.body())

    def test_a_purged_marker_brings_the_object_back(self):
        self.ask.put('o', 'one')
        marker = self.ask('DELETE', 'c/o').headers[ID]
        resp = self.ask('DELETE', 'c/o', query='version-id=' + marker)
        self.assertEqual(DELETE_MARKER,
                         resp.headers['X-Backend-Content-Type'])
        self.assertEqual(b'one', self.body())

    def test_where_a_null_version_is_left_s3api_has_none_to_restore(self):
        self.suspend()
        self.ask.put('o', 'null')
        self.ask('POST', 'c', {'X-Versions-Enabled': 'true'})
        second = self.ask.put('o', 'two')
        resp = self.ask('DELETE', 'c/o', query='version-id=' + second)
        self.assertNotEqual('null', resp.headers[CURRENT])
        self.assertEqual([b'null', b'null'], [
            self.body(), self.one(resp.headers[CURRENT])])
        resp = self.ask('DELETE', 'c/o', query='version-id=null')
        self.assertEqual('null', resp.headers[CURRENT])

    def test_what_is_not_there_cannot_be_purged(self):
        version = self.ask.put('o')
        for query in 'version-id=' + UNKNOWN, 'version-id=' + version:
            self.ask('DELETE', 'c/o', query='version-id=' + version)
            self.assertEqual(404, self.status('DELETE', query=query))

    def test_a_second_purge_deletes_the_data_that_the_first_has_left(self):
        version = self.ask.put('o', 'one')
        self.ask.put('o', 'two')
        with mock.patch.object(self.ask.proxy, '_object_DELETE',
                               lambda req, *_: HTTPServiceUnavailable(
                                   request=req)):
            self.assertEqual(503, self.status(
                'DELETE', query='version-id=' + version))
        self.assertEqual(404, self.status(
            'DELETE', query='version-id=' + version))
        self.assertEqual(404, self.one(version))
        self.assertEqual(1, len(self.ask.proxy.objects))

    def ahead(self):
        """A version whose id is ahead of the clock."""
        strategy = self.ask.strategy()
        stamp = Stamp(strategy.tick().ticks + 3 * 10 ** 6, 7)
        strategy.apply(Entry('o', Version(stamp, 'south', Vector(
            {'south': stamp})), 3, 'e' * 32))
        return stamp

    def test_what_is_behind_is_stored_once_more(self):
        ahead = self.ahead()
        version = self.ask.put('o', 'two', **{'X-Object-Meta-A': 'b'})
        self.assertLess(ahead, Stamp.parse(version))
        self.assertEqual([b'two', b'two'], [self.body(), self.one(version)])
        self.assertEqual('b', self.ask('HEAD', 'c/o').headers[
            'X-Object-Meta-A'])
        self.assertEqual([version, str(ahead)], [
            stamp for _, stamp, _ in self.ask.versions()])
        # Its data have its name; those that were first are deleted.
        self.assertEqual([version_name('o', Stamp.parse(version))], [
            name for _, _, name in self.ask.proxy.objects])

    def test_what_is_large_reads_the_head_first(self):
        ahead = self.ahead()
        with mock.patch.object(object_writes, 'SMALL', 2):
            version = self.ask.put('o', 'two')
        self.assertLess(ahead, Stamp.parse(version))
        self.assertEqual(b'two', self.body())
        self.assertEqual(1, len(self.ask.proxy.writes('PUT')))

    def test_what_was_purged_before_it_was_stored_once_more_fails(self):
        self.ahead()
        get = self.ask.proxy._object_GET

        def purged(req, *path):
            strategy = self.ask.strategy()
            strategy.purge(strategy.history('o')[-1])
            del self.ask.proxy.objects[path]
            return get(req, *path)
        with mock.patch.object(self.ask.proxy, '_object_GET', purged):
            self.assertEqual(503, self.status('PUT', body='two'))
        self.assertEqual(1, len(self.ask.versions()))

    # Siblings

    def sibling(self, site='south', deleted=False):
        """Another site's version, that has seen nothing of this one."""
        strategy = self.ask.strategy()
        self.ask.now += 1
        stamp = strategy.tick()
        entry = Entry('o', Version(stamp, site, Vector({site: stamp}),
                                   deleted), 3, 'e' * 32)
        strategy.apply(entry)
        return str(stamp)

    def test_siblings_are_told_to_who_asks(self):
        mine = self.ask.put('o', 'one')
        theirs = self.sibling()
        for wanted, told in (('true', mine), ('false', None)):
            resp = self.ask('GET', 'c/o', {'X-Versions-Siblings': wanted})
            self.assertEqual(theirs, resp.headers[ID])
            self.assertEqual(told, resp.headers.get(
                'X-Object-Version-Siblings'))
        last = self.ask.put('o', 'two')
        resp = self.ask('HEAD', 'c/o', {'X-Versions-Siblings': 'true'})
        self.assertEqual((last, None), (resp.headers[ID], resp.headers.get(
            'X-Object-Version-Siblings')))

    def test_siblings_of_a_delete_marker_are_told(self):
        mine = self.ask.put('o', 'one')
        self.sibling(deleted=True)
        resp = self.ask('GET', 'c/o', {'X-Versions-Siblings': 'true'})
        self.assertEqual((404, mine), (resp.status_int, resp.headers.get(
            'X-Object-Version-Siblings')))

    def test_siblings_are_marked_in_listings_of_versions(self):
        old = self.ask.put('o', 'old')
        mine = self.ask.put('o', 'one')
        theirs = self.sibling()
        self.ask.put('p')
        expected = {theirs: True, mine: True, old: None}
        for query in ('', 'reverse=on'):
            found = {item['version_id']: item.get('sibling') for item in
                     self.ask.listing(query='versions&prefix=o&' + query)}
            self.assertEqual(expected, found)
        for marker, version in ((None, theirs), (theirs, mine), (mine, old)):
            query = 'versions&limit=1'
            if marker:
                query += '&marker=o&version_marker=' + marker
            item, = self.ask.listing(query=query)
            self.assertEqual((version, expected[version], not marker), (
                item['version_id'], item.get('sibling'), item['is_latest']))

    # Restore

    def test_a_restored_version_is_a_new_one_with_the_old_data(self):
        first = self.ask.put('o', 'one', **{
            'X-Object-Meta-Colour': 'red', 'Content-Type': 'text/red'})
        self.ask.put('o', 'two')
        resp = self.ask('PUT', 'c/o', query='version-id=' + first)
        self.assertEqual(201, resp.status_int)
        restored = resp.headers[ID]
        self.assertNotEqual(first, restored)
        resp = self.ask('GET', 'c/o')
        self.assertEqual((b'one', 'red', 'text/red', restored), (
            resp.body, resp.headers['X-Object-Meta-Colour'],
            resp.headers['Content-Type'], resp.headers[ID]))
        self.assertEqual(3, len(self.ask.versions()))

    def test_the_latest_is_restored_already(self):
        version = self.ask.put('o')
        resp = self.ask('PUT', 'c/o', query='version-id=' + version)
        self.assertEqual((200, version),
                         (resp.status_int, resp.headers[ID]))
        self.assertEqual(1, len(self.ask.versions()))

    def test_what_cannot_be_restored_is_refused(self):
        marker = self.ask('DELETE', 'c/o').headers[ID]
        version = self.ask.put('o')
        for wanted, body, status in (
                (UNKNOWN, '', 404), (marker, '', 404), ('null', '', 400),
                ('bad', '', 400), (version, 'body', 400)):
            self.assertEqual(status, self.status(
                'PUT', query='version-id=' + wanted, body=body), wanted)

    def test_a_version_id_that_is_none_is_refused(self):
        self.ask.put('o')
        for wanted in 'bad', 'inf', '1' * 400:
            for method in 'GET', 'DELETE', 'POST', 'PUT':
                self.assertEqual(400, self.status(
                    method, query='version-id=' + wanted), (method, wanted))
        self.assertEqual(404, self.one(UNKNOWN))
