# SPDX-License-Identifier: Apache-2.0
"""sync_client: real sockets, good servers, and none."""

import os
import select
import socket

from swift.common.concurrency import GreenPool, listen, spawn, wsgi

from swift_lightsync.object_server import ObjectController
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.wire.sync_message import encode_roots
from tests.unit.sync.fixtures import node, served, wait_for
from tests.unit.sync.peers import ClientTestCase, answer, read_request
from tests.unit.sync.verbs import EMPTY, OTHER, slice_roots


class TestRealServer(ClientTestCase):

    def setUp(self):
        super().setUp()
        self.app = ObjectController(self.conf, logger=self.logger)

    def peer(self, app=None, **options):
        return node(1, self.stack.enter_context(
            served(app or self.app, **options)))

    def test_match_and_differ(self):
        peer = self.peer()
        self.assertEqual(set(), self.ask(peer))
        self.assertEqual({1},
                         self.ask(peer, {0: EMPTY, 1: OTHER}))
        self.assertEqual([], self.logger.at('INFO'))

    def test_one_connection_carries_all_messages_to_a_node_s_devices(self):
        clients = set()

        def app(env, start_response):
            clients.add(env['REMOTE_PORT'])
            return self.app(env, start_response)

        peer = self.peer(app)
        os.mkdir(os.path.join(self.devices_dir, 'sdb'))
        for number in range(50):
            self.assertEqual(set(), self.ask(
                dict(peer, device='sd' + 'ab'[number % 2])))
        self.assertEqual(1, len(clients))

    def test_an_idle_connection_that_the_server_closed_is_made_anew(self):
        peer = self.peer(keepalive=0.05)
        self.ask(peer)
        conn, = self.kept(peer)
        wait_for(lambda: select.select([conn.sock.fd], [], [], 0)[0],
                 'a closed connection')
        self.assertEqual(set(), self.ask(peer))

    def test_twenty_at_once_get_each_its_own_answer(self):
        peer = self.peer()
        pool = GreenPool(20)
        asked = [set(range(number % 7)) for number in range(200)]

        def ask(expected):
            roots = {partition: OTHER if partition in expected else EMPTY
                     for partition in range(10)}
            return self.ask(peer, roots) == expected

        self.assertEqual([True] * 200, list(pool.imap(ask, asked)))
        idle = self.kept(peer)
        self.assertTrue(0 < len(idle) <= 20)

    def test_close_closes_the_idle_and_work_goes_on(self):
        peer = self.peer()
        self.ask(peer)
        conn, = self.kept(peer)
        self.client.close()
        self.assertIsNone(conn.sock)
        self.assertEqual(set(), self.ask(peer))

    def test_ipv6(self):
        try:
            probe = socket.socket(socket.AF_INET6)
            with probe:
                probe.bind(('::1', 0))
        except OSError:
            self.skipTest('no IPv6 here')
        listener = listen(('::1', 0), family=socket.AF_INET6)
        self.stack.callback(listener.close)
        self.tasks.append(spawn(wsgi.server, listener, self.app,
                                log_output=False))
        self.assertEqual(set(), self.ask(
            node(1, listener.getsockname()[1], ip='::1')))


class TestRequest(ClientTestCase):

    def test_it_is_the_documented_one(self):
        seen = []

        def script(sock):
            seen.append(read_request(sock))
            sock.sendall(answer())

        self.ask(self.scripted(script), {4660: OTHER})
        (head, body), = seen
        lines = head.split(b'\r\n')
        self.assertEqual(b'LIGHTSYNC /sda/roots HTTP/1.1', lines[0])
        headers = {line.split(b':')[0].lower(): line.split(b': ')[1]
                   for line in lines[1:]}
        self.assertEqual(b'true', headers[b'x-backend-replication'])
        self.assertEqual(b'127.0.0.9:6209',
                         headers[b'x-backend-lightsync-sender'])
        self.assertEqual(b'%d' % len(body), headers[b'content-length'])
        item = 0, 'sda', 4660
        partitions = SharedSet([item])
        self.assertEqual(body, encode_roots(partitions, slice_roots(
            partitions, 1, {item: OTHER})))


class TestUnreachable(ClientTestCase):

    def failure(self, peer):
        with self.assertRaises(ConnectFailure) as caught:
            self.ask(peer)
        self.assert_not_kept()
        return caught.exception.answer

    def test_a_refusal(self):
        with listen(('127.0.0.1', 0)) as listener:
            port = listener.getsockname()[1]
        self.assertIs(Answer.REFUSED, self.failure(node(1, port)))

    def test_an_address_that_is_none(self):
        self.assertIs(Answer.REFUSED, self.failure(
            node(1, 6200, ip='256.0.0.1')))

    def test_syns_that_nobody_answers(self):
        # The kernel drops SYNs once the backlog of a listener is full.
        listener = socket.socket()
        self.stack.callback(listener.close)
        listener.bind(('127.0.0.1', 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(4):
            filler = socket.socket()
            self.stack.callback(filler.close)
            filler.setblocking(False)
            filler.connect_ex(address)
        self.client.connections.conn_timeout = 0.5
        self.assertIs(Answer.TIMEOUT, self.failure(node(1, address[1])))
