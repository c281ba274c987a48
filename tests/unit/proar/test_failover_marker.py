# SPDX-License-Identifier: Apache-2.0
"""marker: what memcache holds of a fail-over."""

import unittest
from unittest import mock

from swift.common.exceptions import MemcacheConnectionError

from swift_lightsync.proar.proxy.failover_marker import FailoverMarker
from tests.unit.proar.proxy_world import FakeMemcache
from tests.unit.sync.fixtures import CapturingLogger

ROLES = mock.Mock(partition=5, slot=2)


class TestMarker(unittest.TestCase):

    def setUp(self):
        self.cache = FakeMemcache()
        self.logger = CapturingLogger()

    def marker(self, cache):
        return FailoverMarker({'swift.cache': cache}, 1, ROLES, 30,
                              self.logger)

    def test_it_stands_once_it_is_put(self):
        marker = self.marker(self.cache)
        self.assertFalse(marker.stands())
        marker.put()
        self.assertTrue(marker.stands())
        self.assertEqual({'proar/1/5/2': 30}, self.cache.times)

    def test_it_is_the_same_for_all_requests(self):
        self.marker(self.cache).put()
        self.assertTrue(self.marker(self.cache).stands())

    def test_if_it_cannot_be_put_that_is_said_and_counted(self):
        self.cache.error = MemcacheConnectionError('all are gone')
        self.marker(self.cache).put()
        self.marker(None).put()
        lines = self.logger.at('WARNING')
        self.assertIn('proar/1/5/2: all are gone', lines[0])
        self.assertIn('no memcache in the pipeline', lines[1])
        self.assertEqual(2, self.logger.counters['proar.marker.errors'])

    def test_without_memcache_it_does_not_stand(self):
        self.assertFalse(self.marker(None).stands())
