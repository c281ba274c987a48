# SPDX-License-Identifier: Apache-2.0
"""What the tests of the index's client share: a server, and a watched hub."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import grpc
from swift.common.concurrency import Timeout, sleep, spawn

from swift_losf.errors import IndexUnavailable
from swift_losf.format.values import Location
from swift_losf.index.index_client import IndexClient
from swift_losf.index.index_service import IndexService
from tests import waiting

#: seconds after which a wait has failed, on any machine
DEADLINE = 120
TIMEOUT = 0.5
HASH = b'h' * 16
PLACE = Location(1, 4096, 10, 20, 16)


def wait_for(condition, what):
    """Poll until a condition holds, which may raise IndexUnavailable."""
    def holds():
        with suppress(IndexUnavailable):
            return condition()
    waiting.wait_for(holds, what, DEADLINE, sleep, pause=0.01)


@contextmanager
def watched_hub():
    """A list of how late the hub came round to a greenlet, in s."""
    gaps = [0]

    def tick():
        while True:
            before = time.monotonic()
            sleep(0.001)
            gaps.append(time.monotonic() - before)
    ticker = spawn(tick)
    try:
        yield gaps
    finally:
        ticker.kill()


class Server:
    """A process that serves index_stub at a path."""

    def __init__(self, path):
        self.path = path
        self._process = None

    def start(self):
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'tests.unit.losf.index_stub', self.path])
        wait_for(lambda: IndexClient(self.path).statistics(),
                 'the server answers')

    def signal(self, number):
        self._process.send_signal(number)

    def stop(self):
        waiting.stop(self._process.pid)

    def end(self):
        self.signal(signal.SIGKILL)
        self._process.wait()


def serve_recovering(test, path, state):
    """
    Serve, until a test is over, as an index server that has no index yet.

    :param test: a TestCase
    :param path: of the socket
    :param state: what it answers that it does
    """
    service = IndexService(None)
    service.state = state
    server = grpc.server(ThreadPoolExecutor(1), (service.handler(),))
    server.add_insecure_port('unix:' + path)
    server.start()
    test.addCleanup(lambda: server.stop(None).wait())


class ClientTestCase(unittest.TestCase):

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='ix', dir='/tmp')
        self.addCleanup(shutil.rmtree, self.dir)
        self.path = os.path.join(self.dir, 's')
        timeout = Timeout(2 * DEADLINE)
        self.addCleanup(timeout.cancel)

    def serve(self):
        server = Server(self.path)
        server.start()
        self.addCleanup(server.end)
        return server

    def assert_unavailable(self, reason, function, *args):
        with self.assertRaisesRegex(IndexUnavailable, reason) as caught:
            function(*args)
        return caught.exception


class StubTestCase(ClientTestCase):
    """A client of a server that serves all tests of the class."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix='ix', dir='/tmp')
        cls.server = Server(os.path.join(cls.directory, 's'))
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
        shutil.rmtree(cls.directory)

    def setUp(self):
        super().setUp()
        self.client = IndexClient(self.server.path, TIMEOUT * 10)
