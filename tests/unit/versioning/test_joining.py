# SPDX-License-Identifier: Apache-2.0
"""A site joins others that already have versions (OPERATING.md): it gets all
that they have, and does not get what they had.
"""

from unittest import mock

from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.data.container_headers import ENABLED, sysmeta
from tests.unit.versioning.sites_world import (
    CONTAINER,
    SiteContainer,
    SitesTestCase,
)

READ = 'X-Container-Read'
SUSPENDED = {sysmeta(ENABLED).replace('-', '_'): 'False'}


class TestJoining(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.introduce([self.paris])
        self.paris.introduce([self.rome])
        self.oslo.introduce([])

    def join(self):
        self.rome.introduce([self.paris, self.oslo])
        self.paris.introduce([self.oslo, self.rome])
        self.oslo.introduce([self.rome, self.paris])

    def lag(self, site, peer):
        """What the report says of a peer that has not been reached."""
        found, = [each.rows for each in site.propagate().state().peers
                  if each.site == peer]
        return found

    def past(self):
        """Let two sites have a past that is over."""
        self.rome.create(X_Container_Read='.r:*')
        self.settle()
        self.rome.put('o', b'1')
        self.paris.put('o', b'2')
        gone = self.rome.put('gone', b'x')
        self.paris.delete('marked')
        self.rome.put('null', b'3', null=True)
        self.settle()
        entry = self.paris.strategy.latest('o')
        changed = Stamp(self.paris.strategy.tick(entry.version.id).ticks)
        self.paris.post_data((hidden_container(CONTAINER), entry.data_name),
                             changed, {})
        self.paris.strategy.amend(entry, 'text/new', changed)
        self.paris.purge('gone', gone.id)
        self.rome.change('POST', X_Container_Meta_Note='n', **SUSPENDED)
        self.settle()

    def test_it_gets_all_versions_and_what_the_container_is(self):
        self.past()
        self.assertFalse(self.oslo.has(CONTAINER))
        self.join()
        self.settle()
        self.assert_same('o', 'gone', 'marked', 'null')
        self.assertEqual([], self.oslo.history('gone'))
        self.assertEqual('text/new', self.oslo.history('o')[0][-1])
        for name in READ, 'X-Container-Meta-Note', sysmeta(ENABLED):
            found = [site.metadata(name) for site in self.sites]
            self.assertEqual(found[:1] * 3, found, name)
        self.assertEqual('False', self.oslo.metadata(sysmeta(ENABLED)))

    def test_the_report_says_what_it_lacks(self):
        self.past()
        self.join()
        self.oslo.go_away()
        for site in self.rome, self.paris:
            self.assertGreaterEqual(self.lag(site, 'oslo'), 6, site.name)
        self.oslo.listen()
        self.join()
        self.settle()
        for site in self.rome, self.paris:
            self.assertEqual(0, self.lag(site, 'oslo'), site.name)

    def test_what_is_deleted_stays_so_there(self):
        self.past()
        for site in self.rome, self.paris:
            for entry in site.strategy.versions():
                site.purge(entry.object, entry.version.id)
            self.settle()
        self.rome.change('DELETE')
        self.settle()
        self.join()
        self.settle()
        self.assertFalse(self.oslo.has(CONTAINER))

    def test_a_deletion_counts_though_it_comes_before_the_container(self):
        self.past()
        for entry in self.rome.strategy.versions():
            self.rome.purge(entry.object, entry.version.id)
        self.rome.change('DELETE')
        self.join()
        # It has never heard of the container, and of its deletion first.
        self.paris.go_away()
        self.rome.propagate(2)
        self.assertFalse(self.oslo.has(CONTAINER))
        self.paris.listen()
        self.join()
        self.paris.propagate()
        self.settle()
        self.assertEqual([False] * 3, [site.has(CONTAINER)
                                       for site in self.sites])

    def test_it_records_nothing_of_what_it_is_just_told(self):
        """A look at all containers finds one that is not as it will be."""
        self.past()
        self.join()
        make = SiteContainer.make
        looks = []

        def made(container, *args):
            looks.append(container.site.propagator().lifecycle.run_pass())
            status = make(container, *args)
            container.site.propagator().lifecycle.run_pass()
            return status
        with mock.patch.object(SiteContainer, 'make', made):
            self.settle()
        self.assertTrue(looks)
        self.assertEqual({'rome'}, {site.strategy.life().site
                                    for site in self.sites})
        self.assertEqual('.r:*', self.oslo.metadata(READ))

    def test_its_own_container_of_that_name_becomes_the_same(self):
        self.past()
        self.oslo.create(X_Container_Meta_Note='of oslo')
        self.oslo.put('o', b'of oslo')
        self.join()
        self.settle()
        self.assert_same('o')
        self.assertEqual(3, len(self.rome.history('o')))
        self.assertEqual(['of oslo'] * 3, [
            site.metadata('X-Container-Meta-Note') for site in self.sites])

    def test_a_container_from_before_the_first_peer_is_told_of(self):
        """Its record waits for whoever may come."""
        self.rome.introduce([])
        self.rome.create(X_Container_Read='.r:*')
        self.rome.put('o', b'1')
        self.join()
        self.settle()
        self.assertEqual(['.r:*'] * 3, [site.metadata(READ)
                                        for site in self.sites])
        self.assert_same('o')


class TestSiblings(SitesTestCase):
    """Versions that are made at the same time, of which one is purged."""

    def siblings(self, site):
        return [str(each.version.id) for each in
                site.strategy.siblings('o')]

    def assert_siblings(self, *versions):
        expected = sorted((str(each.id) for each in versions), reverse=True)
        self.assertEqual([expected] * 3, list(map(self.siblings, self.sites)))

    def test_the_others_stay_siblings(self):
        self.rome.create()
        self.rome.put('o', b'0')
        self.settle()
        made = [site.put('o', site.name.encode()) for site in self.sites]
        self.settle()
        self.assert_siblings(*made)
        first, *left = sorted(made, key=lambda each: each.id, reverse=True)
        self.oslo.purge('o', first.id)
        self.settle()
        self.assert_siblings(*left)
        self.assert_same('o')
        joining = self.paris.put('o', b'both')
        self.settle()
        self.assert_siblings(joining)
        self.rome.purge('o', joining.id)
        self.settle()
        self.assert_siblings(*left)
        self.rome.purge('o', left[0].id)
        self.settle()
        self.assert_siblings(left[1])

    def test_a_purge_at_the_same_time_as_a_sibling_is_made(self):
        self.rome.create()
        base = self.rome.put('o', b'0')
        self.settle()
        one = self.rome.put('o', b'1')
        self.paris.purge('o', base.id)
        two = self.paris.put('o', b'2')
        self.settle()
        self.assert_siblings(one, two)
        for site in self.sites:
            self.assertTrue(site.strategy.get('o', base.id).purged, site.name)
