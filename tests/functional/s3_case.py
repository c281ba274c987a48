# SPDX-License-Identifier: Apache-2.0
"""S3 calls on clusters of one node, and a comparison of what they answer.

What differs by nature is left out: times, the server's address, and ids, which
are known by the order in which they were first seen.
"""

from contextlib import ExitStack, contextmanager
from datetime import datetime
from tempfile import mkdtemp
from unittest import TestCase

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.functional.s3_differences import DIFFERENCES
from tools.cluster import Cluster, ClusterSpec, Policy, free_base_port

#: A slow machine is not a failure, and parts may be small.
PATIENT = {'conn_timeout': 30, 'node_timeout': 120}
OPTIONS = {
    'container-server': {'container-propagator': {
        'compare_interval': 1, 'scan_interval': 0.5}},
    'object-server': {'app:object-server': {
        **PATIENT, 'container_update_timeout': 120}},
    'proxy-server': {
        'app:proxy-server': {**PATIENT, 'recoverable_node_timeout': 120},
        'filter:s3api': {
            'min_segment_size': 1,
            'subresource_controllers': 'egg:swift-lightsync#lifecycle'}}}
OURS = {'site': 'rome', 'site_preference': 'rome'}
MODES = ('write-repair', 'read-repair')
#: what is no answer to the call, or is the cluster's address
IGNORED = {'ResponseMetadata', 'RequestId', 'HostId', 'Location', 'Message'}
IDS = {'VersionId', 'NextVersionIdMarker', 'VersionIdMarker',
       'DeleteMarkerVersionId', 'CopySourceVersionId'}
WRITES = ('put_object', 'delete_object', 'copy_object',
          'complete_multipart_upload')
HEADERS = ('x-amz-copy', 'x-amz-delete', 'x-amz-meta', 'x-amz-version')
OPAQUE = {'UploadId', 'ContinuationToken', 'NextContinuationToken'}
#: what is told of answers whose statuses differ
STATUS = ('status', 'Error.Code', 'VersionId', 'Body')
#: What is deleted at once is told in no order.
UNORDERED = {'Deleted', 'Errors'}


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


def s3_client(cluster):
    """Return a boto3 client of the test user of a Cluster."""
    environment = cluster.environment()
    return boto3.client(
        's3', region_name='us-east-1',
        endpoint_url=environment['ST_AUTH'].removesuffix('/auth/v1.0'),
        aws_access_key_id=environment['ST_USER'],
        aws_secret_access_key=environment['ST_KEY'],
        config=Config(s3={'addressing_style': 'path'}, read_timeout=300,
                      retries={'total_max_attempts': 1}))


class Answers:
    """Makes S3 calls on one bucket, and keeps what is answered.

    :param cluster: a ``Cluster``
    :param bucket: the bucket's name
    """

    def __init__(self, cluster, bucket):
        self.bucket = bucket
        self.client = s3_client(cluster)
        self.ids = {}
        #: call -> lines that say what is answered
        self.log = {}

    def __call__(self, operation, key=None, **kwargs):
        """Make a call.

        :returns: boto's answer, of an error too; 'Body' is read
        """
        if key is not None:
            kwargs['Key'] = key
        call = ' '.join([operation, *self._lines(kwargs)])
        while call in self.log:
            call += ' again'
        try:
            answer = getattr(self.client, operation)(
                **{'Bucket': self.bucket, **kwargs})
            if 'Body' in answer:
                answer['Body'] = answer['Body'].read()
        except ClientError as err:
            answer = err.response
        if operation in WRITES and 'VersionId' not in kwargs:
            # What else has an id that clients are not told has another name.
            self._name(answer.get('VersionId'), 'v')
        headers = answer['ResponseMetadata']['HTTPHeaders']
        self.log[call] = [
            'status=%d' % answer['ResponseMetadata']['HTTPStatusCode'],
            *self._lines(answer), *sorted(self._lines({
                name: value for name, value in headers.items()
                if name.startswith(HEADERS)}))]
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
        found = [each['VersionId'] for name in ('Versions', 'DeleteMarkers')
                 for each in answer.get(name, ())
                 if each['IsLatest'] and each['Key'] == key]
        self._name(*found or [None], 'v')
        return found[0] if found else 'nonsense'

    def versioning(self, status):
        self('put_bucket_versioning', VersioningConfiguration=status)

    def show(self, *keys):
        """Ask for all versions of the bucket, and for objects."""
        self('list_object_versions')
        self('list_objects_v2')
        for key in keys:
            self('get_object', key)

    def pages(self, **kwargs):
        """Return the pages of listings of versions, and ask for objects."""
        pages, versions, objects = [{}], dict(kwargs), dict(kwargs)
        while len(pages) < 50 and pages[-1].get('IsTruncated', True):
            pages.append(self('list_object_versions', **versions))
            versions.update(
                KeyMarker=pages[-1].get('NextKeyMarker', ''),
                VersionIdMarker=pages[-1].get('NextVersionIdMarker', ''))
        token = self('list_objects_v2', **objects)
        while token.get('IsTruncated'):
            token = self('list_objects_v2', **objects,
                         ContinuationToken=token['NextContinuationToken'])
        return pages[1:]

    def _name(self, value, letter='x'):
        """Return what an id is called here."""
        if value in (None, 'null', '', 'nonsense'):
            return value
        return self.ids.setdefault(value, '%s%d' % (letter, 1 + sum(
            name[0] == letter for name in self.ids.values())))

    def _lines(self, value, path=''):
        """Return what a value says, without what differs by nature."""
        name = path.rpartition('.')[2]
        if isinstance(value, dict):
            if 'IsLatest' in value or path == 'Contents':
                # An entry is known by its first line.
                first = ' '.join([path, value['Key'], *(
                    self._name(value[each]) for each in ('VersionId',)
                    if each in value), *['latest'] * value.get('IsLatest', 0)])
                return [first, *self._lines(
                    {each: value[each] for each in value if each not in (
                        'Key', 'VersionId', 'IsLatest')}, first)]
            return [line for each in value if each not in IGNORED for line in
                    self._lines(value[each], '%s.%s' % (path, each)
                                if path else each)]
        if isinstance(value, list):
            return [line for each in (sorted(value, key=str)
                                      if name in UNORDERED else value)
                    for line in self._lines(each, path)]
        if name in IDS or 'version' in name or value in self.ids:
            value = self._name(value)
        return ['%s=%s' % (path, 'some' if name in OPAQUE or isinstance(
            value, datetime) else value)]


def differing(stock, ours):
    """Compare what was answered to the same calls.

    :returns: tuples (call, what only the first says, what only the second)
    """
    for call in dict.fromkeys([*stock, *ours]):
        one, other = (log.get(call, ['is not called']) for log in (
            stock, ours))
        if one != other:
            found = [_shortened([line for line in mine if line not in theirs])
                     for mine, theirs in ((one, other), (other, one))]
            yield (call, *found) if any(found) else (call, 'order', 'order')


def _shortened(lines):
    """Return lines as a text, without what follows from others of them."""
    if lines and lines[0].startswith('status='):
        lines = [line for line in lines if line.startswith(STATUS)]
    return '; '.join(line for line in lines if not any(
        line.startswith(each + '.') for each in lines))


class S3Case(TestCase):
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
        bucket = self.id().rpartition('.test_')[2].replace('_', '-')
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
        name = self.id().rpartition('.test_')[2]
        return {each.call: (each.stock, each.ours)
                for several in DIFFERENCES.values() for each in several
                if each.test == name}
