# SPDX-License-Identifier: Apache-2.0
"""What an object server does with volumes when space runs out."""

import os
import tempfile
from contextlib import contextmanager
from unittest import mock

from swift.common.exceptions import DiskFileNoSpace

from swift_losf.diskfile.kvfile import KVDiskFileManager
from tests.unit.losf.filesystems import small_disk
from tests.unit.losf.kv_world import (
    LONG,
    PARTITION,
    KVTest,
    bytes_of,
    with_devices,
)

setUpModule, tearDownModule = with_devices('d1')


class TestSpace(KVTest):

    def assert_refused(self, **options):
        server = self.controller(**options)
        body = mock.Mock(read=mock.Mock(return_value=b''))
        for headers in ({'Content_Length': '5'},
                        {'Transfer_Encoding': 'chunked'}):
            self.assert_status(507, 'PUT', body=body, server=server,
                               **headers)
        self.assertEqual([], body.read.mock_calls)
        return server

    def test_the_reserve_in_bytes_is_kept_free(self):
        self.assert_refused(fallocate_reserve=str(2 ** 60))

    def test_no_room_for_what_is_announced(self):
        with self.assertRaises(DiskFileNoSpace):
            with self.diskfile().create(size=2 ** 60):
                pass

    def test_a_reserve_refuses_posts_but_no_deletes(self):
        self.assert_status(201, 'PUT', body=b'x')
        server = self.assert_refused(fallocate_reserve='100%')
        self.assert_status(507, 'POST', server=server)
        self.assert_status(204, 'DELETE', server=server)

    @contextmanager
    def small_device(self):
        """:returns: the name of a device, and a manager for it"""
        if os.geteuid():
            self.skipTest('only root may mount')
        path = self.world.path('small')
        os.mkdir(path)
        with tempfile.TemporaryDirectory(prefix='kv', dir='/tmp') as indexes, \
                small_disk(path, 2 * LONG):
            try:
                self.world.serve('small', '--index-path', indexes)
                yield 'small', KVDiskFileManager(
                    self.conf(losf_index_path=indexes), self.logger)
            finally:
                self.world.kill('small')
        os.rmdir(path)

    def test_a_full_disk_refuses_and_keeps_no_remains(self):
        for length in 100_000, 600_000, 3 * LONG:
            with self.small_device() as (device, manager):
                store = manager.store(self.world.path(device), 0)
                count = self.fill(device, manager, bytes_of(length))
                self.assert_status(507, 'PUT', device, body=bytes_of(length),
                                   server=self.controller())
                ends = dict.fromkeys(os.listdir(store.layout.volumes), 8192)
                for number in range(count):
                    df = self.numbered(device, manager, number)
                    with df.open():
                        self.assertEqual(bytes_of(length),
                                         b''.join(df.reader()))
                    ((_, at),) = manager.store(
                        self.world.path(device), 0).list_hash(
                            int(PARTITION), os.path.basename(df._datadir))
                    name = os.path.basename(store.layout.volume(at.volume))
                    ends[name] = max(ends[name], at.offset + at.length)
                for name, end in ends.items():
                    self.assertLess(os.path.getsize(os.path.join(
                        store.layout.volumes, name)) - end, 4096)

    def numbered(self, device, manager, number):
        return self.diskfile(device, '%s-%d' % (self.object, number),
                             manager)

    def fill(self, device, manager, data):
        """:returns: how many objects were put until there was no space"""
        count = 0
        while True:
            try:
                with self.numbered(device, manager, count).create() as writer:
                    for start in range(0, len(data), 65536):
                        writer.write(data[start:start + 65536])
                    writer.put({'X-Timestamp': self.now().internal,
                                'ETag': writer.chunks_finished()[1],
                                'Content-Length': str(len(data))})
            except DiskFileNoSpace:
                return count
            count += 1
