# SPDX-License-Identifier: Apache-2.0
"""The client takes no answer for right that is not."""

import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tools.demonstration.client import Client, ObjectName, digest
from tools.demonstration.errors import DemoError


class Handler(BaseHTTPRequestHandler):
    """An object store in a dict; names that begin with "bad" fail."""

    protocol_version = 'HTTP/1.1'

    def log_message(self, *args):
        pass

    def answer(self, status, body=b'', **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == '/auth':
            return self.answer(
                200 if self.headers['X-Auth-Key'] == 'key' else 401,
                X_Auth_Token='token', X_Storage_Url='http://%s:%d/v1/a'
                % self.server.server_address)
        body = self.server.objects.get(self.path)
        return self.answer(404) if body is None else self.answer(200, body)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        if self.headers['X-Auth-Token'] != 'token' or '/bad' in self.path:
            return self.answer(503)
        self.server.objects[self.path] = body
        return self.answer(201)

    def do_DELETE(self):
        found = self.server.objects.pop(self.path, None)
        return self.answer(404 if found is None else 204)


class Local:
    def __init__(self, data):
        self.data = data

    def read(self):
        return self.data


class TestClient(unittest.TestCase):
    def setUp(self):
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.server.objects = {}
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = 'http://%s:%d/auth' % self.server.server_address
        self.client = Client(self.url, 'user', 'key')

    def test_a_wrong_key_is_an_error(self):
        with self.assertRaisesRegex(DemoError, 'the answer is 401'):
            Client(self.url, 'user', 'other')

    def test_the_account_is_that_of_the_storage_url(self):
        self.assertEqual('a', self.client.account)

    def test_what_was_put_passes_its_check(self):
        items = [(ObjectName('c', 'a name/%d' % number),
                  Local(b'%d' % number)) for number in range(50)]
        counted = []
        put = self.client.each(self.client.put, items,
                               lambda: counted.append(1))
        self.assertEqual(50, len(counted))
        self.assertIn('/v1/a/c/a%20name/7', self.server.objects)
        self.assertEqual([None] * 50, self.client.each(
            self.client.check, put, lambda: None))

    def test_other_content_fails_the_check(self):
        where = ObjectName('c', 'o')
        self.client.put((where, Local(b'old')))
        self.assertIn('content', self.client.check((where, digest(b'new'))))

    def test_a_missing_object_fails_the_check(self):
        self.assertIn('404', self.client.check(
            (ObjectName('c', 'o'), digest(b''))))

    def test_only_a_missing_object_passes_as_deleted(self):
        where = ObjectName('c', 'o')
        self.client.put((where, Local(b'x')))
        self.assertIn('was deleted', self.client.check((where, None)))
        self.client.delete(where)
        self.assertIsNone(self.client.check((where, None)))

    def test_no_more_than_the_threads_asked_for_are_at_work(self):
        at_work, most = [], []

        def operation(item):
            at_work.append(item)
            most.append(len(at_work))
            at_work.remove(item)

        self.client.each(operation, range(200), lambda: None, threads=1)
        self.assertEqual(1, max(most))

    def test_a_status_is_told_be_the_object_there_or_not(self):
        where = ObjectName('c', 'o')
        self.assertEqual(404, self.client.status(where))
        self.client.put((where, Local(b'x')))
        self.assertEqual(200, self.client.status(where))

    def test_an_answer_that_is_not_called_for_ends_the_batch(self):
        names = ['bad'] + ['good%d' % number for number in range(500)]
        with self.assertRaisesRegex(DemoError, 'PUT /v1/a/c/bad: .* 503'):
            self.client.each(self.client.put, [
                (ObjectName('c', name), Local(b'x')) for name in names],
                lambda: None)
        self.assertLess(len(self.server.objects), 500)

    def test_no_answer_is_an_error_that_names_the_request(self):
        self.server.shutdown()
        self.server.server_close()
        with self.assertRaisesRegex(DemoError, 'GET http.*/v1/a/c/o: no'):
            self.client.check((ObjectName('c', 'o'), None))
