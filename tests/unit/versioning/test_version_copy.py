# SPDX-License-Identifier: Apache-2.0
"""``swift-version-copy``, between containers of a server in memory."""

import contextlib
import io
import json
import threading
import unittest
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from swift_lightsync.versioning.sites import version_copy
from swift_lightsync.versioning.sites.version_copy import MARKER


class Versions(ThreadingHTTPServer):
    """Containers by path, each with the versions of its objects by name."""

    daemon_threads = True
    page = 2

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.containers = {}
        self.created = {}
        self.count = 0
        threading.Thread(target=self.serve_forever, args=(0.01,)).start()

    def add(self, path, name, data, **headers):
        self.count += 1
        self.containers[path].setdefault(name, []).append({
            'name': name, 'version_id': '%05d' % self.count, 'data': data,
            'hash': md5(data or b'').hexdigest(), 'headers': headers,
            'content_type': MARKER if data is None else 'text/plain'})

    def listing(self, path, marker, version_marker):
        rows = [row for name, rows in sorted(self.containers[path].items())
                for row in rows[::-1]
                if name > marker or (name == marker and
                                     row['version_id'] < version_marker)]
        return [{key: row[key] for key in ('name', 'version_id', 'hash',
                                           'content_type')}
                for row in rows[:self.page]]


class Handler(BaseHTTPRequestHandler):

    def log_message(self, *args):
        """Keep quiet."""

    def _do(self):
        parts = urlsplit(self.path)
        query = {key: value[0] for key, value in parse_qs(
            parts.query, keep_blank_values=True).items()}
        _, _, _, container, *name = unquote(parts.path).split('/', 4)
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        if name:
            found = getattr(self, '_object_' + self.command)(
                self.server.containers[container], container, name[0], query,
                body)
        else:
            found = self._container(container, query)
        status, headers, data = found
        self.send_response(status)
        for key, value in {'Content-Length': len(data), **headers}.items():
            self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _do

    def _container(self, container, query):
        server = self.server
        if self.command == 'PUT':
            server.containers[container] = {}
            server.created[container] = dict(self.headers)
        if container not in server.containers:
            return 404, {}, b''
        if self.command == 'POST':
            server.created[container].update(self.headers)
        if self.command == 'GET':
            return 200, {}, json.dumps(server.listing(
                container, query.get('marker', ''),
                query.get('version_marker', ''))).encode()
        return 204, {'X-Storage-Policy': 'small', 'X-Container-Read': '.r:*',
                     'X-Container-Meta-Colour': 'red'}, b''

    def _object_HEAD(self, objects, container, name, query, body):
        row = objects.get(name, [{'data': None}])[-1]
        if row['data'] is None:
            return 404, {}, b''
        return 200, {'X-Object-Version-Id': row['version_id']}, b''

    def _object_GET(self, objects, container, name, query, body):
        row, = (row for row in objects[name]
                if row['version_id'] == query['version-id'])
        return 200, {'ETag': '"%s"' % row['hash'], 'Content-Type':
                     row['content_type'], **row['headers']}, row['data']

    def _object_PUT(self, objects, container, name, query, body):
        kept = {key: value for key, value in self.headers.items()
                if key.lower().startswith('x-object-')
                or key.lower() in ('x-delete-at', 'content-encoding')}
        if query.get('multipart-manifest') == 'put':
            kept['X-Static-Large-Object'] = 'True'
        elif self.headers['ETag'] != md5(body).hexdigest():
            return 422, {}, b'no such ETag'
        self.server.add(container, name, body, **kept)
        return 201, {}, b''

    def _object_DELETE(self, objects, container, name, query, body):
        self.server.add(container, name, None)
        return 404 if len(objects[name]) == 1 else 204, {}, b''


class TestCopy(unittest.TestCase):

    def setUp(self):
        self.server = Versions()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.server.containers['c'] = {}

    def add(self, name, *datas, **headers):
        for data in datas:
            self.server.add('c', name, data, **headers)

    def copy(self):
        out, err = io.StringIO(), io.StringIO()
        url = 'http://127.0.0.1:%d/v1/a/' % self.server.server_port
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = version_copy.main([url + 'c', url + 'new', '--token=t'])
        return status, out.getvalue(), err.getvalue()

    def data(self, name):
        return [row['data'] for row in self.server.containers['new'][name]]

    def test_all_versions_are_copied_in_their_order(self):
        self.add('x', b'1', b'2', None, b'3', b'4')
        self.add('gone', None, None)
        self.add('odd/ \u00e9?', b'5')
        status, out, _ = self.copy()
        self.assertEqual((0, True), (status, '3 objects, 8 versions' in out))
        self.assertEqual([b'1', b'2', None, b'3', b'4'], self.data('x'))
        self.assertEqual([None, None], self.data('gone'))
        self.assertEqual([b'5'], self.data('odd/ \u00e9?'))

    def test_the_container_is_made_alike_and_versioned(self):
        self.copy()
        made = {key.lower(): value
                for key, value in self.server.created['new'].items()}
        self.assertEqual(
            ('small', '.r:*', 'red', 'true', 't'),
            tuple(made[key] for key in (
                'x-storage-policy', 'x-container-read',
                'x-container-meta-colour', 'x-versions-enabled',
                'x-auth-token')))

    def test_metadata_and_manifests_are_copied_but_no_expiry_of_the_past(self):
        self.add('x', b'1', **{
            'X-Object-Meta-A': 'b', 'Content-Encoding': 'gzip',
            'X-Delete-At': '5'})
        self.add('y', b'[]', **{'X-Static-Large-Object': 'True',
                                'X-Delete-At': '9999999999'})
        self.copy()
        new = self.server.containers['new']
        self.assertEqual({'X-Object-Meta-A': 'b', 'Content-Encoding': 'gzip'},
                         _capitalised(new['x'][0]['headers']))
        self.assertEqual({'X-Static-Large-Object': 'True',
                          'X-Delete-At': '9999999999'},
                         _capitalised(new['y'][0]['headers']))

    def test_what_is_there_is_compared_and_not_copied_again(self):
        self.add('x', b'1', b'2')
        self.copy()
        self.add('x', None, b'3')
        self.assertIn('1 objects, 2 versions', self.copy()[1])
        self.assertIn('1 objects, 0 versions', self.copy()[1])
        self.assertEqual([b'1', b'2', None, b'3'], self.data('x'))

    def test_a_listing_that_lags_behind_makes_no_version_twice(self):
        self.add('x', b'1', b'2')
        self.copy()
        self.add('x', b'3')
        listing = self.server.listing
        self.server.listing = lambda path, *markers: (
            [] if path == 'new' else listing(path, *markers))
        status, _, err = self.copy()
        self.assertEqual((1, True), (status, 'lags behind' in err))
        self.server.listing = listing
        self.assertEqual(0, self.copy()[0])
        self.assertEqual([b'1', b'2', b'3'], self.data('x'))

    def test_other_versions_of_the_target_are_an_error(self):
        self.add('x', b'1')
        self.copy()
        self.server.add('new', 'x', b'2')
        status, _, err = self.copy()
        self.assertEqual((2, True), (status, 'x: the target has other' in err))
        self.server.containers['new']['x'].pop()
        self.server.add('new', 'z', b'2')
        status, _, err = self.copy()
        self.assertEqual((2, True), (status, 'z: the source does not' in err))

    def test_an_object_that_is_refused_keeps_no_other_from_being_copied(self):
        self.add('a', b'1')
        self.add('b', b'1', b'2')
        self.add('c', b'1')
        bad = self.server.containers['c']['b'][1]
        good, bad['hash'] = bad['hash'], 'other'
        status, out, err = self.copy()
        self.assertEqual((1, True, True), (
            status, '3 objects, 3 versions copied, 1 objects failed' in out,
            err.startswith('b: PUT http://') and '422' in err))
        self.assertEqual([b'1'], self.data('b'))
        bad['hash'] = good
        self.assertEqual(0, self.copy()[0])
        self.assertEqual([b'1', b'2'], self.data('b'))

    def test_what_a_server_refuses_is_told(self):
        del self.server.containers['c']
        status, _, err = self.copy()
        self.assertEqual(1, status)
        self.assertRegex(err, 'HEAD http://.*/c: 404')


def _capitalised(headers):
    return {key.title(): value for key, value in headers.items()}
