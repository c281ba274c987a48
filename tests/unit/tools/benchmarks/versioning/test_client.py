# SPDX-License-Identifier: Apache-2.0

import os
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.benchmarks.errors import BenchError
from tools.benchmarks.versioning.client import Load, Op, ask, play


class Handler(BaseHTTPRequestHandler):
    """A proxy-server that knows sizes of objects."""

    protocol_version = 'HTTP/1.1'

    def do_HEAD(self):
        self._answer(204)

    def do_GET(self):
        name = self._seen(None)
        self._answer(404 if name in self.server.refused else 200,
                     b'x' * self.server.size)

    def do_PUT(self):
        name = self._seen(self.rfile.read(
            int(self.headers['Content-Length'])))
        self._answer(503 if name in self.server.refused else 201)

    def _seen(self, body):
        name = os.path.basename(self.path)
        with self.server.lock:
            self.server.seen.append((self.command, self.path, body,
                                     self.headers['X-Auth-Token']))
        return name

    def _answer(self, status, body=b''):
        self.send_response(status)
        self.send_header('X-Answer', 'yes')
        if status != 204:
            self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, *args):
        """Nothing."""


class TestClient(unittest.TestCase):

    def setUp(self):
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.server.seen, self.server.refused = [], ()
        self.server.size, self.server.lock = 1000, threading.Lock()
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever).start()
        self.addCleanup(self.server.shutdown)
        self.url = 'http://127.0.0.1:%d/v1/a/c' % self.server.server_port

    def play(self, op, names, **fields):
        return play(Load(self.url, 't', op, tuple(names), 1000, **fields))

    def test_each_name_is_one_request_also_among_several_clients(self):
        names = ['a', 'b', 'a', 'c'] * 5
        outcome = self.play(Op.GET, names, clients=4)
        self.assertEqual(sorted(('GET', '/v1/a/c/' + name, None, 't')
                                for name in names),
                         sorted(self.server.seen))
        self.assertEqual((20, ()), (len(outcome.waits), outcome.failures))
        self.assertLess(0, min(outcome.waits))
        self.assertLessEqual(max(outcome.waits), outcome.seconds)

    def test_one_client_makes_them_in_order(self):
        self.play(Op.PUT, 'bca')
        self.assertEqual(['/v1/a/c/' + name for name in 'bca'],
                         [path for _, path, _, _ in self.server.seen])

    def test_the_bytes_follow_from_the_seed(self):
        for seed in (1, 1, 2):
            self.play(Op.PUT, 'a', seed=seed)
        one, same, other = (body for _, _, body, _ in self.server.seen)
        self.assertEqual(1000, len(one))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_a_request_that_fails_is_told_and_its_wait_is_not(self):
        self.server.refused = 'b'
        for op, status in ((Op.PUT, 503), (Op.GET, 404)):
            outcome = self.play(op, 'abc')
            self.assertEqual((2, ('status %d' % status,)), (
                len(outcome.waits), outcome.failures))

    def test_a_body_of_another_size_is_a_failure(self):
        self.server.size = 999
        with self.assertRaisesRegex(BenchError,
                                    '999 bytes instead of 1000'):
            self.play(Op.GET, 'a')

    def test_if_all_fail_nothing_is_measured(self):
        self.server.refused = 'ab'
        with self.assertRaisesRegex(BenchError, 'status 503'):
            self.play(Op.PUT, 'ab')

    def test_a_proxy_that_is_gone_is_an_error_of_the_bench(self):
        with self.assertRaisesRegex(BenchError, 'GET to http://127.0.0.1:1'):
            play(Load('http://127.0.0.1:1/v1/a/c', 't', Op.GET, ('a',), 1))

    def test_what_is_asked_has_to_succeed(self):
        self.assertEqual('yes', ask('HEAD', self.url, {})['X-Answer'])
        self.server.refused = 'c'
        with self.assertRaisesRegex(BenchError, 'GET /v1/a/c: status 404'):
            ask('GET', self.url, {})


if __name__ == '__main__':
    unittest.main()
