# SPDX-License-Identifier: Apache-2.0
"""Null versions through S3: objects from before their bucket was versioned,
and what is written while versioning is suspended.
"""

import pytest

from tests.functional.s3_case import S3Case

pytestmark = pytest.mark.long

NEW = {'Status': 'Enabled'}
OFF = {'Status': 'Suspended'}


class TestNullVersions(S3Case):

    def test_an_object_from_before_is_the_null_version(self):
        def script(s3):
            for key in 'abc':
                s3.put(key, b'before')
            s3.versioning(NEW)
            s3.show('a')
            s3('get_object', 'a', VersionId='null')
            s3('head_object', 'a', VersionId='null')
            s3.delete('c', VersionId='null')
            s3.show('c')
            new = s3.put('a', b'1')
            marker = s3.delete('b')
            s3.show('a', 'b')
            s3('get_object', 'a', VersionId='null')
            s3('copy_object', 'd', CopySource={
                'Bucket': s3.bucket, 'Key': 'a', 'VersionId': 'null'})
            s3.delete('a', VersionId=new)
            s3.delete('b', VersionId=marker)
            s3('list_objects_v2')
            s3('get_object', 'a')
        self.compare(script)

    def test_the_null_version_is_deleted(self):
        def script(s3):
            s3.put('a', b'before')
            s3.versioning(NEW)
            s3.put('a', b'1')
            s3.delete('a', VersionId='null')
            s3.show('a')
            # There is none any more.
            s3.delete('a', VersionId='null')
            s3.show('a')
        self.compare(script)

    def test_while_suspended_writes_replace_the_null_version(self):
        def script(s3):
            s3.versioning(NEW)
            first = s3.put('a', b'1')
            only = s3.put('b', b'1')
            s3.versioning(OFF)
            s3.put('a', b'null 1')
            s3.show('a')
            s3.put('a', b'null 2')
            s3.show('a')
            s3('get_object', 'a', VersionId='null')
            s3('get_object', 'a', VersionId=first)
            s3.delete('b', VersionId=only)
            s3.show('b')
            s3.delete('a', VersionId='null')
            s3.show('a')
            s3.versioning(NEW)
            s3.put('a', b'2')
            s3.show('a')
        self.compare(script)

    def test_while_suspended_a_deletion_is_a_null_marker(self):
        def script(s3):
            s3.versioning(NEW)
            first = s3.put('a', b'1')
            s3.versioning(OFF)
            s3.put('a', b'null')
            s3.delete('a')
            s3('list_objects_v2')
            s3('get_object', 'a')
            s3('get_object', 'a', VersionId='null')
            s3('get_object', 'a', VersionId=first)
            s3('list_object_versions')
            s3.delete('a', VersionId='null')
            s3.show('a')
        self.compare(script)
