# SPDX-License-Identifier: Apache-2.0
"""A hidden container goes when nobody needs its records any more."""

import time
from unittest import mock

from swift.common.swob import Response

from swift_lightsync.versioning.core.row_data import (
    hidden_container,
    version_name,
)
from swift_lightsync.versioning.sites import arrivals, lifecycle
from swift_lightsync.versioning.sites.applying import apply_life
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER, SitesTestCase

HIDDEN = hidden_container(CONTAINER)


class TestRemoval(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.create()
        self.version = self.rome.put('o', b'1')
        self.settle()
        self.rome.purge('o', self.version.id)
        self.rome.change('DELETE')

    def remove(self, *sites):
        for _ in range(3):
            for site in sites or self.sites:
                site.propagate(reclaim_age='0')

    def assert_removed(self):
        """Sites take turns until the last has heard of all."""
        for _ in range(20):
            self.remove()
            if not self.there():
                return
        self.fail('there is still one at %s' % self.there())

    def there(self):
        return [site.name for site in self.sites if site.has(HIDDEN)]

    def test_a_hidden_container_goes_when_all_have_all(self):
        self.assert_removed()

    def test_that_of_a_site_without_peers_goes_at_once(self):
        self.rome.introduce([])
        for _ in range(3):
            self.rome.propagate()
        self.assertFalse(self.rome.has(HIDDEN))

    def test_it_stays_while_a_peer_does_not_answer(self):
        self.oslo.go_away()
        self.remove(self.rome, self.paris)
        self.assertEqual(['rome', 'paris', 'oslo'], self.there())
        self.oslo.listen()
        self.assert_removed()

    def test_it_stays_for_reclaim_age(self):
        self.settle()
        self.assertEqual(3, len(self.there()))

    def test_it_stays_while_a_replica_does_not_answer(self):
        self.settle()
        server = self.container_servers[int(self.rome.conf['bind_port'])]
        server.spoil = lambda req: Response(status=503, request=req) \
            if req.path.startswith('/sdb/') else None
        self.rome.propagate(reclaim_age='0')
        self.assertTrue(self.rome.has(HIDDEN))
        server.recover()
        self.assert_removed()

    def test_nothing_is_resurrected_in_a_container_of_the_same_name(self):
        self.assert_removed()
        self.paris.create(X_Container_Meta_Life='new')
        new = self.paris.put('o', b'2')
        self.settle()
        self.assert_same('o')
        for site in self.sites:
            self.assertEqual([str(new.id)],
                             [each[0] for each in site.history('o')])
            self.assertNotIn((HIDDEN, version_name('o', self.version.id)),
                             site.data)


class TestWithoutRecord(SitesTestCase):
    """The site that has the life record of a container is lost for good."""

    def setUp(self):
        super().setUp()
        self.rome.create()
        self.version = self.rome.put('o', b'1')

    def lose(self):
        with mock.patch.object(arrivals, 'apply_life'):
            self.rome.propagate(2)
        self.rome.go_away()
        self.paris.introduce([self.oslo])
        self.look()
        self.assertIsNone(self.paris.strategy.life())

    def look(self, seconds=0):
        propagator = self.paris.propagator(reclaim_age='0')
        propagator.databases.scan()
        with mock.patch.object(lifecycle.time, 'time', return_value=time.time(
                ) + seconds):
            propagator.lifecycle.run_pass()
        for _ in range(3):
            self.paris.propagate(reclaim_age='0')

    def test_its_versions_come_to_light_without_it(self):
        self.lose()
        self.assertFalse(self.paris.has(CONTAINER))
        self.look(3601)
        self.assertTrue(self.paris.has_versions(CONTAINER))
        self.assertEqual(str(self.version.id), self.paris.latest('o'))

    def test_nothing_stays_for_purges_alone(self):
        self.rome.purge('o', self.version.id)
        self.lose()
        self.assertTrue(self.paris.has(HIDDEN))
        self.look(3601)
        self.assertFalse(self.paris.has(CONTAINER))
        self.assertFalse(self.paris.has(HIDDEN))

    def test_the_record_that_comes_nevertheless_counts(self):
        self.lose()
        self.look(3601)
        life = self.rome.strategy.life()
        apply_life(self.paris, {}, ACCOUNT, CONTAINER, life, '')
        self.assertEqual(life, self.paris.strategy.life())
