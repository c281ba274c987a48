# SPDX-License-Identifier: Apache-2.0
"""The filter of versions beside others of Swift's pipeline: bulk, staticweb
and encryption.
"""

import base64
import io
import os
import tarfile
import unittest
from glob import glob
from tempfile import TemporaryDirectory

import requests
import swiftclient
from swift.container.backend import ContainerBroker

from tests.functional.clusters import wait_for
from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port

PIPELINE = (
    'catch_errors gatekeeper healthcheck proxy-logging cache listing_formats '
    'bulk tempauth copy staticweb container-quotas account-quotas slo dlo '
    'versioned_writes symlink versioning keymaster encryption proxy-logging '
    'proxy-server')
SECRET = base64.b64encode(b's' * 32).decode()
PLAIN = b'nobody reads this on a disk'


class PipelineCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        root = cls.enterClassContext(TemporaryDirectory(prefix='ls-'))
        cls.cluster = Cluster(ClusterSpec(
            root=root, nodes=1, base_port=free_base_port(1),
            policies=(Policy('gold', 0, 1, part_power=4),),
            replication_ports=False,
            versioning={'site': 'rome', 'site_preference': 'rome'},
            options={'proxy-server': {
                'pipeline:main': {'pipeline': PIPELINE},
                'filter:staticweb': {'use': 'egg:swift#staticweb'},
                'filter:keymaster': {'use': 'egg:swift#keymaster',
                                     'encryption_root_secret': SECRET},
                'filter:encryption': {'use': 'egg:swift#encryption'}}}))
        cls.addClassCleanup(cls.cluster.destroy)
        cls.cluster.up()
        cls.url, cls.token = cls.cluster.client().get_auth()

    def setUp(self):
        super().setUp()
        self.swift = swiftclient.Connection(
            preauthurl=self.url, preauthtoken=self.token, retries=0)
        self.addCleanup(self.swift.close)
        self.container = self.id().rpartition('.')[2]

    def enable(self, **headers):
        self.swift.put_container(self.container, headers={
            'X-Versions-Enabled': 'true', **headers})

    def put(self, obj, body):
        """Return the id of the version that is made."""
        answer = {}
        self.swift.put_object(self.container, obj, body,
                              response_dict=answer)
        return answer['headers'].get('x-object-version-id')

    def get(self, obj, version=None):
        return self.swift.get_object(
            self.container, obj,
            query_string=version and 'version-id=' + version)[1]

    def versions(self):
        """Return what is listed of all versions."""
        return self.swift.get_container(self.container,
                                        query_string='versions')[1]

    def request(self, method, path, **kwargs):
        answer = requests.request(method, self.url + path, timeout=60,
                                  headers={'X-Auth-Token': self.token,
                                           'Accept': 'application/json'},
                                  **kwargs)
        self.assertEqual(200, answer.status_code, answer.text)
        return answer.json()


class TestBulk(PipelineCase):

    def archive(self, **files):
        data = io.BytesIO()
        with tarfile.open(mode='w', fileobj=data) as tar:
            for name, body in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))
        return data.getvalue()

    def test_an_archive_makes_a_version_of_each_file(self):
        self.enable()
        for number in (b'1', b'2'):
            done = self.request(
                'PUT', '/%s?extract-archive=tar' % self.container,
                data=self.archive(a=b'a' + number, b=b'b' + number))
            self.assertEqual(2, done['Number Files Created'], done)
        self.assertEqual(['a', 'a', 'b', 'b'],
                         [row['name'] for row in self.versions()])
        self.assertEqual(b'b2', self.get('b'))

    def test_a_bulk_delete_makes_delete_markers(self):
        self.enable()
        ids = {obj: self.put(obj, PLAIN) for obj in 'ab'}
        done = self.request('POST', '?bulk-delete', data='\n'.join(
            '/%s/%s' % (self.container, obj) for obj in ids))
        self.assertEqual(2, done['Number Deleted'], done)
        self.assertEqual([], self.swift.get_container(self.container)[1])
        self.assertEqual(PLAIN, self.get('a', ids['a']))


class TestStaticWeb(PipelineCase):

    def page(self, path):
        return requests.get('%s/%s/%s' % (self.url, self.container, path),
                            timeout=60)

    def test_the_latest_version_is_served(self):
        self.enable(**{'X-Container-Meta-Web-Index': 'index.html',
                       'X-Container-Meta-Web-Listings': 'true',
                       'X-Container-Read': '.r:*,.rlistings'})
        self.put('index.html', b'first')
        self.assertEqual(b'first', self.page('').content)
        self.put('index.html', b'second')
        self.assertEqual(b'second', self.page('').content)

    def test_the_latest_error_page_is_served_while_there_is_no_object(self):
        self.enable(**{'X-Container-Meta-Web-Index': 'index.html',
                       'X-Container-Meta-Web-Error': 'error.html',
                       'X-Container-Read': '.r:*'})
        self.put('404error.html', b'first')
        self.put('404error.html', b'second')
        version = self.put('page', b'there')
        self.assertEqual(b'there', self.page('page').content)
        self.swift.delete_object(self.container, 'page')
        found = self.page('page')
        self.assertEqual((404, b'second'), (found.status_code, found.content))
        self.swift.put_object(self.container, 'page', b'',
                              query_string='version-id=' + version)
        self.assertEqual(b'there', self.page('page').content)

    def test_a_page_lists_the_latest_versions(self):
        self.enable(**{'X-Container-Meta-Web-Listings': 'true',
                       'X-Container-Read': '.r:*,.rlistings'})
        for body in (b'1', b'2'):
            self.put('dir/kept', body)
            self.put('dir/deleted', body)
        self.swift.delete_object(self.container, 'dir/deleted')
        text = self.page('dir/').text
        self.assertEqual(1, text.count('>kept<'), text)
        self.assertNotIn('deleted', text)


class TestEncryption(PipelineCase):

    def own_objects(self):
        """Return the live rows of the container's own databases."""
        rows = []
        for path in self.cluster.device_paths().values():
            for name in glob(os.path.join(path, 'containers', '*', '*', '*',
                                          '*.db')):
                broker = ContainerBroker(name)
                if broker.get_info()['container'] == self.container:
                    rows += broker.list_objects_iter(10, '', '', '', '')
                # Nothing keeps the device busy.
                broker.conn.close()
        return rows

    def on_disk(self):
        """Return the bytes of all objects as they are stored."""
        found = b''
        for path in self.cluster.device_paths().values():
            for data in glob(os.path.join(path, 'objects', '*', '*', '*',
                                          '*.data')):
                with open(data, 'rb') as file:
                    found += file.read()
        return found

    def test_versions_are_encrypted_and_read(self):
        self.enable()
        first = self.put('o', PLAIN + b'1')
        second = self.put('o', PLAIN + b'2')
        self.assertNotIn(PLAIN, self.on_disk())
        self.assertEqual(PLAIN + b'2', self.get('o'))
        self.assertEqual(PLAIN + b'1', self.get('o', first))
        self.assertEqual([second, first], [
            row['version_id'] for row in self.versions()])

    def test_a_restored_version_has_the_old_data(self):
        self.enable()
        first = self.put('o', PLAIN + b'1')
        self.put('o', PLAIN + b'2')
        self.swift.put_object(self.container, 'o', b'',
                              query_string='version-id=' + first)
        self.assertEqual(PLAIN + b'1', self.get('o'))

    def test_objects_older_than_versions_become_null_versions(self):
        self.swift.put_container(self.container)
        self.assertIsNone(self.put('o', PLAIN + b'old'))
        self.put('other', PLAIN)
        self.enable()
        self.put('o', PLAIN + b'new')
        self.assertEqual(PLAIN + b'old', self.get('o', 'null'))
        # The propagator takes in those that nobody writes to.
        wait_for(lambda: not self.own_objects(),
                 'all objects are adopted', 300)
        self.assertEqual(3, len(self.versions()))
        self.assertEqual(PLAIN, self.get('other'))
        self.assertNotIn(PLAIN, self.on_disk())


del PipelineCase
