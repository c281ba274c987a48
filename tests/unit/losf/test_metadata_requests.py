# SPDX-License-Identifier: Apache-2.0
"""Requests that want no data read no volume: the index has the metadata."""

import contextlib
import os
from unittest import mock

from swift.common.utils import Timestamp

from swift_losf.diskfile import vfile
from tests.unit.losf.kv_world import KVTest, World, wait_for
from tests.unit.losf.test_fragments import FragmentTest

MOST = 1000


@contextlib.contextmanager
def without_volumes():
    """Let nobody open a volume in order to read from it."""
    with mock.patch.object(vfile._Wanted, 'open',
                           side_effect=AssertionError('opened')):
        yield


class WithMetadata:
    """A KVTest whose index has metadata."""

    arguments = '--index-metadata', '%d' % MOST

    @classmethod
    def setUpClass(cls):
        cls.world = World()
        os.mkdir(cls.world.path('d1'))
        cls.world.serve('d1', *cls.arguments)

    @classmethod
    def tearDownClass(cls):
        cls.world.close()

    def setUp(self):
        super().setUp()
        # The first call tells a client what is wanted.
        wait_for(self.is_ready, 'the index says what it takes')

    def is_ready(self):
        self.store().known_files(self.hash())
        return self.store().index._places.wanted(b'x')


class TestFragments(WithMetadata, FragmentTest):

    def test_metadata_of_a_fragment_are_told_without_a_volume(self):
        self.put(3, self.now())
        with without_volumes():
            found = self.diskfile().read_metadata()
        with self.diskfile().open() as read:
            self.assertEqual(read.get_metadata(), found)
        self.assertEqual('3', found['X-Object-Sysmeta-Ec-Frag-Index'])


class TestRequests(WithMetadata, KVTest):

    def setUp(self):
        super().setUp()
        self.assert_status(404, 'HEAD')

    def put(self, **headers):
        return self.assert_status(201, 'PUT', body=b'data', **headers)

    def head(self):
        """:returns: the headers of a HEAD, which is answered as a GET is"""
        with without_volumes():
            found = self.assert_status(200, 'HEAD')
        read = self.assert_status(200, 'GET')
        self.assertEqual(dict(read.headers), dict(found.headers))
        return found.headers

    def test_head_reads_no_volume(self):
        self.put(X_Object_Meta_Color='blue')
        found = self.head()
        self.assertEqual(('blue', '4'), (found['X-Object-Meta-Color'],
                                         found['Content-Length']))

    def test_post_reads_no_volume_and_head_merges_what_it_wrote(self):
        self.put(X_Object_Meta_Color='blue')
        with without_volumes():
            self.assert_status(202, 'POST', X_Object_Meta_Color='red',
                               Content_Type='image/png')
        self.assertEqual(2, len(self.files()))
        found = self.head()
        self.assertEqual(('red', 'image/png'), (
            found['X-Object-Meta-Color'], found['Content-Type']))

    def test_put_if_none_match_and_delete_read_no_volume(self):
        self.put()
        with without_volumes():
            self.assert_status(412, 'PUT', body=b'new', If_None_Match='*')
            self.assert_status(204, 'DELETE')
            self.assert_status(404, 'HEAD')

    def test_what_is_too_long_is_read_from_the_volume(self):
        self.put(**{'X_Object_Meta_%d' % each: 250 * 'b'
                    for each in range(MOST // 250)})
        with without_volumes():
            self.assertEqual(500, self.request('HEAD').status_int)
        self.assertEqual(250 * 'b', self.assert_status(
            200, 'HEAD').headers['X-Object-Meta-3'])

    def test_what_expired_is_gone(self):
        self.put(X_Delete_At='%d' % (2 ** 33))
        self.head()
        with without_volumes(), mock.patch(
                'time.time', return_value=2 ** 33 + 1):
            self.assert_status(404, 'HEAD', X_Timestamp=Timestamp(
                2 ** 33 + 1).internal)

    def test_data_that_is_damaged_is_put_into_quarantine_by_get(self):
        self.put()
        self.overwrite(self.only_file()[1], 64, b'DATA')
        self.assert_status(200, 'HEAD')
        self.assert_status(404, 'GET')
        self.assert_status(404, 'HEAD')


class TestWithTable(TestRequests):
    """The same with a table, which is there once a part power is known."""

    arguments = (*WithMetadata.arguments, '--part-power', '4')

    def setUp(self):
        super().setUp()
        wait_for(lambda: self.store().known_files(self.hash()) is not None,
                 'a table is there')

    def test_head_needs_no_call(self):
        self.put()
        self.assert_status(200, 'HEAD')
        with self.world.suspended('d1'):
            self.head()
