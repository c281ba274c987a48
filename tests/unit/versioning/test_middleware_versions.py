# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: one version of an object, and null versions."""

from unittest import mock

from swift.common.swob import HTTPServiceUnavailable

from tests.unit.versioning.object_case import ObjectCase
from tests.unit.versioning.strategy_case import of_all_modes

ID = 'X-Object-Version-Id'
CURRENT = 'X-Object-Current-Version-Id'
UNKNOWN = '1234567890.12345'


@of_all_modes
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
        self.ask('DELETE', 'c/o', query='version-id=' + marker)
        self.assertEqual(b'one', self.body())

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

    # Null versions

    def test_an_object_from_before_is_the_null_version(self):
        self.suspend()
        self.assertIsNone(self.ask.put('o', 'old'))
        self.ask('POST', 'c', {'X-Versions-Enabled': 'true'})
        self.assertEqual('null', self.ask('GET', 'c/o').headers[ID])
        version = self.ask.put('o', 'new')
        self.assertEqual([('o', version, True), ('o', 'null', False)],
                         self.ask.versions())
        self.assertEqual([b'new', b'old'],
                         [self.body(), self.one('null')])
        self.ask('DELETE', 'c/o', query='version-id=' + version)
        self.assertEqual(b'old', self.body())

    def test_a_suspended_put_replaces_the_null_version_alone(self):
        version = self.ask.put('o', 'one')
        self.suspend()
        for body in 'two', 'three':
            self.assertIsNone(self.ask.put('o', body))
        self.assertEqual([('o', 'null', True), ('o', version, False)],
                         self.ask.versions())
        self.assertEqual([b'three', b'one'], [self.body(),
                                              self.one(version)])

    def test_a_suspended_delete_shows_no_marker(self):
        version = self.ask.put('o', 'one')
        self.suspend()
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual(404, self.status('DELETE'))
        self.assertEqual(404, self.status('GET'))
        self.assertEqual([('o', version, False)], self.ask.versions())
        self.assertEqual(b'one', self.one(version))

    def test_a_suspended_delete_removes_the_null_version(self):
        version = self.ask.put('o', 'one')
        self.suspend()
        self.ask.put('o', 'two')
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual(404, self.one('null'))
        self.assertEqual(['o'], [name for name, *_ in self.ask.versions()])
        self.assertEqual(b'one', self.one(version))

    def test_objects_of_a_suspended_container_are_ordinary(self):
        self.suspend()
        self.ask.put('o', 'one')
        self.assertEqual(['a/c/o'], self.ask.proxy.writes('PUT'))
        self.assertEqual(204, self.status('DELETE'))
        self.assertEqual([], self.ask.versions())

    def test_the_null_version_can_be_purged(self):
        self.suspend()
        self.ask.put('o', 'old')
        self.ask('POST', 'c', {'X-Versions-Enabled': 'true'})
        version = self.ask.put('o', 'new')
        self.assertEqual(204, self.status('DELETE',
                                          query='version-id=null'))
        self.assertEqual([('o', version, True)], self.ask.versions())
        self.assertEqual([b'new', 404], [self.body(), self.one('null')])

    def test_without_a_null_version_its_purge_hides_the_object(self):
        version = self.ask.put('o', 'one')
        for status in 204, 404:
            self.assertEqual(status, self.status('DELETE',
                                                 query='version-id=null'))
        self.assertEqual(404, self.status('GET'))
        self.assertEqual(['o'], [name for name, *_ in self.ask.versions()])
        self.assertEqual(b'one', self.one(version))
