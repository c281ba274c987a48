# SPDX-License-Identifier: Apache-2.0
"""Objects that are older than the versioning of their container, on real
clusters: a write makes null versions of them, and so does the propagator.
"""

import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.sites_case import SitesCase


class TestOlderObjects(SitesCase):

    fields = {**SitesCase.fields, 'count': 2}

    def setUp(self):
        super().setUp()
        self.container += '-older'
        self.rome = self.client('rome')
        self.rome.put_container(self.container)

    def put_older(self, *names):
        for name in names:
            self.rome.put_object(
                self.container, name, b'old ' + name.encode(),
                headers={'X-Object-Meta-Colour': 'red'})

    def enable(self):
        # Whose record comes first enables them at the other, too.
        for site in 'rome', 'paris':
            self.make(site, self.container)

    def names(self):
        return [row['name'] for row in
                self.rome.get_container(self.container)[1]]

    def get(self, name, **kwargs):
        """:returns: the body, or the status if there is none"""
        try:
            headers, body = self.rome.get_object(self.container, name,
                                                 **kwargs)
            self.assertEqual('red', headers.get('x-object-meta-colour',
                                                'red'))
            return body
        except swiftclient.ClientException as err:
            return err.http_status

    def test_they_are_seen_like_others_and_none_is_lost(self):
        self.put_older('a', 'b', 'c', 'd')
        self.enable()
        self.assertEqual(['a', 'b', 'c', 'd'], self.names())
        self.rome.put_object(self.container, 'a', b'new')
        self.rome.delete_object(self.container, 'b')
        self.rome.post_object(self.container, 'c',
                              {'X-Object-Meta-Colour': 'red'})
        self.assertEqual([b'new', 404, b'old c', b'old d'],
                         [self.get(name) for name in 'abcd'])
        for name in 'abcd':
            self.assertEqual(b'old ' + name.encode(), self.get(
                name, query_string='version-id=null'))
        self.assertEqual(['a', 'c', 'd'], self.names())
        # Whoever adopts the last one, it reaches the other site.
        rows = self.wait_until_same(6)
        self.assertEqual(
            [('a', False), ('a', True), ('b', False), ('b', True),
             ('c', True), ('d', True)],
            [(row['name'], row['version_id'] == 'null') for row in rows])
        self.assert_served(rows)

    def test_counts_are_the_same_before_and_after(self):
        self.put_older('a', 'b')
        self.enable()
        self.rome.put_object(self.container, 'a', b'new')

        def counted():
            headers = self.rome.head_container(self.container)
            return (headers['x-container-object-count'],
                    headers['x-container-bytes-used'])
        wait_for(lambda: counted() == ('2', '13'), 'both are counted', 60)
        self.wait_until_same(3)
        wait_for(lambda: counted() == ('2', '13'), 'both are counted', 60)

    def test_a_suspended_write_takes_the_place_of_one(self):
        self.put_older('a')
        self.enable()
        self.rome.post_container(self.container,
                                 {'X-Versions-Enabled': 'false'})
        self.rome.put_object(self.container, 'a', b'new')
        self.assertEqual([b'new'] * 2, [self.get('a'), self.get(
            'a', query_string='version-id=null')])
        rows = self.wait_until_same(1)
        self.assert_served(rows)
        self.rome.delete_object(self.container, 'a')
        # Swift's listings do not show null delete markers.
        self.wait_until_same(0)
        self.assertEqual(404, self.get('a'))
