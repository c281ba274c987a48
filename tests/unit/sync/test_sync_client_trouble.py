# SPDX-License-Identifier: Apache-2.0
"""sync_client: real sockets, bad servers."""

import http.client
import socket
from unittest import mock

from swift.common.concurrency import Timeout, green_http_client, sleep
from swift.common.concurrency import socket as green_socket

from swift_lightsync.sync.connections import Refusal
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.wire import sync_message
from swift_lightsync.sync.wire.sync_message import (
    SyncMessageError,
    decode_roots,
    encode_roots,
)
from tests.unit.sync.fixtures import wait_for
from tests.unit.sync.peers import (
    EQUAL,
    ClientTestCase,
    answer,
    read_request,
    reply,
)
from tests.unit.sync.verbs import OTHER


class TestBadPeer(ClientTestCase):

    def raises(self, errors, *answers):
        with self.assertRaises(errors):
            self.ask(self.answering(*answers))
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

    def test_one_that_never_answers_or_byte_by_byte_for_ever(self):
        def script(sock):
            read_request(sock)
            for byte in answer(b'x' * 1000):
                sock.sendall(bytes([byte]))
                sleep(0.02)

        self.client.connections.http_timeout = 0.1
        for each in (script, lambda sock: sleep(60)):
            with self.assertRaises(Timeout):
                self.ask(self.scripted(each))
            self.assert_not_kept()

    def test_one_that_is_slow_but_in_time(self):
        def script(sock):
            while read_request(sock):
                for part in (answer()[:9], answer()[9:30], answer()[30:]):
                    sock.sendall(part)
                    sleep(0.01)

        peer = self.scripted(script)
        for _ in range(3):
            self.assertEqual(set(), self.ask(peer))
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

    def test_an_answer_that_is_none(self):
        close = b'Connection: close\r\n'
        # About another slice; a message; longer than any answer.
        for data in (
                answer(reply(1), headers=close),
                answer(encode_roots(SharedSet([(0, 'sda', 0)]), (OTHER,)),
                       headers=close),
                answer(b'x' * (sync_message.MAX_BYTES + 1))):
            self.raises(SyncMessageError, data)
        for data in (answer(length=0), answer(length=15),
                     answer(EQUAL[:9], length=16), answer(EQUAL + b'x')):
            with self.subTest(data=data), self.assertRaises(
                    SyncMessageError):
                self.ask(self.answering(data))

    def test_a_length_that_is_no_number(self):
        data = answer().replace(b': %d' % len(EQUAL), b': many')
        try:
            self.ask(self.answering(data))
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

        with self.assertRaises(SyncMessageError):
            self.ask(self.scripted(script))
        self.assert_not_kept()
        self.assertLess(sum(received), 16 << 20)

    def test_each_status(self):
        for status, expected in ((400, Answer.UNSUPPORTED),
                                 (404, Answer.UNSUPPORTED),
                                 (405, Answer.UNSUPPORTED),
                                 (501, Answer.UNSUPPORTED),
                                 (507, Answer.UNMOUNTED)):
            with self.assertRaises(Refusal) as caught:
                self.ask(self.answering(answer(b'no', b'%d X' % status)))
            self.assertIs(expected, caught.exception.answer)
            self.assertFalse(caught.exception.is_postponement)
        for status in (408, 429, 502, 503, 504):
            with self.assertRaises(Refusal) as caught:
                self.ask(self.answering(answer(b'', b'%d X' % status)))
            self.assertIs(Answer.BUSY, caught.exception.answer)
            self.assertTrue(caught.exception.is_postponement)
        for status in (201, 301, 411, 413, 500, 529):
            with self.subTest(status=status):
                with self.assertRaisesRegex(SyncMessageError,
                                            'status %d' % status):
                    self.ask(self.answering(answer(b'', b'%d X' % status)))

    def test_a_connection_that_the_peer_wants_closed_is_closed(self):
        for data in (answer(headers=b'Connection: close\r\n'),
                      answer().replace(b'HTTP/1.1', b'HTTP/1.0'),
                      b'HTTP/1.1 200 OK\r\n\r\n' + EQUAL):
            peer = self.answering(data)
            self.assertEqual(set(), self.ask(peer))
            self.assert_not_kept()

    def test_a_chunked_answer_will_do(self):
        data = (b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
                 b'%x\r\n%s\r\n0\r\n\r\n' % (len(EQUAL), EQUAL))
        peer = self.answering(data, data)
        self.assertEqual(set(), self.ask(peer))
        self.assertEqual(set(), self.ask(peer))

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
        self.assertEqual(set(), self.ask(peer))
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
        with mock.patch.object(self.client.connections, 'http_timeout', 0.5), \
                self.assertRaises(Timeout):
            self.ask(peer)
        self.assertEqual(set(), self.ask(peer))
        self.assertEqual(2, len(self.accepted))

    def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next(self):
        replies = {0: answer(), 5: answer(reply(0))}
        sent = []

        def script(sock):
            while request := read_request(sock):
                (_, _, partition), = decode_roots(request[1]).partitions
                sock.sendall(replies[partition])
                if not sent:
                    wait_for(lambda: told, 'the client has its answer')
                    sock.sendall(answer())
                    sent.append(sock)

        told = []
        peer = self.scripted(script)
        self.assertEqual(set(), self.ask(peer))
        told.append('more')
        wait_for(lambda: sent, 'a second answer')
        self.assertEqual({5}, self.ask(peer, {5: OTHER}))

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
        conn, = self.kept(peer)
        self.assertEqual(
            4000 * self.client.connections.conn_timeout,
            conn.sock.getsockopt(green_socket.IPPROTO_TCP,
                                 socket.TCP_USER_TIMEOUT))
