# SPDX-License-Identifier: Apache-2.0
"""Containers with versions are deleted, and peers are told of that."""

import os
from unittest import mock

from swift.common.swob import (
    HTTPConflict,
    HTTPForbidden,
    HTTPServiceUnavailable,
)

from swift_lightsync.versioning.core.life import Life
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from swift_lightsync.versioning.strategies.strategy import Mode
from tests.unit.versioning.memory import MemoryRows
from tests.unit.versioning.object_case import (
    ENABLE,
    HIDDEN,
    SUSPEND,
    ContainerCase,
)
from tests.unit.versioning.proxies import Pipeline
from tests.unit.versioning.strategy_case import of_both_modes


@of_both_modes
class TestDeletions(ContainerCase):

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
        self.assertEqual({HIDDEN[1]}, self.there())

    def test_a_null_delete_marker_goes_with_its_container(self):
        self.ask('POST', 'c', SUSPEND)
        self.ask('DELETE', 'c/o')
        self.assertEqual([], self.ask.versions())
        self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual({HIDDEN[1]}, self.there())

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

    def test_one_of_which_swift_counts_all_rows_is_deleted(self):
        """It is large, or was sharded."""
        self.ask.proxy.counted = ''
        self.ask('POST', 'c', ENABLE)
        self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual({HIDDEN[1]}, self.there())

    def test_one_whose_hidden_container_is_gone_is_deleted(self):
        del self.containers[HIDDEN]
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
        return self.ask.filter.strategy(
            {}, 'a', 'c', Mode(self.mode)).life()

    def test_without_peers_there_is_a_life_record_too(self):
        """One may come, and be told."""
        self.ask('POST', 'c', ENABLE)
        self.assertTrue(self.life().exists)
        self.ask('DELETE', 'c')
        self.assertFalse(self.life().exists)

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

    def test_neither_do_rows_that_are_not_to_be_had(self):
        self.with_peers()
        down = RowsUnavailable('/a/d', [503, 503], 2)
        for failing in 'check_verb', 'write', 'begin':
            with self.subTest(failing), mock.patch.object(
                    MemoryRows, failing, side_effect=down):
                self.assertEqual(503, self.ask('PUT', 'c',
                                               ENABLE).status_int)
                self.assertEqual({}, self.containers)
        self.assertEqual(201, self.ask('PUT', 'c', ENABLE).status_int)

    def test_what_a_container_is_stands_in_its_record(self):
        self.with_peers()
        self.ask('PUT', 'c', {**ENABLE, 'X-Container-Read': '.r:*',
                              'X-Container-Meta-A': '1'})
        self.ask('POST', 'c', {'X-Remove-Container-Read': 'x',
                               'X-Container-Meta-B': '2',
                               'X-Versions-Enabled': 'no'})
        expected = (('x-container-meta-a', '1'), ('x-container-meta-b', '2'),
                    ('x-versions-enabled', 'false'))
        self.assertEqual(expected, self.life().headers)
        self.assertEqual({name: str(self.life().stamp) for name in (
            'x-container-read', 'x-container-meta-b', 'x-versions-enabled')},
            dict(self.life().since))
        described = self.life().described
        self.assertEqual(204, self.ask('DELETE', 'c').status_int)
        self.assertEqual((False, described, expected), (
            self.life().exists, self.life().described, self.life().headers))
        self.ask('PUT', 'c', ENABLE)
        self.assertEqual((('x-versions-enabled', 'true'),),
                         self.life().headers)

    def test_a_namesake_gets_nothing_of_what_was_deleted(self):
        """It was made without versions, and gets them later."""
        self.with_peers()
        self.ask('PUT', 'c', {**ENABLE, 'X-Container-Read': '.r:*'})
        self.ask('DELETE', 'c')
        self.ask('PUT', 'c', {'X-Container-Meta-A': '1'})
        self.ask('POST', 'c', ENABLE)
        self.assertEqual((('x-container-meta-a', '1'), (
            'x-versions-enabled', 'true')), self.life().headers)

    def test_the_first_record_of_a_container_says_what_it_was_before(self):
        self.ask('PUT', 'c', {**ENABLE, 'X-Container-Meta-A': '1'})
        before = self.containers
        self.with_peers()
        self.containers.update(before)
        self.ask('POST', 'c', {'X-Container-Meta-B': '2'})
        self.assertEqual((
            ('x-container-meta-a', '1'), ('x-container-meta-b', '2'),
            ('x-versions-enabled', 'true')), self.life().headers)

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
        with self.deleting(lambda req, delete: HTTPConflict(request=req)):
            self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertTrue(self.life().exists)
        self.assertLess(before.stamp, self.life().stamp)

    def test_one_that_has_failed_is_left_to_the_propagator(self):
        self.with_peers()
        self.ask('PUT', 'c', ENABLE)
        with self.deleting(lambda req, delete: HTTPServiceUnavailable(
                request=req)):
            self.assertEqual(503, self.ask('DELETE', 'c').status_int)
        self.assertFalse(self.life().exists)

    def test_one_that_swift_would_refuse_clears_nothing(self):
        """A proxy whose clock is ahead has put the container."""
        self.with_peers()
        self.ask('PUT', 'c', ENABLE)
        before = self.life()
        self.containers['a', 'c']['X-Backend-Put-Timestamp'] = str(
            Stamp(before.stamp.ticks + 10 ** 6))
        self.assertEqual(409, self.ask('DELETE', 'c').status_int)
        self.assertEqual(before, self.life())
        self.assertNotIn(('DELETE', 'a/c'), [
            seen[:2] for seen in self.ask.proxy.seen])

    def test_what_another_site_deleted_ahead_of_us_is_made_again_now(self):
        self.with_peers()
        self.ask('PUT', 'c', ENABLE)
        ahead = Life(False, Stamp(self.life().stamp.ticks + 10 ** 6), 'south')
        life = self.ask.filter.strategy(
            {}, 'a', 'c', Mode(self.mode)).set_life(ahead)
        self.assertFalse(life.exists)
        del self.containers['a', 'c']
        put = self.ask.proxy._container_PUT

        def refused(req, *path):
            """Answer as Swift does: that deletion is newer."""
            if Stamp.parse(req.headers.get(
                    'X-Timestamp', str(Stamp(1)))) < ahead.stamp:
                return HTTPConflict(request=req)
            return put(req, *path)
        with mock.patch.object(self.ask.proxy, '_container_PUT', refused):
            self.assertEqual(201, self.ask('PUT', 'c').status_int)
            self.assertEqual(409, self.ask('PUT', 'd').status_int)
        self.assertEqual(life, self.life())
