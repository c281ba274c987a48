# SPDX-License-Identifier: Apache-2.0
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf.client import Batch, Request, play
from tools.benchmarks.losf.dataset import Object


class Handler(BaseHTTPRequestHandler):
    """Stores objects in a dict."""

    protocol_version = 'HTTP/1.1'

    def answer(self):
        server = self.server
        length = int(self.headers.get('Content-Length', 0))
        body = self.rfile.read(length)
        with server.lock:
            server.seen.append((self.command, self.path, self.client_address,
                                self.headers.get('X-Timestamp')))
        status, found = server.reply(self.command, self.path, body)
        self.send_response(status)
        self.send_header('Content-Length', str(len(found)))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(found)

    do_GET = do_HEAD = do_PUT = do_DELETE = answer

    def log_message(self, *args):
        """Nothing."""


class TestClient(unittest.TestCase):

    def setUp(self):
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.server.lock = threading.Lock()
        self.server.seen, self.stored = [], {}
        self.server.reply = self.reply
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever).start()
        self.addCleanup(self.server.shutdown)

    def reply(self, method, path, body):
        if path == '/healthcheck':
            return 200, b'OK'
        if method == 'PUT':
            self.stored[path] = body
            return 201, b''
        if method == 'DELETE':
            return (204 if self.stored.pop(path, None) is not None
                    else 404), b''
        return ((200, self.stored[path]) if path in self.stored
                else (404, b''))

    def play(self, requests, clients=2, seconds=60):
        return play(Batch(self.server.server_address, clients, seconds, 1,
                          tuple(requests)))

    def asked(self):
        return [each for each in self.server.seen if each[1] != '/healthcheck']

    def test_each_request_is_made_once_on_connections_that_are_kept(self):
        objects = [Object('o%d' % i, 10 + i) for i in range(20)]
        outcome = self.play([Request('PUT', '/' + each.name, (201,), each)
                             for each in objects])
        self.assertEqual(20, len(outcome.latencies))
        self.assertEqual({'/' + each.name: each.body(1) for each in objects},
                         self.stored)
        self.assertEqual(20, len(self.asked()))
        self.assertLessEqual(len({each[2] for each in self.server.seen}), 2)
        self.assertTrue(all(each[3] for each in self.asked()))
        self.assertGreater(outcome.seconds, max(outcome.latencies) / 2)

    def test_an_answer_with_another_status_is_an_error(self):
        with self.assertRaisesRegex(
                BenchError, r'DELETE /o: status 404; expected: \(204,\)'):
            self.play([Request('DELETE', '/o', (204,))])

    def test_an_object_of_another_size_is_an_error(self):
        self.stored['/o'] = b'four'
        for method in ('GET', 'HEAD'):
            self.play([Request(method, '/o', (200,), Object('o', 4))])
            with self.assertRaisesRegex(BenchError, '4 bytes; expected: 5'):
                self.play([Request(method, '/o', (200,), Object('o', 5))])

    def test_no_request_is_begun_after_its_time(self):
        outcome = self.play([Request('GET', '/o', (404,))] * 100,
                            clients=1, seconds=0)
        self.assertEqual(1, len(outcome.latencies))
        self.assertEqual(1, len(self.asked()))


if __name__ == '__main__':
    unittest.main()
