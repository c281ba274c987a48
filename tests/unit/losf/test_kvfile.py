# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Objects in volumes, as an object server sees them, with real indexes."""

import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest import mock

import grpc
from swift.common.concurrency import GreenPool
from swift.common.exceptions import DiskFileError, DiskFileNoSpace, \
    DiskFileQuarantined, DiskFileStateChanged
from swift.common.utils import Timestamp

from swift_losf.errors import IndexUnavailable
from swift_losf.header import HEADER_LENGTH
from swift_losf.index_channel import Channel
from swift_losf.index_service import IndexService
from swift_losf.kvfile import KVDiskFileManager
from tests.unit.losf.clients import watched_hub
from tests.unit.losf.kv_world import DEADLINE, LONG, PARTITION, KVTest, \
    World, wait_for

TIMEOUT = 2
VERBS = 'GET', 'HEAD', 'PUT', 'POST', 'DELETE'


def setUpModule():
    KVTest.world = World('d1', 'd2')


def tearDownModule():
    KVTest.world.close()


def bytes_of(length, seed=1):
    return random.Random(seed).randbytes(length)


def open_descriptors():
    return len(os.listdir('/proc/self/fd'))


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
        self.assert_status(204, 'DELETE')
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
        before = open_descriptors()
        for verb in 2 * ('GET', 'HEAD', 'POST'):
            self.assert_status(404, verb, X_Timestamp=Timestamp(
                time.time() + 200).internal)
        self.assertEqual(before, open_descriptors())

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
        self.assert_status(201, 'PUT', name='makes-volumes')
        self.assert_status(204, 'DELETE', name='makes-volumes')
        with mock.patch.object(Channel, 'call', counted):
            for verb, most in (('PUT', 2), ('GET', 1), ('HEAD', 1),
                               ('POST', 2), ('GET', 1), ('HEAD', 1),
                               ('POST', 3), ('PUT', 4), ('DELETE', 3)):
                calls.clear()
                self.request(verb, body=b'x' if verb == 'PUT' else b'')
                self.assertLessEqual(len(calls), most, (verb, calls))

    def test_64_requests_at_once(self):
        names = ['%s-%d' % (self.object, number) for number in range(64)]
        pool = GreenPool(64)
        with watched_hub() as gaps:
            statuses = {response.status_int for response in pool.imap(
                lambda name: self.request('PUT', name=name, body=b'x'),
                names)}
        self.assertEqual({201}, statuses)
        self.assertLess(max(gaps), 1)
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


class Body:
    """
    What a client sends.

    :param data: bytes
    :param length: of what it sends before it does something
    :param then: a function; what it does
    """

    def __init__(self, data, length, then=lambda: None):
        self._data = data
        self._length = length
        self._then = then
        self._sent = 0

    def read(self, size=-1):
        if self._sent >= self._length:
            self._then()
            self._then = lambda: None
        chunk = self._data[self._sent:][:max(size, 0) or None]
        self._sent += len(chunk)
        return chunk


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
                               side_effect=IndexUnavailable('away')):
            self.write(b'new', 2)
        self.assertEqual(b'new', self.request('GET').body)
        self.assertEqual(2, len(self.files()))
        self.write(b'newest', 3)
        self.assertEqual(1, len(self.files()))

    def test_a_suffix_that_cannot_be_invalidated_registers_nothing(self):
        with mock.patch.object(self.manager, 'invalidate_hash',
                               side_effect=OSError(28, 'full')):
            with self.assertRaises(DiskFileNoSpace):
                self.write(b'x', 1)
        self.assertEqual({}, self.files())
        self.write(b'x', 2)
        location = self.only_file()[1]
        (volume,) = [each for each in self.store().index.list_volumes()
                     if each.number == location.volume]
        self.assertGreater(volume.watermark, location.offset)

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

    def test_the_reserve_in_percents_is_kept_free(self):
        self.assert_refused(fallocate_reserve='100%')

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
    def small_disk(self):
        """:returns: the name of a device, and a manager for it"""
        if os.geteuid():
            self.skipTest('only root may mount')
        path = self.world.path('small')
        os.mkdir(path)
        subprocess.check_call(['mount', '-t', 'tmpfs', '-o',
                               'size=%d' % (2 * LONG), 'tmpfs', path])
        with tempfile.TemporaryDirectory(prefix='kv', dir='/tmp') as indexes:
            try:
                self.world.serve('small', '--index-path', indexes)
                yield 'small', KVDiskFileManager(
                    self.conf(losf_index_path=indexes), self.logger)
            finally:
                self.world.kill('small')
                # Volumes stay locked, and open, for the next file.
                subprocess.check_call(['umount', '--lazy', path])
                os.rmdir(path)

    def test_a_full_disk_refuses_and_keeps_no_remains(self):
        for length in 100_000, 600_000, 3 * LONG:
            with self.small_disk() as (device, manager):
                store = manager.store(self.world.path(device), 0)
                count = self.fill(device, manager, bytes_of(length))
                self.assert_status(507, 'PUT', device, body=bytes_of(length),
                                   server=self.controller())
                ends = dict.fromkeys(os.listdir(store.layout.volumes), 4096)
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


class TestDamage(KVTest):
    """Records that are not what was written."""

    def assert_quarantined(self, *names):
        self.assertEqual({}, self.files())
        self.assertEqual(sorted(names), self.quarantined())

    def test_in_the_data_of_a_short_object(self):
        self.assert_status(201, 'PUT', body=b'content')
        name, location = self.only_file()
        self.overwrite(location, HEADER_LENGTH, b'K')
        self.assert_status(404, 'GET')
        self.assert_quarantined(name)

    def test_in_the_data_of_a_long_object(self):
        self.assert_status(201, 'PUT', body=bytes_of(LONG))
        name, location = self.only_file()
        self.overwrite(location, HEADER_LENGTH + LONG // 2, b'damage')
        self.assert_status(200, 'HEAD')
        reasons, received = [], []
        with self.diskfile().open() as df:
            with self.assertRaises(OSError):
                for chunk in df.reader(_quarantine_hook=reasons.append):
                    received.append(chunk)
        self.assertTrue(bytes_of(LONG).startswith(b''.join(received)))
        self.assertEqual(1, len(reasons))
        self.assert_quarantined(name)

    def test_in_the_metadata(self):
        self.assert_status(201, 'PUT', body=b'content')
        name, location = self.only_file()
        self.overwrite(location, location.footer_offset - location.offset
                       + location.name_length + 2, b'#')
        for verb in 'HEAD', 'POST':
            self.assert_status(404, verb)
        self.assert_quarantined(name)

    def test_in_the_metadata_of_a_post(self):
        self.assert_status(201, 'PUT', body=b'content')
        self.assert_status(202, 'POST')
        (meta,) = [name for name in self.files() if name.endswith('.meta')]
        names = list(self.files())
        self.overwrite(self.files()[meta], HEADER_LENGTH + 20, b'X')
        self.assert_status(404, 'GET')
        self.assert_quarantined(*names)

    def test_a_damaged_tombstone_is_quarantined(self):
        self.assert_status(404, 'DELETE')
        name, location = self.only_file()
        self.overwrite(location, 0, b'X')
        self.assert_status(404, 'GET')
        self.assert_quarantined(name)

    def test_who_asks_for_a_hash_hears_of_that_one_only(self):
        # As an ssync sender, which then goes on with the next.
        self.assert_status(201, 'PUT', body=b'content')
        location = self.only_file()[1]
        self.overwrite(location, location.footer_offset - location.offset,
                       b'#')
        with self.assertRaises(DiskFileError):
            self.manager.get_diskfile_from_hash('d1', PARTITION, self.hash(),
                                                self.policy)

    def test_a_new_put_heals(self):
        self.assert_status(201, 'PUT', body=b'content')
        self.overwrite(self.only_file()[1], HEADER_LENGTH, b'K')
        self.assert_status(404, 'GET')
        self.assert_status(201, 'PUT', body=b'content')
        self.assertEqual(b'content', self.request('GET').body)

    def test_a_record_that_is_gone_while_the_index_has_it(self):
        self.assert_status(201, 'PUT', body=b'content')
        name, location = self.only_file()
        self.give_back(location)
        with self.assertRaises(DiskFileQuarantined):
            self.diskfile().open()
        self.assert_quarantined(name)

    def test_a_disk_that_cannot_read_quarantines(self):
        self.assert_status(201, 'PUT', body=b'content')
        self.assert_status(202, 'POST')
        with mock.patch('swift_losf.vfile.pread',
                        side_effect=OSError(5, 'bad sector')):
            self.assertRaises(DiskFileQuarantined, self.diskfile().open)
        self.assertEqual({}, self.files())

    def test_a_process_without_descriptors_quarantines_nothing(self):
        self.assert_status(201, 'PUT', body=b'content')
        self.assert_status(202, 'POST')
        real, opened = os.open, []

        def second_fails(*args, **kwargs):
            opened.append(args)
            if len(opened) == 2:
                raise OSError(24, 'too many open files')
            return real(*args, **kwargs)
        with mock.patch('swift_losf.vfile.os.open', second_fails):
            with self.assertRaisesRegex(DiskFileError, 'too many open'):
                self.diskfile().open()
        self.assertEqual(2, len(opened))
        self.assert_status(200, 'GET')


class TestRaces(KVTest):
    """What others do between listing the files and opening one."""

    def superseded(self, action):
        """:returns: a diskfile for whose open() this is so"""
        df = self.diskfile()
        get_files = df._get_ondisk_files

        def get_files_late(*args):
            found = get_files(*args)
            action()
            return found
        df._get_ondisk_files = get_files_late
        return df

    def overwritten(self):
        location = self.only_file()[1]
        self.write(b'new', 2, manager=self.other)
        self.give_back(location)

    def setUp(self):
        super().setUp()
        self.other = KVDiskFileManager(self.conf(), self.logger)
        self.write(b'old', 1)

    def test_an_object_that_was_overwritten_is_not_missing(self):
        with self.assertRaises(DiskFileStateChanged):
            self.superseded(self.overwritten).open()
        self.assertEqual([], self.quarantined())
        self.assertEqual(b'new', self.request('GET').body)

    def test_the_client_hears_503_and_never_404(self):
        # A PUT has no need of what there was.
        for verb in 'GET', 'HEAD', 'POST', 'DELETE':
            name = '%s-%s' % (self.object, verb)
            with mock.patch.object(self, 'object', name):
                self.write(b'old', 1)
                df = self.superseded(self.overwritten)
                with mock.patch.object(self.server, 'get_diskfile',
                                       return_value=df):
                    self.assert_status(503, verb)
                self.assertEqual(b'new', self.request('GET').body)

    def test_a_file_that_was_moved_is_followed(self):
        def moved():
            location = self.only_file()[1]
            self.write(b'old', 1, manager=self.other)
            self.give_back(location)
        with self.superseded(moved).open() as df:
            self.assertEqual(b'old', b''.join(df.reader()))

    def test_what_is_overwritten_while_it_is_read_is_read_to_the_end(self):
        data = bytes_of(LONG)
        self.write(data, 2)
        with self.diskfile().open() as df:
            reader = iter(df.reader())
            first = next(reader)
            self.write(b'new', 3)
            # The space is given back as soon as nobody reads it any more.
            self.assertEqual(data, first + b''.join(reader))


class TestUnavailable(KVTest):
    """An index that is away, on a device with an object."""

    def setUp(self):
        super().setUp()
        # Much longer than anything takes that does not wait for it.
        self.server = self.controller(losf_index_timeout=str(TIMEOUT))
        self.assert_status(201, 'PUT', 'd2', body=b'content')
        self.assert_status(201, 'PUT', 'd1', body=b'content')

    def away(self):
        self.world.kill('d2')
        self.addCleanup(self.world.serve, 'd2')

    def test_a_dead_server_is_507_at_once(self):
        self.away()
        for verb in VERBS:
            started = time.monotonic()
            response = self.assert_status(507, verb, 'd2')
            self.assertIn(b'index server at', response.body
                          if verb != 'HEAD' else b'index server at')
            self.assertLess(time.monotonic() - started, TIMEOUT)
            self.assert_status(200, 'GET', 'd1')

    def test_the_object_is_there_again_with_its_server(self):
        self.world.kill('d2')
        self.assert_status(507, 'GET', 'd2')
        self.world.serve('d2')
        self.assertEqual(b'content', self.request('GET', 'd2').body)

    def test_a_silent_server_keeps_nobody_else_waiting(self):
        pool = GreenPool(64)
        with self.world.suspended('d2'), watched_hub() as gaps:
            silent = [pool.spawn(self.request, verb, 'd2', body=b'x'
                                 if verb == 'PUT' else b'')
                      for verb in VERBS for _ in range(8)]
            started = time.monotonic()
            for _ in range(20):
                self.assert_status(200, 'GET', 'd1')
                self.assert_status(201, 'PUT', 'd1', body=b'content')
            served = time.monotonic() - started
            statuses = [each.wait().status_int for each in silent]
        self.assertEqual({507}, set(statuses))
        self.assertLess(max(gaps), TIMEOUT / 2)
        self.assertLess(served, DEADLINE / 2)
        wait_for(lambda: self.request('GET', 'd2').status_int == 200,
                 'the object is served again')

    def test_a_device_that_is_replaced(self):
        # Lazily unmounted: what is open stays so.
        server = self.controller()
        self.assert_status(201, 'PUT', 'd2', body=b'old', server=server)
        self.world.kill('d2')
        os.rename(self.world.path('d2'), self.world.path('away'))
        os.mkdir(self.world.path('d2'))
        self.world.serve('d2')
        for length in (10, LONG, 10, LONG):
            status = self.request('PUT', 'd2', body=bytes_of(length),
                                  server=server).status_int
            self.assertIn(status, (201, 507))
            found = self.request('GET', 'd2')
            self.assertEqual(200 if status == 201 else 404,
                             found.status_int)
        self.assertEqual(201, status)

    def test_a_server_that_goes_during_an_upload(self):
        for length in 10, LONG:
            body = Body(bytes_of(length), length,
                        lambda: self.world.kill('d2'))
            self.assert_status(507, 'PUT', 'd2', body=body,
                               Content_Length=str(length))
            self.assert_status(507, 'GET', 'd2')
            self.world.serve('d2')
            self.assertIn(self.request('GET', 'd2').body,
                          (b'content', bytes_of(length)))

    def test_a_server_that_goes_before_a_file_is_registered(self):
        for verb in 'PUT', 'POST', 'DELETE':
            finish = self.server._diskfile_router[self.policy].store(
                self.world.path('d2'), 0).index
            with mock.patch.object(finish, 'register',
                                   side_effect=IndexUnavailable('gone')):
                self.assert_status(507, verb, 'd2')
            self.assertEqual(b'content', self.request('GET', 'd2').body)

    def test_a_server_that_goes_before_the_cleanup(self):
        index = self.server._diskfile_router[self.policy].store(
            self.world.path('d2'), 0).index
        with mock.patch.object(index, 'remove',
                               side_effect=IndexUnavailable('gone')):
            self.assert_status(201, 'PUT', 'd2', body=b'new')
        self.assertEqual(b'new', self.request('GET', 'd2').body)

    def test_a_server_that_recovers_is_503(self):
        os.mkdir(self.world.path('d3'))
        layout = self.world.layout('d3')
        os.mkdir(layout.root)
        service = IndexService(None)
        service.state = 'recovering: volume 7'
        server = grpc.server(ThreadPoolExecutor(1), (service.handler(),))
        server.add_insecure_port('unix:' + layout.socket)
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        for verb in VERBS:
            response = self.assert_status(503, verb, 'd3')
            if verb != 'HEAD':
                self.assertIn(b'recovering: volume 7', response.body)
