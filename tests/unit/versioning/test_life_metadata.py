# SPDX-License-Identifier: Apache-2.0
"""What becomes of a container's metadata where replicas, proxies and sites do
not agree (VERSIONING.md §5).
"""

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.data.container import ENABLED, MODE, sysmeta
from swift_lightsync.versioning.proxy.container_deletion import next_life
from tests.unit.versioning.sites_world import (
    CONTAINER,
    DEVICES,
    SiteContainer,
    SitesTestCase,
)

READ = 'X-Container-Read'
NOTE = 'X-Container-Meta-Note'


class TestMetadata(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.create(X_Container_Read='.r:*')
        self.settle()

    def of(self, name):
        return [site.metadata(name) for site in self.sites]

    def test_a_replica_that_missed_a_change_tells_nobody_of_the_old_one(self):
        life = next_life(self.rome.strategy, True)
        for device in DEVICES[:2]:
            self.rome._ask(device, 'POST', CONTAINER, headers={
                READ: '', **life.as_of})
        self.rome.strategy.set_life(life)
        self.settle()
        # The last replica is the one that its proxy asks.
        self.assertEqual(['.r:*', None, None], self.of(READ))

    def test_what_no_majority_has_waits(self):
        for note in DEVICES, ('same',) * 3:
            life = next_life(self.rome.strategy, True)
            for device, each in zip(DEVICES, note):
                self.rome._ask(device, 'POST', CONTAINER, headers={
                    NOTE: each, **life.as_of})
            self.rome.strategy.set_life(life)
            self.settle()
            self.assertEqual(note is not DEVICES,
                             self.paris.strategy.life() == life)
        self.assertEqual(['same'] * 3, self.of(NOTE))

    def test_no_older_change_that_comes_late_brings_an_access_list_back(self):
        self.rome.change('POST', X_Container_Read='')
        self.settle()
        life = next_life(self.rome.strategy, True)
        self.paris.change('POST', X_Container_Meta_Note='newer')
        self.settle()
        SiteContainer(self.rome, CONTAINER).change('POST', {
            READ: '.r:*', **life.as_of})
        self.rome.strategy.set_life(life)
        self.settle()
        self.assertEqual([None] * 3, self.of(READ))

    def test_a_deletion_that_comes_after_a_newer_put_clears_nothing(self):
        self.rome.go_away()
        self.paris.change('DELETE')
        self.paris.propagate()
        # A client's plain one, of which there is no record.
        self.rome._ask_all('PUT', CONTAINER)
        self.rome.listen()
        self.paris.propagate()
        self.assertEqual(self.rome.mode, self.rome.metadata(sysmeta(MODE)))
        for _ in range(2):
            self.settle()
        self.assertEqual(['.r:*'] * 3, self.of(READ))
        self.assertEqual(1, len({
            site.strategy.life() for site in self.sites}))

    def test_a_version_enables_versions_where_the_name_was_deleted_before(
            self):
        """Sites that had no peers then have no records."""
        name = 'older'
        for site in self.rome, self.paris:
            site.make_container(name)
        for each in name, hidden_container(name):
            self.rome._ask_all('DELETE', each)
        self.paris.put('o', b'1', name)
        self.settle()
        self.assertEqual(['True'] * 3, [
            SiteContainer(site, name).headers().get(sysmeta(ENABLED))
            for site in self.sites])
