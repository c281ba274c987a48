# SPDX-License-Identifier: Apache-2.0
"""What the tests of the diskfile share: devices, index servers, requests."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import contextmanager, suppress
from unittest import mock

from swift.common import storage_policy, utils
from swift.common.concurrency import Timeout, sleep, spawn
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.swob import Request
from swift.common.utils import Timestamp, get_logger, hash_path, md5
from swift.obj.server import ObjectController

from swift_losf.diskfile.kvfile import KVDiskFileManager
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.index.grpc_server import UnaryServer
from swift_losf.index.index_client import IndexClient
from swift_losf.index.index_service import IndexService
from tests import waiting

#: seconds after which a wait has failed, on any machine
DEADLINE = 120
PARTITION = '3'
LONG = 1_000_000
#: long enough ago for what tests do, and not for reclaiming tombstones
START = int(time.time()) - 10000


def wait_for(condition, what):
    """Poll until a condition holds, which may raise IndexUnavailable."""
    def holds():
        with suppress(IndexUnavailable):
            return condition()
    return waiting.wait_for(holds, what, DEADLINE, sleep, pause=0.01)


@contextmanager
def watched_hub():
    """Yield a list of how late the hub came round to a greenlet, in s."""
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


def listening(path, backlog=100):
    """:returns: a Unix socket that listens"""
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(path)
    sock.listen(backlog)
    return sock


def serve_index(test, path, index=None, state=''):
    """Serve an index in this process until a test is over.

    :param test: a TestCase
    :param path: of the socket
    :param index: an Index, or None: the server is not ready
    :param state: what a server that is not ready answers that it does
    :returns: the IndexService
    """
    service = IndexService(lambda err: None)
    service.index, service.state = index, state
    server = UnaryServer(listening(path), service)
    server.start()
    test.addCleanup(server.close, DEADLINE)
    return service


def policy(index=0):
    """:returns: a storage policy whose objects are in volumes"""
    return StoragePolicy(
        index, 'kv%d' % index, is_default=index == 0,
        diskfile_module='egg:swift-lightsync#replication.kv')


def bytes_of(length, seed=1):
    return random.Random(seed).randbytes(length)


class Body:
    """What a client sends.

    :param data: bytes
    :param length: of what it sends before it does something
    :param then: a function; what it does
    """

    def __init__(self, data, length, then=lambda: None):
        self._data = data
        self._length = length
        self._then = then
        self._sent = 0

    def read(self, size=-1):
        if self._sent >= self._length:
            self._then()
            self._then = lambda: None
        chunk = self._data[self._sent:][:max(size, 0) or None]
        self._sent += len(chunk)
        return chunk


class World:
    """Devices, and processes that are their index servers.

    :param devices: names of devices; a server is started for each
    """

    def __init__(self, *devices):
        self.root = tempfile.mkdtemp(prefix='kv', dir='/tmp')
        self.servers = {}
        try:
            for device in devices:
                os.mkdir(self.path(device))
                self.serve(device)
        except BaseException:
            self.close()
            raise

    def path(self, device):
        return os.path.join(self.root, device)

    def layout(self, device):
        return Layout(self.path(device), 0)

    def serve(self, device, *arguments):
        """Start an index server, and wait until it serves."""
        self.servers[device] = subprocess.Popen(
            [sys.executable, '-m', 'swift_losf.daemon.index_server',
             '--device-path', self.path(device), '--policy', '0',
             *arguments], stderr=subprocess.DEVNULL)
        client = IndexClient(self.layout(device).socket, retry_interval=0)
        wait_for(lambda: client.statistics(), 'the index of %s serves' %
                 device)

    def kill(self, device):
        """End an index server at once."""
        server = self.servers.pop(device)
        server.send_signal(signal.SIGKILL)
        server.wait()

    @contextmanager
    def suspended(self, device):
        """An index server that keeps its socket and answers nothing."""
        server = self.servers[device]
        waiting.stop(server.pid)
        try:
            yield
        finally:
            server.send_signal(signal.SIGCONT)

    def close(self):
        for device in list(self.servers):
            self.kill(device)
        shutil.rmtree(self.root)


class KVTest(unittest.TestCase):
    """An object server, and a diskfile manager beside it, on a world of a
    module. Each test has an object of its own.
    """

    world = None
    #: what is tested: replicated objects or fragments
    manager_class = KVDiskFileManager
    #: seconds: much longer than anything takes
    index_timeout = DEADLINE
    make_policy = staticmethod(policy)

    def setUp(self):
        for patch in (
                mock.patch.object(utils, 'HASH_PATH_PREFIX', b'pre'),
                mock.patch.object(utils, 'HASH_PATH_SUFFIX', b'suf'),
                mock.patch.object(
                    storage_policy, '_POLICIES',
                    StoragePolicyCollection([self.make_policy()]))):
            self.enterContext(patch)
        self.enterContext(Timeout(2 * DEADLINE))
        self.policy = storage_policy.POLICIES[0]
        self.object = self.id().rpartition('.')[2]
        self.clock = START
        self.logger = get_logger({}, log_route='kv')
        self.server = self.controller()
        self.manager = self.manager_class(self.conf(), self.logger)

    def conf(self, **options):
        return dict({'devices': self.world.root, 'mount_check': 'false',
                     'container_update_timeout': '0',
                     'losf_index_timeout': str(self.index_timeout),
                     'losf_index_retry_interval': '0'}, **options)

    def controller(self, **options):
        return ObjectController(self.conf(**options), self.logger)

    def now(self):
        """:returns: a Timestamp that is newer than all before"""
        self.clock += 1
        return Timestamp(self.clock)

    def request(self, method, device='d1', name=None, body=b'', server=None,
                **headers):
        """:returns: the object server's response, its body read"""
        environ = {'REQUEST_METHOD': method}
        if not isinstance(body, bytes):
            environ['wsgi.input'] = body
            body = None
        request = Request.blank(
            '/%s/%s/a/c/%s' % (device, PARTITION, name or self.object),
            environ=environ, headers=dict(
                {'X-Timestamp': self.now().internal,
                 'Content-Type': 'text/plain'},
                **{key.replace('_', '-'): value
                   for key, value in headers.items()}), body=body)
        response = request.get_response(server or self.server)
        response.body  # reads it
        return response

    def assert_status(self, status, *args, **kwargs):
        """:returns: the response to a request, which has that status"""
        response = self.request(*args, **kwargs)
        self.assertEqual(status, response.status_int, response.body[:200])
        return response

    def diskfile(self, device='d1', name=None, manager=None, **kwargs):
        return (manager or self.manager).get_diskfile(
            device, PARTITION, 'a', 'c', name or self.object, self.policy,
            **kwargs)

    def write(self, data, timestamp, name=None, manager=None, **metadata):
        """PUT through a diskfile."""
        df = self.diskfile(name=name, manager=manager)
        with df.create(size=len(data)) as writer:
            writer.write(data)
            writer.put(dict({
                'X-Timestamp': Timestamp(timestamp).internal,
                'ETag': md5(data, usedforsecurity=False).hexdigest(),
                'Content-Type': 'text/plain',
                'Content-Length': str(len(data))}, **metadata))
            writer.commit(Timestamp(timestamp))

    def hash(self, name=None):
        return hash_path('a', 'c', name or self.object)

    def suffix_hashes(self, manager=None):
        """:returns: what Swift computes of the partition"""
        return (manager or self.manager).get_hashes(
            'd1', PARTITION, [], self.policy)

    def store(self, device='d1'):
        return self.manager.store(self.world.path(device), 0)

    def files(self, name=None, device='d1'):
        """:returns: a dict of the names of an object's files to Locations"""
        return dict(self.store(device).list_hash(
            int(PARTITION), self.hash(name)))

    def only_file(self, name=None):
        """:returns: (name, Location) of an object that has one file"""
        (file,) = self.files(name).items()
        return file

    def quarantined(self, name=None):
        """:returns: the names of an object's files in quarantine"""
        return [file for _, hash_, file, _ in
                self.store().index.list_quarantine()
                if hash_.hex() == self.hash(name)]

    def overwrite(self, location, at, data):
        """Change bytes of a record, as a failing disk would."""
        with open(self.store().layout.volume(location.volume),
                  'r+b') as volume:
            volume.seek(location.offset + at)
            volume.write(data)

    def give_back(self, location):
        """Have a record read as one whose space was given back."""
        self.overwrite(location, 0, bytes(location.length))


def with_devices(*devices):
    """Return setUpModule and tearDownModule, which make KVTest's World.

    :param devices: names of its devices
    """
    def set_up():
        KVTest.world = World(*devices)

    return set_up, lambda: KVTest.world.close()
