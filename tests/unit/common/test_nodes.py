# SPDX-License-Identifier: Apache-2.0
"""nodes: real servers, of which some are of no use."""

import unittest

from swift.common.concurrency import listen, sleep, spawn

from swift_lightsync.common.nodes import Outcome, ask_all
from swift_lightsync.report.answer import QUESTION, NodeAnswer
from tests.unit.report.fixtures import NOW, PAIR
from tests.unit.sync.fixtures import DEADLINE, open_sockets, served, wait_for

ANSWER = NodeAnswer(NOW, '/cache', (PAIR,), (), ())


def app(status, body, asked=None):
    def answer(env, start_response):
        if asked is not None:
            asked.append((env['REQUEST_METHOD'], env['PATH_INFO']))
        start_response(status, [('Content-Length', str(len(body)))])
        return [body]
    return answer


class Drip:
    """Servers that answer byte by byte, and how many do so at once."""

    def __init__(self):
        self.running = self.most = 0

    def __call__(self, env, start_response):
        start_response('200 OK', [('Content-Length', '1000')])
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            while True:
                sleep(0.02)
                yield b' '
        finally:
            self.running -= 1


class TestAsking(unittest.TestCase):

    def serve(self, *apps):
        """Return the addresses of servers of these apps."""
        return [('127.0.0.1', self.enterContext(served(each)))
                for each in apps]

    def raw(self, data):
        """Return the address of a server that answers with bytes."""
        listener = listen(('127.0.0.1', 0))

        def answer():
            while True:
                connection, _ = listener.accept()
                connection.recv(1000)
                connection.sendall(data)
                connection.close()

        thread = spawn(answer)
        self.addCleanup(listener.close)
        self.addCleanup(thread.kill)
        return listener.getsockname()

    def test_what_a_node_answers_is_told(self):
        asked = []
        host, = self.serve(app('200 OK', ANSWER.encode(), asked))
        reply, = ask_all([host], DEADLINE, QUESTION)
        self.assertEqual((host, Outcome.ANSWERED, '', ANSWER), (
            reply.host, reply.outcome, reply.problem, reply.answer))
        self.assertEqual([('GET', '/recon/lightsync')], asked)

    def test_a_server_without_the_filter_is_told_apart(self):
        hosts = self.serve(*(app(status, b'x') for status in (
            '400 Bad Request', '404 Not Found', '405 Not Allowed',
            '501 Not Implemented')))
        self.assertEqual({Outcome.WITHOUT}, {
            reply.outcome for reply in ask_all(hosts, DEADLINE, QUESTION)})

    def test_an_answer_that_is_of_no_use_is_told_with_the_reason(self):
        hosts = self.serve(*(app(status, body) for status, body in (
            ('200 OK', b''), ('200 OK', b'{}'), ('200 OK', b'[' * 100000),
            ('503 Broken', b'\xff'), ('302 Elsewhere', b''),
            ('500 Error', b'{"error": "/x/lightsync.recon: bad"}'))))
        hosts += [self.raw(b'garbage\r\n\r\n'), self.raw(b'')]
        replies = ask_all(hosts, DEADLINE, QUESTION)
        self.assertEqual({Outcome.INVALID, Outcome.UNREACHABLE}, {
            reply.outcome for reply in replies})
        self.assertTrue(all(reply.problem for reply in replies))
        told = {reply.host: reply for reply in replies}
        self.assertIn('/x/lightsync.recon: bad', told[hosts[5]].problem)
        for host in hosts[:-1]:
            self.assertEqual(Outcome.INVALID, told[host].outcome)

    def test_a_refused_connection_is_told(self):
        listener = listen(('127.0.0.1', 0))
        host = listener.getsockname()
        listener.close()
        reply, = ask_all([host], DEADLINE, QUESTION)
        self.assertEqual(Outcome.UNREACHABLE, reply.outcome)
        self.assertEqual('Connection refused', reply.problem)

    def test_a_name_that_is_no_address_is_unreachable(self):
        reply, = ask_all([('no.such.host.invalid', 6200)], DEADLINE, QUESTION)
        self.assertEqual(Outcome.UNREACHABLE, reply.outcome)

    def test_who_hangs_or_drips_costs_the_time_out_once_for_all(self):
        silent = listen(('127.0.0.1', 0))
        self.addCleanup(silent.close)
        drip = Drip()
        hosts = self.serve(*[drip] * 10) + [silent.getsockname()]
        hosts += self.serve(app('200 OK', ANSWER.encode()))
        replies = ask_all(hosts, 2, QUESTION)
        self.assertEqual(10, drip.most)
        outcomes = {reply.host: reply for reply in replies}
        self.assertEqual(Outcome.ANSWERED, outcomes[hosts[-1]].outcome)
        for host in hosts[:-1]:
            self.assertEqual((Outcome.UNREACHABLE,
                              'no answer in 2 seconds'),
                             (outcomes[host].outcome,
                              outcomes[host].problem))

    def test_no_connection_is_left_open(self):
        silent = listen(('127.0.0.1', 0))
        self.addCleanup(silent.close)
        hosts = self.serve(app('200 OK', ANSWER.encode()))
        hosts.append(silent.getsockname())
        before = open_sockets()
        ask_all(hosts, 0.2, QUESTION)
        wait_for(lambda: open_sockets() <= before, 'no socket left')
