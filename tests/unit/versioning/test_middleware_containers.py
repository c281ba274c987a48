# SPDX-License-Identifier: Apache-2.0
"""Containers that have versions are made and changed."""

from unittest import mock

from swift.common import storage_policy
from swift.common.swob import HTTPForbidden
from swift.proxy.controllers.base import (
    get_cache_key,
    headers_to_container_info,
)

from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.proxy import middleware
from swift_lightsync.versioning.rows.rows import RowsUnavailable, VerbMissing
from tests.unit.versioning.memory import MemoryRows
from tests.unit.versioning.object_case import (
    ENABLE,
    HIDDEN,
    SUSPEND,
    ContainerCase,
)
from tests.unit.versioning.proxies import TWO_POLICIES, Pipeline
from tests.unit.versioning.strategy_case import of_both_modes


@of_both_modes
class TestChanges(ContainerCase):

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
        for headers in ENABLE, SUSPEND, {}, {'X-Storage-Policy': 'GOLD'}, \
                {'X-Storage-Policy': ''}:
            self.containers.pop(('a', 'd'), None)
            with mock.patch.object(storage_policy, '_POLICIES', TWO_POLICIES):
                resp = self.ask('PUT', 'd', headers)
            self.assertEqual(201, resp.status_int)
            self.assertEqual('1', self.containers['a', 'd'][
                'X-Backend-Storage-Policy-Index'])

    def test_another_policy_than_that_of_its_hidden_one_is_refused(self):
        """Nobody would find data that come for it; so is a stranger."""
        del self.containers['a', 'c']
        gold = {'X-Storage-Policy': 'gold'}
        denied = {'swift.authorize': lambda req: HTTPForbidden(request=req)}
        with mock.patch.object(storage_policy, '_POLICIES', TWO_POLICIES):
            for headers in gold, {**ENABLE, **gold}, {**SUSPEND, **gold}:
                resp = self.ask('PUT', 'c', headers)
                self.assertEqual(409, resp.status_int)
                self.assertIn(b'in another storage policy', resp.body)
                self.assertEqual(403, self.ask(
                    'PUT', 'c', headers, environ=denied).status_int)
            self.assertEqual({HIDDEN[1]}, self.there())
            self.assertEqual(201, self.ask('PUT', 'd', gold).status_int)

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

    def test_more_than_can_be_recorded_is_refused_and_leaves_nothing(self):
        big, note = 'x' * 33000, 'X-Container-Meta-Note'
        for before, changes in (
                ({note: big}, {'X-Container-Read': big}),
                ({note: big, 'X-Container-Read': big}, {})):
            with self.subTest(changes=list(changes)):
                self.ask('PUT', 'd', before)
                resp = self.ask('POST', 'd', {**ENABLE, **changes})
                self.assertEqual(400, resp.status_int)
                self.assertIn(b'have in common are too much', resp.body)
                self.assertNotIn(hidden_container('d'), self.there())
                self.assertNotIn('X-Versions-Enabled',
                                 self.ask('HEAD', 'd').headers)
                self.ask('DELETE', 'd')
        self.ask('PUT', 'd', {note: big})
        self.assertEqual(204, self.ask('POST', 'd', ENABLE).status_int)
        self.assertEqual(400, self.ask('POST', 'd', {
            'X-Container-Read': big}).status_int)

    def test_a_change_is_recorded_whatever_memcache_has(self):
        note, strategy = 'x-container-meta-note', self.ask.strategy()
        for status in 404, 204:
            for method, headers, said in (
                    ('POST', {note: str(status)}, True),
                    ('PUT', {note: 'put %d' % status}, True),
                    ('DELETE', {}, False)):
                with self.subTest(status=status, method=method):
                    self.ask('PUT', 'c', ENABLE)
                    old = headers_to_container_info({}, status)
                    self.ask(method, 'c', headers, environ={
                        'swift.infocache': {get_cache_key('a', 'c'): old}})
                    life = strategy.life()
                    self.assertEqual(said, life.exists)
                    self.assertLessEqual(set(headers.items()),
                                         set(life.headers))

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
                             'site_preference': 'north'},
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

    def test_one_that_another_request_has_enabled_meanwhile_stays(self):
        def enabled(rows):
            if ('a', 'd') not in self.containers:
                self.containers['a', 'd'] = dict(self.containers['a', 'c'])
            raise RowsUnavailable('/a/d', [503, 503], 2)
        with mock.patch.object(MemoryRows, 'check_verb', enabled):
            self.ask('PUT', 'd', ENABLE)
        self.assertIn(('a', hidden_container('d')), self.containers)

    def test_an_operator_can_forbid_it(self):
        self.ask = Pipeline(self, self.mode, allow_versioning='false')
        self.assertEqual(412, self.ask('PUT', 'c', ENABLE).status_int)

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

    # How long versions are kept

    def test_a_container_says_how_long_its_versions_are_kept(self):
        names = ('X-Versions-Keep', 'X-Versions-Expire-Noncurrent')
        for given, shown in (
                (('5', '30'), ('5', '30')), ((' 7 ', None), ('7', '30')),
                (('1', ''), ('1', None)), (('', None), (None, None))):
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

    def test_what_cannot_be_recorded_is_not_changed(self):
        headers = {'X-Container-Sysmeta-S3Api-Acl': '"' * 16000}
        for method, container in ('POST', 'c'), ('PUT', 'd'):
            resp = self.ask(method, container, {**ENABLE, **headers})
            self.assertEqual(400, resp.status_int)
            self.assertIn(b'65536', resp.body)
        self.assertEqual({'c', HIDDEN[1]}, self.there())
        self.assertNotIn(*headers, self.containers['a', 'c'])

    def test_what_cannot_be_kept_so_is_refused(self):
        self.ask('PUT', 'd')
        for container, name, value, reason in (
                ('c', 'X-Versions-Keep', '0',
                 b'1 to 1000000. X-Versions-Expire-Noncurrent: 1 keeps'),
                ('c', 'X-Versions-Keep', 'x', b'whole number'),
                ('c', 'X-Versions-Expire-Noncurrent', '0', b'1 to 36500'),
                ('d', 'X-Versions-Keep', '1', b'no versions')):
            resp = self.ask('POST', container, {name: value})
            self.assertEqual(400, resp.status_int)
            self.assertIn(name.encode(), resp.body)
            self.assertIn(reason, resp.body)

    def test_a_stranger_is_not_told_whether_a_container_has_versions(self):
        self.ask('PUT', 'd')
        for container in 'c', 'd', 'missing':
            resp = self.ask('POST', container, {
                'X-Versions-Keep': 'x'}, environ={
                    'swift.authorize': lambda _: HTTPForbidden()})
            self.assertEqual(403, resp.status_int)

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


class TestCounts(ContainerCase):
    mode = 'read-repair'

    def test_many_versions_are_not_counted_one_by_one(self):
        self.ask.put('o')
        self.ask.put('o')
        with mock.patch('swift_lightsync.versioning.proxy.container_listing.'
                        'COUNT_LIMIT', 1):
            self.assertEqual('2', self.ask('HEAD', 'c').headers[
                'X-Container-Object-Count'])
