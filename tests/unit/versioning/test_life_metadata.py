# SPDX-License-Identifier: Apache-2.0
"""What becomes of a container's metadata where replicas, proxies and sites do
not agree (VERSIONING.md §5).
"""

from swift_lightsync.versioning.core.life import EXPIRE, KEEP
from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.data.container_headers import (
    ENABLED,
    MODE,
    sysmeta,
)
from swift_lightsync.versioning.proxy.container_deletion import next_life
from tests.unit.versioning.sites_world import (
    CONTAINER,
    DEVICES,
    SiteContainer,
    SitesTestCase,
)

READ = 'X-Container-Read'
NOTE = 'X-Container-Meta-Note'
S3_ACL = 'X-Container-Sysmeta-S3Api-Acl'
#: Of a filter whose metadata are a site's own.
OWN = 'X-Container-Sysmeta-Other'


class TestMetadata(SitesTestCase):

    def setUp(self):
        super().setUp()
        self.rome.create(X_Container_Read='.r:*')
        self.settle()

    def of(self, name):
        return [site.metadata(name) for site in self.sites]

    def enabled(self):
        return self.of(sysmeta(ENABLED))

    def late(self, cut, other):
        """A site deletes the container, and another makes a version, neither
        of which the other one knows.
        """
        cut.go_away()
        other.put('o', b'late')
        cut.change('DELETE')
        cut.listen()

    def test_a_deletion_that_loses_leaves_the_container_as_it_was(self):
        kept = {NOTE: 'kept', KEEP: '7', EXPIRE: '30', S3_ACL: '{}',
                sysmeta(ENABLED): 'False'}
        self.rome.change('POST', **kept, **{OWN: 'kept'})
        self.settle()
        self.late(self.rome, self.paris)
        for _ in range(2):
            self.settle()
        for name, value in {READ: '.r:*', **kept}.items():
            self.assertEqual([value] * 3, self.of(name), name)
        # It is rome's own, which has deleted it.
        self.assertEqual([None] * 3, self.of(OWN))

    def test_it_leaves_the_change_that_its_deleter_did_not_know(self):
        """That took an access list away: it must not come back."""
        self.paris.go_away()
        self.paris.change('POST', X_Container_Read='',
                          X_Container_Meta_Note='of paris')
        self.rome.put('o', b'late')
        self.oslo.go_away()
        self.oslo.change('DELETE')
        for site in self.paris, self.oslo:
            site.listen()
        for _ in range(3):
            self.settle()
        self.assertEqual([None] * 3, self.of(READ))
        self.assertEqual(['of paris'] * 3, self.of(NOTE))
        self.assertEqual(1, len({
            site.strategy.life() for site in self.sites}))

    def test_what_is_made_after_a_deletion_has_nothing_of_the_past(self):
        self.rome.change('POST', **{KEEP: '7', S3_ACL: '{}'})
        self.oslo.go_away()
        self.rome.change('DELETE')
        self.settle()
        self.paris.create(X_Container_Meta_Note='new')
        # It learns of both at once.
        self.oslo.listen()
        self.settle()
        for name in READ, KEEP, S3_ACL:
            self.assertEqual([None] * 3, self.of(name), name)
        self.assertEqual(['new'] * 3, self.of(NOTE))

    def test_a_replica_that_missed_a_change_gets_it(self):
        self.rome.change('POST', X_Container_Read='')
        # The last replica is the one that its proxy asks.
        self.rome._ask(DEVICES[-1], 'POST', CONTAINER, headers={READ: '.r:*'})
        life = next_life(self.rome.strategy, True).describing(
            self.rome.strategy.life().headers)
        self.rome.strategy.set_life(life)
        self.settle()
        self.assertEqual([None] * 3, self.of(READ))

    def test_of_changes_at_once_at_sites_each_header_has_its_newest(self):
        """Nothing of the older change is lost but what both have set."""
        self.rome.change('POST', X_Container_Meta_Gone='1')
        self.settle()
        self.rome.go_away()
        self.rome.change('POST', X_Container_Meta_Both='1',
                         X_Container_Meta_Older='1', X_Container_Read='',
                         **{KEEP: '1', EXPIRE: '3'})
        self.paris.change('POST', X_Container_Meta_Note='newer',
                          X_Container_Meta_Both='2', X_Container_Meta_Gone='',
                          **{KEEP: '2'})
        self.rome.listen()
        for _ in range(2):
            self.settle()
        for name, value in {READ: None, NOTE: 'newer', 'Both': '2',
                            'Older': '1', 'Gone': None, KEEP: '2',
                            EXPIRE: '3'}.items():
            name = name if '-' in name else 'X-Container-Meta-' + name
            self.assertEqual([value] * 3, self.of(name), name)
        self.assertEqual(1, len({
            site.strategy.life() for site in self.sites}))

    def test_of_changes_at_once_at_one_site_each_header_has_its_newest(self):
        """Two proxies have read the same record."""
        older, _ = self.rome.begin_change('POST', X_Container_Meta_Older='1')
        newer, _ = self.rome.begin_change('POST', X_Container_Meta_Note='n')
        for first, second in (older, newer), (newer, older):
            self.rome.strategy.set_life(first)
            self.rome.strategy.set_life(second)
            self.settle()
            self.assertEqual(['n'] * 3, self.of(NOTE))
            self.assertEqual(['1'] * 3, self.of('X-Container-Meta-Older'))

    def test_a_new_container_has_nothing_of_a_change_to_the_one_before(self):
        """Its access list was changed where its deletion was not known."""
        self.rome.go_away()
        self.rome.change('POST', X_Container_Read='.r:*,.rlistings')
        self.paris.change('DELETE')
        self.paris.create(X_Container_Meta_Note='new')
        self.rome.listen()
        for _ in range(2):
            self.settle()
        self.assertEqual([None] * 3, self.of(READ))
        self.assertEqual(['new'] * 3, self.of(NOTE))

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

    def test_a_record_enables_versions_where_the_name_was_deleted_before(
            self):
        """A site that had no peers then has no record of that."""
        name = 'older'
        for site in self.rome, self.paris:
            site.make_container(name)
        strategy = self.paris.strategy_of(name)
        strategy.set_life(next_life(strategy, True).describing((
            ('x-container-read', '.r:*'), ('x-versions-enabled', 'true'))))
        for each in name, hidden_container(name):
            self.rome._ask_all('DELETE', each)
        self.paris.put('o', b'1', name)
        self.settle()
        for header, value in (sysmeta(ENABLED), 'True'), (
                'X-Container-Read', '.r:*'):
            self.assertEqual([value] * 3, [
                SiteContainer(site, name).headers().get(header)
                for site in self.sites])
        # One that is newer than that deletion.
        found, = {site.strategy_of(name).life() for site in self.sites}
        self.assertEqual('rome', found.site)
