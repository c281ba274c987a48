# SPDX-License-Identifier: Apache-2.0
"""Containers live and die at all sites, on real clusters: their metadata,
their deletion while a site is cut off, and what a comparison finds.
"""

import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.sites_case import OPTIONS, SitesCase

DEADLINE = 120


class TestLives(SitesCase):

    fields = {**SitesCase.fields, 'count': 2, 'options': {
        **OPTIONS, 'compare_interval': 5}}

    def setUp(self):
        super().setUp()
        self.rome, self.paris = map(self.client, self.sites.names)

    def status(self, client):
        try:
            client.head_container(self.container)
        except swiftclient.ClientException as err:
            return err.http_status
        return 200

    def wait_for_status(self, status):
        wait_for(lambda: {self.status(self.rome), self.status(self.paris)} ==
                 {status}, 'both sites say %d' % status, DEADLINE)

    def purge_all(self, client):
        for row in self.rows(self.sites.names[0]):
            client.delete_object(
                self.container, row['name'],
                query_string='version-id=' + row['version_id'])

    def test_metadata_are_the_same_at_all_sites(self):
        self.rome.post_container(self.container, {
            'X-Container-Read': '.r:*', 'X-Container-Meta-Color': 'blue',
            'X-Versions-Keep': '7'})
        wait_for(lambda: self.paris.head_container(self.container).get(
            'x-container-read') == '.r:*', 'the list is there', DEADLINE)
        self.assertEqual('7', self.paris.head_container(self.container)[
            'x-versions-keep'])
        self.paris.post_container(self.container, {
            'X-Container-Read': '', 'X-Container-Meta-Color': 'red'})
        wait_for(lambda: self.rome.head_container(self.container).get(
            'x-container-meta-color') == 'red', 'the new color', DEADLINE)
        self.assertNotIn('x-container-read',
                         self.rome.head_container(self.container))

    def test_a_container_that_is_deleted_is_deleted_at_all_sites(self):
        self.put('rome', 'o', b'1')
        self.wait_until_same(1)
        self.purge_all(self.rome)
        self.rome.delete_container(self.container)
        self.wait_for_status(404)

    def test_purges_and_deletion_reach_a_site_that_was_cut_off(self):
        self.put('rome', 'o', b'1')
        self.wait_until_same(1)
        self.sites.cut('rome', 'paris')
        self.purge_all(self.rome)
        self.rome.delete_container(self.container)
        self.assertEqual((404, 200), (self.status(self.rome),
                                      self.status(self.paris)))
        self.sites.heal()
        self.wait_for_status(404)

    def test_a_write_that_the_deletion_did_not_know_of_is_kept(self):
        self.wait_until_same(0)
        self.sites.cut('rome', 'paris')
        self.put('paris', 'o', b'late')
        self.rome.delete_container(self.container)
        self.sites.heal()
        rows = self.wait_for_rows(1)
        self.assert_served(rows)
        self.wait_for_status(200)

    def wait_for_rows(self, count):
        def there():
            try:
                return len(self.rows('rome')) == count
            except swiftclient.ClientException:
                return False
        wait_for(there, 'the container is back', DEADLINE)
        return self.wait_until_same(count)

    def test_a_container_is_made_again_with_nothing_of_its_past(self):
        self.put('rome', 'o', b'old')
        self.wait_until_same(1)
        self.sites.cut('rome', 'paris')
        self.purge_all(self.rome)
        self.rome.delete_container(self.container)
        self.make('rome', self.container)
        self.put('rome', 'p', b'new')
        self.sites.heal()
        wait_for(lambda: [row['name'] for row in self.rows('paris')] == ['p'],
                 'the old one is gone', DEADLINE)
        self.assert_served(self.wait_until_same(1))
