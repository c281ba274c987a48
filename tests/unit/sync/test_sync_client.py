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
"""sync_client: real sockets, good servers and bad ones."""

import contextlib
import gc
import http.client
import io
import itertools
import os
import select
import socket
import unittest
from unittest import mock

from swift.common.concurrency import GreenPool, Timeout, green_http_client, \
    listen, sleep, socket as green_socket, spawn, \
    tpool, wsgi
from swift.obj import server

from swift_lightsync.object_server import ObjectController
from swift_lightsync.sync import merkle, sync_message
from swift_lightsync.sync.comparison import slice_roots
from swift_lightsync.sync.fingerprint import ABSENT
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.known_sets import KnownSets
from swift_lightsync.sync.partition_set import PartitionSet
from swift_lightsync.sync.sync_client import ConnectFailure, SyncClient
from swift_lightsync.sync.sync_message import SyncMessageError, Verdict, \
    decode_roots, encode_reply, encode_roots
from swift_lightsync.sync.sync_round import Answer
from tests.unit.sync.fixtures import SwiftTestCase, node, open_sockets, \
    pending_timers, served, wait_for

EMPTY = merkle.root({})
OTHER = 'ab' * 16
SENDER = ('127.0.0.9', 6209, 'sdb 1')
EQUAL = encode_reply(Verdict.COMPARED)
UNKNOWN = encode_reply(Verdict.UNKNOWN_SET)


def answer(body=EQUAL, status=b'200 OK', length=None, headers=b''):
    return b'HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s' % (
        status, headers, len(body) if length is None else length, body)


def read_request(sock):
    """
    Read one request from a socket.

    :returns: its head and its body, or None at the end
    """
    data = b''
    while b'\r\n\r\n' not in data:
        more = sock.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b'\r\n\r\n', 1)
    length = int(head.lower().split(b'content-length: ')[1].split()[0])
    while len(body) < length:
        body += sock.recv(65536)
    return head, body


class ClientTestCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.stack = contextlib.ExitStack()
        self.client = SyncClient(0.3, 0.5)
        tpool.execute(int)  # it has a pair of sockets, from its first use
        gc.collect()
        self.sockets, self.timers = open_sockets(), pending_timers()
        self.addCleanup(self.nothing_leaks)
        self.accepted = []
        self.tasks = []

    def nothing_leaks(self):
        self.client.close()
        self.stack.close()
        for task in self.tasks:
            task.kill()
        for sock in self.accepted:
            sock.close()
        sleep()
        gc.collect()
        wait_for(lambda: open_sockets() <= self.sockets, 'no socket left')
        wait_for(lambda: pending_timers() <= self.timers, 'no timer left')

    def scripted(self, script):
        """
        A peer that handles each connection by a function of its socket.

        :returns: its node
        """
        listener = listen(('127.0.0.1', 0))
        self.stack.callback(listener.close)

        def accept():
            while True:
                sock, _ = listener.accept()
                self.accepted.append(sock)
                self.tasks.append(spawn(handle, sock))

        def handle(sock):
            with contextlib.suppress(OSError):
                script(sock)

        self.tasks.append(spawn(accept))
        return node(1, listener.getsockname()[1])

    def answering(self, *answers):
        """A peer that gives these answers, and then closes."""
        def script(sock):
            for reply in answers:
                if read_request(sock) is None:
                    break
                sock.sendall(reply)
            sock.close()
        return self.scripted(script)

    def ask(self, peer, roots=None):
        return self.ask_all(peer, roots)[:2]

    def ask_all(self, peer, roots=None):
        return self.client.ask(SENDER, peer, self.policy,
                               roots or {0: EMPTY})

    def assert_not_kept(self):
        self.assertFalse(any(self.client._idle.values()))


class TestRealServer(ClientTestCase):

    def setUp(self):
        super().setUp()
        self.app = ObjectController(self.conf, logger=self.logger)

    def peer(self, app=None, **options):
        return node(1, self.stack.enter_context(
            served(app or self.app, **options)))

    def test_match_and_differ(self):
        peer = self.peer()
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))
        self.assertEqual((Answer.DIFFER, {1}),
                         self.ask(peer, {0: EMPTY, 1: OTHER}))

    def test_one_connection_carries_all_messages(self):
        clients = set()

        def app(env, start_response):
            clients.add(env['REMOTE_PORT'])
            return self.app(env, start_response)

        peer = self.peer(app)
        for _ in range(50):
            self.assertEqual((Answer.MATCH, set()), self.ask(peer))
        self.assertEqual(1, len(clients))

    def test_the_devices_of_a_node_share_its_connections(self):
        clients = set()

        def app(env, start_response):
            clients.add(env['REMOTE_PORT'])
            return self.app(env, start_response)

        peer = self.peer(app)
        os.mkdir(os.path.join(self.devices_dir, 'sdb'))
        self.ask(peer)
        self.ask(dict(peer, device='sdb'))
        self.assertEqual(1, len(clients))

    def test_an_idle_connection_that_the_server_closed_is_made_anew(self):
        peer = self.peer(keepalive=0.05)
        self.ask(peer)
        conn, = self.client._idle['127.0.0.1', peer['replication_port']]
        wait_for(lambda: self.readable(conn), 'a closed connection')
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))

    @staticmethod
    def readable(conn):
        return bool(select.select([conn.sock.fd], [], [], 0)[0])

    def test_an_unmounted_device(self):
        self.assertEqual((Answer.UNMOUNTED, set()),
                         self.ask(dict(self.peer(), device='sdz')))

    def test_stock_swift_is_without_the_verb(self):
        stock = server.ObjectController(self.conf, logger=self.logger)
        self.assertEqual((Answer.UNSUPPORTED, set()),
                         self.ask(self.peer(stock)))

    def test_twenty_at_once_get_each_its_own_answer(self):
        peer = self.peer()
        pool = GreenPool(20)
        asked = [set(range(number % 7)) for number in range(200)]

        def ask(expected):
            roots = {partition: OTHER if partition in expected else EMPTY
                     for partition in range(10)}
            return self.ask(peer, roots)[1] == expected

        self.assertEqual([True] * 200, list(pool.imap(ask, asked)))
        idle = self.client._idle['127.0.0.1', peer['replication_port']]
        self.assertTrue(0 < len(idle) <= 20)

    def test_it_is_no_news_at_info_level(self):
        self.ask(self.peer())
        self.assertEqual([], self.logger.at('INFO'))

    def test_close_closes_the_idle_and_work_goes_on(self):
        peer = self.peer()
        self.ask(peer)
        conn, = self.client._idle['127.0.0.1', peer['replication_port']]
        self.client.close()
        self.assertIsNone(conn.sock)
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))

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
        self.assertEqual((Answer.MATCH, set()), self.ask(
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
        self.assertEqual(b'0', headers[b'x-backend-storage-policy-index'])
        self.assertEqual(b'true', headers[b'x-backend-replication'])
        self.assertEqual(b'127.0.0.9:6209/sdb%201',
                         headers[b'x-backend-lightsync-sender'])
        self.assertEqual(b'%d' % len(body), headers[b'content-length'])
        partitions = PartitionSet((4660,))
        self.assertEqual(body, encode_roots(partitions, slice_roots(
            partitions, 1, {4660: OTHER})))


class TestManyPartitions(ClientTestCase):
    """Comparisons that take more than one message."""

    roots = dict.fromkeys(range(0, 400, 2), EMPTY)

    def setUp(self):
        super().setUp()
        self.sent = []

    def server(self, app):
        """The node of a server that keeps what it is sent."""
        def recorded(env, start_response):
            body = env['wsgi.input'].read(int(env['CONTENT_LENGTH']))
            self.sent.append(decode_roots(body))
            env['wsgi.input'] = io.BytesIO(body)
            return app(env, start_response)

        return node(1, self.stack.enter_context(served(recorded)))

    def controller(self):
        return ObjectController(self.conf, logger=self.logger)

    def messages(self):
        """Of each message since the last call: partitions, slices, form."""
        found = [(message.count, len(message.roots),
                  'list' if message.partitions is not None else 'digest')
                 for message in self.sent]
        self.sent.clear()
        return found

    def test_the_digest_goes_first_and_the_list_when_it_is_unknown(self):
        peer = self.server(self.controller())
        self.assertEqual((Answer.MATCH, set()), self.ask(peer, self.roots))
        self.assertEqual([(200, 1, 'digest'), (200, 1, 'list')],
                         self.messages())
        for _ in range(2):
            self.ask(peer, self.roots)
            self.assertEqual([(200, 1, 'digest')], self.messages())

    def test_a_set_that_is_shorter_than_a_digest_is_sent_at_once(self):
        peer = self.server(self.controller())
        for size in (1, sync_message.DIGEST_BYTES):
            self.ask(peer, dict.fromkeys(range(size), EMPTY))
            self.assertEqual([(size, size, 'list')], self.messages())

    def test_differences_are_narrowed_down_over_a_real_server(self):
        peer = self.server(self.controller())
        manager = self.manager()
        self.put(manager, 'sda', 'o', partition=14)
        changed = {0: OTHER, 14: EMPTY, 398: OTHER}
        self.assertEqual((Answer.DIFFER, {0, 14, 398}),
                         self.ask(peer, {**self.roots, **changed}))
        self.assertEqual(
            [(200, 1, 'digest'), (200, 1, 'list'), (200, 14, 'digest'),
             (20, 20, 'digest'), (20, 20, 'list')], self.messages())
        _, hashes = manager._get_hashes('sda', 14, self.policy)
        changed = {0: EMPTY, 14: merkle.root(hashes), 398: EMPTY}
        self.assertEqual((Answer.MATCH, set()),
                         self.ask(peer, {**self.roots, **changed}))

    def test_a_server_of_several_processes_is_told_process_by_process(self):
        turns = itertools.cycle([self.controller() for _ in range(3)])
        peer = self.server(lambda *args: next(turns)(*args))
        for _ in range(4):
            self.assertEqual((Answer.DIFFER, {200}),
                             self.ask(peer, {**self.roots, 200: OTHER}))

    def test_a_peer_that_never_knows_the_set_is_an_error(self):
        with mock.patch.object(KnownSets, 'find', return_value=None):
            peer = self.server(self.controller())
            with self.assertRaisesRegex(SyncMessageError, 'unknown'):
                self.ask(peer, self.roots)
        self.assertEqual(['digest', 'list'],
                         [form for _, _, form in self.messages()])

    def test_a_peer_that_does_not_know_what_was_listed_is_an_error(self):
        with self.assertRaisesRegex(SyncMessageError, 'unknown'):
            self.ask(self.answering(answer(UNKNOWN)))

    def test_a_peer_that_gives_up_half_way(self):
        differs = answer(encode_reply(Verdict.COMPARED, [0]))
        for reply, expected in ((answer(b'', b'507 X'), Answer.UNMOUNTED),
                                (answer(b'', b'405 X'), Answer.UNSUPPORTED)):
            self.assertEqual((expected, set()), self.ask(
                self.answering(differs, reply), self.roots))
        with self.assertRaisesRegex(SyncMessageError, 'status 503'):
            self.ask(self.answering(differs, answer(b'', b'503 X')),
                     self.roots)
        with self.assertRaisesRegex(SyncMessageError, 'slice 14 '):
            self.ask(self.answering(differs, answer(
                encode_reply(Verdict.COMPARED, [14]))), self.roots)

    def test_nothing_is_asked_of_no_partitions(self):
        self.assertEqual((Answer.MATCH, set(), None), self.client.ask(
            SENDER, node(1, 1), self.policy, {}))

    def test_as_many_partitions_as_allowed(self):
        peer = self.server(self.controller())
        with mock.patch.object(Fingerprints, 'get_many',
                               lambda self, device, partitions, deadline: (
                                   0, dict.fromkeys(partitions, ABSENT))):
            roots = dict.fromkeys(range(0, 2 ** 32, 2 ** 14), EMPTY)
            self.client.http_timeout = 20
            self.assertEqual((Answer.MATCH, set()), self.ask(peer, roots))


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
        self.assertIs(Answer.TIMEOUT, self.failure(node(1, address[1])))


class TestBadPeer(ClientTestCase):

    def raises(self, errors, *answers):
        with self.assertRaises(errors):
            self.ask(self.answering(*answers))
        self.assert_not_kept()

    def test_one_that_never_answers(self):
        peer = self.scripted(lambda sock: sleep(60))
        with self.assertRaises(Timeout):
            self.ask(peer)
        self.assert_not_kept()

    def test_a_device_may_have_any_name(self):
        seen = []

        def script(sock):
            seen.append(read_request(sock)[0].split(b' ')[1])
            sock.sendall(answer())

        for name, path in (('n1 d1', b'/n1%20d1/roots'),
                           ('d%41', b'/d%2541/roots'),
                           ('d?x#', b'/d%3Fx%23/roots'),
                           ('d\xe9', b'/d%C3%A9/roots')):
            self.ask(dict(self.scripted(script), device=name))
            self.assertEqual(path, seen.pop())

    def test_one_that_answers_byte_by_byte_for_ever(self):
        def script(sock):
            read_request(sock)
            for byte in answer(b'x' * 1000):
                sock.sendall(bytes([byte]))
                sleep(0.02)

        with self.assertRaises(Timeout):
            self.ask(self.scripted(script))
        self.assert_not_kept()

    def test_one_that_is_slow_but_in_time(self):
        def script(sock):
            while read_request(sock):
                for part in (answer()[:9], answer()[9:30], answer()[30:]):
                    sock.sendall(part)
                    sleep(0.01)

        peer = self.scripted(script)
        for _ in range(3):
            self.assertEqual((Answer.MATCH, set()), self.ask(peer))
        self.assertEqual(1, len(self.accepted))

    def test_endless_interim_answers(self):
        def script(sock):
            read_request(sock)
            while True:
                sock.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
                sleep()

        # A peer that sent them from a process of its own would leave the hub
        # no time to notice that the time is out.
        with self.assertRaises(green_http_client.HTTPException):
            self.ask(self.scripted(script))

    def test_garbage_is_an_http_exception_or_a_broken_connection(self):
        for garbage in (b'garbage\r\n\r\n', b'\0' * 100, b'\r\n\r\n',
                        b'HTTP/1.1 abc\r\n\r\n', b'x' * 70000 + b'\r\n',
                        b'HTTP/1.1 200 OK\r\n' + b'a: ' + b'b' * 70000,
                        b'HTTP/1.1 200 OK\r\n' + b'a: b\r\n' * 2000):
            with self.subTest(garbage=garbage[:20]):
                self.raises((green_http_client.HTTPException, OSError),
                            garbage)

    def test_garbage_is_not_the_http_exception_of_the_standard_library(self):
        # Swift's connections are eventlet's, with classes of their own.
        self.assertIsNot(http.client.HTTPException,
                         green_http_client.HTTPException)

    def test_an_end_before_the_answer(self):
        self.raises(OSError)
        self.raises((green_http_client.HTTPException, OSError), b'HTTP/1.1 2')

    def test_a_length_that_is_wrong(self):
        for reply in (answer(length=0), answer(length=15),
                      answer(EQUAL[:9], length=16), answer(EQUAL + b'x')):
            with self.subTest(reply=reply), self.assertRaises(
                    SyncMessageError):
                self.ask(self.answering(reply))

    def test_a_length_that_is_no_number(self):
        reply = answer().replace(b': 16', b': many')
        try:
            self.ask(self.answering(reply))
        except (SyncMessageError, OSError, green_http_client.HTTPException):
            pass

    def test_an_endless_body_is_cut_off(self):
        received = []

        def script(sock):
            read_request(sock)
            sock.sendall(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
            while True:
                sock.sendall(b'x' * 65536)
                received.append(65536)
                sleep()

        with self.assertRaises((SyncMessageError, Timeout)):
            self.ask(self.scripted(script))
        self.assert_not_kept()
        self.assertLess(sum(received), 16 << 20)

    def test_a_body_longer_than_any_answer_is_not_read_to_its_end(self):
        size = sync_message.MAX_BYTES + 1
        self.raises(SyncMessageError, answer(b'x' * size))

    def test_an_answer_about_another_slice(self):
        self.raises(SyncMessageError, answer(
            encode_reply(Verdict.COMPARED, [1]),
            headers=b'Connection: close\r\n'))

    def test_an_answer_that_is_a_message(self):
        self.raises(SyncMessageError, answer(
            encode_roots(PartitionSet((0,)), (OTHER,)),
            headers=b'Connection: close\r\n'))

    def test_for_how_long_the_device_was_idle(self):
        for said, idle in ((b'0', 0), (b'301', 301), (b'9' * 10, 9999999999),
                           (b'9' * 11, None), (b'', None), (b'-1', None),
                           (b'1.5', None), (b'x', None), (b'1e3', None),
                           (b'\xb2', None)):
            with self.subTest(said):
                peer = self.answering(answer(
                    headers=b'X-Backend-Lightsync-Idle: %s\r\n' % said))
                self.assertEqual((Answer.MATCH, set(), idle),
                                 self.ask_all(peer))

    def test_a_device_that_does_not_say_for_how_long_it_was_idle(self):
        for reply, expected in ((answer(), Answer.MATCH),
                                (answer(b'', b'507 X'), Answer.UNMOUNTED)):
            self.assertEqual((expected, set(), None),
                             self.ask_all(self.answering(reply)))

    def test_each_status(self):
        for status, expected in ((400, Answer.UNSUPPORTED),
                                 (404, Answer.UNSUPPORTED),
                                 (405, Answer.UNSUPPORTED),
                                 (501, Answer.UNSUPPORTED),
                                 (507, Answer.UNMOUNTED)):
            reply = answer(b'no', b'%d X' % status)
            self.assertEqual((expected, set()),
                             self.ask(self.answering(reply)))
        for status in (201, 301, 408, 411, 413, 429, 500, 503, 529):
            with self.subTest(status=status):
                with self.assertRaisesRegex(SyncMessageError,
                                            'status %d' % status):
                    self.ask(self.answering(answer(b'', b'%d X' % status)))

    def test_a_connection_that_the_peer_wants_closed_is_closed(self):
        for reply in (answer(headers=b'Connection: close\r\n'),
                      answer().replace(b'HTTP/1.1', b'HTTP/1.0'),
                      b'HTTP/1.1 200 OK\r\n\r\n' + EQUAL):
            peer = self.answering(reply)
            self.assertEqual((Answer.MATCH, set()), self.ask(peer))
            self.assert_not_kept()

    def test_a_chunked_answer_will_do(self):
        reply = (b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
                 b'%x\r\n%s\r\n0\r\n\r\n' % (len(EQUAL), EQUAL))
        peer = self.answering(reply, reply)
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))

    def test_a_bad_answer_is_not_repeated_on_a_kept_connection(self):
        # Only a connection that was closed while it lay idle is made anew.
        peer = self.answering(answer(), b'garbage\r\n\r\n')
        self.ask(peer)
        with self.assertRaises(green_http_client.HTTPException):
            self.ask(peer)
        self.assertEqual(1, len(self.accepted))

    def test_a_peer_that_closes_every_connection_at_once_is_an_error(self):
        peer = self.answering()
        with self.assertRaises(OSError):
            self.ask(peer)
        self.assertEqual(1, len(self.accepted))

    def test_a_kept_connection_reset_is_made_anew(self):
        def script(sock):
            while read_request(sock):
                sock.sendall(answer())

        peer = self.scripted(script)
        self.ask(peer)
        sock, = self.accepted
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        b'\1\0\0\0\0\0\0\0')
        self.tasks.pop().kill()
        sock.close()
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))
        self.assertEqual(2, len(self.accepted))

    def test_a_time_out_leaves_the_next_message_its_own_connection(self):
        silent = []

        def script(sock):
            while read_request(sock):
                if not silent:
                    silent.append(sock)
                    sleep(60)
                sock.sendall(answer())

        peer = self.scripted(script)
        with self.assertRaises(Timeout):
            self.ask(peer)
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))
        self.assertEqual(2, len(self.accepted))

    def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(self):
        differs = answer(encode_reply(Verdict.COMPARED, [0]))
        replies = {(0,): answer(), (5,): differs}
        sent = []

        def script(sock):
            while request := read_request(sock):
                sock.sendall(replies[decode_roots(request[1]).partitions])
                if not sent:
                    wait_for(lambda: told, 'the client has its answer')
                    sock.sendall(answer())
                    sent.append(sock)

        told = []
        peer = self.scripted(script)
        self.assertEqual((Answer.MATCH, set()), self.ask(peer))
        told.append('more')
        wait_for(lambda: sent, 'a second answer')
        self.assertEqual((Answer.DIFFER, {5}), self.ask(peer, {5: OTHER}))

    def test_a_message_is_one_segment(self):
        # Head and body leave the host together: one packet, one wake-up.
        sizes = []

        def script(sock):
            sizes.append(len(sock.recv(65536)))
            sock.sendall(answer())

        self.ask(self.scripted(script))
        self.assertEqual(1, len(sizes))
        self.assertGreater(sizes[0], 100)

    def test_a_real_socket_has_a_limit_on_silence(self):
        peer = self.scripted(lambda sock: read_request(sock) and
                             sock.sendall(answer()))
        self.ask(peer)
        conn, = self.client._idle['127.0.0.1', peer['replication_port']]
        self.assertEqual(1200, conn.sock.getsockopt(
            green_socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))


if __name__ == '__main__':
    unittest.main()
