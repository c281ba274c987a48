# SPDX-License-Identifier: Apache-2.0
"""The versioning filter: what other sites' versions are stored with."""

import io
from unittest import mock

from swift.common import storage_policy
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.swob import HTTPException, Request
from swift.common.utils import Timestamp

from swift_lightsync.versioning.core.life import ENABLED, Life
from swift_lightsync.versioning.core.row_data import Entry, hidden_container
from swift_lightsync.versioning.core.stamp import SiteClock, Stamp
from swift_lightsync.versioning.core.version import Version
from swift_lightsync.versioning.proxy.site_requests import SiteRequests
from swift_lightsync.versioning.sites.applying import apply_life
from tests.unit.sync.fixtures import SwiftTestCase
from tests.unit.versioning.proxies import START, Pipeline

POLICIES = StoragePolicyCollection([
    StoragePolicy(0, 'one', is_default=True), StoragePolicy(1, 'two')])


class TestSiteRequests(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.ask = Pipeline(self, 'write-repair')
        self.sites = SiteRequests(self.ask.filter)
        self.place = (Request.blank('/v1/.site-versions').environ, 'a', 'c')
        version = Version.after(
            (), SiteClock(1, 60, lambda: 7).tick(START), 'south')
        self.entry = Entry('o', version, 4, 'e' * 32, 'text/x')

    def open(self, policy=''):
        """Return the container, with versions."""
        found = self.sites.open(*self.place, policy)
        found.make(Life(True, Stamp(1), 'south'), found.headers())
        return self.sites.open(*self.place)

    def put(self, container, body=b'data'):
        return container.put_data(self.entry, io.BytesIO(body), {
            'Content-Length': str(len(body)), 'Content-Type': 'text/x',
            'X-Object-Meta-Colour': 'red'})

    def test_a_container_without_versions_is_not_opened(self):
        self.assertIsNone(self.sites.open(*self.place))
        self.ask('PUT', 'c')
        self.assertIsNone(self.sites.open(*self.place))

    def test_what_comes_for_one_that_is_missing_waits_in_the_hidden_one(self):
        container = self.sites.open(*self.place, '')
        self.assertFalse(container.exists)
        self.assertEqual([('a', hidden_container('c'))],
                         list(self.ask.proxy.containers))
        self.put(container)
        container.strategy.apply(self.entry)
        self.assertEqual(404, self.ask('GET', 'c/o').status_int)
        self.assertTrue(self.open().exists)
        self.assertEqual(b'data', self.ask('GET', 'c/o').body)

    def test_a_container_that_is_missing_is_made(self):
        self.assertIsNotNone(self.open().strategy)
        self.assertIn(('a', hidden_container('c')),
                      self.ask.proxy.containers)
        self.assertEqual('True', self.ask('HEAD', 'c').headers[
            'X-Versions-Enabled'])

    def test_it_has_the_storage_policy_that_it_has_elsewhere(self):
        # 'two' has another index here, perhaps.
        with mock.patch.object(storage_policy, '_POLICIES', POLICIES):
            self.open('two')
        self.assertEqual({('a', 'c'): 'two', ('a', hidden_container('c')):
                          'two'}, self.ask.proxy.policies)

    def test_one_of_an_unknown_storage_policy_is_not_made(self):
        with self.assertRaises(HTTPException) as caught:
            self.open('two')
        self.assertEqual(409, caught.exception.status_int)
        self.assertIn(b'policy two of the container c is not known',
                      caught.exception.body)
        self.assertEqual({}, self.ask.proxy.containers)

    def test_one_that_is_made_again_keeps_its_storage_policy(self):
        self.open()
        del self.ask.proxy.containers['a', 'c']
        with mock.patch.object(storage_policy, '_POLICIES', POLICIES):
            self.open('two')
        self.assertEqual({('a', 'c'): 'one'}, self.ask.proxy.policies)

    def test_a_container_that_is_there_is_versioned(self):
        self.ask('PUT', 'c')
        self.assertIsNotNone(self.open())

    def test_one_that_may_not_be_versioned_is_refused(self):
        self.ask('PUT', 'c')
        self.ask.proxy.containers['a', 'c'][
            'X-Container-Sysmeta-Versions-Location'] = 'v'
        with self.assertRaises(HTTPException) as caught:
            self.sites.open(*self.place, '')
        self.assertEqual(400, caught.exception.status_int)
        self.assertEqual([('a', 'c')], list(self.ask.proxy.containers))

    def follow(self, exists, policy=''):
        """Return with which status a life record is refused, or None."""
        try:
            apply_life(self.sites, *self.place, Life(
                exists, Stamp.parse(Timestamp.now().internal), 'south'),
                policy)
        except HTTPException as err:
            return err.status_int
        return None

    def test_nor_is_one_whose_hidden_container_was_there_before(self):
        for header, value, status in (
                ('X-Container-Sysmeta-Versions-Location', 'v', 400),
                ('X-Backend-Storage-Policy-Index', '1', 409)):
            self.ask.proxy.containers.clear()
            with self.subTest(header), \
                    mock.patch.object(storage_policy, '_POLICIES', POLICIES):
                strategy = self.sites.open(*self.place, 'one').strategy
                self.ask('PUT', 'c')
                self.ask.proxy.containers['a', 'c'][header] = value
                self.assertEqual(status, self.follow(True, 'one'))
                # .life would make it what is recorded.
                self.assertIsNone(strategy.life())

    def test_a_deletion_of_what_cannot_be_here_is_done(self):
        self.assertIsNone(self.follow(False, 'two'))
        self.ask('PUT', 'c')
        self.ask.proxy.containers['a', 'c'][
            'X-Container-Sysmeta-Versions-Location'] = 'v'
        self.assertIsNone(self.follow(False))
        self.assertEqual([('a', 'c')], list(self.ask.proxy.containers))

    def test_what_was_shipped_can_be_read(self):
        container = self.open()
        self.assertEqual(201, self.put(container).status_int)
        container.strategy.apply(self.entry)
        resp = self.ask('GET', 'c/o')
        self.assertEqual(
            (b'data', str(self.entry.version.id), 'red'),
            (resp.body, resp.headers['X-Object-Version-Id'],
             resp.headers['X-Object-Meta-Colour']))

    def test_data_is_written_without_rows_at_the_version_s_time(self):
        self.put(self.open())
        stored, = self.ask.proxy.objects.values()
        self.assertEqual(str(self.entry.version.id),
                         stored.headers['X-Backend-Timestamp'])
        self.assertEqual({}, self.ask.held())
        self.assertTrue(self.ask.proxy.seen[-1][2])

    def test_what_a_wrong_digest_raises_passes_through(self):
        class Spoilt:
            def read(self, *_):
                raise ValueError('digest')
        container = self.open()
        with self.assertRaisesRegex(ValueError, 'digest'):
            container.put_data(self.entry, Spoilt(), {'Content-Length': '4'})

    def test_metadata_of_another_site_s_post_is_stored(self):
        container = self.open()
        self.put(container)
        container.strategy.apply(self.entry)
        resp = container.post_data(
            self.entry.data_name, Stamp(self.entry.version.id.ticks + 5),
            {'X-Object-Meta-Colour': 'blue', 'Content-Type': 'text/x'})
        self.assertEqual(202, resp.status_int)
        self.assertEqual('blue', self.ask('GET', 'c/o').headers[
            'X-Object-Meta-Colour'])

    def test_the_data_of_a_purged_version_goes(self):
        container = self.open()
        self.put(container)
        gone = self.entry.data_name, self.entry.version.id
        self.assertTrue(container.delete_data(*gone))
        self.assertEqual({}, self.ask.proxy.objects)
        self.assertFalse(container.delete_data(*gone))

    def test_a_container_is_changed_as_another_site_says(self):
        container, life = self.open(), Life(True, Stamp(2), 'south')
        self.assertEqual(202, container.make(life.describing((
            ('x-container-read', '.r:*'), (ENABLED, 'false'))),
            container.headers()))
        self.assertEqual('.r:*', container.headers()['X-Container-Read'])
        self.assertEqual('False', self.ask('HEAD', 'c').headers[
            'X-Versions-Enabled'])
        self.assertEqual(204, container.delete(life))
        self.assertEqual({}, container.headers())
