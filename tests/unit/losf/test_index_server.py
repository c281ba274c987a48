# SPDX-License-Identifier: Apache-2.0
"""The index server as a process."""

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import grpc
import plyvel

import swift_losf
from swift_losf.daemon import index_server, listener
from swift_losf.daemon.index_server import (
    IndexServer,
    Options,
    ServerError,
    locked,
    main,
)
from swift_losf.format.header import FormatError
from swift_losf.format.layout import Layout
from swift_losf.index import index_pb2 as pb
from swift_losf.index.entry_reader import EntryReader
from swift_losf.volumes import space
from tests.unit.losf.index_world import HASH, NAME, PARTITION, IndexTest

REPOSITORY = os.path.dirname(os.path.dirname(swift_losf.__file__))
REQUEST = pb.HashRequest(partition=PARTITION, hash=HASH).SerializeToString()


class Caller:
    """Makes calls, as any gRPC client would."""

    def __init__(self, path):
        # Each has a connection of its own.
        self.channel = grpc.insecure_channel('unix:' + path, (
            ('grpc.use_local_subchannel_pool', 1),))
        self.close = self.channel.close

    def raw(self, name, data):
        return self.channel.unary_unary('/losf.Index/' + name)(
            data, timeout=120)

    def __call__(self, name, request=pb.Empty()):
        method = pb.DESCRIPTOR.services_by_name['Index'].methods_by_name[name]
        return getattr(pb, method.output_type.name).FromString(
            self.raw(name, request.SerializeToString()))


class ServerTest(IndexTest):

    def setUp(self):
        super().setUp()
        self.call = Caller(self.layout.socket)
        self.addCleanup(self.call.close)

    def assert_refused(self, code, details, call, *args):
        with self.assertRaises(grpc.RpcError) as raised:
            call(*args)
        self.assertEqual(code, raised.exception.code())
        self.assertRegex(raised.exception.details(), details)

    def register(self, location, name=NAME, watermark=4096):
        return self.call('Register', pb.RegisterRequest(
            watermark=watermark, file=pb.File(
                partition=PARTITION, hash=HASH, name=name,
                location=pb.Location(
                    volume=location.volume, offset=location.offset,
                    data_length=location.data_length,
                    metadata_length=location.metadata_length,
                    name_length=location.name_length))))

    def list_hash(self):
        return [each.name for each in self.call('ListHash', pb.HashRequest(
            partition=PARTITION, hash=HASH)).files]


class TestProcess(ServerTest):

    def test_it_serves_and_ends_with_sigterm(self):
        process = self.serve()
        mode = os.stat(self.layout.socket).st_mode
        self.assertEqual((True, 0o600),
                         (stat.S_ISSOCK(mode), stat.S_IMODE(mode)))
        self.register(self.write())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(120))
        self.assertFalse(os.path.exists(self.layout.socket))
        self.assertEqual(NAME, self.open_index().reader.list_hash(
            PARTITION, HASH)[0][0])

    def test_there_is_one_server_for_an_index(self):
        self.serve()
        second = self.start_process()
        self.assertEqual(1, second.wait(120))
        self.assertIn('index.lock: another index server holds it',
                      second.stderr.read())
        self.assertEqual([], self.list_hash())

    def test_space_is_given_back_while_it_serves(self):
        self.serve('--sweep-interval', '0.01')
        location = self.write(data=b'x' * 2 ** 21)
        self.register(location)
        self.assertEqual([NAME], list(self.call('Remove', pb.RemoveRequest(
            partition=PARTITION, hash=HASH)).removed))
        self.wait_for(lambda: self.call(
            'GetStatistics').punched_bytes >= location.length)
        self.assertFalse(any(self.bytes_at(location)))


class TestServer(ServerTest):

    def setUp(self):
        super().setUp()
        self.make_server()

    def make_server(self):
        self.server = IndexServer(self.layout, Options(0.01, 0.01))
        self.results = []
        self.thread = threading.Thread(
            target=lambda: self.results.append(self.server.run()))

    def start(self):
        self.thread.start()
        self.addCleanup(self.end)

    def end(self):
        self.server.stop()
        self.thread.join()
        return self.results[0]

    def start_and_wait(self):
        self.start()
        self.wait_for(lambda: self.server.service.index)

    def test_until_it_has_recovered_it_says_so(self):
        going_on = threading.Event()
        self.addCleanup(going_on.set)
        real = index_server.recover

        def recover(layout, progress, *args):
            progress('volume 3 of 17')
            self.server.service.index = None
            going_on.wait()
            return real(layout, progress, *args)

        with mock.patch.object(index_server, 'recover', recover):
            self.start()
            self.wait_for(lambda: '17' in self.server.service.state)
            self.assert_refused(
                grpc.StatusCode.UNAVAILABLE, '^recovering: volume 3 of 17$',
                self.list_hash)
            going_on.set()
            self.wait_for(lambda: self.server.service.index)
        self.assertEqual([], self.list_hash())

    def test_it_can_be_stopped_while_it_recovers(self):
        self.write()
        self.server.stop()
        self.start()
        self.assertTrue(self.end())

    def test_what_is_written_is_synced_now_and_then(self):
        self.start_and_wait()
        self.register(self.write(), watermark=8192)
        self.wait_for(lambda: self.server.service.index.db.volumes[
            1].checkpoint == 8192)

    def test_errors_have_their_codes(self):
        self.start_and_wait()
        location = self.write()
        self.register(location)
        self.call('Remove', pb.RemoveRequest(partition=PARTITION, hash=HASH))
        codes = grpc.StatusCode
        with mock.patch.object(self.server.service.index.reclaim, 'has',
                               lambda _: True):
            self.assert_refused(codes.FAILED_PRECONDITION, 'been removed',
                                self.register, location)
        self.assert_refused(codes.INVALID_ARGUMENT, 'watermark 1: must be',
                            self.register, location, NAME, 1)
        self.assert_refused(codes.NOT_FOUND, 'there is no a',
                            self.call, 'Rename', pb.RenameRequest(
                                hash=HASH, old='a', new='b'))
        self.assert_refused(codes.INVALID_ARGUMENT, 'parsing',
                            self.call.raw, 'Rename', b'\xff')
        self.assert_refused(codes.UNIMPLEMENTED, 'not found',
                            self.call.raw, 'Nonsense', b'')
        self.assert_refused(codes.RESOURCE_EXHAUSTED, 'larger than max',
                            self.call.raw, 'ListHash', bytes(2 ** 21))

    def fail_with(self, error, code=grpc.StatusCode.ABORTED):
        self.start_and_wait()
        with mock.patch.object(EntryReader, 'files', side_effect=error), \
                self.assertLogs(index_server.logger, 'ERROR') as logs:
            self.assert_refused(code, 'the index server ends: ',
                                self.list_hash)
            self.thread.join()
        self.assertIn('started again, it recovers', logs.output[0])
        return self.results[0], os.path.exists(self.layout.index)

    def test_a_corrupted_index_ends_it_and_is_made_anew(self):
        for error in (plyvel.CorruptionError(b'checksum'),
                      FormatError('location')):
            self.make_server()
            self.assertEqual((False, False), self.fail_with(error))

    def test_a_full_disk_ends_it_and_the_index_is_kept(self):
        for error in (plyvel.IOError(b'x.log: No space left on device'),
                      OSError(errno.EDQUOT, 'Disk quota exceeded')):
            with self.subTest(error=error):
                self.make_server()
                self.assertEqual((False, True), self.fail_with(
                    error, grpc.StatusCode.RESOURCE_EXHAUSTED))

    @contextlib.contextmanager
    def call_under_way(self, request=b''):
        """Yield a call of ListHash that goes on when an Event is set."""
        going_on, begun = threading.Event(), threading.Event()
        self.addCleanup(going_on.set)
        real = EntryReader.list_hash

        def wait(*args):
            begun.set()
            going_on.wait()
            return real(*args)

        other = Caller(self.layout.socket)
        self.addCleanup(other.close)
        with mock.patch.object(EntryReader, 'list_hash', wait):
            waiting = other.channel.unary_unary(
                '/losf.Index/ListHash').future(request)
            self.assertTrue(begun.wait(120))
            yield waiting, going_on

    def test_clients_that_do_nothing_do_not_hold_it_up(self):
        self.start_and_wait()
        self.list_hash()
        begun = time.monotonic()
        with mock.patch.object(listener, 'GRACE', 1000):
            self.assertTrue(self.end())
        self.assertLess(time.monotonic() - begun, 500)

    def test_calls_under_way_are_answered_and_no_others_begun(self):
        self.start_and_wait()
        self.register(self.write())
        with self.call_under_way(REQUEST) as (waiting, going_on):
            self.server.stop()
            self.wait_for(lambda: self.server.service.index is None)
            self.assert_refused(grpc.StatusCode.UNAVAILABLE, '^stopping$',
                                self.list_hash)
            going_on.set()
            self.assertEqual([NAME], [
                each.name for each in pb.Listing.FromString(
                    waiting.result()).files])
        self.assertTrue(self.end())

    def test_a_call_that_never_ends_is_given_up(self):
        self.start_and_wait()
        with mock.patch.object(listener, 'GRACE', 0.1), \
                self.call_under_way() as (waiting, _):
            self.assertTrue(self.end())
            with self.assertRaises(grpc.RpcError):
                waiting.result()


class TestSignals(unittest.TestCase):
    """A signal that is handled at any point of the wait for it."""

    SCRIPT = """if True:
        import random, signal
        from swift_losf.daemon.index_server import IndexServer, Options
        for _ in range(3000):
            server = IndexServer(None, Options())
            server.stop_on(signal.SIGALRM)
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + random.random() / 1e4)
            while not server._stop.wait(1e-6):
                pass
        """

    def test_it_never_stands_in_its_own_way(self):
        subprocess.run([sys.executable, '-c', self.SCRIPT], cwd=REPOSITORY,
                       check=True, timeout=120)


class TestStart(IndexTest):

    def run_and_fail(self, path, **options):
        with self.assertRaises(ServerError) as raised:
            IndexServer(Layout(path, 0), Options(**options)).run()
        return str(raised.exception)

    def test_with_mount_check_nothing_is_made_on_the_wrong_disk(self):
        path = self.make_device()
        self.assertEqual(
            'device path %s: must be mounted, or have a file .ismount' % path,
            self.run_and_fail(path, mount_check=True))
        self.assertEqual([], os.listdir(path))

    def test_with_mount_check_the_stub_of_swift_will_do(self):
        with open(os.path.join(self.device, '.ismount'), 'w'):
            pass
        server = IndexServer(self.layout, Options(mount_check=True))
        server.stop()
        self.assertTrue(server.run())

    def test_a_filesystem_without_holes_ends_it_with_a_message(self):
        with mock.patch.object(space, 'punch_hole', side_effect=OSError(
                errno.EOPNOTSUPP, 'Operation not supported')), \
                mock.patch('sys.stderr') as stderr:
            self.assertEqual(1, main(['--device-path', self.device,
                                      '--policy', '0']))
        self.assertRegex(str(stderr.mock_calls),
                         r'the filesystem \(.*PUNCH_HOLE')
        self.assertEqual([], os.listdir(self.layout.volumes))

    def test_a_missing_device_is_named(self):
        with self.assertRaisesRegex(ServerError, '/none: must be a directory'):
            IndexServer(Layout('/none', 0), Options()).run()

    def test_a_path_too_long_for_a_socket_is_named(self):
        path = os.path.join(self.device, 'x' * 100)
        os.mkdir(path)
        with self.assertRaisesRegex(ServerError, 'Linux takes 107'):
            IndexServer(Layout(path, 0), Options()).run()

    def test_the_lock_is_given_up_at_the_end(self):
        for _ in range(2):
            with locked(self.layout):
                with self.assertRaises(ServerError):
                    with locked(self.layout):
                        pass
