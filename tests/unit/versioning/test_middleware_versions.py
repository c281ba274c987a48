# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: one version of an object."""

from dataclasses import replace
from unittest import mock

from swift.common.swob import HTTPServiceUnavailable

from swift_lightsync.versioning.core.row_data import DELETE_MARKER, Entry
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
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

    def test_a_second_purge_spares_the_data_of_another_version(self):
        # A version that was written again after a greater head.
        strategy = self.ask.strategy()
        first = strategy.new_version()
        self.ask.put('o', 'one')
        resp = self.ask('PUT', 'c/o', body='two')
        second = Stamp.parse(resp.headers[ID])
        strategy.purge(strategy.get('o', second))
        later = replace(strategy.new_version(), id=strategy.tick(second))
        strategy.commit(Entry('o', later, 3, 'e' * 32, data=second))
        self.assertLess(first.id, second)
        self.assertEqual(404, self.status(
            'DELETE', query='version-id=%s' % second))
        self.assertEqual(b'two', self.body())
        self.assertEqual(b'two', self.one(str(later.id)))

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
