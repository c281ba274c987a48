# SPDX-License-Identifier: Apache-2.0
"""Static and dynamic large objects at two sites: the manifest and the segments
are versions of objects in two containers, and come one by one.
"""

import json
from hashlib import md5

import requests
import swiftclient

from tests.functional.clusters import wait_for
from tests.functional.sites_case import SitesCase

SEGMENTS = [b'first ' * 100, b'second ' * 100, b'third ' * 100]
WHOLE = b''.join(SEGMENTS)
MULTIPART = 'multipart-manifest='
SAME = ('etag', 'content-length', 'content-type', 'content-range',
        'x-object-manifest', 'x-object-version-id', 'x-static-large-object')


class LargeObjectsCase(SitesCase):

    fields = {**SitesCase.fields, 'count': 2}

    def setUp(self):
        super().setUp()
        self.segments = self.container + '-segments'

    def make_segments(self):
        for name in self.sites.names:
            self.make(name, self.segments)

    def put_segments(self, name, bodies=SEGMENTS, prefix='s'):
        for number, body in enumerate(bodies):
            self.client(name).put_object(
                self.segments, '%s%d' % (prefix, number), body)

    def body(self, name):
        """:returns: the object, or a status if it cannot be read whole"""
        try:
            return self.client(name).get_object(self.container, 'o')[1]
        except swiftclient.ClientException as err:
            return err.http_status
        except requests.RequestException:
            # The proxy breaks off where a segment is missing.
            return None

    def wait_until_served(self, body):
        """All sites answer with it, or with a status."""
        wait_for(lambda: all(self.body(name) == body
                             for name in self.sites.names),
                 'all sites serve %.20r' % body, 120)

    def assert_same(self, **kwargs):
        """:returns: (headers, body), the same at all sites"""
        found = [self.client(name).get_object(self.container, 'o', **kwargs)
                 for name in self.sites.names]
        self.assertEqual(*[{name: value for name, value in headers.items()
                            if name in SAME} for headers, _ in found])
        self.assertEqual(found[0][1], found[1][1])
        return found[0]


class TestStaticLargeObjects(LargeObjectsCase):

    def put_manifest(self, name, bodies=SEGMENTS, prefix='s'):
        """:returns: the id of the version"""
        answer = {}
        self.client(name).put_object(self.container, 'o', json.dumps([{
            'path': '/%s/%s%d' % (self.segments, prefix, number),
            'etag': md5(body).hexdigest(), 'size_bytes': len(body)}
            for number, body in enumerate(bodies)]),
            query_string=MULTIPART + 'put', response_dict=answer)
        return answer['headers']['x-object-version-id']

    def test_it_is_the_same_at_all_sites(self):
        self.make_segments()
        self.put_segments('rome')
        self.put_manifest('rome')
        self.wait_until_served(WHOLE)
        headers, _ = self.assert_same()
        self.assertEqual('True', headers['x-static-large-object'])
        _, part = self.assert_same(headers={'Range': 'bytes=590-610'})
        self.assertEqual(WHOLE[590:611], part)
        _, manifest = self.assert_same(query_string=MULTIPART + 'get')
        self.assertEqual([len(each) for each in SEGMENTS], [
            each['bytes'] for each in json.loads(manifest)])
        row, = self.wait_until_same(1)
        self.assertEqual(len(WHOLE), row['bytes'])

    def test_segments_may_come_after_the_manifest(self):
        self.client('rome').put_container(self.segments)
        self.put_segments('rome')
        self.put_manifest('rome')
        self.wait_until_same(1)
        self.assertNotIsInstance(self.body('paris'), bytes)
        self.make('rome', self.segments)
        self.wait_until_served(WHOLE)
        self.assert_same()

    def test_each_version_has_its_own_segments(self):
        self.make_segments()
        self.put_segments('rome')
        first = self.put_manifest('rome')
        self.wait_until_served(WHOLE)
        bodies = [b'new ' * 50, b'newer ' * 50]
        self.put_segments('paris', bodies, 't')
        second = self.put_manifest('paris', bodies, 't')
        self.wait_until_served(b''.join(bodies))
        for version, body in ((first, WHOLE), (second, b''.join(bodies))):
            self.assertEqual(body, self.assert_same(
                query_string='version-id=' + version)[1])

    def test_it_is_deleted_with_its_segments(self):
        self.make_segments()
        self.put_segments('rome')
        self.put_manifest('rome')
        self.wait_until_served(WHOLE)
        self.client('paris').delete_object(
            self.container, 'o', query_string=MULTIPART + 'delete')
        self.wait_until_served(404)
        rows = self.wait_until_same(2 * len(SEGMENTS), self.segments)
        self.assertEqual(len(SEGMENTS), sum(
            row['is_latest'] and 'x-deleted' in row['content_type']
            for row in rows))


class TestDynamicLargeObjects(LargeObjectsCase):

    def put_manifest(self, name):
        self.client(name).put_object(
            self.container, 'o', b'',
            headers={'X-Object-Manifest': self.segments + '/s'})

    def test_it_is_what_its_segments_are_at_each_time(self):
        self.make_segments()
        self.put_segments('rome')
        self.put_manifest('rome')
        self.wait_until_served(WHOLE)
        headers, _ = self.assert_same()
        self.assertEqual(self.segments + '/s', headers['x-object-manifest'])
        self.client('paris').put_object(self.segments, 's3', b'fourth')
        self.wait_until_served(WHOLE + b'fourth')
        self.client('rome').put_object(self.segments, 's1', b'2')
        changed = SEGMENTS[0] + b'2' + SEGMENTS[2] + b'fourth'
        self.wait_until_served(changed)
        self.client('paris').delete_object(self.segments, 's0')
        self.wait_until_served(changed[len(SEGMENTS[0]):])
        self.assert_same()

    def test_segments_may_come_after_the_manifest(self):
        self.client('rome').put_container(self.segments)
        self.put_segments('rome')
        self.put_manifest('rome')
        self.wait_until_same(1)
        self.assertNotEqual(WHOLE, self.body('paris'))
        self.make('rome', self.segments)
        self.wait_until_served(WHOLE)
        self.assert_same()
