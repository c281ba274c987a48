# SPDX-License-Identifier: Apache-2.0
"""Versions through S3: the filter answers as Swift's object_versioning does,
but for the differences that are named here with their reasons.
"""

import pytest

from tests.functional.s3_case import Answers, S3Case

pytestmark = pytest.mark.long

NEW = {'Status': 'Enabled'}
OFF = {'Status': 'Suspended'}


class TestVersions(S3Case):

    def test_configuration_of_buckets(self):
        def script(s3):
            s3('get_bucket_versioning')
            s3.versioning(OFF)
            s3('get_bucket_versioning')
            s3.versioning(NEW)
            s3('get_bucket_versioning')
            s3.versioning(OFF)
            s3('get_bucket_versioning')
            s3.versioning({'Status': 'nonsense'})
            s3.versioning({'Status': 'Enabled', 'MFADelete': 'Enabled'})
            s3('get_bucket_versioning')
            s3('put_bucket_versioning', Bucket='no-such-bucket',
               VersioningConfiguration=NEW)
            s3('get_bucket_versioning', Bucket='no-such-bucket')
            s3('list_object_versions', Bucket='no-such-bucket')
            s3('head_bucket')
        self.compare(script)

    def test_a_bucket_that_was_never_versioned(self):
        def script(s3):
            s3.put('a', b'1')
            s3.put('a', b'2')
            s3.show('a')
            for version in ('null', 'nonsense'):
                for operation in ('get_object', 'head_object',
                                  'delete_object'):
                    s3(operation, 'a', VersionId=version)
            s3.show('a')
        self.compare(script)

    def test_each_version_is_read_by_its_id(self):
        def script(s3):
            s3.versioning(NEW)
            ids = [s3.put('a', b'%d' % number, Metadata={'n': str(number)},
                          ContentType='text/%d' % number)
                   for number in range(3)]
            other = s3.put('b', b'other')
            for operation in ('get_object', 'head_object'):
                s3(operation, 'a')
                for version in [*ids, other, 'null', 'nonsense', '']:
                    s3(operation, 'a', VersionId=version)
                s3(operation, 'none', VersionId=ids[0])
            s3('get_object', 'a', VersionId=ids[0], Range='bytes=0-0')
            s3('get_object', 'a', VersionId=ids[0], IfMatch='"no"')
            s3('get_object', 'a', VersionId=ids[0], PartNumber=1)
            s3('head_object', 'a', VersionId=ids[0], IfNoneMatch='*')
            s3.put('d/', b'')
            s3.put('\u00e9 &%2F?', b'name')
            s3.show()
            s3('delete_bucket')
        self.compare(script)

    def test_a_refused_write_leaves_no_version(self):
        def script(s3):
            s3.versioning(NEW)
            s3.put('a', b'1')
            s3('put_object', 'a', Body=b'no', IfNoneMatch='*')
            s3.put('b', b'1', IfNoneMatch='*')
            s3.show()
        self.compare(script)

    def test_deletion_leaves_a_marker_that_can_be_deleted(self):
        def script(s3):
            s3.versioning(NEW)
            first, second = s3.put('a', b'1'), s3.put('a', b'2')
            marker = s3.delete('a')
            s3.show('a')
            for operation in ('get_object', 'head_object'):
                s3(operation, 'a')
                s3(operation, 'a', VersionId=marker)
                s3(operation, 'a', VersionId=second)
            again = s3.delete('a')
            s3.show('a')
            s3.delete('a', VersionId=again)
            s3.show('a')
            s3.delete('a', VersionId=marker)
            s3.show('a')
            s3.delete('a', VersionId=marker)
            s3.delete('a')
            third = s3.put('a', b'3')
            s3.show('a')
            s3.delete('a', VersionId=third)
            s3.show('a')
            s3.delete('a', VersionId=first)
            s3.show('a')
        self.compare(script)

    def test_versions_are_deleted_one_by_one(self):
        def script(s3):
            s3.versioning(NEW)
            ids = [s3.put('a', b'%d' % number) for number in range(4)]
            for version in (ids[1], ids[3], ids[3], ids[0]):
                s3.delete('a', VersionId=version)
                s3.show('a')
            s3('get_object', 'a', VersionId=ids[3])
            s3.delete('a', VersionId='nonsense')
            s3('delete_bucket')
            s3.delete('a', VersionId=ids[2])
            s3.show('a')
            never = s3.delete('never')
            s3.show('never')
            s3('delete_bucket')
            s3.delete('never', VersionId=never)
            s3.show()
            s3('delete_bucket')
            s3('list_object_versions')
            s3('create_bucket')
            s3('get_bucket_versioning')
            s3.show('a')
        self.compare(script)

    def fill(self, s3):
        """Write objects with some versions each; return the ids of each."""
        s3.versioning(NEW)
        ids = {}
        for key in ('a', 'b/1', 'b/2', 'c', 'c/d', 'e'):
            ids[key] = [s3.put(key, b'%d' % number) for number in range(3)]
        for key in ('b/2', 'c', 'e'):
            ids[key].append(s3.delete(key))
        ids['c'].append(s3.put('c', b'again'))
        return ids

    def test_listings_have_markers_prefixes_and_delimiters(self):
        def script(s3):
            ids = self.fill(s3)
            s3.show()
            s3('list_objects')
            for kwargs in (
                    {'Prefix': 'b'}, {'Prefix': 'b/'}, {'Prefix': 'c'},
                    {'Prefix': 'z'}, {'Delimiter': '/'},
                    {'Delimiter': '/', 'Prefix': 'b/'},
                    {'Delimiter': '/', 'Prefix': 'c'},
                    {'KeyMarker': 'b/1'}, {'KeyMarker': 'b/'},
                    {'KeyMarker': 'c', 'VersionIdMarker': ids['c'][2]},
                    {'KeyMarker': 'c', 'VersionIdMarker': ids['c'][0]},
                    {'KeyMarker': 'e', 'VersionIdMarker': ids['e'][3],
                     'Prefix': 'e'},
                    {'KeyMarker': 'b/', 'Delimiter': '/'},
                    {'VersionIdMarker': ids['c'][2]},
                    {'KeyMarker': 'c', 'VersionIdMarker': 'nonsense'},
                    {'KeyMarker': 'c', 'VersionIdMarker': ''},
                    {'MaxKeys': 0}, {'MaxKeys': 3}, {'MaxKeys': 2000},
                    {'MaxKeys': 2, 'Prefix': 'c'},
                    {'EncodingType': 'url', 'Prefix': 'b'}):
                s3('list_object_versions', **kwargs)
                if not {'KeyMarker', 'VersionIdMarker'} & set(kwargs):
                    s3('list_objects_v2', **kwargs)
        self.compare(script)

    def test_listings_go_on_from_page_to_page(self):
        def script(s3):
            self.fill(s3)
            for most in (1, 2, 5):
                for prefix in ('', 'c'):
                    s3.pages(MaxKeys=most, Prefix=prefix)
        self.compare(script)

    def test_pages_with_delimiter_are_the_whole_listing(self):
        # Swift's own repeats a prefix on each page, at one key a page forever.
        for mode, cluster in self.ours.items():
            s3 = Answers(cluster, 'pages-with-delimiter')
            s3('create_bucket')
            self.fill(s3)
            found = [[each for page in s3.pages(Delimiter='/', MaxKeys=most)
                      for name in ('CommonPrefixes', 'Versions',
                                   'DeleteMarkers')
                      for each in page.get(name, ())]
                     for most in (1, 2, 5, 1000)]
            for pages in found:
                self.assertCountEqual(found[-1], pages, mode)
            self.assertEqual(14, len(found[-1]))

    def test_versions_are_copied_and_restored(self):
        def script(s3):
            s3.versioning(NEW)
            ids = [s3.put('a', b'%d' % number, Metadata={'n': str(number)},
                          ContentType='text/%d' % number)
                   for number in range(2)]
            marker = s3.delete('a')

            def copy(key, version, **kwargs):
                s3('copy_object', key, CopySource={
                    'Bucket': s3.bucket, 'Key': 'a', **(
                        {'VersionId': version} if version else {})}, **kwargs)
                s3('get_object', key)
            for version in (*ids, marker, None, 'nonsense'):
                copy('b', version)
            copy('c', ids[0], MetadataDirective='REPLACE',
                 Metadata={'new': '1'}, ContentType='text/new')
            # Restored.
            copy('a', ids[0])
            copy('a', ids[1])
            copy('a', None, MetadataDirective='REPLACE', Metadata={'m': '2'})
            s3.show('a', 'b', 'c')
            s3.versioning(OFF)
            copy('a', ids[0])
            s3.show('a')
        self.compare(script)

    def test_several_objects_are_deleted_at_once(self):
        def script(s3):
            ids = self.fill(s3)

            def delete(*wanted, **kwargs):
                s3('delete_objects', Delete={'Objects': [
                    {'Key': key, **({'VersionId': version} if version
                                    else {})} for key, version in wanted],
                    **kwargs})
                s3.show()
            delete(('a', None), ('never', None))
            delete(('b/1', ids['b/1'][0]), ('c', ids['c'][3]),
                   ('b/1', ids['b/1'][0]))
            delete(('c', 'nonsense'), ('a', ids['c'][0]))
            delete(('c/d', None), ('c/d', ids['c/d'][1]), Quiet=True)
            # The latest ones.
            delete(('b/1', ids['b/1'][2]), ('e', ids['e'][3]))
            delete(*((key, version) for key in ids for version in ids[key]))
        self.compare(script)

    def test_uploads_in_parts_are_versions(self):
        def script(s3):
            s3.versioning(NEW)
            first = s3.put('a', b'source')

            def upload(*bodies, **kwargs):
                upload_id = s3('create_multipart_upload', 'a',
                               **kwargs)['UploadId']
                parts = [{'PartNumber': number, 'ETag': s3(
                    'upload_part', 'a', UploadId=upload_id, Body=body,
                    PartNumber=number)['ETag']}
                    for number, body in enumerate(bodies, 1)]
                s3('list_parts', 'a', UploadId=upload_id)
                s3('list_multipart_uploads')
                return s3('complete_multipart_upload', 'a',
                          UploadId=upload_id, MultipartUpload={
                              'Parts': parts}).get(
                                  'VersionId') or s3.latest('a')
            second = upload(b'one ' * 9, b'two', Metadata={'n': '2'})
            third = upload(b'three')
            for version in (first, second, third):
                s3('get_object', 'a', VersionId=version)
                s3('head_object', 'a', VersionId=version)
            s3('get_object', 'a', VersionId=second, PartNumber=2)
            s3.show('a')
            target = s3('create_multipart_upload', 'b')['UploadId']
            copied = s3('upload_part_copy', 'b', UploadId=target,
                        PartNumber=1, CopySource={
                            'Bucket': s3.bucket, 'Key': 'a',
                            'VersionId': first})
            s3('complete_multipart_upload', 'b', UploadId=target,
               MultipartUpload={'Parts': [{
                   'PartNumber': 1, 'ETag': copied.get(
                       'CopyPartResult', {}).get('ETag', '')}]})
            aborted = s3('create_multipart_upload', 'b')['UploadId']
            s3('abort_multipart_upload', 'b', UploadId=aborted)
            s3('copy_object', 'b', CopySource={
                'Bucket': s3.bucket, 'Key': 'a', 'VersionId': second})
            s3.delete('a', VersionId=second)
            marker = s3.delete('a')
            s3.show('a', 'b')
            s3.delete('a', VersionId=marker)
            s3.delete('a', VersionId=third)
            s3.show('a', 'b')
        self.compare(script)
