# SPDX-License-Identifier: Apache-2.0
"""Containers live and die at all sites, whatever way they hear of it."""

import time
from itertools import permutations
from unittest import mock

from swift.common.utils import Timestamp

from swift_lightsync.versioning.core.life import ENABLED, Life, as_of
from swift_lightsync.versioning.core.row_data import hidden_container
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.data.container_headers import enabled_headers
from swift_lightsync.versioning.proxy.container_deletion import next_life
from swift_lightsync.versioning.sites import arrivals
from swift_lightsync.versioning.sites.applying import apply_life
from swift_lightsync.versioning.strategies.strategy import Strategy
from tests.unit.versioning.life_case import LifeCase
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER, SiteContainer

HIDDEN = hidden_container(CONTAINER)


class TestLife(LifeCase):

    def cut(self, *sites):
        for site in sites:
            site.go_away()

    def heal(self, *sites):
        for site in sites:
            site.listen()

    def purge_all(self, site, *objects):
        for obj in objects:
            for entry in site.strategy.history(obj):
                site.purge(obj, entry.version.id)

    def test_an_empty_container_comes_to_all_sites(self):
        self.rome.create(X_Container_Read='.r:*')
        self.settle()
        self.assertEqual(3, len(self.exist()))
        self.assertEqual(1, len(set(self.records())))
        self.assertEqual('.r:*', self.paris.metadata('X-Container-Read'))

    def test_metadata_follow_the_newest_change_as_a_whole(self):
        self.rome.create(X_Container_Read='.r:*',
                         X_Container_Meta_Quota_Bytes='7')
        self.settle()
        self.paris.change('POST', X_Container_Meta_Quota_Bytes='9',
                          X_Container_Read='')
        self.settle()
        for site in self.sites:
            self.assertEqual(
                ('9', None),
                (site.metadata('X-Container-Meta-Quota-Bytes'),
                 site.metadata('X-Container-Read')), site.name)

    def test_that_versions_are_suspended_is_so_at_all_sites(self):
        header = 'X_Container_Sysmeta_Site_Versions_Enabled'
        self.rome.create()
        self.settle()
        self.rome.change('POST', **{header: 'False'})
        self.settle()
        for site in self.sites:
            self.assertEqual('False', site.metadata(header.replace('_', '-')))

    def test_a_deleted_container_is_deleted_at_all_sites(self):
        self.rome.create()
        version = self.rome.put('o', b'1')
        self.settle()
        self.rome.purge('o', version.id)
        self.assertEqual(204, self.rome.change('DELETE'))
        self.settle()
        self.assertEqual([], self.exist())
        self.assertFalse(any(site.data for site in self.sites))

    def test_purges_before_the_deletion_reach_a_site_that_was_cut_off(self):
        self.rome.create()
        self.rome.put('o', b'1')
        self.settle()
        self.cut(self.paris)
        self.purge_all(self.rome, 'o')
        self.rome.change('DELETE')
        for _ in range(2):
            self.rome.propagate()
            self.oslo.propagate()
        self.assertEqual(['paris'], self.exist())
        self.heal(self.paris)
        self.settle()
        self.assertEqual([], self.exist())
        self.assertEqual([[]] * 3, [site.strategy.versions()
                                    for site in self.sites])

    def test_a_container_made_again_while_a_site_is_cut_off_is_new_there(
            self):
        self.rome.create(X_Container_Meta_Life='first')
        old = self.rome.put('o', b'1')
        self.settle()
        self.cut(self.paris)
        self.purge_all(self.rome, 'o')
        self.rome.change('DELETE')
        self.rome.create(X_Container_Meta_Life='second')
        new = self.rome.put('o', b'2')
        self.rome.propagate()
        self.heal(self.paris)
        self.settle()
        self.assert_same('o')
        for site in self.sites:
            self.assertEqual([str(new.id)],
                             [each[0] for each in site.history('o')])
            self.assertTrue(site.strategy.get('o', old.id).purged)
            self.assertEqual('second',
                             site.metadata('X-Container-Meta-Life'))

    def test_a_container_with_a_version_on_its_way_lives_on(self):
        self.rome.create()
        self.settle()
        self.cut(self.rome)
        version = self.paris.put('o', b'late')
        self.rome.change('DELETE')
        self.heal(self.rome)
        self.settle()
        self.assertEqual(3, len(self.exist()))
        self.assert_same('o')
        self.assertEqual(str(version.id), self.oslo.latest('o'))
        self.assertEqual([True] * 3, [life.exists
                                      for life in self.records()])
        self.assertEqual(1, len(set(self.records())))

    def test_what_was_purged_stays_so_in_a_new_life(self):
        self.rome.create()
        old = self.rome.put('o', b'old')
        self.settle()
        self.cut(self.paris, self.oslo)
        self.purge_all(self.rome, 'o')
        self.rome.change('DELETE')
        new = self.paris.put('o', b'new')
        self.heal(self.paris, self.oslo)
        self.settle()
        self.assert_same('o')
        for site in self.sites:
            self.assertEqual([str(new.id)],
                             [each[0] for each in site.history('o')])
        self.assertNotIn(old.id, [each.version.id for each
                                  in self.rome.strategy.versions()])

    def test_a_write_that_raced_the_deletion_is_not_lost(self):
        """It was acknowledged after the container was found empty."""
        self.rome.create()
        self.rome.change('DELETE')
        version = self.rome.put('o', b'1')
        self.settle()
        self.assertEqual(3, len(self.exist()))
        self.assertEqual(str(version.id), self.paris.latest('o'))

    def test_objects_from_before_versioning_keep_a_container(self):
        self.rome.create()
        self.settle()
        self.paris.put_plain('old', b'old', time.time() - 100)
        self.rome.change('DELETE')
        self.rome.propagate()
        self.settle()
        self.settle()
        self.assertEqual(3, len(self.exist()))
        self.assert_same('old')
        self.assertEqual(1, len(self.oslo.history('old')))

    def test_records_commute(self):
        self.rome.create()
        strategy = self.rome.strategy
        messages = []
        for number, exists in enumerate((True, False, True, False)):
            messages.append(Life(exists, strategy.tick(
                Stamp(10 ** 14 * 17 // 10 + number)), 'paris').describing((
                    ('x-container-meta-number', str(number)),
                    (ENABLED, 'true'))))
        orders = [*permutations(messages[:3]), *permutations(messages)]
        for number, order in enumerate(orders):
            name, last = 'd%d' % number, max(
                order, key=lambda each: each.stamp)
            self.rome.make_container(name, as_of(Stamp(1)), as_of(Stamp(1)))
            for message in (*order, order[0]):
                apply_life(self.rome, {}, ACCOUNT, name, message, '')
            self.assertEqual((last.exists, last), (
                self.rome.has(name), self.rome.strategy_of(name).life()))
            if last.exists:
                self.assertEqual(
                    dict(last.headers)['x-container-meta-number'],
                    SiteContainer(self.rome, name).headers().get(
                        'X-Container-Meta-Number'))

    def test_an_older_change_that_comes_in_between_undoes_no_newer_one(self):
        """Another site's arrives between a change and its record."""
        self.rome.create(X_Container_Read='.r:*')
        self.settle()
        self.cut(self.rome)
        self.paris.change('POST', X_Container_Read='.r:*',
                          X_Container_Meta_A='paris')
        for method in 'POST', 'DELETE':
            life, _ = self.rome.begin_change(method, X_Container_Read='')
            self.heal(self.rome)
            self.settle()
            self.rome.strategy.set_life(life)
            self.settle()
            self.assertEqual(1, len(set(self.records())))
            if method == 'POST':
                self.assertEqual([None] * 3, [
                    site.metadata('X-Container-Read') for site in self.sites])
        self.assertEqual([], self.exist())

    def test_a_container_that_is_made_again_after_a_deletion_lives(self):
        self.rome.create()
        self.settle()
        self.cut(self.rome)
        self.paris.change('DELETE')
        self.paris.propagate()
        # A client's plain PUT, of which there is no record.
        self.rome.make_container()
        self.heal(self.rome)
        self.settle()
        self.settle()
        self.assertEqual(3, len(self.exist()))
        self.assertEqual(1, len(set(self.records())))

    def test_a_record_suspends_and_deletes_what_an_older_one_has_made(self):
        self.rome.create()
        suspended, _ = self.rome.begin_change('POST', **{
            name.replace('-', '_'): value
            for name, value in enabled_headers(False).items()})
        deleted = next_life(self.rome.strategy, False)
        for life, there in (suspended, True), (deleted, False):
            name = 'd%s' % there
            for each in self.rome.strategy.life(), life:
                apply_life(self.rome, {}, ACCOUNT, name, each, '')
            self.assertEqual(there, self.rome.has(name))
            self.assertEqual(
                'False' if there else None, SiteContainer(
                    self.rome, name).headers().get(
                        'X-Container-Sysmeta-Site-Versions-Enabled'))

    def test_a_deletion_of_what_never_was_here_is_recorded_alone(self):
        """What it knew of may come later."""
        life = Life(False, self.rome.strategy.tick(), 'paris')
        apply_life(self.rome, {}, ACCOUNT, CONTAINER, life, '')
        self.assertFalse(self.rome.has(CONTAINER))
        self.assertEqual(life, self.rome.strategy.life())

    def test_one_of_long_ago_is_not_recorded_where_nothing_is(self):
        """It was, and is gone; else sites tell each other again and again."""
        life = Life(False, Stamp.parse(Timestamp(
            time.time() - 86401).internal), 'paris')
        apply_life(self.rome, {}, ACCOUNT, CONTAINER, life, '')
        self.assertFalse(self.rome.has(HIDDEN))
        self.rome.make_container(made=as_of(Stamp(1)), enabled=as_of(Stamp(1)))
        apply_life(self.rome, {}, ACCOUNT, CONTAINER, life, '')
        self.assertEqual((False, life), (self.rome.has(CONTAINER),
                                         self.rome.strategy.life()))

    def test_nor_does_it_delete_a_container_that_never_had_versions(self):
        self.rome._ask_all('PUT', CONTAINER, as_of(Stamp(1)))
        apply_life(self.rome, {}, ACCOUNT, CONTAINER, Life(
            False, self.rome.strategy.tick(), 'paris'), '')
        self.assertTrue(self.rome.has(CONTAINER))

    def test_a_deletion_that_comes_in_between_counts(self):
        """It is recorded before the container is deleted."""
        self.rome.create()
        life = self.rome.strategy.life()
        deleted = next_life(self.rome.strategy, False)
        make = SiteContainer.make

        def made(container, *args):
            apply_life(self.paris, {}, ACCOUNT, CONTAINER, deleted, '')
            return make(container, *args)
        self.paris.make_container(made=as_of(Stamp(1)),
                                  enabled=as_of(Stamp(1)))
        with mock.patch.object(SiteContainer, 'make', made):
            apply_life(self.paris, {}, ACCOUNT, CONTAINER, life, '')
        self.assertFalse(self.paris.has(CONTAINER))
        self.assertEqual(deleted, self.paris.strategy.life())

    def test_versions_and_purges_make_no_container(self):
        """They come before its record, which says what it is."""
        self.rome.create()
        self.rome.purge('o', self.rome.put('o', b'1').id)
        self.rome.put('p', b'2')
        life = self.rome.strategy.life()
        with mock.patch.object(arrivals, 'apply_life'):
            self.rome.propagate(2)
        self.assertEqual(['rome'], self.exist())
        self.assertIsNotNone(self.paris.latest('p'))
        apply_life(self.paris, {}, ACCOUNT, CONTAINER, life, '')
        self.assertTrue(self.paris.has(CONTAINER))

    def test_one_whose_proxy_died_before_its_record_comes_to_all_sites(self):
        self.rome.make_container()
        self.rome.begin_change('POST', X_Container_Read='.r:*')
        version = self.rome.put('o', b'1')
        with mock.patch.object(Strategy, 'set_life'):
            self.settle()
        self.assertEqual(['rome'], self.exist())
        self.settle()
        self.assertEqual(['.r:*'] * 3, [
            site.metadata('X-Container-Read') for site in self.sites])
        self.assertEqual(str(version.id), self.oslo.latest('o'))

    def test_a_purge_brings_no_deleted_container_back(self):
        self.rome.create()
        one, two = self.rome.put('o', b'1'), self.rome.put('o', b'2')
        self.settle()
        self.cut(self.oslo)
        self.oslo.purge('o', one.id)
        self.purge_all(self.rome, 'o')
        self.rome.change('DELETE')
        for _ in range(2):
            self.rome.propagate()
            self.paris.propagate()
        self.oslo.propagate()
        self.assertEqual(['oslo'], self.exist())
        self.heal(self.oslo)
        self.settle()
        self.assertEqual([], self.exist())
        self.assertTrue(self.rome.strategy.get('o', two.id).purged)

    def test_what_is_purged_before_it_is_looked_at_leaves_no_container(self):
        self.rome.create()
        self.settle()
        self.cut(self.oslo)
        version = self.oslo.put('o', b'late')
        self.rome.change('DELETE')
        self.rome.propagate()
        self.heal(self.oslo)
        self.oslo.propagate()
        self.assertEqual(str(version.id), self.rome.latest('o'))
        self.oslo.purge('o', version.id)
        self.oslo.propagate()
        self.settle()
        self.assertEqual([], self.exist())
        self.assertEqual([False] * 3, [life.exists
                                       for life in self.records()])

    def test_a_later_deletion_counts_where_an_older_one_is_made_good(self):
        self.rome.create()
        self.settle()
        self.cut(self.rome)
        version = self.oslo.put('o', b'late')
        self.rome.change('DELETE')
        self.heal(self.rome)
        self.oslo.propagate()
        self.assertEqual(str(version.id), self.rome.latest('o'))
        self.cut(self.rome)
        self.oslo.purge('o', version.id)
        self.oslo.change('DELETE')
        self.rome.propagate()
        self.heal(self.rome)
        self.settle()
        self.assertEqual([], self.exist())

    def test_what_a_null_version_overwrote_is_gone_when_it_is_purged(self):
        self.rome.create()
        self.rome.put('o', b'1', null=True)
        self.settle()
        self.cut(self.rome)
        newer = self.paris.put('o', b'2', null=True)
        self.paris.purge('o', newer.id)
        self.heal(self.rome)
        self.settle()
        self.assert_same('o')
        self.assertEqual([], self.rome.history('o'))
