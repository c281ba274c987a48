# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of noncurrent versions through S3, which Swift's own
versioning does not have.
"""

import pytest
from swift.common.middleware.s3api import s3api

from tests.functional.clusters import wait_for
from tests.functional.s3_case import Answers, S3Case

pytestmark = pytest.mark.long

NEW = {'Status': 'Enabled'}


class TestLifecycle(S3Case):

    @classmethod
    def setUpClass(cls):
        # Without the patch, s3api deletes a bucket with its rule.
        assert hasattr(s3api, 'load_subresource_controllers'), \
            'Swift is not patched; run swift-lightsync-patch apply first'
        super().setUpClass()

    def test_the_lifecycle_of_noncurrent_versions(self):
        for mode, cluster in self.ours.items():
            with self.subTest(mode):
                self.check_lifecycle(Answers(cluster, 'lifecycle'))

    def test_versions_beyond_the_rule_are_removed(self):
        for mode, cluster in self.ours.items():
            with self.subTest(mode):
                s3 = Answers(cluster, 'removed')
                s3('create_bucket')
                s3.versioning(NEW)
                ids = [s3.put('a', b'%d' % number) for number in range(4)]
                s3('put_bucket_lifecycle_configuration',
                   LifecycleConfiguration={'Rules': [{
                       'Status': 'Enabled', 'Filter': {'Prefix': ''},
                       'NoncurrentVersionExpiration': {
                           'NewerNoncurrentVersions': 2}}]})
                wait_for(lambda: self.left(s3) == ids[:0:-1],
                         'the oldest version is removed')
                s3.put('a', b'newest')
                wait_for(lambda: self.left(s3)[1:] == ids[:1:-1],
                         'the next one is removed')
                self.assertEqual(404, s3(
                    'get_object', 'a', VersionId=ids[1])[
                        'ResponseMetadata']['HTTPStatusCode'])

    def left(self, s3):
        return [each['VersionId'] for each in s3.client.list_object_versions(
            Bucket=s3.bucket)['Versions']]

    def check_lifecycle(self, s3):
        def put(rule):
            return s3('put_bucket_lifecycle_configuration',
                      LifecycleConfiguration={'Rules': [rule]})

        def code(answer):
            return answer.get('Error', {}).get('Code')

        s3('create_bucket')
        limits = {'NoncurrentDays': 30, 'NewerNoncurrentVersions': 5}
        rule = {'ID': 'old', 'Status': 'Enabled', 'Filter': {'Prefix': ''},
                'NoncurrentVersionExpiration': limits}
        self.assertEqual('InvalidRequest', code(put(rule)))
        s3.versioning(NEW)
        s3.put('a', b'1')
        get = 'get_bucket_lifecycle_configuration'
        self.assertEqual('NoSuchLifecycleConfiguration', code(s3(get)))
        for limits in ({'NoncurrentDays': 30, 'NewerNoncurrentVersions': 5},
                       {'NoncurrentDays': 1}, {'NewerNoncurrentVersions': 9}):
            for status in ('Enabled', 'Disabled'):
                rule.update(Status=status, NoncurrentVersionExpiration=limits)
                self.assertIsNone(code(put(rule)))
                self.assertEqual([rule], s3(get)['Rules'])
        self.assertEqual('NotImplemented', code(put(
            {**rule, 'Filter': {'Prefix': 'a/'}})))
        self.assertEqual('NotImplemented', code(put(
            {**rule, 'Expiration': {'Days': 3}})))
        self.assertEqual('InvalidArgument', code(put({
            **rule, 'NoncurrentVersionExpiration': {'NoncurrentDays': 0}})))
        self.assertEqual([rule], s3(get)['Rules'])
        for _ in range(2):
            self.assertIsNone(code(s3('delete_bucket_lifecycle')))
            self.assertEqual('NoSuchLifecycleConfiguration', code(s3(get)))
        self.assertEqual(['a'], [each['Key'] for each in s3(
            'list_object_versions')['Versions']])
        self.assertEqual('NoSuchBucket', code(s3(
            get, Bucket='no-such-bucket')))
