# SPDX-License-Identifier: Apache-2.0
"""Kept connections to container servers, with servers of bytes."""

import unittest
from contextlib import closing
from unittest import mock

from swift.common.concurrency import Timeout, socket, spawn
from swift.common.http_protocol import SwiftHttpProtocol

from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows import connections, replicas, replies
from swift_lightsync.versioning.rows.connections import (
    Connections,
    Stale,
    request_of,
)
from swift_lightsync.versioning.rows.rows import Rows
from tests.unit.sync.fixtures import CapturingLogger, served, wait_for
from tests.unit.versioning.fakes import (
    NOW,
    PATIENCE,
    Ring,
    SimpleNamespace,
    SiteCase,
)

OK = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'
CLOSED = OK.replace(b'\r\n\r\n', b'\r\nConnection: close\r\n\r\n')


class Server:
    """Answers each request with the next of some bytes.

    :param answers: of each connection, in the order in which they are made;
        after the last one it is closed
    """

    def __init__(self, case, *answers):
        self.answers = list(answers)
        #: requests, by connection
        self.asked = []
        self.sockets = []
        listening = socket.socket()
        listening.bind(('127.0.0.1', 0))
        listening.listen()
        self.address = listening.getsockname()
        case.addCleanup(listening.close)
        case.addCleanup(spawn(self._accept, listening).kill)

    def _accept(self, listening):
        while True:
            sock, _ = listening.accept()
            self.sockets.append(sock)
            self.asked.append([])
            spawn(self._serve, sock, self.asked[-1],
                  self.answers.pop(0) if self.answers else [])

    @staticmethod
    def _serve(sock, asked, answers):
        with closing(sock):
            for answer in answers:
                data = sock.recv(65536)
                if not data:
                    return
                asked.append(data)
                sock.sendall(answer)
            sock.shutdown(socket.SHUT_RDWR)


class TestConnections(unittest.TestCase):

    def setUp(self):
        self.kept = Connections()

    def ask(self, server, exchange=None, most=1000):
        exchange = exchange or self.kept.idle(server.address) or \
            self.kept.open(server.address)
        exchange.send(b'asked')
        with Timeout(PATIENCE):
            return exchange.receive(most)

    def test_one_connection_serves_many_requests(self):
        server = Server(self, [OK] * 3)
        for _ in range(3):
            self.assertEqual((200, b'{}'), self.ask(server))
        self.assertEqual([[b'asked'] * 3], server.asked)

    def test_it_is_not_kept_where_the_server_closes_it(self):
        server = Server(self, [CLOSED], [OK])
        self.ask(server)
        self.assertIsNone(self.kept.idle(server.address))

    def test_it_is_not_kept_where_more_comes_than_the_answer(self):
        server = Server(self, [OK + b'x'], [OK])
        self.ask(server)
        self.assertIsNone(self.kept.idle(server.address))

    def test_a_kept_one_that_is_not_quiet_is_not_used(self):
        server = Server(self, [OK, OK])
        self.ask(server)
        kept, = self.kept._idle[server.address]
        server.sockets[0].sendall(b'x')
        wait_for(lambda: not connections._is_quiet(kept[1]), 'it comes')
        self.assertIsNone(self.kept.idle(server.address))

    def test_an_old_one_is_not_used(self):
        server = Server(self, [OK] * 2)
        self.ask(server)
        with mock.patch.object(connections, 'SECONDS', 0):
            self.assertIsNone(self.kept.idle(server.address))

    def test_a_child_does_not_use_its_parents(self):
        server = Server(self, [OK] * 2)
        self.ask(server)
        self.kept._process += 1
        self.assertIsNone(self.kept.idle(server.address))

    def test_only_some_are_kept(self):
        server = Server(self, *[[OK] * 2] * 9)
        opened = [self.kept.open(server.address) for _ in range(9)]
        with mock.patch.object(connections, 'MOST', 4):
            for exchange in opened:
                self.ask(server, exchange)
        self.assertEqual(4, len(self.kept._idle[server.address]))

    def test_those_that_nobody_uses_are_closed_with_the_next(self):
        server = Server(self, *[[OK]] * 4)
        opened = [self.kept.open(server.address) for _ in range(3)]
        for exchange in opened:
            self.ask(server, exchange)
        with mock.patch.object(connections, 'SECONDS', 0):
            self.ask(server, self.kept.open(server.address))
        self.assertEqual(1, len(self.kept._idle[server.address]))

    def test_a_kept_one_that_ends_is_stale(self):
        server = Server(self, [OK, b''], [b''])
        self.ask(server)
        with self.assertRaises(Stale):
            self.ask(server)
        with self.assertRaises(ConnectionError) as caught:
            self.ask(server)
        self.assertNotIsInstance(caught.exception, Stale)

    def test_an_answer_that_ends_early_is_not_stale(self):
        server = Server(self, [OK, OK[:-1]])
        self.ask(server)
        with self.assertRaises(ConnectionError) as caught:
            self.ask(server)
        self.assertNotIsInstance(caught.exception, Stale)

    def test_who_was_interrupted_goes_on(self):
        server = Server(self, [OK[:9], OK[9:]])
        exchange = self.kept.open(server.address)
        exchange.send(b'asked')
        with self.assertRaises(Timeout), Timeout(0.01):
            exchange.receive(1000)
        # The rest of the answer.
        self.assertEqual((200, b'{}'), self.ask(server, exchange))

    def test_what_is_no_answer_is_refused(self):
        for head in (b'SSH-2.0-x\r\n\r\n', b'HTTP/1.1 200 OK\r\n\r\n',
                     b'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n',
                     b'HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n',
                     b'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
                     b'HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n',
                     b'HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\n',
                     b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n'
                     b'Transfer-Encoding: chunked\r\n\r\n',
                     b'x' * (connections.MAX_HEAD + 1)):
            with self.subTest(head[:60]):
                server = Server(self, [head])
                with self.assertRaises(ValueError):
                    self.ask(server)
                self.assertIsNone(self.kept.idle(server.address))

    def test_a_request_is_one_of_http(self):
        self.assertEqual(
            b'VERSION /sda/0/%00a%C3%A9 HTTP/1.1\r\nHost: h:1\r\n'
            b'Content-Length: 2\r\nA: b\r\n\r\n{}', request_of(
                ('h', 1), 'VERSION', '/sda/0/\0a\xe9', {'A': 'b'}, b'{}'))


class TestAsked(unittest.TestCase):
    """A majority that is asked on kept connections."""

    def nodes(self, *answers):
        # On a busy machine nobody is slow by chance.
        self.enterContext(mock.patch.object(replicas, 'SLOW', PATIENCE))
        self.servers = [Server(self, *each) for each in answers]
        app = SimpleNamespace(
            container_ring=Ring([
                {'id': number, 'ip': '127.0.0.1', 'device': 'sda',
                 'port': server.address[1]}
                for number, server in enumerate(self.servers)]),
            conn_timeout=PATIENCE, node_timeout=PATIENCE)
        self.kept = Connections()
        return replicas.Replicas(app, CapturingLogger(),
                                 connections=self.kept)

    def ask(self, found, first=(0, 1)):
        with Timeout(PATIENCE):
            return found.begin(('a', 'c'), verb.Request('o'),
                               first).replies()

    def numbers(self, replies):
        return sorted(reply.node['id'] for reply in replies)

    def test_the_same_two_answer_on_the_same_connections(self):
        found = self.nodes([[OK] * 3], [[OK] * 3], [[OK] * 3])
        for _ in range(3):
            self.assertEqual([0, 1], self.numbers(self.ask(found)))
        self.assertEqual([[3], [3], []], [
            list(map(len, server.asked)) for server in self.servers])

    def test_a_stale_one_is_asked_once_more(self):
        found = self.nodes([[OK, b''], [OK]], [[OK] * 2], [[OK] * 2])
        self.ask(found)
        self.assertEqual([0, 1], self.numbers(self.ask(found)))
        self.assertEqual([[2, 1], [2], []], [
            list(map(len, server.asked)) for server in self.servers])

    def test_a_kept_one_that_is_slow_is_waited_for_beside_a_third(self):
        found = self.nodes([[OK, b'HTTP']], [[OK] * 2], [[OK]])
        self.ask(found)
        # Its answer begins, and does not end.
        with mock.patch.object(replicas, 'SLOW', 0.01):
            self.assertEqual([1, 2], self.numbers(self.ask(found)))

    def test_an_error_of_a_kept_one_is_replaced(self):
        bad = b'HTTP/1.1 503 Bad\r\nContent-Length: 0\r\n\r\n'
        found = self.nodes([[OK, bad, bad]], [[OK] * 2], [[OK]])
        self.ask(found)
        self.assertEqual([1, 2], self.numbers(self.ask(found)))

    def test_rows_are_not_written_twice(self):
        found = self.nodes([[OK, b'']], [[OK, b'']], [[OK, OK]])
        with Timeout(PATIENCE):
            request = verb.Request('o')
            found.tell(('a', 'c'), request, request)
            wait_for(lambda: all(self.kept._idle.values()) and
                     len(self.kept._idle) == 3, 'all are kept')
            with self.assertRaises(replies.RowsUnavailable):
                found.tell(('a', 'c'), request, request)


class TestContainerServers(SiteCase):
    """Rows of real container servers, by HTTP."""

    def setUp(self):
        super().setUp()
        self.ports = [self.enterContext(served(
            server.app, protocol=SwiftHttpProtocol))
            for server in self.north.servers]
        self.north.app.container_ring = Ring([
            {'id': number, 'ip': '127.0.0.1', 'port': port, 'device': 'sda'}
            for number, port in enumerate(self.ports)])
        self.kept = Connections()
        opener = mock.patch.object(self.kept, 'open',
                                   side_effect=self.kept.open)
        self.opened = opener.start()
        self.addCleanup(opener.stop)

    def rows(self, container='c'):
        return Rows(self.north.app, self.logger, 'a', container,
                    connections=self.kept)

    def write(self, name):
        stamp = Stamp(int(NOW * 10 ** 5))
        self.rows().write(verb.Request(rows=(verb.WireRow.of(
            Row('\0X\0' + name, stamp)),)))
        wait_for(lambda: sum(map(len, self.kept._idle.values())) >= 3,
                 'all have answered')

    def names(self):
        return [row.name[3:] for row in self.rows().read(verb.Request(
            page=verb.Page('\0X\0'))).page]

    def test_one_connection_each_serves_reads_and_writes(self):
        self.write('a')
        for name in 'bcd':
            self.write(name)
            self.assertIn(name, self.names())
        self.assertEqual(3, self.opened.call_count)

    def test_refusals_leave_a_connection_as_it_is(self):
        self.write('a')
        with self.assertRaises(replies.RowsUnavailable) as caught:
            self.rows('other').read(verb.Request('o'))
        self.assertTrue(caught.exception.missing)
        self.assertEqual(['a'], self.names())
        self.assertEqual(3, self.opened.call_count)

    def test_a_server_that_was_started_again_is_asked_anew(self):
        self.write('a')
        for _, idle in self.kept._idle.items():
            idle[0][1].shutdown(socket.SHUT_RDWR)
        self.assertEqual(['a'], self.names())
        self.write('b')
        self.assertEqual(['a', 'b'], self.names())


if __name__ == '__main__':
    unittest.main()
