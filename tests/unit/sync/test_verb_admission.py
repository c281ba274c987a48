# SPDX-License-Identifier: Apache-2.0
"""verb: how many messages are answered at the same time."""

import contextlib
import socket
import threading
import time
from unittest import mock

from swift.common.concurrency import sleep, spawn

from swift_lightsync.common.options import OptionError
from swift_lightsync.sync import verb
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.wire import sync_message
from swift_lightsync.sync.wire.notice import Notice
from tests.unit.sync import documented
from tests.unit.sync.fixtures import DEADLINE, served, wait_for
from tests.unit.sync.verbs import ONE, OTHER, SUFFIXES, VerbTestCase


class TestAdmission(VerbTestCase):

    def setUp(self):
        super().setUp()
        self.entered, self.most, self.go = 0, 0, threading.Event()
        self.addCleanup(self.go.set)
        self.enterContext(mock.patch.object(
            Fingerprints, 'get_many', self.held()))

    def held(self):
        genuine, lock = Fingerprints.get_many, threading.Lock()

        def get_many(*args):
            with lock:
                self.entered += 1
                self.most = max(self.most, self.entered)
            self.go.wait(DEADLINE)
            with lock:
                self.entered -= 1
            return genuine(*args)

        return get_many

    def ask_at_once(self, count, app):
        answers = []
        for _ in range(count):
            spawn(lambda: answers.append(self.request(ONE, app=app)))
        return answers

    def impatient(self, **conf):
        with mock.patch.object(verb, 'ADMISSION_PATIENCE', 0.05):
            return self.controller(**conf)

    def test_so_many_are_answered_at_the_same_time_and_all_in_the_end(self):
        for conf, expected in (({}, 4), ({'replication_concurrency': ''}, 4),
                               ({'replication_concurrency': '2'}, 2),
                               ({'replication_concurrency': '0'}, 9)):
            with self.subTest(conf):
                self.most = 0
                self.go.clear()
                answers = self.ask_at_once(9, self.controller(**conf))
                wait_for(lambda: self.most == expected, 'work on messages')
                self.go.set()
                wait_for(lambda: len(answers) == 9, 'answers')
                self.assertEqual({200}, {answer.status_int
                                         for answer in answers})
                self.assertEqual(expected, self.most)

    def test_one_whose_turn_does_not_come_is_a_503_that_says_why(self):
        app = self.impatient(replication_concurrency='2')
        answers = self.ask_at_once(2, app)
        wait_for(lambda: self.entered == 2, 'work on messages')
        for what in ('roots', 'suffixes', 'missing', 'rehash'):
            self.refused(503, ONE, r'^2 messages are being answered '
                         r'\(replication_concurrency\), and no turn came in '
                         r'0.05 seconds$', app=app, path='/sda/' + what)
        self.assertEqual([], answers)
        self.go.set()
        wait_for(lambda: len(answers) == 2, 'answers')
        self.assertEqual({0}, self.differing({0: OTHER}, app=app))

    def test_a_notice_needs_no_turn(self):
        app = self.impatient(replication_concurrency='1')
        self.ask_at_once(1, app)
        wait_for(lambda: self.entered == 1, 'work on a message')
        body = Notice(('10.0.0.1', 6200), ('10.0.0.2', 6200)).encode()
        self.assertEqual(204, self.request(
            body, path='/sda/notice', app=app).status_int)

    def test_what_is_refused_gives_its_turn_back(self):
        app = self.impatient(replication_concurrency='1')
        self.go.set()
        for _ in range(3):
            self.refused(400, b'x' * 100, 'magic', app=app)
            self.refused(507, SUFFIXES, app=app, path='/sdz/suffixes')
        self.assertEqual({0}, self.differing({0: OTHER}, app=app))

    def test_only_so_many_long_bodies_are_read_or_in_memory(self):
        app = self.impatient(replication_concurrency='1')
        spawn(lambda: self.request(app=app, **self.slow(
            verb.SHORT_BODY + 1)))
        sleep(0)
        for more, read in ((0, True), (1, False)):
            body = mock.Mock(spec=['read', 'close'])
            body.read.return_value = b''
            self.assertEqual(400 if read else 503, self.request(
                body, app=app, Content_Length=str(verb.SHORT_BODY + more)
            ).status_int)
            self.assertEqual(read, body.read.called)
        self.go.set()

    def test_who_announces_long_bodies_and_sends_none_keeps_nobody_waiting(
            self):
        app = self.impatient()
        self.go.set()
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(served(app))
            silent = []
            for _ in range(6):
                sock = stack.enter_context(contextlib.closing(
                    socket.create_connection(('127.0.0.1', port))))
                sock.sendall(b'LIGHTSYNC /sda/roots HTTP/1.1\r\n'
                             b'X-Backend-Storage-Policy-Index: 0\r\n'
                             b'Content-Length: %d\r\n\r\n'
                             % (verb.SHORT_BODY + 1))
                silent.append(sock)
            places = app._long_bodies
            wait_for(lambda: not places._free.counter, 'all places taken')
            self.assertEqual({0}, self.differing({0: OTHER}, app=app))

    def slow(self, length):
        """A body that comes once ``self.go`` is set."""
        def read(size):
            wait_for(self.go.is_set, 'the body')
            return b'x' * size

        body = mock.Mock(spec=['read', 'close'])
        body.read.side_effect = read
        return {'body': body, 'Content_Length': str(length)}

    def test_a_slow_short_body_takes_no_turn(self):
        app = self.impatient(replication_concurrency='1')
        waiting = spawn(lambda: self.request(app=app, **self.slow(100)))
        sleep(0)
        self.refused(400, b'x' * 100, 'magic', app=app)
        self.assertFalse(waiting.dead)
        self.go.set()
        self.assertEqual(400, waiting.wait().status_int)

    def test_a_slow_long_body_has_a_turn_for_a_while_only(self):
        app = self.controller(replication_concurrency='1',
                              client_timeout='3600')
        with mock.patch.object(verb, 'PATIENCE', 0.1):
            self.refused(408, app=app, **self.slow(verb.SHORT_BODY + 1))
        self.go.set()
        self.assertEqual({0}, self.differing({0: OTHER}, app=app))

    def test_the_hub_runs_while_a_message_is_worked_on(self):
        self.go.set()
        for owner, name in ((sync_message, 'decode_roots'),
                            (verb.KnownSets, 'find'),
                            (Fingerprints, 'get_many')):
            ticks, seen = [], []
            genuine = getattr(owner, name)

            def slow(*args):
                deadline = time.monotonic() + DEADLINE
                while not ticks and time.monotonic() < deadline:
                    time.sleep(0.001)
                seen.extend(ticks)
                return genuine(*args)

            with self.subTest(name), mock.patch.object(owner, name, slow):
                spawn(lambda: ticks.append(1))
                self.assertEqual({0}, self.differing({0: OTHER}))
                self.assertEqual([1], seen)

    def test_a_bad_number_is_refused_by_name(self):
        for value in ('-1', 'x', '1.5'):
            with self.assertRaisesRegex(
                    OptionError, 'replication_concurrency = %s: ' % value):
                self.controller(replication_concurrency=value)

    def test_what_is_documented_holds(self):
        self.assertEqual(verb.DEFAULT_CONCURRENCY, int(documented.found(
            r'`replication_concurrency` \((\d+); 0: any number\)')))
        self.assertEqual(verb.ADMISSION_PATIENCE, int(documented.found(
            r'(\d+) seconds at most: up to')))
        self.assertEqual(verb.SHORT_BODY >> 10, int(documented.found(
            r'at most: up to (\d+) KiB in memory')))
