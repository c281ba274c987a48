# SPDX-License-Identifier: Apache-2.0
"""
Every operation of COSBench's drivers against a real Swift, by its own API and
by S3's: what the cluster has afterwards is what the result says, exactly.
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


class TestSwift(OperationsCase):

    def above(self, more=''):
        return '<auth type="tempauth" config="username=test:tester;' \
            'password=testing;auth_url=http://%s:%d/auth/v1.0"/>' \
            '<storage type="swift" config="%s"/>' % (*self.address, more)

    def test_large_objects_are_static_and_dynamic(self):
        for large, mark in (('slo', 'x-static-large-object'),
                            ('dlo', 'x-object-manifest')):
            names = 'containers=c(1);cprefix=%s' % large
            target = names + ';objects=r(1,4)'
            rows = self.run_it(
                stage('init', special('init', names)),
                stage('prepare', special(
                    'prepare', target + ';sizes=c(2500)KB;partSize=c(1)MB;'
                    'parallel=3;large=' + large)),
                stage('write', normal(
                    'write', 4, target + ';sizes=c(20)KB;partSize=c(7)KB;'
                    'oprefix=w;large=%s;header.X-Object-Meta-A=b' % large)),
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
            listed = self.listing(large + '1')
            self.assertEqual(4 + 4 + 12 + 12, len(listed))
            head = self.swift('HEAD', large + '1/w2').headers
            self.assertIn(mark, head)
            self.assertEqual(('20000', 'b'), (
                head['content-length'], head['x-object-meta-a']))
            if large == 'slo':
                self.assertCounts(self.run_it(stage('parts', normal(
                    'read', 8, target + ';part=c(3)'))), {
                        ('parts', 'op1'): (8, 8 * 500000)})
            # Overwritten ones leave nothing behind, either.
            self.run_it(
                stage('again', special(
                    'prepare', target + ';sizes=c(2)KB;partSize=c(1)KB;'
                    'large=' + large)),
                stage('delete', normal(
                    'delete', 4, target + ';oprefix=w;withParts=true')),
                stage('cleanup', special(
                    'cleanup', target + ';withParts=true')),
                stage('dispose', special('dispose', names)))
            self.assertEqual(404, self.swift('GET', large + '1').status)

    def test_versions_are_read_listed_and_deleted(self):
        target = 'containers=c(1);cprefix=v;objects=r(1,4)'
        size = ';sizes=c(%d)B'
        rows = self.run_it(
            stage('init', special(
                'init', target + ';cheader.X-Versions-Enabled=true')),
            *(stage('p%d' % number, special(
                'prepare', target + size % (100 * number)))
              for number in (1, 2, 3)),
            stage('oldest', normal('read', 8, target + ';version=oldest')),
            stage('latest', normal('read', 8, target + ';version=latest')),
            stage('head', normal('head', 8, target + ';version=random')),
            stage('list', normal('list', 3, 'containers=c(1);cprefix=v;'
                                 'versions=true', 1)),
            stage('delete', normal('delete', 8,
                                   target + ';version=oldest')))
        self.assertCounts(rows, {
            ('oldest', 'op1'): (8, 800), ('latest', 'op1'): (8, 2400),
            ('head', 'op1'): (8, 0), ('delete', 'op1'): (8, 0)})
        self.assertEqual([300] * 4, [
            each['bytes'] for each in self.listing('v1', '&versions')])
        self.assertEqual(3, rows['list', 'op1'].tally.count)
        self.assertGreater(rows['list', 'op1'].tally.bytes, 3 * 12)

    def test_metadata_ranges_appends_and_many_deletes(self):
        target = 'containers=c(1);cprefix=m;objects=r(1,10)'
        rows = self.run_it(
            stage('init', special('init', target)),
            stage('prepare', special(
                'prepare', target + ';sizes=c(5)KB;'
                'header.X-Delete-After=86400;header.Content-Type=text/x')),
            stage('post', normal('post', 10, target +
                                 ';header.X-Object-Meta-Color=red;'
                                 'header.X-Delete-After=86400')),
            stage('head', normal('head', 20, target)),
            stage('range', normal('read', 20, target + ';offset=c(4)KB;'
                                  'length=c(10)B')),
            stage('append', normal('append', 30, target + ';sizes=c(1)KB;'
                                   'upTo=c(7)KB')))
        self.assertCounts(rows, {
            ('post', 'op1'): (10, 0), ('head', 'op1'): (20, 0),
            ('range', 'op1'): (20, 200),
            # 6, 7, and 1 KB.
            ('append', 'op1'): (30, 140000)})
        self.assertEqual([1000] * 10, [
            each['bytes'] for each in self.listing('m1')])
        rows = self.run_it(
            stage('append', normal('append', 20, target + ';sizes=c(1)KB')),
            stage('post', normal('post', 10, target +
                                 ';header.X-Object-Meta-Color=red')))
        self.assertCounts(rows, {('append', 'op1'): (20, 50000)})
        head = self.swift('HEAD', 'm1/myobjects7').headers
        self.assertEqual('red', head['x-object-meta-color'])
        before, more = (self.swift('GET', 'm1/myobjects7').body if each is None
                        else self.run_it(each) for each in (None, stage(
                            'append', normal('append', 10, target +
                                             ';sizes=c(500)B'))))
        self.assertEqual(3500, len(self.swift('GET', 'm1/myobjects7').body))
        self.assertEqual(
            before, self.swift('GET', 'm1/myobjects7').body[:len(before)])
        rows = self.run_it(stage('bulk', normal(
            'bulkdelete', 3, target + ';batch=4', 1)))
        self.assertCounts(rows, {('bulk', 'op1'): (3, 0)})
        self.assertEqual([], self.listing('m1'))

    def test_the_sample_runs(self):
        rows = self.run_sample('operations-swift.xml')
        self.assertEqual(20, rows['delete', 'op1'].tally.count)
        self.assertEqual(404, self.swift(
            'GET', 'operations-swift-1').status)

    def test_endpoints_take_turns(self):
        places = ['127.0.0.1:%d' % self.address[1],
                  'localhost:%d' % self.address[1]]
        target = 'containers=c(1);cprefix=e;objects=r(1,10)'
        rows = self.run_it(
            stage('init', special('init', target)),
            stage('prepare', special('prepare', target + ';sizes=c(1)KB')),
            stage('read', normal('read', 100, target)),
            more='endpoints=' + ','.join('http://' + each
                                         for each in places), drivers=2)
        self.assertCounts(rows, {
            ('prepare', 'op1'): (10, 10000),
            ('prepare', 'op1/1'): (5, 5000), ('prepare', 'op1/2'): (5, 5000),
            ('read', 'op1'): (100, 100000), ('read', 'op1/1'): (50, 50000),
            ('read', 'op1/2'): (50, 50000)})
        self.assertEqual(['read', *('read at ' + each for each in places)], [
            rows['read', key].name for key in ('op1', 'op1/1', 'op1/2')])


class TestS3(OperationsCase):

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

    def test_multipart_objects_go_up_and_come_down(self):
        target = 'containers=c(1);cprefix=mp;objects=r(1,4)'
        rows = self.run_it(
            stage('init', special('init', target)),
            stage('prepare', special(
                'prepare', target + ';sizes=c(2500)KB;partSize=c(1)MB;'
                'parallel=3;header.x-amz-meta-a=b')),
            stage('read', normal('read', 8, target)),
            stage('parts', normal('read', 8, target + ';part=c(3)')),
            stage('range', normal('read', 8, target + ';length=c(9)B')))
        self.assertCounts(rows, {
            ('prepare', 'op1'): (4, 10 ** 7),
            ('prepare', 'op1/part'): (12, 10 ** 7),
            ('read', 'op1'): (8, 2 * 10 ** 7),
            ('parts', 'op1'): (8, 8 * 500000), ('range', 'op1'): (8, 72)})
        head = self.client.head_object(Bucket='mp1', Key='myobjects3')
        self.assertEqual((2500000, {'a': 'b'}), (
            head['ContentLength'], head['Metadata']))
        self.assertEqual(12, len(self.listing(quote('mp1+segments'))))
        # Its parts are left to the expirer.
        self.run_it(stage('cleanup', special('cleanup', target)))
        self.assertNotIn('Contents', self.client.list_objects_v2(
            Bucket='mp1'))

    def test_versions_are_read_listed_and_deleted(self):
        target = 'containers=c(1);cprefix=old;objects=r(1,4)'
        self.run_it(stage('init', special('init', target)))
        self.client.put_bucket_versioning(
            Bucket='old1', VersioningConfiguration={'Status': 'Enabled'})
        rows = self.run_it(
            *(stage('p%d' % number, special(
                'prepare', target + ';sizes=c(%d)B' % (100 * number)))
              for number in (1, 2, 3)),
            stage('oldest', normal('read', 8, target + ';version=oldest')),
            stage('latest', normal('read', 8, target + ';version=latest')),
            stage('head', normal('head', 8, target + ';version=random')),
            stage('list', normal('list', 3, 'containers=c(1);cprefix=old;'
                                 'versions=true', 1)),
            stage('delete', normal('delete', 8,
                                   target + ';version=oldest')))
        self.assertCounts(rows, {
            ('oldest', 'op1'): (8, 800), ('latest', 'op1'): (8, 2400),
            ('head', 'op1'): (8, 0), ('delete', 'op1'): (8, 0)})
        self.assertEqual([300] * 4, [
            each['Size'] for each in self.client.list_object_versions(
                Bucket='old1')['Versions']])
        self.assertEqual(3, rows['list', 'op1'].tally.count)

    def test_metadata_appends_and_many_deletes(self):
        target = 'containers=c(1);cprefix=meta;objects=r(1,10)'
        rows = self.run_it(
            stage('init', special('init', target)),
            stage('prepare', special('prepare', target + ';sizes=c(5)KB')),
            stage('append', normal('append', 20, target + ';sizes=c(1)KB')),
            stage('post', normal('post', 10, target +
                                 ';header.x-amz-meta-color=red')),
            stage('list', normal('list', 2,
                                 'containers=c(1);cprefix=meta', 1)))
        self.assertCounts(rows, {('append', 'op1'): (20, 130000),
                                 ('post', 'op1'): (10, 0)})
        head = self.client.head_object(Bucket='meta1', Key='myobjects7')
        self.assertEqual((7000, {'color': 'red'}), (
            head['ContentLength'], head['Metadata']))
        self.run_it(stage('bulk', normal(
            'bulkdelete', 3, target + ';batch=4', 1)))
        self.assertNotIn(
            'Contents', self.client.list_objects_v2(Bucket='meta1'))

    def test_the_sample_runs(self):
        rows = self.run_sample('operations-s3.xml')
        self.assertEqual(20, rows['delete', 'op1'].tally.count)
        self.assertNotIn('operations-s3-1', [
            each['Name'] for each in self.client.list_buckets()['Buckets']])

    def test_endpoints_take_turns_and_sign_for_their_own_host(self):
        port = self.address[1]
        target = 'containers=c(1);cprefix=ends;objects=r(1,10)'
        rows = self.run_it(
            stage('init', special('init', target)),
            stage('prepare', special(
                'prepare', target + ';sizes=c(5)KB;partSize=c(2)KB')),
            stage('read', normal('read', 100, target)),
            more='endpoints=http://127.0.0.1:%d http://localhost:%d' % (
                port, port), drivers=2)
        self.assertCounts(rows, {
            ('prepare', 'op1'): (10, 50000),
            ('prepare', 'op1/part'): (30, 50000),
            ('prepare', 'op1/1'): (5, 25000),
            ('read', 'op1/1'): (50, 250000),
            ('read', 'op1/2'): (50, 250000)})
