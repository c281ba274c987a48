# SPDX-License-Identifier: Apache-2.0
"""A proxy with primary-role writes before real object-servers."""

import glob
import itertools
import os
import time
from contextlib import ExitStack, contextmanager
from unittest import mock

from swift.common.concurrency import listen, spawn, wsgi
from swift.common.swob import Request, Response
from swift.common.utils import NullLogger, hash_path
from swift.obj.server import ObjectController
from swift.proxy.controllers.base import (
    get_cache_key,
    headers_to_container_info,
)

from swift_lightsync import object_server
from swift_lightsync.proar.vouching.clock import now_ns
from swift_lightsync.proar.vouching.rounds import Asker, Rounds
from swift_lightsync.proxy_server import Application
from tests.unit.sync.fixtures import SwiftTestCase, node, ring_of, served


class ObjectServer:
    """An object-server whose answers can be spoilt.

    :param app: Swift's ObjectController of the node
    :param devices: its directory
    """

    def __init__(self, app, devices):
        self._app = app
        self.devices = devices
        self.device = os.path.join(devices, 'sda')
        self._listener = listen(('127.0.0.1', 0))
        self.port = self._listener.getsockname()[1]
        #: (method, headers) of each request
        self.requests = []
        #: a function of a Request: what is answered instead, or None
        self.spoil = lambda req: None
        self._serve()

    def manager(self, policy):
        return self._app._diskfile_router[policy]

    def _serve(self):
        self._thread = spawn(wsgi.server, self._listener, self,
                             NullLogger(), log_output=False,
                             keepalive=False)

    def __call__(self, env, start_response):
        req = Request(env)
        if req.method != 'PROAR':
            self.requests.append((req.method, dict(req.headers)))
        answer = self.spoil(req)
        return (self._app if answer is None else answer)(env, start_response)

    def direct(self, method, name, body=None, headers=None):
        """Return the sound server's Response, unrecorded"""
        return Request.blank(
            '/sda/0/a/c/' + name, method=method, body=body, headers=dict({
                'X-Backend-Storage-Policy-Index': '0'}, **headers or {})
        ).get_response(self._app)

    def damage(self, name):
        """Cut the data file of an object off."""
        path, = glob.glob(os.path.join(
            self.device, 'objects', '0', '*',
            hash_path('a', 'c', name), '*.data'))
        os.truncate(path, 0)

    def methods(self):
        return [method for method, _headers in self.requests]

    def answer(self, status, **headers):
        """From now on every answer is this one."""
        self.spoil = lambda req: Response(status=status, headers={
            name.replace('_', '-'): value
            for name, value in headers.items()}, request=req)

    def recover(self):
        self.spoil = lambda req: None

    def stop(self):
        """From now on connections are refused."""
        self._thread.kill()
        self._listener.close()

    def start(self):
        self._listener = listen(('127.0.0.1', self.port))
        self._serve()


class BreakingOff(Response):
    """Answers as another Response does, but for the end of its body."""

    def __init__(self, whole):
        headers = dict(whole.headers)
        super().__init__(status=whole.status, headers=headers, app_iter=iter(
            [whole.body[:100000]]))
        self.content_length = headers['Content-Length']


class FakeMemcache:
    """What the proxy asks of a MemcacheRing."""

    def __init__(self):
        self.entries = {}

    def get(self, key, raise_on_error=False):
        return self.entries.get(key)

    def set(self, key, value, time=0, raise_on_error=False):
        self.entries[key] = value


class ProxyCase(SwiftTestCase):
    """The primaries and a hand-off of partition 0. The servers are known by
    their roles: `self.role[0]` is the primary role of `self.name`.
    """

    #: of the policy
    options = {}
    primaries = 3
    slot = 1
    #: the class of the object-servers
    object_controller = ObjectController

    def setUp(self):
        super().setUp()
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)
        servers = [self.object_server(number)
                   for number in range(self.primaries + 1)]
        ring_of(self.root, [
            node(number, server.port) for number, server in
            enumerate(servers)], rows=list(range(self.primaries)))
        self.policy.load_ring(self.root)
        self.cache = FakeMemcache()
        self.containers = self.container_ring()
        self.app = self.proxy(**self.options)
        self.name = self.named(self.slot)
        rows = servers[:self.primaries]
        self.servers = servers
        self.role = rows[self.slot:] + rows[:self.slot]
        self.handoff = servers[-1]
        self.clock = int(time.time()) - 1000

    def object_server(self, number):
        devices = os.path.join(self.root, 'd%d' % number)
        os.makedirs(os.path.join(devices, 'sda'))
        server = ObjectServer(self.object_controller(
            dict(self.conf, devices=devices, conn_timeout='60'),
            logger=self.logger), devices)
        self.stack.callback(server.stop)
        return server

    def container_ring(self):
        """Whoever gets a container update takes it."""
        port = self.stack.enter_context(served(Response(status=201)))
        directory = os.path.join(self.root, 'containers')
        os.makedirs(directory)
        return ring_of(directory, [
            node(number, port, 'sd%d' % number) for number in range(3)])

    def proxy(self, **options):
        """Return a proxy with options of the policy."""
        app = Application(dict(
            self.conf, conn_timeout='60', node_timeout='60',
            post_quorum_timeout='60', policy_config={'0': dict(
                {'primary_role_writes': 'true'}, **options)}),
            logger=self.logger, account_ring=self.containers,
            container_ring=self.containers)
        self.addCleanup(app.watchdog.kill)
        return app

    def named(self, slot):
        """Return the name of an object of partition 0 with a slot"""
        unit = 0xffffffff // self.primaries
        for number in itertools.count():
            name = 'o%d' % number
            digest = hash_path('a', 'c', name, raw_digest=True)
            place = int.from_bytes(digest[4:8], 'big') // unit
            if digest[0] < 0x80 and min(place, self.primaries - 1) == slot:
                return name

    def request(self, method, body=None, headers=None, **environ):
        """Return the Response; each request is a second later"""
        self.clock += 1
        if method == 'PUT' and 'wsgi.input' not in environ:
            body = body or b''
        info = headers_to_container_info(
            {'X-Backend-Storage-Policy-Index': '0'}, 200)
        req = Request.blank(
            '/v1/a/c/' + self.name, method=method, body=body,
            environ=dict({'swift.cache': self.cache, 'swift.infocache': {
                get_cache_key('a', 'c'): info}}, **environ),
            headers=dict({'X-Timestamp': '%d.00000' % self.clock},
                         **headers or {}))
        return req.get_response(self.app)

    def status(self, method, *args, **kwargs):
        return self.request(method, *args, **kwargs).status_int

    def paint(self):
        """Return the status of a POST, which colour() finds"""
        return self.status('POST', headers={'X-Object-Meta-Colour': 'red'})

    def colour(self, method='HEAD'):
        return self.request(method).headers.get('X-Object-Meta-Colour')

    def put(self, body=b'one', **kwargs):
        return self.status('PUT', body, **kwargs)

    def asked(self, method=None):
        """:returns: how many requests the roles have got since last asked, in
            their order, and then the hand-off
        """
        counts = []
        for server in self.role + [self.handoff]:
            counts.append(sum(method in (None, each)
                              for each in server.methods()))
            server.requests.clear()
        return counts

    def break_off(self, server):
        """From now on bodies of the object break off."""
        server.spoil = lambda req: BreakingOff(server.direct(
            'GET', self.name)) if req.method == 'GET' else None

    @contextmanager
    def away(self, *servers):
        """In its context servers do not answer; then they do to everybody."""
        for server in servers:
            server.stop()
        yield
        for server in servers:
            server.start()
        self.app.error_limiter.stats.clear()

    def hold(self, server, body=b'one', at=1, method='PUT', **headers):
        """Have one server hold a version, as it came from elsewhere."""
        status = server.direct(method, self.name, body, dict(
            {'X-Timestamp': '%d.00000' % (self.clock + at),
             'Content-Type': 'text/plain'}, **headers)).status_int
        assert status < 500, status

    def on(self, server):
        """Return (status, body) of the object on one server"""
        resp = server.direct('GET', self.name)
        return resp.status_int, resp.body


class VouchedCase(ProxyCase):
    """Servers that log and vouch, with a clock of promises that stands still.

    A server that waits for a promise to end lets the clock go on.
    """

    object_controller = object_server.ObjectController
    #: how long an answer counts
    seconds = 60

    def setUp(self):
        self.waited = []
        self.time = mock.Mock(clock_gettime_ns=lambda _: self.at)
        self.at = now_ns()
        self.enterContext(mock.patch(
            'swift_lightsync.proar.vouching.clock.time', self.time))
        self.enterContext(mock.patch(
            'swift_lightsync.proar.vouching.fence.sleep', self.pass_time))
        self.enterContext(mock.patch(
            'swift_lightsync.proar.vouching.fence.PATIENCE', 60))
        super().setUp()
        self.vouch()

    def pass_time(self, seconds):
        self.waited.append(seconds)
        self.at += int(seconds * 1e9) + 1

    def vouch(self, *servers):
        """One round of questions for each server's device, or for some."""
        self.at += 1
        for server in servers or self.servers:
            number = self.servers.index(server)
            rounds = self.__dict__.setdefault('rounds', {})
            if number not in rounds:
                asker = Asker(self.policy.object_ring.devs[number],
                              self.policy, server.manager(self.policy))
                rounds[number] = Rounds(lambda asker=asker: [asker],
                                        self.seconds, self.logger)
            with self.patience():
                rounds[number].ask_all()

    def pass_in_service(self, days):
        """Have all devices be in service for some days."""
        with mock.patch('swift_lightsync.proar.core.filling.GAP', 1e9):
            self.at += int(days * 86400 * 1e9)
            self.vouch()

    def replicate(self):
        """Have all object-replicators pass without a failure."""
        with mock.patch('swift_lightsync.proar.vouching.answers.last_pass',
                        side_effect=lambda _: time.time() + 1000):
            self.vouch()

    def patience(self):
        """:returns: a context in which a busy server's answer is awaited"""
        return mock.patch('swift_lightsync.proar.vouching.rounds.PATIENCE',
                          60 / self.seconds)
