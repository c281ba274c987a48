# SPDX-License-Identifier: Apache-2.0
"""What clients do with objects of a policy, whatever the policy does."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

from swift.common.utils import md5
from swiftclient.exceptions import ClientException

from tests.functional.clusters import wait_for
from tests.functional.s3_case import s3_client

MIB = 2 ** 20


class Client:
    """
    A mixin of cases of a `cluster`: a client, and a container of a `policy`.
    """

    def setUp(self):
        super().setUp()
        self.client = self.cluster.client(retries=0)
        self.container = '%s-%s' % (self.policy.name,
                                    self.id().rpartition('.')[2])
        self.make_container(self.container)

    def make_container(self, name, **headers):
        self.client.put_container(name, {
            'X-Storage-Policy': self.policy.name, **_headers(headers)})

    def put(self, name, body=b'body', **headers):
        return self.client.put_object(self.container, name, body,
                                      headers=_headers(headers))

    def post(self, name, **headers):
        self.client.post_object(self.container, name, _headers(headers))

    def delete(self, name):
        self.client.delete_object(self.container, name)

    def get(self, name, **headers):
        """:returns: headers and body"""
        return self.client.get_object(self.container, name,
                                      headers=_headers(headers))

    def head(self, name):
        return self.client.head_object(self.container, name)

    def listing(self):
        """:returns: the names of objects that the container lists"""
        return [each['name'] for each in
                self.client.get_container(self.container)[1]]

    def assert_status(self, status, call, *args, **kwargs):
        with self.assertRaises(ClientException) as caught:
            call(*args, **kwargs)
        self.assertEqual(status, caught.exception.http_status)


def run_everywhere(cluster, daemon, *args):
    """Run a daemon of objects once on all nodes, at the same time."""
    nodes = cluster.spec.node_numbers()
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(lambda node: cluster.run_on(node, [
            cluster.layout.launcher('swift-' + daemon),
            cluster.conf_path('object-server', node), '--once', *args]),
            nodes))


def _headers(headers):
    return {name.replace('_', '-'): value for name, value in headers.items()}


class ClientFeatures(Client):
    """Tests of all that Swift offers on objects."""

    def test_an_object_is_put_read_changed_and_deleted(self):
        for length in (0, 1, 65536, 262144, 262145, 3 * MIB + 17):
            with self.subTest(length=length):
                body = os.urandom(length)
                etag = self.put('o', body, X_Object_Meta_Color='blue')
                self.assertEqual(md5(body).hexdigest(), etag)
                headers, read = self.get('o')
                self.assertEqual(body, read)
                self.assertEqual('blue', headers['x-object-meta-color'])
                self.post('o', X_Object_Meta_Color='red',
                          Content_Type='text/x-y')
                for headers in (self.get('o')[0], self.head('o')):
                    self.assertEqual(
                        ('red', 'text/x-y', str(length)), (
                            headers['x-object-meta-color'],
                            headers['content-type'],
                            headers['content-length']))
                self.delete('o')
                self.assert_status(404, self.get, 'o')
                self.assert_status(404, self.head, 'o')
                self.delete_again('o')

    def delete_again(self, name):
        """Delete what has just been deleted."""
        self.assert_status(404, self.delete, name)

    def test_ranges_of_short_and_long_objects(self):
        for length in (1000, MIB):
            body = os.urandom(length)
            self.put('o', body)
            for start, stop in ((0, 1), (10, 700), (length - 300, length)):
                headers, read = self.get('o', Range='bytes=%d-%d' % (
                    start, stop - 1))
                self.assertEqual(body[start:stop], read)
                self.assertEqual('bytes %d-%d/%d' % (
                    start, stop - 1, length), headers['content-range'])
            self.assertEqual(body[-9:], self.get('o', Range='bytes=-9')[1])
            headers, read = self.get(
                'o', Range='bytes=5-9,%d-%d' % (length - 200, length - 101))
            self.assertIn('multipart/byteranges', headers['content-type'])
            self.assertIn(b'\r\n\r\n' + body[5:10] + b'\r\n--', read)
            self.assertIn(b'\r\n\r\n' + body[-200:-100] + b'\r\n--', read)
            self.assert_status(416, self.get, 'o',
                               Range='bytes=%d-' % length)

    def test_conditional_requests(self):
        etag = self.put('o', b'something')
        modified = self.head('o')['last-modified']
        self.assert_status(304, self.get, 'o', If_None_Match=etag)
        self.assert_status(304, self.get, 'o', If_Modified_Since=modified)
        self.assert_status(412, self.get, 'o', If_Match='0' * 32)
        self.assert_status(412, self.put, 'o', b'x', If_None_Match='*')
        self.put('new', If_None_Match='*')
        self.assertEqual(b'something', self.get('o', If_Match=etag)[1])
        self.assert_status(422, self.put, 'p', b'x', ETag='0' * 32)
        self.assert_status(404, self.get, 'p')

    def test_copies_within_the_policy_and_to_another(self):
        self.client.put_container('files')
        body = os.urandom(300000)
        self.put('o', body, X_Object_Meta_Color='blue')
        for destination in (self.container, 'files'):
            self.client.copy_object(self.container, 'o',
                                    '/%s/copy' % destination)
            headers, read = self.client.get_object(destination, 'copy')
            self.assertEqual((body, 'blue'), (
                read, headers['x-object-meta-color']))
        self.client.copy_object('files', 'copy', '/%s/back' % self.container)
        self.assertEqual(body, self.get('back')[1])

    def test_a_large_object_whose_manifest_and_segments_are_there(self):
        segments = [os.urandom(MIB + number) for number in range(3)]
        manifest = [{
            'path': '/%s/segment-%d' % (self.container, number),
            'etag': self.put('segment-%d' % number, body),
            'size_bytes': len(body)} for number, body in enumerate(segments)]
        self.client.put_object(
            self.container, 'slo', json.dumps(manifest),
            query_string='multipart-manifest=put')
        body = b''.join(segments)
        self.assertEqual(body, self.get('slo')[1])
        self.assertEqual(body[MIB - 5:2 * MIB], self.get(
            'slo', Range='bytes=%d-%d' % (MIB - 5, 2 * MIB - 1))[1])
        self.client.delete_object(self.container, 'slo',
                                  query_string='multipart-manifest=delete')
        self.assertEqual([], self.listing())
        self.assert_status(404, self.get, 'segment-1')

    def test_an_object_expires_and_the_expirer_deletes_it(self):
        delete_at = int(time.time()) + 2
        self.put('o', b'short-lived', X_Delete_At=str(delete_at))
        self.put('p', b'stays')
        self.assertEqual(b'short-lived', self.get('o')[1])

        def is_gone():
            try:
                self.head('o')
            except ClientException as err:
                return err.http_status == 404

        wait_for(is_gone, 'the object has expired', 60)

        def is_unlisted():
            # The first tells which queues there are.
            self.cluster.swift_init('container-updater', 'once')
            run_everywhere(self.cluster, 'object-expirer')
            return ['p'] == self.listing()

        wait_for(is_unlisted, 'the expirer has deleted it', 120)
        self.assertEqual(b'stays', self.get('p')[1])

    def test_a_dynamic_large_object(self):
        segments = [os.urandom(1000 + number) for number in range(3)]
        for number, body in enumerate(segments):
            self.put('part/%d' % number, body)
        self.put('dlo', b'', X_Object_Manifest=self.container + '/part/')
        self.assertEqual(b''.join(segments), self.get('dlo')[1])
        self.put('part/3', b'more')
        self.assertEqual(b''.join(segments) + b'more', self.get('dlo')[1])

    def test_versions_of_a_container(self):
        self.client.post_container(self.container, {
            'X-Versions-Enabled': 'true'})
        for body in b'first', b'second':
            self.put('o', body)
        self.delete('o')
        self.assert_status(404, self.get, 'o')
        _, rows = self.client.get_container(
            self.container, query_string='versions')
        self.assertEqual(3, len(rows))
        self.assertEqual([None, b'second', b'first'], [
            None if 'deleted' in row['content_type'] else
            self.client.get_object(
                self.container, 'o', query_string='version-id=' +
                row['version_id'])[1] for row in rows])
        self.client.put_object(
            self.container, 'o', '', query_string='version-id=' +
            rows[-1]['version_id'])
        self.assertEqual(b'first', self.get('o')[1])

    def test_a_history_location(self):
        archive = self.container + '-archive'
        self.make_container(archive)
        self.client.post_container(self.container, {
            'X-History-Location': archive})
        for body in b'first', b'second':
            self.put('o', body)
        self.delete('o')
        self.assert_status(404, self.get, 'o')
        _, rows = self.client.get_container(archive)
        self.assertEqual([b'first', b'second', b''], [
            self.client.get_object(archive, row['name'])[1]
            for row in rows])

    def test_a_multipart_upload_through_s3(self):
        bucket = '%s-s3' % self.policy.name
        self.make_container(bucket)
        s3 = s3_client(self.cluster)
        upload = {'Bucket': bucket, 'Key': 'o'}
        upload['UploadId'] = s3.create_multipart_upload(**upload)['UploadId']
        parts = [os.urandom(5 * MIB), os.urandom(1000)]
        etags = [s3.upload_part(PartNumber=number, Body=body, **upload)[
            'ETag'] for number, body in enumerate(parts, 1)]
        s3.complete_multipart_upload(MultipartUpload={'Parts': [
            {'PartNumber': number, 'ETag': etag}
            for number, etag in enumerate(etags, 1)]}, **upload)
        self.assertEqual(b''.join(parts), s3.get_object(
            Bucket=bucket, Key='o')['Body'].read())
        s3.delete_object(Bucket=bucket, Key='o')
        self.assertEqual([], s3.list_objects(Bucket=bucket).get(
            'Contents', []))
