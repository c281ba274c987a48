# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.benchmarks.errors import BenchError
from tools.benchmarks.proar.client import Batch, play


class Handler(BaseHTTPRequestHandler):
    """A proxy-server whose objects are files, of one replica each."""

    protocol_version = 'HTTP/1.1'

    def do_HEAD(self):
        self._answer(204)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.server.seen.append((self.path, len(body),
                                 self.headers['X-Auth-Token']))
        name = os.path.basename(self.path)
        if name in self.server.refused:
            self._answer(503)
            return
        directory = os.path.join(self.server.root, name)
        os.makedirs(directory)
        with open(os.path.join(directory, '1.data'), 'wb') as data:
            data.write(body)
        self._answer(201)

    def _answer(self, status):
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *args):
        """Nothing."""


class TestClient(unittest.TestCase):

    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.server.seen, self.server.refused = [], ()
        self.server.root = root.name
        self.addCleanup(self.server.server_close)
        threading.Thread(target=self.server.serve_forever).start()
        self.addCleanup(self.server.shutdown)

    def batch(self, count, **changes):
        return Batch(**{**dict(
            url='http://127.0.0.1:%d/v1/a/c' % self.server.server_port,
            token='t', clients=2, seconds=60, least=1, seed=1, size=1000,
            places={str(i): [os.path.join(self.server.root, str(i))]
                    for i in range(count)}), **changes})

    def test_all_objects_are_written_once(self):
        outcome = play(self.batch(20))
        self.assertEqual({('/v1/a/c/%d' % i, 1000, 't') for i in range(20)},
                         set(self.server.seen))
        self.assertEqual({str(i) for i in range(20)},
                         {write.name for write in outcome.writes})
        for write in outcome.writes:
            self.assertLess(0, write.seconds)
            self.assertLess(outcome.begun, write.answered)

    def test_when_it_is_time_it_ends_but_not_before_the_least(self):
        outcome = play(self.batch(20, seconds=1e-9, least=5))
        self.assertEqual(5, len(outcome.writes))

    def test_each_write_waits_for_the_replicas_of_the_one_before(self):
        batch = self.batch(2, clients=1, patience=60)
        batch.places['0'].append(os.path.join(self.server.root, 'late'))
        playing = threading.Thread(target=play, args=(batch,))
        playing.start()
        playing.join(0.2)
        self.assertEqual(['/v1/a/c/0'], [path for path, _, _
                                         in self.server.seen])
        os.makedirs(batch.places['0'][1])
        with open(os.path.join(batch.places['0'][1], '1.data'), 'w'):
            pass
        playing.join()
        self.assertEqual(2, len(self.server.seen))

    def test_a_write_that_fails_is_told_and_not_waited_for(self):
        self.server.refused = '0', '2'
        outcome = play(self.batch(4, clients=1, patience=3600))
        self.assertEqual([503, 201, 503, 201],
                         [write.status for write in outcome.writes])
        self.assertEqual(['1', '3'], [write.name for write
                                      in outcome.acknowledged])

    def test_if_all_fail_nothing_is_measured(self):
        self.server.refused = '0', '1'
        with self.assertRaises(BenchError) as caught:
            play(self.batch(2))
        self.assertIn('[503]', str(caught.exception))


if __name__ == '__main__':
    unittest.main()
