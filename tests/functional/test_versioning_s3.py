# SPDX-License-Identifier: Apache-2.0
"""
Versions through S3: the versioning filter answers as Swift's own does.

Two clusters of one node get the same calls, one with the filter and one with
Swift's object_versioning. All that they answer is compared, but for what
differs by nature: an id is known by the order in which it was first seen.
DIFFERENCES names what else differs, and why.
"""

import time
import unittest
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from tempfile import mkdtemp

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port

pytestmark = pytest.mark.long

#: A slow machine is not a failure, and parts may be small.
PATIENT = {'conn_timeout': 30, 'node_timeout': 120}
OPTIONS = {
    'object-server': {'app:object-server': {
        **PATIENT, 'container_update_timeout': 120}},
    'proxy-server': {
        'app:proxy-server': {**PATIENT, 'recoverable_node_timeout': 120},
        'filter:s3api': {
            'min_segment_size': 1,
            'subresource_controllers': 'egg:swift-lightsync#lifecycle'}}}
OURS = {'site': 'rome', 'site_preference': 'rome'}
MODES = ('write-repair', 'read-repair')
NEW = {'Status': 'Enabled'}
OFF = {'Status': 'Suspended'}
#: what is no answer to the call, or is the cluster's address
IGNORED = {'ResponseMetadata', 'RequestId', 'HostId', 'Location'}
IDS = {'VersionId', 'NextVersionIdMarker', 'VersionIdMarker',
       'DeleteMarkerVersionId', 'CopySourceVersionId'}
HEADERS = ('x-amz-copy', 'x-amz-delete', 'x-amz-meta', 'x-amz-version')
OPAQUE = {'UploadId', 'ContinuationToken', 'NextContinuationToken'}


@dataclass(frozen=True)
class Difference:
    """
    One known difference.

    :param test: in which test
    :param call: the call, as ``Answers`` names it
    :param stock: what Swift's object_versioning answers, as far as it differs
    :param ours: what the filter answers
    :param reason: why
    """

    test: str
    call: str
    stock: str
    ours: str
    reason: str


DIFFERENCES: tuple[Difference, ...] = ()


@contextmanager
def running_cluster(versioning):
    """A cluster of one node that is destroyed at the end."""
    cluster = Cluster(ClusterSpec(
        root=mkdtemp(prefix='ls-'), base_port=free_base_port(1), nodes=1,
        policies=(Policy('gold', 0, 1, part_power=5),),
        replication_ports=False, versioning=versioning, options=OPTIONS))
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.destroy()


class Answers:
    """
    Makes S3 calls on one bucket, and keeps what is answered.

    :param cluster: a ``Cluster``
    :param bucket: the bucket's name
    """

    def __init__(self, cluster, bucket):
        environment = cluster.environment()
        self.bucket = bucket
        self.client = boto3.client(
            's3', region_name='us-east-1',
            endpoint_url=environment['ST_AUTH'].removesuffix('/auth/v1.0'),
            aws_access_key_id=environment['ST_USER'],
            aws_secret_access_key=environment['ST_KEY'],
            config=Config(s3={'addressing_style': 'path'}, read_timeout=300,
                          retries={'total_max_attempts': 1}))
        self.ids = {}
        #: call -> what is answered, as path -> value
        self.log = {}

    def __call__(self, operation, key=None, **kwargs):
        """
        Make a call.

        :returns: boto's answer, of an error too; 'Body' is read
        """
        if key is not None:
            kwargs['Key'] = key
        call = ' '.join([operation] + ['%s=%s' % item for item in self._flat(
            self._normal(kwargs)).items()])
        try:
            answer = getattr(self.client, operation)(
                **{'Bucket': self.bucket, **kwargs})
            if 'Body' in answer:
                answer['Body'] = answer['Body'].read()
        except ClientError as err:
            answer = err.response
            answer.get('Error', {}).pop('Message', None)
        same = sum(each.partition(' #')[0] == call for each in self.log)
        metadata = answer['ResponseMetadata']
        self.log['%s #%d' % (call, same + 1) if same else call] = self._flat({
            **self._normal(answer), 'status': metadata['HTTPStatusCode'],
            **{name: self._normal(value, 'VersionId' if 'version' in name
                                  else name)
               for name, value in metadata['HTTPHeaders'].items()
               if name.startswith(HEADERS)}})
        return answer

    def put(self, key, body, **kwargs):
        """Return the id of a new version."""
        return self('put_object', key, Body=body, **kwargs).get(
            'VersionId') or self.latest(key)

    def delete(self, key, **kwargs):
        """Return the id of a delete marker, if that is what it makes."""
        return self('delete_object', key, **kwargs).get(
            'VersionId') or self.latest(key)

    def latest(self, key):
        """Return the id of the latest version, if listings know it."""
        answer = self.client.list_object_versions(
            Bucket=self.bucket, Prefix=key)
        return next((each['VersionId'] for name in ('Versions',
                                                    'DeleteMarkers')
                     for each in answer.get(name, ())
                     if each['IsLatest'] and each['Key'] == key), 'nonsense')

    def versioning(self, status):
        self('put_bucket_versioning', VersioningConfiguration=status)

    def show(self, *keys):
        """Ask for all versions of the bucket, and for objects."""
        self('list_object_versions')
        self('list_objects_v2')
        for key in keys:
            self('get_object', key)

    def pages(self, operation, markers, **kwargs):
        """Ask for page after page of a listing."""
        seen = []
        while kwargs not in seen:
            seen.append(dict(kwargs))
            answer = self(operation, **kwargs)
            if answer.get('IsTruncated'):
                kwargs.update({name: answer[found] for name, found in markers
                               if found in answer})

    def _normal(self, value, name=''):
        """Return a value without what differs by nature."""
        if isinstance(value, dict):
            return {each: self._normal(item, each) for each, item in
                    value.items() if each not in IGNORED}
        if isinstance(value, (list, tuple)):
            # What is deleted at once is told in no order.
            return [self._normal(each) for each in (sorted(
                value, key=str) if name in ('Deleted', 'Errors') else value)]
        if isinstance(value, datetime):
            return 'a time'
        if name in OPAQUE:
            return name
        if name in IDS and value not in ('null', '', 'nonsense') or \
                isinstance(value, str) and value in self.ids:
            return self.ids.setdefault(value, 'v%d' % (len(self.ids) + 1))
        if name == 'CopySource' and 'VersionId' in value:
            return '%s?%s' % (value['Key'], self._normal(
                value['VersionId'], 'VersionId'))
        return value

    def _flat(self, value, path=''):
        """Return path -> value of all that has no parts."""
        parts = value.items() if isinstance(value, dict) else \
            enumerate(value) if isinstance(value, list) else None
        if parts is None:
            return {path: value}
        return {each: item for name, part in parts for each, item in
                self._flat(part, '%s.%s' % (path, name) if path
                           else str(name)).items()}


class TestVersioningS3(unittest.TestCase):
    """Each test makes its calls on all clusters, and compares the answers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        stack = cls.enterClassContext(ExitStack())
        cls.stock = stack.enter_context(running_cluster({}))
        cls.ours = {mode: stack.enter_context(running_cluster(
            {**OURS, 'mode': mode})) for mode in MODES}

    def compare(self, script):
        """Run a script of calls on all clusters; compare what they answer."""
        bucket = 'b%d' % (time.time() * 1e6)
        logs = {}
        for name, cluster in [('stock', self.stock), *self.ours.items()]:
            s3 = Answers(cluster, bucket)
            s3('create_bucket')
            script(s3)
            logs[name] = s3.log
        for mode in self.ours:
            with self.subTest(mode):
                self.assertEqual(self.known(), {
                    call: (stock, ours) for call, stock, ours in differing(
                        logs['stock'], logs[mode])})

    def known(self):
        """Return the differences of this test that have a reason."""
        name = self.id().rpartition('.')[2]
        return {each.call: (each.stock, each.ours)
                for each in DIFFERENCES if each.test == name}

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
            s3('put_object', 'a', Body=b'', IfNoneMatch='*')
            s3.put('d/', b'')
            s3.put('\u00e9 &%2F?', b'name')
            s3.show()
            s3('delete_bucket')
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
            s3.delete('a', VersionId='null')
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

    def test_an_object_from_before_is_the_null_version(self):
        def script(s3):
            for key in 'abcd':
                s3.put(key, b'before')
            s3.versioning(NEW)
            s3.show('a')
            s3('get_object', 'a', VersionId='null')
            s3('head_object', 'a', VersionId='null')
            new = s3.put('a', b'1')
            s3('get_object', 'a', VersionId='null')
            marker = s3.delete('b')
            s3('get_object', 'b', VersionId='null')
            s3.show('a', 'b')
            s3.delete('c', VersionId='null')
            s3.show('c')
            s3.delete('a', VersionId=new)
            s3.delete('b', VersionId=marker)
            s3.show('a', 'b')
            s3.put('d', b'1')
            s3.delete('d', VersionId='null')
            s3.delete('d', VersionId='null')
            s3.show('d')
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
            s3.versioning(NEW)
            s3.put('a', b'2')
            s3('get_object', 'a', VersionId='null')
            s3.show('a')
            s3.versioning(OFF)
            s3.put('a', b'null 3')
            s3.show('a')
            s3.delete('a', VersionId='null')
            s3.show('a')
            s3.delete('b', VersionId=only)
            s3.show('b')
        self.compare(script)

    def test_while_suspended_a_deletion_is_a_null_marker(self):
        def script(s3):
            s3.versioning(NEW)
            first = s3.put('a', b'1')
            s3.versioning(OFF)
            s3.put('a', b'null')
            s3.delete('a')
            s3.show('a')
            s3('get_object', 'a', VersionId='null')
            s3('get_object', 'a', VersionId=first)
            s3.delete('a', VersionId='null')
            s3.show('a')
            s3.delete('never')
            s3.show('never')
            s3.versioning(NEW)
            s3.delete('a')
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
                for kwargs in ({}, {'Prefix': 'c'}, {'Delimiter': '/'}):
                    s3.pages('list_object_versions', (
                        ('KeyMarker', 'NextKeyMarker'),
                        ('VersionIdMarker', 'NextVersionIdMarker')),
                        MaxKeys=most, **kwargs)
                    s3.pages('list_objects_v2', ((
                        'ContinuationToken', 'NextContinuationToken'),),
                        MaxKeys=most, **kwargs)
        self.compare(script)

    def test_versions_are_copied_and_restored(self):
        def script(s3):
            s3.put('a', b'null')
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
            for version in (*ids, 'null', marker, None, 'nonsense'):
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
            delete(('a', None), ('e', None), ('never', None))
            delete(('b/1', ids['b/1'][0]), ('b/1', ids['b/1'][2]),
                   ('c', ids['c'][4]), ('e', ids['e'][3]))
            delete(('b/2', ids['b/2'][0]), ('b/2', ids['b/2'][0]),
                   ('c', 'nonsense'), ('c', 'null'), ('a', ids['c'][0]))
            delete(('c/d', None), ('c/d', ids['c/d'][1]), Quiet=True)
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


def differing(stock, ours):
    """
    Compare what was answered to the same calls.

    :returns: tuples (call, what only the first says, what only the second)
    """
    for call in dict.fromkeys([*stock, *ours]):
        one, other = stock.get(call, {'no such call': ''}), ours.get(
            call, {'no such call': ''})
        if one != other:
            yield call, *(' '.join(
                '%s=%s' % item for item in mine.items()
                if item not in theirs.items()) for mine, theirs in (
                    (one, other), (other, one)))
