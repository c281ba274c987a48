# SPDX-License-Identifier: Apache-2.0
"""Objects in volumes that are damaged, overtaken or without an index."""

import os
import time
from unittest import mock

from swift.common.concurrency import GreenPile, GreenPool, sleep
from swift.common.exceptions import (
    DiskFileBadMetadataChecksum,
    DiskFileError,
    DiskFileNotExist,
    DiskFileQuarantined,
    DiskFileStateChanged,
)

from swift_losf.diskfile.kvfile import KVDiskFileManager
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import HEADER_LENGTH
from swift_losf.volumes.volume import pread
from tests.unit.losf.kv_world import (
    DEADLINE,
    LONG,
    PARTITION,
    Body,
    KVTest,
    bytes_of,
    serve_index,
    wait_for,
    watched_hub,
    with_devices,
)

TIMEOUT = 2
VERBS = 'GET', 'HEAD', 'PUT', 'POST', 'DELETE'


setUpModule, tearDownModule = with_devices('d1', 'd2')


class TestDamage(KVTest):
    """Records that are not what was written."""

    def assert_quarantined(self, *names):
        self.assertEqual({}, self.files())
        self.assertEqual(sorted(names), self.quarantined())

    def test_in_any_part_of_a_short_record_and_a_new_put_heals(self):
        for put, at, verbs in (
                (('PUT', 201), lambda _: HEADER_LENGTH, ['GET']),
                (('PUT', 201), lambda location: location.footer_offset
                 - location.offset + location.name_length + 2,
                 ['HEAD', 'POST']),
                (('DELETE', 404), lambda _: 0, ['GET'])):
            self.object += 'x'
            verb, status = put
            self.assert_status(status, verb, body=b'content'
                               if verb == 'PUT' else b'')
            name, location = self.only_file()
            self.overwrite(location, at(location), b'#')
            for verb in verbs:
                self.assert_status(404, verb)
            self.assert_quarantined(name)
            self.assert_status(201, 'PUT', body=b'content')
            self.assertEqual(b'content', self.request('GET').body)

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

    def test_in_the_metadata_of_a_post(self):
        self.assert_status(201, 'PUT', body=b'content')
        self.assert_status(202, 'POST')
        (meta,) = [name for name in self.files() if name.endswith('.meta')]
        names = list(self.files())
        self.overwrite(self.files()[meta], HEADER_LENGTH + 20, b'X')
        self.assert_status(404, 'GET')
        self.assert_quarantined(*names)

    def test_who_asks_for_a_hash_goes_on_with_the_next(self):
        """An ssync receiver gets it anew."""
        names = []
        for damage in (lambda location: self.overwrite(
                location, location.footer_offset - location.offset, b'#'),
                self.give_back):
            self.assert_status(201, 'PUT', body=b'content')
            name, location = self.only_file()
            names.append(name)
            damage(location)
            with self.assertRaises(DiskFileNotExist):
                self.manager.get_diskfile_from_hash(
                    'd1', PARTITION, self.hash(), self.policy)
            self.assert_quarantined(*names)

    def test_what_a_newer_put_has_replaced_meanwhile_costs_that_nothing(self):
        self.assert_status(201, 'PUT', body=b'content')

        def overtaken(path):
            self.assert_status(201, 'PUT', body=b'newer')
            raise DiskFileBadMetadataChecksum(path)
        path = os.path.join(self.diskfile()._datadir, self.only_file()[0])
        with mock.patch.object(self.manager.files, 'read_file_metadata',
                               overtaken), \
                self.assertRaises(DiskFileNotExist):
            self.manager.read_metadata(path)
        self.assertEqual([], self.quarantined())
        self.assert_status(200, 'GET')

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
        with mock.patch('swift_losf.diskfile.vfile.pread',
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
        with mock.patch('swift_losf.diskfile.vfile.os.open', second_fails):
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

    index_timeout = TIMEOUT

    def setUp(self):
        super().setUp()
        self.assert_status(201, 'PUT', 'd2', body=b'content')
        self.assert_status(201, 'PUT', 'd1', body=b'content')

    def away(self):
        self.world.kill('d2')
        self.addCleanup(self.world.serve, 'd2')

    def test_a_dead_server_is_507_at_once_when_it_was_waited_for(self):
        self.away()
        self.assert_status(507, 'GET', 'd2')
        started = time.monotonic()
        for verb in VERBS:
            with mock.patch.object(self.logger, 'exception') as exception:
                response = self.assert_status(507, verb, 'd2')
            self.assertEqual([], exception.mock_calls)
            self.assertIn(b'index server at', response.body
                          if verb != 'HEAD' else b'index server at')
            self.assert_status(200, 'GET', 'd1')
        self.assertLess(time.monotonic() - started, len(VERBS) * TIMEOUT)

    def test_a_server_that_is_started_again_costs_no_request(self):
        self.server = self.controller(losf_index_timeout=str(DEADLINE))
        self.world.kill('d2')
        pile = GreenPile(len(VERBS))
        for verb in VERBS:
            pile.spawn(self.request, verb, 'd2')
        sleep(TIMEOUT)
        self.world.serve('d2')
        self.assertEqual(len(VERBS), len([
            each.status_int for each in pile if each.status_int < 500]))

    def assert_read_or_refused(self, *contents):
        """Whoever has its table reads on when a server is killed."""
        response = self.request('GET', 'd2')
        self.assertIn(response.status_int, (200, 507))
        if response.status_int == 200:
            self.assertIn(response.body, contents)

    def test_who_has_the_table_reads_on_when_its_server_is_killed(self):
        self.store_of_d2().index.set_part_power(10)
        wait_for(lambda: self.has_table(), 'the table is there')
        self.world.kill('d2')
        self.addCleanup(self.world.serve, 'd2')
        self.assertEqual(b'content', self.request('GET', 'd2').body)
        self.assert_status(404, 'GET', 'd2', name='another')
        self.assert_status(507, 'PUT', 'd2', body=b'new')
        self.assertEqual(b'content', self.request('GET', 'd2').body)

    def store_of_d2(self):
        return self.server._diskfile_router[self.policy].store(
            self.world.path('d2'), 0)

    def has_table(self):
        return self.store_of_d2().known_files('0' * 32) is not None

    def test_the_object_is_there_again_with_its_server(self):
        self.world.kill('d2')
        self.assert_read_or_refused(b'content')
        self.world.serve('d2')
        self.assertEqual(b'content', self.request('GET', 'd2').body)

    def test_a_silent_server_keeps_nobody_else_waiting(self):
        pool = GreenPool(64)
        with self.world.suspended('d2'), watched_hub() as gaps:
            silent = [pool.spawn(self.request, verb, 'd2', body=b'x'
                                 if verb == 'PUT' else b'')
                      for verb in VERBS if verb not in ('GET', 'HEAD')
                      for _ in range(8)]
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
        before = b'content'
        for length in 10, LONG:
            body = Body(bytes_of(length), length,
                        lambda: self.world.kill('d2'))
            self.assert_status(507, 'PUT', 'd2', body=body,
                               Content_Length=str(length))
            self.assert_read_or_refused(b'content', bytes_of(10))
            self.world.serve('d2')
            after = self.request('GET', 'd2').body
            self.assertTrue(after in (before, bytes_of(length)), after[:20])
            before = after

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

    def test_a_file_that_recovery_entered_is_registered_late_or_never(self):
        """Who has written it still holds its record, if it is removed."""
        self.world.kill('d2')
        self.world.serve('d2', '--sweep-interval', '0.01')
        store = self.store_of_d2()
        register = store.index.register

        def late(partition, object_hash, *args):
            self.world.kill('d2')
            self.world.serve('d2', '--sweep-interval', '0.01')
            store.remove(partition, object_hash.hex())
            store.remove(partition, self.hash())
            wait_for(lambda: not any(self.record('d2', before)),
                     'space is given back')
            return register(partition, object_hash, *args)
        before = self.files(device='d2').popitem()[1]
        with mock.patch.object(store.index, 'register', late):
            self.assert_status(503, 'PUT', 'd2', name='late', body=b'content')
        self.assert_status(404, 'GET', 'd2', name='late')
        self.assert_status(201, 'PUT', 'd2', name='late', body=b'content')
        self.assert_status(200, 'GET', 'd2', name='late')

    def record(self, device, location):
        """:returns: the header of a record"""
        with open(self.world.layout(device).volume(location.volume),
                  'rb') as volume:
            return pread(volume.fileno(), HEADER_LENGTH, location.offset)

    def test_a_server_that_recovers_is_503(self):
        os.mkdir(self.world.path('d3'))
        layout = self.world.layout('d3')
        os.mkdir(layout.root)
        serve_index(self, layout.socket, state='recovering: volume 7')
        for verb in VERBS:
            response = self.assert_status(503, verb, 'd3')
            if verb != 'HEAD':
                self.assertIn(b'recovering: volume 7', response.body)
