# SPDX-License-Identifier: Apache-2.0
"""The clients of a controller: what they say of a way that leads nowhere."""

import contextlib
import http.client
import io
import os
import socket
import threading
import unittest
import urllib.request
from unittest import mock

from cosbench.commands import cli
from cosbench.driver.secret import TOKEN
from tests.unit.cosbench.processes import BEARER, DEADLINE


def info(url, token=BEARER):
    """:returns: exit status, and what it says on stderr"""
    said = io.StringIO()
    # Tests of Swift's servers, in this process, may have made it eventlet's.
    with contextlib.redirect_stderr(said), \
            mock.patch.object(urllib.request, 'http', http), \
            mock.patch.dict(os.environ, {TOKEN: token}):
        return cli.main(['info', '--controller', url]), said.getvalue()


class TestClient(unittest.TestCase):

    def test_a_url_that_is_none_is_refused_by_name(self):
        for url in ('http://[::1', 'ftp://h', 'h:1', '', 'http://',
                    'http://h:x', 'http://h:65536', 'http://a..b',
                    'http://h/a b', 'http://h\n', 'http://\u00fc'):
            status, said = info(url)
            self.assertEqual(2, status, url)
            self.assertRegex(said, '^cosbench: controller=.*: must be a URL')

    def test_a_token_that_is_no_field_is_refused_and_not_shown(self):
        for token in (BEARER + '\nX: y', BEARER + '\rx', BEARER + '\x7fx'):
            status, said = info('http://127.0.0.1:1', token)
            self.assertEqual(2, status)
            self.assertIn(TOKEN, said)
            self.assertNotIn(BEARER, said)

    def test_a_token_may_have_any_letters(self):
        status, said = info(self.answering(b'HTTP/1.1 401 X\r\n\r\n'),
                            BEARER + ' \u20ac')
        self.assertEqual((1, 'cosbench: the answer was 401 X\n'),
                         (status, said))

    def test_an_answer_that_is_none_is_no_answer(self):
        for answer, reason in (
                (b'SSH-2.0-x\r\n', 'no answer from '),
                (b'HTTP/1.1 200 X\r\n\r\n<html>', 'is not JSON')):
            status, said = info(self.answering(answer))
            self.assertEqual(1, status)
            self.assertRegex(said, '^cosbench: .*' + reason)

    def answering(self, answer):
        """:returns: the URL of a server that gives this answer once"""
        listener = socket.create_server(('127.0.0.1', 0))
        listener.settimeout(DEADLINE)

        def serve():
            with listener.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(answer)
        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(listener.close)
        self.addCleanup(thread.join)
        return 'http://127.0.0.1:%d' % listener.getsockname()[1]
