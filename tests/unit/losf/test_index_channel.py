# SPDX-License-Identifier: Apache-2.0
"""The index's client and a server that fails, in every way it can."""

import os
import socket
import threading
import time
import unittest
from contextlib import contextmanager
from unittest import mock

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes
from swift.common.concurrency import GreenPile, Timeout, sleep, spawn, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.swob import HTTPException

from swift_losf.errors import IndexUnavailable
from swift_losf.index.channel import Absence, Breaker
from swift_losf.index.index_client import IndexClient
from swift_losf.index.known import NotKnownYet
from swift_losf.memory_directory import MAX_PATH
from tests.unit.losf.index_world import HASH, NAME, location_of
from tests.unit.losf.kv_world import (
    DEADLINE,
    World,
    listening,
    serve_index,
    wait_for,
    watched_hub,
)

#: seconds of those who wait for what does not answer
TIMEOUT = 0.5
PLACE = location_of(NAME)


class TestFailures(unittest.TestCase):

    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.path = self.world.layout('d1').socket
        os.makedirs(os.path.dirname(self.path))
        self.enterContext(Timeout(2 * DEADLINE))
        self.client = IndexClient(self.path, DEADLINE)
        self.impatient = IndexClient(self.path, TIMEOUT, 1.0)

    def assert_unavailable(self, reason, function, *args):
        with self.assertRaisesRegex(IndexUnavailable, reason) as caught:
            function(*args)
        return caught.exception

    def test_no_server_is_said_at_once(self):
        client = IndexClient(self.path, 10 * DEADLINE)
        started = time.monotonic()
        for _ in range(10):
            error = self.assert_unavailable(
                'index server at %s: No such file' % self.path,
                client.statistics)
        self.assertLess(time.monotonic() - started, DEADLINE)
        self.assertEqual(507, error.status_int)

    def test_those_who_wait_do_not_notice_that_one_begins_anew(self):
        client = IndexClient(self.path, DEADLINE, waits=True)
        self.world.serve('d1')
        client.statistics()
        self.world.kill('d1')
        calls = GreenPile(2)
        for _ in range(2):
            calls.spawn(client.statistics)
        sleep(TIMEOUT)
        self.world.serve('d1')
        self.assertEqual(2, len(list(calls)))

    def test_native_threads_do_not_wait(self):
        client = IndexClient(self.path, 10 * DEADLINE, waits=True)
        self.assertEqual(503, self.assert_unavailable(
            'No such file', tpool.execute, client.statistics).status_int)

    def test_one_that_hung_and_is_dead_now_is_waited_for(self):
        client = IndexClient(self.path, 2 * TIMEOUT, 0, waits=True)
        self.world.serve('d1')
        wait_for(client.statistics, 'it answers in time')
        with self.world.suspended('d1'):
            self.assert_unavailable('has not answered', client.statistics)
            self.world.kill('d1')
        calls = GreenPile(2)
        calls.spawn(self.assert_unavailable, 'refused', client.statistics)
        sleep(TIMEOUT)
        calls.spawn(self.assert_unavailable, 'refused', client.statistics)
        self.assertEqual(2, len(list(calls)))

    def test_many_who_wait_ask_no_more_often_than_one(self):
        client = IndexClient(self.path, DEADLINE, waits=True)
        service = serve_index(self, self.path, state='recovering')
        real, asked = service.answer, []
        self.enterContext(mock.patch.object(
            service, 'answer', lambda *call: asked.append(call) or real(
                *call)))
        waiting = [spawn(client.list_hash, 1, HASH) for _ in range(100)]
        wait_for(lambda: len(asked) >= 100, 'all have found it away')
        started, before = time.monotonic(), len(asked)
        wait_for(lambda: len(asked) >= before + 10, 'they ask again')
        self.assertGreater(time.monotonic() - started, 0.4)
        for each in waiting[1::2]:
            each.kill()
        service.index = mock.Mock(**{'reader.list_hash.return_value': []})
        self.assertEqual([[]] * 50, [each.wait() for each in waiting[::2]])

    def test_those_who_wait_do_so_while_one_recovers(self):
        client = IndexClient(self.path, DEADLINE, waits=True)
        service = serve_index(self, self.path, state='recovering')
        calls = GreenPile(1)
        calls.spawn(client.list_hash, 1, HASH)
        sleep(TIMEOUT)
        service.index = mock.Mock(**{'reader.list_hash.return_value': []})
        self.assertEqual([[]], list(calls))

    def test_those_who_waited_in_vain_fail_at_once_next_time(self):
        client = IndexClient(self.path, TIMEOUT, waits=True)
        started = time.monotonic()
        error = self.assert_unavailable('No such file', client.statistics)
        self.assertEqual(507, error.status_int)
        self.assertGreaterEqual(time.monotonic() - started, TIMEOUT)
        calls = 20
        started = time.monotonic()
        for _ in range(calls):
            self.assert_unavailable('No such file', client.statistics)
        self.assertLess(time.monotonic() - started, calls * TIMEOUT)
        self.world.serve('d1')
        client.statistics()
        self.world.kill('d1')
        started = time.monotonic()
        self.assert_unavailable('refused', client.statistics)
        self.assertGreaterEqual(time.monotonic() - started, TIMEOUT)

    def test_one_that_ends_amid_a_call_will_be_back(self):
        self.world.serve('d1')
        self.client.statistics()
        calls = GreenPile(1)
        with self.world.suspended('d1'):
            calls.spawn(self.assert_unavailable, '', self.client.statistics)
            sleep(TIMEOUT)
            self.world.kill('d1')
        self.assertEqual(503, next(calls).status_int)

    def test_nobody_waits_where_no_server_can_come(self):
        client = IndexClient(self.path, 10 * DEADLINE, waits=True)
        other = self.enterContext(socket.socket(
            socket.AF_UNIX, socket.SOCK_DGRAM))
        other.bind(self.path)
        self.assertEqual(507, self.assert_unavailable(
            'wrong type for socket', client.statistics).status_int)

    def test_no_call_is_made_again_that_an_index_was_asked(self):
        client = IndexClient(self.path, DEADLINE, waits=True)
        service = serve_index(self, self.path)
        for raised in OSError(5, 'no luck'), NotKnownYet('no luck'):
            index = service.index = mock.Mock(
                **{'register.side_effect': raised})
            error = self.assert_unavailable(
                'no luck', client.register, 1, HASH, NAME, PLACE, 4096)
            self.assertEqual(503, error.status_int)
            self.assertEqual(1, index.register.call_count)

    def test_one_that_does_not_answer_is_complained_of(self):
        said = []
        client = IndexClient(self.path, DEADLINE, complain=said.append)
        err = self.assert_unavailable('No such file', client.statistics)
        self.assertEqual([err], said)
        self.assertEqual(self.path, err.cause)

    def test_a_server_that_died_is_said_and_its_successor_is_found(self):
        self.world.serve('d1')
        self.client.statistics()
        tpool.execute(self.client.statistics)
        self.world.kill('d1')
        self.assert_unavailable('refused', self.client.statistics)
        self.assert_unavailable('refused', tpool.execute,
                                self.client.statistics)
        self.world.serve('d1')
        self.client.statistics()
        tpool.execute(self.client.statistics)

    def test_a_restart_amid_traffic_costs_calls_but_confuses_none(self):
        self.world.serve('d1')
        answers, failures, ended = [], [], []

        def call(number):
            while not ended:
                try:
                    listed = self.client.register(
                        number, HASH, NAME, PLACE, 4096)
                except IndexUnavailable as err:
                    failures.append(err)
                    sleep(0.01)
                else:
                    self.assertEqual([(NAME, PLACE)], listed)
                    answers.append(number)
        pile = GreenPile(16)
        for number in range(16):
            pile.spawn(call, number)
        for _ in range(2):
            before = len(answers)
            wait_for(lambda: len(answers) > before + 100, 'answers')
            self.world.kill('d1')
            wait_for(lambda: failures, 'failures')
            failures.clear()
            self.world.serve('d1')
        before = len(answers)
        wait_for(lambda: len(answers) > before + 100, 'answers again')
        ended.append(True)
        list(pile)

    def assert_in_time(self, function):
        """It fails after the timeout, and others run on the hub meanwhile."""
        started = time.monotonic()
        with watched_hub() as rounds:
            self.assert_unavailable('has not answered within', function)
        self.assertLess(time.monotonic() - started, DEADLINE)
        self.assertGreater(len(rounds), 5)

    def test_a_stopped_server_costs_a_call_its_timeout_and_no_more(self):
        self.world.serve('d1')
        wait_for(self.impatient.statistics, 'the server answers in time')
        with self.world.suspended('d1'):
            self.assert_in_time(self.impatient.statistics)
        wait_for(self.impatient.statistics, 'the server answers again')

    def test_a_native_thread_waits_for_a_stopped_server_off_the_hub(self):
        self.world.serve('d1')
        with self.world.suspended('d1'):
            self.assert_in_time(lambda: tpool.execute(
                self.impatient.statistics))

    def test_after_a_missed_deadline_calls_fail_at_once_but_one_probe(self):
        self.world.serve('d1')
        resigned = IndexClient(self.path, TIMEOUT, 100 * DEADLINE)
        with self.world.suspended('d1'):
            for client in (resigned, self.impatient):
                self.assert_in_time(client.statistics)
            started = time.monotonic()
            for _ in range(100):
                self.assert_unavailable('lately', resigned.statistics)
            self.assertLess(time.monotonic() - started, DEADLINE)
        wait_for(self.impatient.statistics, 'a probe is let through')

    def test_a_full_backlog_costs_the_timeout_and_no_more(self):
        self.enterContext(listening(self.path, 0))
        filler, probe = (self.enterContext(socket.socket(socket.AF_UNIX))
                         for _ in range(2))
        filler.connect(self.path)
        probe.setblocking(False)
        with self.assertRaises(BlockingIOError):
            probe.connect(self.path)
        self.assert_in_time(self.impatient.statistics)
        other = IndexClient(self.path, TIMEOUT)
        self.assert_in_time(lambda: tpool.execute(other.statistics))

    @contextmanager
    def answering(self, data):
        """Serve one connection, to which these bytes are all that is sent."""
        listener = self.enterContext(listening(self.path))

        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(data)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        # Else the next call may find the connection open, and use it.
        thread.join(DEADLINE)
        os.unlink(self.path)

    def test_connections_that_fail_are_said(self):
        settings = b'\x00\x00\x00\x04\x00\x00\x00\x00\x00'
        for behind, reason in (
                (b'\x00\x00\x00\x01\x05\x00\x00\x00\x00', 'breaks HTTP/2'),
                (b'', 'closed the connection'),
                (b'\x00\x00\x04\x03\x00\x00\x00\x00\x01'
                 b'\x00\x00\x00\x07', 'reset the stream'),
                (b'\x00\x00\x08\x07\x00\x00\x00\x00\x00'
                 b'\x00\x00\x00\x00\x00\x00\x00\x00',
                 'ends the connection')):
            with self.subTest(reason), self.answering(settings + behind):
                self.assert_unavailable(reason, self.client.statistics)

    def test_replies_that_are_no_grpc_are_said(self):
        well = ('grpc-status', '0')
        for status, others, body, reason in (
                ('200', [('grpc-status', '13'),
                         ('grpc-message', 'no %E2%80%A6 luck')], b'',
                 '%s: INTERNAL: no … luck$' % self.path),
                ('404', [], b'', "HTTP status b'404'"),
                ('200', [], b'', 'grpc-status None'),
                ('200', [('grpc-status', 'x')], b'', "grpc-status b'x'"),
                ('200', [well], b'\0\0', 'no message'),
                ('200', [well], b'\1\0\0\0\0', 'compressed'),
                ('200', [well], b'\0\0\0\0\2x',
                 'has 1 bytes, not the 2 it names')):
            with self.subTest(reason):
                server = H2Connection(H2Configuration(client_side=False))
                server.initiate_connection()
                client = H2Connection()
                client.initiate_connection()
                client.update_settings({SettingCodes.HEADER_TABLE_SIZE: 0})
                client.send_headers(1, [(':method', 'POST'), (':path', '/'),
                                        (':scheme', 'http'),
                                        (':authority', 'localhost')])
                server.receive_data(client.data_to_send())
                server.send_headers(1, [(':status', status), *others],
                                    end_stream=not body)
                if body:
                    server.send_data(1, body, end_stream=True)
                with self.answering(server.data_to_send()):
                    self.assert_unavailable(reason, self.client.statistics)

    def test_a_path_that_linux_does_not_take_is_refused_with_the_limit(self):
        IndexClient('/' + 'x' * (MAX_PATH - 1))
        with self.assertRaisesRegex(ValueError, r'/x+ has 108 bytes; .* 107'):
            IndexClient('/' + 'x' * MAX_PATH)
        with self.assertRaisesRegex(ValueError, 'has 109 bytes'):
            IndexClient('/' + 'é' * 54)


class TestAbsence(unittest.TestCase):

    def setUp(self):
        self.now = 100
        self.absence = Absence(5, clock=lambda: self.now)

    def test_it_is_worth_waiting_until_it_has_lasted_for_so_long(self):
        left = []
        for self.now in 100, 102, 105, 120:
            left.append(self.absence.found(True))
        self.assertEqual([5, 3, 0, 0], left)

    def test_another_one_is_after_any_answer_or_when_nobody_asked_for_long(
            self):
        self.absence.found(True)
        self.now += 50
        self.assertEqual(0, self.absence.found(True))
        self.absence.found(False)
        self.assertEqual(5, self.absence.found(True))
        self.now += 61
        self.assertEqual(5, self.absence.found(True))


class TestBreaker(unittest.TestCase):

    def setUp(self):
        self.now = 100
        self.breaker = Breaker(1, 6, clock=lambda: self.now)

    def admitted(self, calls=3):
        return [self.breaker.admits() for _ in range(calls)]

    def test_all_calls_pass_while_none_has_missed_its_deadline(self):
        self.assertEqual([True] * 3, self.admitted())

    def test_after_a_miss_none_passes_until_the_interval_is_over(self):
        self.breaker.missed()
        self.assertEqual([False] * 3, self.admitted())
        self.now += 0.99
        self.assertEqual([False] * 3, self.admitted())
        self.now += 0.01
        self.assertEqual([True, False, False], self.admitted())

    def test_an_answer_lets_all_pass_again(self):
        self.breaker.missed()
        self.now += 1
        self.assertEqual([True, False, False], self.admitted())
        self.breaker.answered()
        self.assertEqual([True] * 3, self.admitted())

    def test_a_probe_that_misses_starts_another_interval(self):
        self.breaker.missed()
        self.now += 1
        self.admitted()
        self.now += 5
        self.breaker.missed()
        self.assertEqual([False] * 3, self.admitted())
        self.now += 1
        self.assertEqual([True, False, False], self.admitted())

    def test_a_probe_that_was_killed_is_followed_by_another(self):
        self.breaker.missed()
        self.now += 1
        self.admitted()
        self.now += 6
        self.assertEqual([True, False, False], self.admitted())


class TestIndexUnavailable(unittest.TestCase):

    def test_it_is_an_unavailable_device_and_a_response(self):
        error = IndexUnavailable('no luck')
        self.assertIsInstance(error, DiskFileDeviceUnavailable)
        self.assertIsInstance(error, HTTPException)
        self.assertEqual('no luck', str(error))
        self.assertEqual(('507 Insufficient Storage', b'no luck\n'),
                         (error.status, error.body))
        self.assertEqual(503, IndexUnavailable('soon', 503).status_int)
