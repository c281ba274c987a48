# SPDX-License-Identifier: Apache-2.0
"""Every operation of COSBench's drivers against a real Swift, by its own API
and by S3's: what the cluster has afterwards is what the result says, exactly.
"""

from urllib.parse import quote

import boto3
from botocore.config import Config

from tests.functional.cosbench_case import (
    OperationsCase,
    normal,
    special,
    stage,
)


class Operations:
    """What drivers do by either API."""

    #: Container prefix -> what the config of large objects has.
    large = {}
    #: The begin of a header of an object's metadata; what else objects are
    #: written with, and what containers with versions are made with.
    meta = further = versioned = ''
    #: The sample, and the container that it must leave none of.
    sample = ''

    def test_large_objects_go_up_and_come_down(self):
        for prefix, how in self.large.items():
            names = 'containers=c(1);cprefix=' + prefix
            target = names + ';objects=r(1,4)'
            rows = self.run_it(
                stage('init', special('init', names)),
                stage('prepare', special(
                    'prepare', target + ';sizes=c(2500)KB;partSize=c(1)MB;'
                    'parallel=3;' + how)),
                stage('write', normal(
                    'write', 4, target + ';sizes=c(20)KB;partSize=c(7)KB;'
                    'oprefix=w;header.%sA=b;%s' % (self.meta, how))),
                stage('read', normal('read', 8, target)),
                stage('range', normal(
                    'read', 8, target + ';offset=u(1,2000)KB;'
                    'length=c(300)KB')))
            self.assertCounts(rows, {
                ('prepare', 'op1'): (4, 10 ** 7),
                ('prepare', 'op1/part'): (12, 10 ** 7),
                ('write', 'op1'): (4, 80000),
                ('write', 'op1/part'): (12, 80000),
                ('read', 'op1'): (8, 2 * 10 ** 7),
                ('range', 'op1'): (8, 2400000)})
            self.assertEqual((20000, {'a': 'b'}), self.head(
                prefix + '1', 'w2'))
            self.check_parts(prefix)
            if 'dlo' not in how:
                self.assertCounts(self.run_it(stage('parts', normal(
                    'read', 8, target + ';part=c(3)'))), {
                        ('parts', 'op1'): (8, 8 * 500000)})
            # Overwritten ones leave nothing behind, either.
            self.run_it(
                stage('again', special(
                    'prepare', target + ';sizes=c(2)KB;partSize=c(1)KB;'
                    + how)),
                stage('delete', normal(
                    'delete', 4, target + ';oprefix=w;withParts=true')),
                stage('cleanup', special(
                    'cleanup', target + ';withParts=true')),
                stage('dispose', special('dispose', names)))
            self.assertFalse(self.has(prefix + '1'))

    def test_versions_are_read_listed_and_deleted(self):
        target = 'containers=c(1);cprefix=ver;objects=r(1,4)'
        self.run_it(stage('init', special('init', target + self.versioned)))
        self.keep_versions('ver1')
        rows = self.run_it(
            *(stage('p%d' % number, special(
                'prepare', target + ';sizes=c(%d)B' % (100 * number)))
              for number in (1, 2, 3)),
            stage('oldest', normal('read', 8, target + ';version=oldest')),
            stage('latest', normal('read', 8, target + ';version=latest')),
            stage('head', normal('head', 8, target + ';version=random')),
            stage('list', normal('list', 3, 'containers=c(1);cprefix=ver;'
                                 'versions=true', 1)),
            stage('delete', normal('delete', 8,
                                   target + ';version=oldest')))
        self.assertCounts(rows, {
            ('oldest', 'op1'): (8, 800), ('latest', 'op1'): (8, 2400),
            ('head', 'op1'): (8, 0), ('delete', 'op1'): (8, 0)})
        self.assertEqual([300] * 4, self.sizes('ver1', True))
        self.assertEqual(3, rows['list', 'op1'].tally.count)
        self.assertGreater(rows['list', 'op1'].tally.bytes, 3 * 12)

    def test_metadata_ranges_appends_and_many_deletes(self):
        target = 'containers=c(1);cprefix=met;objects=r(1,10)'
        post = stage('post', normal('post', 10, target + ';header.%sColor=red'
                                    % self.meta + self.further))
        rows = self.run_it(
            stage('init', special('init', target)),
            stage('prepare', special(
                'prepare', target + ';sizes=c(5)KB;header.Content-Type=text/x'
                + self.further)),
            post, stage('head', normal('head', 20, target)),
            stage('range', normal('read', 20, target + ';offset=c(4)KB;'
                                  'length=c(10)B')),
            stage('list', normal('list', 2, 'containers=c(1);cprefix=met', 1)),
            stage('append', normal('append', 30, target + ';sizes=c(1)KB;'
                                   'upTo=c(7)KB')))
        self.assertCounts(rows, {
            ('post', 'op1'): (10, 0), ('head', 'op1'): (20, 0),
            ('range', 'op1'): (20, 200),
            # 6, 7, and 1 KB.
            ('append', 'op1'): (30, 140000)})
        self.assertEqual([1000] * 10, self.sizes('met1'))
        rows = self.run_it(stage('append', normal(
            'append', 20, target + ';sizes=c(1)KB')), post)
        self.assertCounts(rows, {('append', 'op1'): (20, 50000)})
        self.assertEqual((3000, {'color': 'red'}),
                         self.head('met1', 'myobjects7'))
        before = self.content('met1', 'myobjects7')
        self.run_it(stage('append', normal('append', 10, target +
                                           ';sizes=c(500)B')))
        after = self.content('met1', 'myobjects7')
        self.assertEqual((before, 3500), (after[:len(before)], len(after)))
        self.assertCounts(self.run_it(stage('bulk', normal(
            'bulkdelete', 3, target + ';batch=4', 1))), {
                ('bulk', 'op1'): (3, 0)})
        self.assertEqual([], self.sizes('met1'))

    def test_the_sample_runs(self):
        rows = self.run_sample(self.sample + '.xml')
        self.assertEqual(20, rows['delete', 'op1'].tally.count)
        self.assertFalse(self.has(self.sample + '-1'))

    def test_endpoints_take_turns(self):
        # By S3 each is signed for its own host.
        places = ['127.0.0.1:%d' % self.address[1],
                  'localhost:%d' % self.address[1]]
        target = 'containers=c(1);cprefix=end;objects=r(1,10)'
        rows = self.run_it(
            stage('init', special('init', target)),
            stage('prepare', special(
                'prepare', target + ';sizes=c(5)KB;partSize=c(2)KB')),
            stage('read', normal('read', 100, target)),
            more='endpoints=' + ','.join('http://' + each
                                         for each in places), drivers=2)
        self.assertCounts(rows, {
            ('prepare', 'op1'): (10, 50000),
            ('prepare', 'op1/part'): (30, 50000),
            ('prepare', 'op1/1'): (5, 25000),
            ('read', 'op1'): (100, 500000),
            ('read', 'op1/1'): (50, 250000), ('read', 'op1/2'): (50, 250000)})
        self.assertEqual(['read', *('read at ' + each for each in places)], [
            rows['read', key].name for key in ('op1', 'op1/1', 'op1/2')])


class TestSwift(Operations, OperationsCase):

    large = {'slo': 'large=slo', 'dlo': 'large=dlo'}
    meta = 'X-Object-Meta-'
    further = ';header.X-Delete-After=86400'
    versioned = ';cheader.X-Versions-Enabled=true'
    sample = 'operations-swift'

    def above(self, more=''):
        return '<auth type="tempauth" config="username=test:tester;' \
            'password=testing;auth_url=http://%s:%d/auth/v1.0"/>' \
            '<storage type="swift" config="%s"/>' % (*self.address, more)

    def keep_versions(self, container):
        """It has been made so."""

    def has(self, container):
        return self.swift('GET', container).status != 404

    def sizes(self, container, versions=False):
        return [each['bytes'] for each in self.listing(
            container, '&versions' if versions else '')]

    def head(self, container, name):
        found = self.swift('HEAD', '%s/%s' % (container, name)).headers
        return int(found['content-length']), {
            key[len(self.meta):]: value for key, value in found.items()
            if key.startswith(self.meta.lower())}

    def content(self, container, name):
        return self.swift('GET', '%s/%s' % (container, name)).body

    def check_parts(self, prefix):
        self.assertEqual(4 + 4 + 12 + 12, len(self.listing(prefix + '1')))
        mark = {'slo': 'x-static-large-object', 'dlo': 'x-object-manifest'}
        self.assertIn(mark[prefix], self.swift(
            'HEAD', prefix + '1/w2').headers)


class TestS3(Operations, OperationsCase):

    large = {'mp': ''}
    meta = 'x-amz-meta-'
    sample = 'operations-s3'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = boto3.client(
            's3', region_name='us-east-1',
            endpoint_url='http://%s:%d' % cls.address,
            aws_access_key_id='test:tester', aws_secret_access_key='testing',
            config=Config(s3={'addressing_style': 'path'}))

    def above(self, more=''):
        return '<storage type="s3" config="accesskey=test:tester;secretkey=' \
            'testing;%s"/>' % (more or 'endpoint=http://%s:%d' % self.address)

    def keep_versions(self, container):
        self.client.put_bucket_versioning(
            Bucket=container, VersioningConfiguration={'Status': 'Enabled'})

    def has(self, container):
        return container in [each['Name'] for each in
                             self.client.list_buckets()['Buckets']]

    def sizes(self, container, versions=False):
        found = self.client.list_object_versions(Bucket=container).get(
            'Versions', ()) if versions else self.client.list_objects_v2(
                Bucket=container).get('Contents', ())
        return [each['Size'] for each in found]

    def head(self, container, name):
        found = self.client.head_object(Bucket=container, Key=name)
        return found['ContentLength'], found['Metadata']

    def content(self, container, name):
        return self.client.get_object(Bucket=container, Key=name)[
            'Body'].read()

    def check_parts(self, prefix):
        # Deleted, they are left to the expirer.
        self.assertEqual(24, len(self.listing(quote(prefix + '1+segments'))))
