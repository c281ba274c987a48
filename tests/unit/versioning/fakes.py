# SPDX-License-Identifier: Apache-2.0
"""Real container servers in this process, behind a connection that is a
function call, and strategies of sites that use them.
"""

import itertools
import json
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock
from urllib.parse import quote, unquote

from swift.common.concurrency import sleep
from swift.common.error_limiter import ErrorLimiter
from swift.common.swob import Request, Response

from swift_lightsync.container_server import ContainerController
from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    Entry,
    hidden_container,
    listed_of,
    listing_name,
)
from swift_lightsync.versioning.core.stamp import SiteClock
from swift_lightsync.versioning.rows import replicas as replicas_module
from swift_lightsync.versioning.rows.rows import Rows
from tests.unit.sync import fixtures
from tests.unit.sync.fixtures import SwiftTestCase, wait_for

SITES = ('north', 'south', 'west')
NOW = 1700000000.0
#: Seconds that no answer takes, however busy the machine is.
PATIENCE = 600


def no_data(old, new):
    """Store the data of a version once more, where none are stored."""


class Ring:
    """All replicas of all containers are on the same nodes."""

    def __init__(self, nodes):
        self.nodes = nodes

    def get_part(self, account, container=None, obj=None):
        return 0

    def get_nodes(self, account, container=None, obj=None):
        return 0, list(self.nodes)


class Server:
    """A container server whose answers can be spoilt.

    :param app: Swift's ContainerController
    """

    def __init__(self, app):
        self.app = app
        #: a function of a Request: a Response that it gets instead, or
        #: None; it may raise, as a connection does
        self.spoil = lambda req: None

    def fail(self, status=503, methods=('VERSION',)):
        self.spoil = lambda req: Response(status=status, request=req) \
            if req.method in methods else None

    def refuse(self):
        def refused(req):
            raise ConnectionRefusedError('refused')
        self.spoil = refused

    def stall(self, seconds=3600):
        self.spoil = lambda req: sleep(seconds)

    def recover(self):
        self.spoil = lambda req: None


class _Controller(ContainerController):
    """A container server in the time of the tests."""

    #: what its clock says
    now = NOW

    def _wrong_clock(self, clock):
        with mock.patch.object(time, 'time', lambda: self.now):
            return super()._wrong_clock(clock)


class _Exchange:
    """A request under way, as an ``Exchange``.

    :param answer: a function of its (method, path, headers, body) that
        returns a function that gives the Response
    """

    def __init__(self, answer):
        self._answer = answer

    def send(self, data):
        head, _, body = data.partition(b'\r\n\r\n')
        first, *lines = head.decode('latin-1').split('\r\n')
        method, path, _ = first.split(' ')
        self._wait = self._answer(method, path, dict(
            line.split(': ', 1) for line in lines), body)

    def receive(self, most):
        response = self._wait()
        return response.status_int, response.body


class Network:
    """The ``connections`` of ``Rows``: requests are calls of the servers.

    A request's round is one more than that of the last that was answered
    before it was sent: what requests cost one after the other.
    """

    def __init__(self, servers):
        self.servers = servers
        #: (round, method, path) of each request
        self.sent = []
        #: (port, the body as JSON) of each request that has one
        self.bodies = []
        self._answered = 0
        #: how many requests are not answered yet
        self.under_way = 0
        #: a function of (method, path), called before a request is served
        self.before = lambda method, path: None

    def idle(self, address):
        """No connection is kept."""

    def open(self, address):
        return _Exchange(lambda *what: self._sent(address[1], *what))

    def _sent(self, port, method, path, headers, body):
        number = self._answered + 1
        asked = '/' + unquote(path).split('/', 3)[3]
        self.sent.append((number, method, asked))
        self.under_way += 1

        def answer():
            if body:
                self.bodies.append((port, json.loads(body)))
            request = Request.blank(path, method=method, headers=headers,
                                    body=body)
            # what is sent at the same time is sent before this is answered
            sleep(0)
            try:
                self.before(method, asked)
                server = self.servers[port]
                response = server.spoil(request) or \
                    request.get_response(server.app)
            finally:
                self.under_way -= 1
            self._answered = max(self._answered, number)
            return response
        return answer

    @contextmanager
    def counted(self):
        """:returns: (as a context) a namespace: the ``rounds`` of the requests
            in it and what was ``sent``
        """
        found = SimpleNamespace()
        wait_for(lambda: not self.under_way, 'all is answered')
        start, before = len(self.sent), self._answered
        yield found
        found.sent = [(method, path) for _, method, path
                      in self.sent[start:]]
        found.rounds = max((number for number, _, _ in self.sent[start:]),
                           default=before) - before


class Site:
    """A cluster of three container servers.

    :param name: one of SITES
    :param skew: of its clock, seconds
    """

    def __init__(self, root, logger, name=SITES[0], container='c', skew=0,
                 replicas=3, conf=None):
        self.name = name
        self.skew = skew
        self.logger = logger
        self.container = container
        self.servers = [Server(self._app(root, index, conf or {}))
                        for index in range(replicas)]
        self.network = Network(self.servers)
        self.app = SimpleNamespace(
            container_ring=Ring([
                {'id': index, 'ip': '127.0.0.1', 'port': index,
                 'device': 'sda'} for index in range(replicas)]),
            conn_timeout=PATIENCE, node_timeout=PATIENCE,
            error_limiter=ErrorLimiter(60, 1000))
        self.clock = self.new_clock()
        self.time = NOW
        for name in (container, hidden_container(container)):
            self.make_container(name)

    def _app(self, root, index, conf):
        devices = os.path.join(root, self.name, str(index))
        os.makedirs(os.path.join(devices, 'sda'))
        return _Controller(dict(
            conf, devices=devices, mount_check='false', log_requests='no',
            fallocate_reserve='0'), logger=self.logger)

    def new_clock(self):
        nonces = itertools.count(1)
        return SiteClock(SITES.index(self.name), 60, lambda: next(nonces))

    def now(self):
        """Each look at the clock takes a millisecond."""
        self.time += 0.001
        return self.time + self.skew

    def ask(self, server, method, path, headers=None, query=''):
        """One request to one server, unrecorded."""
        return Request.blank(
            quote('/sda/0' + path) + query, method=method, headers=dict({
                'X-Timestamp': '%.5f' % NOW,
                'X-Backend-Allow-Reserved-Names': 'true',
                'X-Backend-Storage-Policy-Index': '0'},
                **headers or {})).get_response(server.app)

    def make_container(self, name, account='a'):
        for server in self.servers:
            response = self.ask(server, 'PUT', '/%s/%s' % (account, name))
            assert response.status_int == 201, response

    def rows(self):
        return Rows(self.app, self.logger, 'a', self.container,
                    connections=self.network)

    def strategy(self, kind, clock=None, **options):
        return kind(self.rows(), clock or self.clock, self.name,
                    now=self.now, **options)

    def put(self, strategy, obj, etag='e' * 32, deleted=False, size=7,
            **fields):
        """As the filter does it; :returns: the ``Entry``"""
        return strategy.commit(Entry(
            obj, strategy.new_version(deleted), 0 if deleted else size, etag,
            **{**({'content_type': DELETE_MARKER} if deleted else {}),
               **fields}), no_data).entry

    def listed(self, obj):
        """What the listing row of an object says, or None."""
        name = listing_name(obj)
        row = self.rows().read(verb.Request(names=(name,))).rows.get(name)
        return listed_of(row.etag) if row and not row.deleted else None

    def shown(self):
        """The names of the listing rows that are not deleted."""
        prefix = listing_name('')
        page = self.rows().read(verb.Request(page=verb.Page(prefix))).page
        return [row.name[len(prefix):] for row in page]


class PatientCase(SwiftTestCase):
    """A case that no busy machine fails: only tests of slowness are impatient.

    ``memory`` is a directory that no disk is waited for in: SQLite would, at
    each commit.
    """

    def setUp(self):
        for target, name in ((fixtures, 'DEADLINE'),
                             (replicas_module, 'SLOW')):
            patcher = mock.patch.object(target, name, PATIENCE)
            patcher.start()
            self.addCleanup(patcher.stop)
        super().setUp()
        self.memory = tempfile.mkdtemp(
            dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.addCleanup(shutil.rmtree, self.memory, ignore_errors=True)


class SiteCase(PatientCase):
    """One site; more with ``site``."""

    replicas = 3
    conf = {}

    def setUp(self):
        super().setUp()
        self.north = self.site('north')

    def site(self, name, **options):
        return Site(self.memory, self.logger, name,
                    replicas=self.replicas, conf=self.conf, **options)
