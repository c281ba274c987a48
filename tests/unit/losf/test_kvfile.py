# SPDX-License-Identifier: Apache-2.0
"""Objects in volumes, as an object server sees them, with real indexes."""

import os
import subprocess
import sys
import time
from unittest import mock

from swift.common.concurrency import GreenPool
from swift.common.exceptions import DiskFileNoSpace
from swift.common.utils import Timestamp

from swift_losf.diskfile.kvfile import KVDiskFileManager
from swift_losf.errors import IndexUnavailable
from swift_losf.index.channel import Channel
from tests import waiting
from tests.descriptors import open_below
from tests.unit.losf.kv_world import (
    DEADLINE,
    LONG,
    PARTITION,
    Body,
    KVTest,
    bytes_of,
    wait_for,
    watched_hub,
    with_devices,
)

setUpModule, tearDownModule = with_devices('d1', 'd2')


class TestVerbs(KVTest):

    def test_what_was_put_can_be_got(self):
        for length in (0, 1, 65536, 262144, 262145, LONG):
            data = bytes_of(length)
            self.assert_status(201, 'PUT', body=data, X_Object_Meta_A='b')
            response = self.assert_status(200, 'GET')
            self.assertEqual(data, response.body)
            self.assertEqual('b', response.headers['X-Object-Meta-A'])
            response = self.assert_status(200, 'HEAD')
            self.assertEqual(length, response.content_length)
            self.assertEqual(1, len(self.files()))

    def test_ranges(self):
        data = bytes_of(LONG)
        self.assert_status(201, 'PUT', body=data)
        for start, stop in ((0, 10), (65530, 65550), (LONG - 1, LONG)):
            response = self.assert_status(
                206, 'GET', Range='bytes=%d-%d' % (start, stop - 1))
            self.assertEqual(data[start:stop], response.body)

    def test_a_post_replaces_the_metadata_of_the_post_before(self):
        self.assert_status(201, 'PUT', body=b'x')
        self.assert_status(202, 'POST', X_Object_Meta_A='1')
        self.assert_status(202, 'POST', X_Object_Meta_B='2')
        headers = self.assert_status(200, 'HEAD').headers
        self.assertEqual('2', headers['X-Object-Meta-B'])
        self.assertNotIn('X-Object-Meta-A', headers)
        self.assertEqual(2, len(self.files()))

    def test_a_deleted_object_is_gone(self):
        self.assert_status(201, 'PUT', body=b'x')
        data = self.only_file()[1]
        self.assert_status(204, 'DELETE')
        self.assertNotEqual(data.volume, self.only_file()[1].volume)
        for verb in 'GET', 'HEAD', 'DELETE':
            self.assertIn('X-Backend-Timestamp', self.assert_status(
                404, verb).headers)
        self.assert_status(404, 'POST')
        self.assertEqual(['.ts'], [os.path.splitext(name)[1]
                                   for name in self.files()])

    def test_an_older_put_changes_nothing(self):
        older = self.now().internal
        self.assert_status(201, 'PUT', body=b'new')
        self.assert_status(409, 'PUT', body=b'old', X_Timestamp=older)
        self.assertEqual(b'new', self.request('GET').body)

    def test_an_expired_object_is_gone_and_holds_nothing_open(self):
        self.assert_status(201, 'PUT', body=bytes_of(LONG),
                           X_Delete_At=str(int(time.time()) + 100))
        self.assert_status(200, 'GET')
        before = open_below(self.world.root)
        for verb in 2 * ('GET', 'HEAD', 'POST'):
            self.assert_status(404, verb, X_Timestamp=Timestamp(
                time.time() + 200).internal)
        self.assertEqual(before, open_below(self.world.root))

    def test_the_expirer_deletes_only_what_it_was_to_delete(self):
        when = str(int(time.time()) + 100)
        self.assert_status(201, 'PUT', body=b'x', X_Delete_At=when)
        with mock.patch('swift.obj.server.time.time',
                        return_value=time.time() + 200):
            self.assert_status(412, 'DELETE', X_If_Delete_At='1')
            self.assert_status(204, 'DELETE', X_If_Delete_At=when)

    def test_how_often_the_index_is_asked(self):
        calls = []
        call = Channel.call

        def counted(channel, method, message):
            calls.append(method)
            return call(channel, method, message)
        # Without one the index publishes nothing.
        self.store().index.set_part_power(10)
        self.assert_status(201, 'PUT', name='makes-volumes')
        self.assert_status(204, 'DELETE', name='makes-volumes')
        wait_for(lambda: self.store().known_files('0' * 32) is not None,
                 'the table is there')
        with mock.patch.object(Channel, 'call', counted):
            for verb, most in (('PUT', 1), ('GET', 0), ('HEAD', 0),
                               ('POST', 1), ('GET', 0), ('HEAD', 0),
                               ('POST', 1), ('PUT', 1), ('DELETE', 1)):
                calls.clear()
                self.request(verb, body=b'x' if verb == 'PUT' else b'')
                self.assertLessEqual(len(calls), most, (verb, calls))

    def test_64_requests_at_once(self):
        names = ['%s-%d' % (self.object, number) for number in range(64)]

        def others_first(_):
            # It would be in vain on the thread that others run on.
            before = len(rounds)
            waiting.wait_for(lambda: len(rounds) > before, 'a turn', DEADLINE)
            return mock.DEFAULT
        with watched_hub() as rounds, mock.patch(
                'os.fdatasync', wraps=os.fdatasync,
                side_effect=others_first) as flush:
            statuses = {response.status_int for response in GreenPool(64).imap(
                lambda name: self.request('PUT', name=name, body=b'x'),
                names)}
        self.assertEqual({201}, statuses)
        flush.assert_called()
        for name in names:
            self.assertEqual(b'x', self.request('GET', name=name).body)

    def test_an_upload_that_breaks_off_leaves_nothing(self):
        self.assert_status(499, 'PUT', body=Body(bytes_of(LONG), LONG),
                           Content_Length=str(LONG + 1))
        self.assert_status(404, 'GET')
        self.assert_status(201, 'PUT', body=bytes_of(LONG))

    def test_dropping_the_cache_drops_that_of_the_volume(self):
        self.write(bytes_of(LONG), 1)
        offset = self.only_file()[1].data_offset
        with mock.patch('swift.obj.diskfile.DROP_CACHE_WINDOW', LONG // 2), \
                mock.patch('swift.obj.diskfile.drop_buffer_cache') as drop, \
                self.diskfile().open() as df:
            for _ in df.reader():
                pass
        ranges = [call.args[1:] for call in drop.mock_calls]
        self.assertEqual(offset, ranges[0][0])
        self.assertEqual(LONG, sum(length for _, length in ranges))


class TestWriter(KVTest):

    def test_a_writer_that_writes_nothing_leaves_nothing(self):
        # So does an ssync receiver, when it has nothing to put.
        with self.diskfile().create(size=LONG) as writer:
            writer.commit(Timestamp(1))
        self.assertEqual({}, self.files())

    def test_a_listing_that_was_stale_takes_nothing_else_with_it(self):
        self.write(b'old', 1)
        register = self.store().register

        def stale(*args):
            files = register(*args)
            # Meanwhile another server has put a newer one.
            self.write(b'new', 3, manager=KVDiskFileManager(
                self.conf(), self.logger))
            return files + [('0000000000.50000.data', None)]
        with mock.patch.object(self.store(), 'register', stale):
            self.write(b'between', 2)
        self.assertEqual(b'new', self.request('GET').body)
        self.assertEqual(['0000000003.00000.data'], list(self.files()))

    def test_a_cleanup_that_fails_fails_no_put(self):
        self.write(b'old', 1)
        with mock.patch.object(self.store(), 'remove',
                               side_effect=IndexUnavailable('away')), \
                mock.patch.object(self.store(), 'known_files',
                                  return_value=None):
            self.write(b'new', 2)
        self.assertEqual(b'new', self.request('GET').body)
        self.assertEqual(2, len(self.files()))
        self.write(b'newest', 3)
        self.assertEqual(1, len(self.files()))

    def test_what_cannot_be_registered_holds_no_watermark_back(self):
        for owner, name, error, expected in (
                (self.manager, 'invalidate_hash', OSError(28, 'full'),
                 DiskFileNoSpace),
                (self.store().index, 'register', IndexUnavailable('away'),
                 IndexUnavailable)):
            with mock.patch.object(owner, name, side_effect=error):
                self.assertRaises(expected, self.write, b'x', 1)
            self.assertEqual({}, self.files())
            self.write(b'x', 2)
            location = self.only_file()[1]
            (volume,) = [each for each in self.store().index.list_volumes()
                         if each.number == location.volume]
            self.assertGreater(volume.watermark, location.offset)
            self.store().remove(int(PARTITION), self.hash())

    def test_two_processes_that_write_one_object_leave_the_newest(self):
        writers = [subprocess.Popen(
            [sys.executable, '-m', 'tests.unit.losf.kv_writer',
             self.world.root, self.object, str(start)],
            stdout=subprocess.PIPE) for start in (1, 2)]
        last = max(int(writer.communicate()[0]) for writer in writers)
        self.assertEqual([0, 0], [writer.returncode for writer in writers])
        self.assertEqual(b'%d' % last, self.request('GET').body)
        self.write(b'end', self.now())
        self.assertEqual(1, len(self.files()))
