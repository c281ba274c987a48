# SPDX-License-Identifier: Apache-2.0
"""pusher.py: pushes to a real object-server."""

import errno
import os
import socket
import time
from unittest import mock

from swift.common.concurrency import listen, spawn
from swift.common.utils import Timestamp
from swift.obj.diskfile import DiskFileManager, DiskFileRouter

from swift_lightsync.proar.converger.object_state import Source
from swift_lightsync.proar.converger.pusher import (
    EXPECT_FROM,
    Outcome,
    Pusher,
    PushOptions,
)
from tests.unit.proar.converging import (
    EPOCH,
    HERE,
    PEERS,
    ServerTestCase,
    hash_of,
)
from tests.unit.sync.fixtures import PARTITION, node, open_sockets, wait_for

LARGE = os.urandom(3 * EXPECT_FROM)


class CountingApp:
    """Counts the bytes of bodies that an app has taken, and the requests."""

    def __init__(self, app):
        self.app = app
        self.requests = []
        self.taken = 0

    def __call__(self, env, start_response):
        self.requests.append(env)
        body = env['wsgi.input']
        read, counter = body.read, self

        def counted(*args):
            chunk = read(*args)
            counter.taken += len(chunk)
            return chunk
        body.read = counted
        return self.app(env, start_response)


class PusherTestCase(ServerTestCase):

    def setUp(self):
        super().setUp()
        self.source = Source(
            DiskFileRouter(self.conf, self.logger)[self.policy], HERE,
            self.policy)
        self.sent = 0

    def options(self, conn_timeout=60, node_timeout=60):
        return PushOptions(conn_timeout, node_timeout, self.throttle)

    def throttle(self, size):
        self.sent += size

    def pusher(self, port, ip='127.0.0.1', **kwargs):
        pusher = Pusher(node(1, port, PEERS[0], ip), self.options(**kwargs))
        self.addCleanup(pusher.close)
        return pusher

    def push(self, name='o', pusher=None):
        """Return the Result of a push to the server"""
        if pusher:
            return pusher.push(self.source, PARTITION, hash_of(name))
        with self.served() as port:
            return self.push(name, self.pusher(port))


class TestApplied(PusherTestCase):

    def assert_same(self):
        self.assertTrue(self.files(HERE))
        self.assertEqual(self.files(HERE), self.files(PEERS[0]))

    def assert_pushed(self, name='o'):
        result = self.push(name)
        self.assertEqual((Outcome.APPLIED, ''),
                         (result.outcome, result.reason))
        self.assert_same()

    def test_each_state_is_the_same_there_byte_for_byte(self):
        red = {'X_Object_Meta_Color': 'red'}
        for number, requests in enumerate((
                [('PUT', dict(
                    X_Object_Meta_Color='blue', X_Object_Sysmeta_Secret='s',
                    X_Object_Transient_Sysmeta_Key='k',
                    Content_Encoding='gzip', X_Static_Large_Object='True',
                    X_Delete_At='%d' % (time.time() + 1000)))],
                [('PUT', {}), ('POST', red)],
                [('PUT', {}), ('POST', {'Content_Type': 'image/png'}),
                 ('POST', red)],
                # An object that has expired.
                [('PUT', red), ('POST', {'X_Delete_At': str(EPOCH + 10)})],
                [('PUT', {}), ('DELETE', {})],
                # A tombstone where nothing was.
                [('DELETE', {})])):
            for body in b'body', b'':
                for is_new_there in True, False:
                    name = 'o%d%s%d' % (number, len(body), is_new_there)
                    for stamp, (method, headers) in enumerate(requests, 1):
                        self.assertIn(self.ask(
                            method, name, stamp, body, **headers),
                            (201, 202, 204, 404))
                        if not is_new_there:
                            self.assert_pushed(name)
                    if is_new_there:
                        self.assert_pushed(name)

    def test_a_large_object_is_the_same_there(self):
        self.ask('PUT', 'o', 1, LARGE)
        self.assert_pushed()
        self.assertEqual(len(LARGE), self.sent)

    def test_names_and_metadata_of_any_script_are_the_same_there(self):
        name = 'ö%2fg /ǻ'
        self.ask('PUT', 'o', 1, X_Object_Meta_Latin='\xe2\x98\xba')
        self.assert_pushed()
        with self.source.manager.get_diskfile(
                HERE, PARTITION, 'a', 'c', name, self.policy).create() as new:
            new.write(b'x')
            new.put({'X-Timestamp': Timestamp(EPOCH).internal,
                     'Content-Type': 'a/b', 'Content-Length': '1',
                     'ETag': '9dd4e461268c8034f5c8564e155c67a6',
                     'X-Object-Meta-\xe2\x98\xba': '\xe2\x98\xba'})
        self.assertEqual(Outcome.APPLIED, self.push(name).outcome)
        self.assert_same()

    def test_what_is_replaced_just_then_is_looked_for_again(self):
        self.ask('PUT', 'o', 1)
        stock, is_gone = DiskFileManager.open_data_file, iter((True,))

        def open_data_file(*args):
            if next(is_gone, False):
                raise FileNotFoundError(errno.ENOENT, 'replaced')
            return stock(*args)
        with mock.patch.object(DiskFileManager, 'open_data_file',
                               open_data_file):
            self.assert_pushed()

    def test_a_post_reaches_a_peer_that_has_the_data(self):
        self.ask('PUT', 'o', 1, LARGE)
        self.push()
        self.ask('POST', 'o', 2, X_Object_Meta_Color='red')
        before = self.sent
        self.assert_pushed()
        self.assertEqual(before, self.sent)
        self.assertEqual(2, len(self.files(PEERS[0])))

    def test_it_makes_no_container_update(self):
        self.ask('PUT', 'o', 1)
        self.push()
        self.assertEqual([], [name for name in os.listdir(os.path.join(
            self.devices_dir, PEERS[0])) if name.startswith('async')])


class TestNotApplied(PusherTestCase):

    def test_the_same_version_is_not_sent_again(self):
        self.ask('PUT', 'o', 1, LARGE)
        self.push()
        counting = CountingApp(self.app)
        with self.served(counting) as port:
            self.assertEqual(Outcome.NEWER,
                             self.push('o', self.pusher(port)).outcome)
        self.assertEqual(0, counting.taken)

    def test_a_newer_version_there_stays(self):
        self.ask('PUT', 'o', 1, b'old')
        self.ask('POST', 'o', 2)
        for method in 'PUT', 'DELETE':
            self.ask(method, 'o', 3, b'new', device=PEERS[0])
            before = self.files(PEERS[0])
            self.assertEqual(Outcome.NEWER, self.push().outcome)
            self.assertEqual(before, self.files(PEERS[0]))
            self.ask('DELETE', 'o', 4, device=PEERS[0])

    def test_a_tombstone_there_between_data_and_metadata_stays(self):
        self.ask('PUT', 'o', 1, b'old')
        self.ask('POST', 'o', 3)
        self.ask('DELETE', 'o', 2, device=PEERS[0])
        before = self.files(PEERS[0])
        self.assertEqual(Outcome.NEWER, self.push().outcome)
        self.assertEqual(before, self.files(PEERS[0]))

    def test_an_object_that_is_not_here_any_more_needs_no_push(self):
        self.assertEqual(Outcome.GONE, self.push().outcome)

    def test_a_body_that_decayed_is_not_taken(self):
        self.ask('PUT', 'o', 1, LARGE)
        path, = (os.path.join(top, name) for top, _, names
                 in os.walk(self.part_path(HERE)) for name in names
                 if name.endswith('.data'))
        with open(path, 'r+b') as data:
            data.write(b'decay')
        result = self.push()
        self.assertEqual(Outcome.DAMAGED, result.outcome)
        self.assertIn('422', result.reason)
        self.assertEqual({}, self.files(PEERS[0]))

    def test_a_body_that_cannot_be_read_leaves_nothing_there(self):
        self.ask('PUT', 'o', 1, LARGE)
        pusher = self.pusher(0)

        def failing(size):
            self.sent += size
            if self.sent > EXPECT_FROM:
                raise DiskFailure
        pusher.options = PushOptions(60, 60, failing)
        with self.served() as port:
            pusher.node = node(1, port, PEERS[0])
            self.assertEqual(Outcome.UNAVAILABLE,
                             self.push('o', pusher).outcome)
        self.assertEqual({}, self.files(PEERS[0]))


class DiskFailure(OSError):
    pass


class TestPeers(PusherTestCase):

    def setUp(self):
        super().setUp()
        self.ask('PUT', 'o', 1)

    def test_an_unmounted_device_is_unavailable(self):
        os.rmdir(os.path.join(self.devices_dir, PEERS[0]))
        result = self.push()
        self.assertEqual(Outcome.UNAVAILABLE, result.outcome)
        self.assertIn('507', result.reason)

    def test_a_port_that_nobody_has_is_unavailable_and_named(self):
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            result = self.push('o', self.pusher(free.getsockname()[1]))
        self.assertEqual(Outcome.UNAVAILABLE, result.outcome)
        self.assertIn('refused', result.reason)

    def test_a_peer_that_is_silent_is_left_after_the_time_out(self):
        listener = listen(('127.0.0.1', 0))
        self.addCleanup(listener.close)
        pusher = self.pusher(listener.getsockname()[1], node_timeout=0.05)
        result = self.push('o', pusher)
        self.assertEqual(Outcome.UNAVAILABLE, result.outcome)
        self.assertIn('0.05 second', result.reason)

    def test_one_connection_serves_many_pushes(self):
        counting = CountingApp(self.app)
        with self.served(counting) as port:
            pusher = self.pusher(port)
            for number in range(5):
                self.ask('PUT', str(number), 1)
                self.assertTrue(self.push(str(number), pusher).is_applied)
        self.assertEqual(1, len({env['REMOTE_PORT']
                                 for env in counting.requests}))

    def test_a_connection_that_the_peer_closed_is_made_anew(self):
        pusher = self.pusher(0)
        with self.served(keepalive=0.05) as port:
            pusher.node = node(1, port, PEERS[0])
            self.push('o', pusher)
            before = open_sockets()
            wait_for(lambda: open_sockets() != before, 'the peer closes it')
            self.ask('DELETE', 'o', 2)
            self.assertEqual(Outcome.APPLIED, self.push('o', pusher).outcome)

    def test_a_peer_that_speaks_no_http_is_unavailable(self):
        listener = listen(('127.0.0.1', 0))
        self.addCleanup(listener.close)

        def babble():
            while True:
                connection, _ = listener.accept()
                connection.recv(1 << 16)
                connection.sendall(b'hello\r\n\r\n')
                connection.close()
        babbler = spawn(babble)
        self.addCleanup(babbler.kill)
        pusher = self.pusher(listener.getsockname()[1])
        self.assertEqual(Outcome.UNAVAILABLE, self.push('o', pusher).outcome)

    def test_the_next_part_power_reaches_the_peer(self):
        counting = CountingApp(self.app)
        with self.served(counting) as port:
            self.pusher(port).push(self.source, PARTITION, hash_of('o'), 2)
        env, = counting.requests
        self.assertEqual('2', env['HTTP_X_BACKEND_NEXT_PART_POWER'])
