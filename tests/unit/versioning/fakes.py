# SPDX-License-Identifier: Apache-2.0
"""
Real container servers in this process, behind a connection that is a
function call, and strategies of sites that use them.
"""

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock
from urllib.parse import quote

from swift.common.concurrency import sleep
from swift.common.error_limiter import ErrorLimiter
from swift.common.memcached import MemcacheConnectionError
from swift.common.swob import Request, Response
from swift.container.server import ContainerController

from swift_lightsync.versioning.core.clock import HybridClock
from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import offset_of
from swift_lightsync.versioning.rows import row_client
from swift_lightsync.versioning.rows.rows import Rows
from swift_lightsync.versioning.strategies.write_repair import WriteRepair
from tests.unit.sync import fixtures
from tests.unit.sync.fixtures import SwiftTestCase, wait_for

SITES = ('north', 'south', 'west')
NOW = 1700000000.0
#: Seconds that no answer takes, however busy the machine is.
PATIENCE = 600


class Ring:
    """All replicas of all containers are on the same nodes."""

    def __init__(self, nodes):
        self.nodes = nodes

    def get_part(self, account, container=None, obj=None):
        return 0

    def get_nodes(self, account, container=None, obj=None):
        return 0, list(self.nodes)


class Server:
    """
    A container server whose answers can be spoilt.

    :param app: Swift's ContainerController
    """

    def __init__(self, app):
        self.app = app
        #: a function of a Request: a Response that it gets instead, or
        #: None; it may raise, as a connection does
        self.spoil = lambda req: None

    def fail(self, status=503, methods=('GET', 'PUT', 'DELETE')):
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


class _Answer:

    def __init__(self, response):
        self.status = response.status_int
        self._response = response

    def getheaders(self):
        return list(self._response.headers.items())

    def read(self):
        return self._response.body


class Network:
    """
    The ``connect`` of ``Rows``: requests are calls of the servers.

    A request's round is one more than that of the last that was answered
    before it was sent: what requests cost one after the other.
    """

    def __init__(self, servers):
        self.servers = servers
        #: (round, method, path) of each request
        self.sent = []
        self._answered = 0
        #: how many requests are not answered yet
        self.under_way = 0
        #: a function of (method, path), called before a request is served
        self.before = lambda method, path: None

    def connect(self, ip, port, device, part, method, path, headers=None,
                query_string=None):
        for name, value in headers.items():
            (name + str(value)).encode('latin-1')
        number = self._answered + 1
        self.sent.append((number, method, path))
        self.under_way += 1
        request = Request.blank(
            quote('/%s/%s%s' % (device, part, path)) +
            ('?' + query_string if query_string else ''),
            method=method, headers=headers)

        def getresponse():
            # what is sent at the same time is sent before this is answered
            sleep(0)
            try:
                self.before(method, path)
                server = self.servers[port]
                response = server.spoil(request) or \
                    request.get_response(server.app)
            finally:
                self.under_way -= 1
            self._answered = max(self._answered, number)
            return _Answer(response)
        return SimpleNamespace(getresponse=getresponse)

    @contextmanager
    def counted(self):
        """
        :returns: (as a context) a namespace: the ``rounds`` of the requests
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
    """
    A cluster of three container servers.

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
        self.clock = self.new_clock(1)
        self.time = NOW
        for name in (container, hidden_container(container)):
            self.make_container(name)

    def _app(self, root, index, conf):
        devices = os.path.join(root, self.name, str(index))
        os.makedirs(os.path.join(devices, 'sda'))
        return ContainerController(dict(
            conf, devices=devices, mount_check='false', log_requests='no',
            fallocate_reserve='0'), logger=self.logger)

    def new_clock(self, nonce):
        return HybridClock(offset_of(SITES.index(self.name), nonce), 60)

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
                    connect=self.network.connect)

    def strategy(self, kind, clock=None, **options):
        return kind(self.rows(), clock or self.clock, self.name, SITES,
                    now=self.now, **options)

    def put(self, strategy, obj, etag='e' * 32, deleted=False, size=7,
            **fields):
        """As the filter does it; :returns: the ``Entry``"""
        basis = strategy.begin(obj)
        entry = Entry(obj, strategy.new_version(basis, deleted),
                      0 if deleted else size, etag, **fields)
        strategy.commit(basis, entry)
        return entry

    def put_plain(self, obj, seconds, etag='p' * 32, servers=None,
                  content_type='text/plain'):
        """The row that an object-server writes."""
        for server in self.servers if servers is None else servers:
            response = self.ask(
                server, 'PUT', '/a/%s/%s' % (self.container, obj), {
                    'X-Timestamp': '%.5f' % seconds, 'X-Size': '5',
                    'X-Content-Type': content_type, 'X-Etag': etag})
            assert response.status_int == 201, response

    def listed(self, obj, strategy=None):
        """The ``Entry`` of the row of an object in the user's container."""
        found = (strategy or self.strategy(WriteRepair)).current(obj)
        return next((entry for entry in found if entry.object == obj), None)


class MemoryRows:
    """
    ``Rows`` of a container with one replica that never fails: a dict.

    :param gate: called before each read and before each row is written
    :param whole: called before rows are written, and not before each
    """

    def __init__(self, gate=lambda: None, whole=False):
        self.user, self.hidden = {}, {}
        self.gate = gate
        self.whole = whole

    def seen_by(self, gate, whole):
        """Return the same rows, with another gate."""
        other = MemoryRows(gate, whole)
        other.user, other.hidden = self.user, self.hidden
        return other

    def write(self, user_rows=(), hidden_rows=()):
        if self.whole:
            self.gate()
        for held, rows in ((self.hidden, hidden_rows),
                           (self.user, user_rows)):
            for row in rows:
                if not self.whole:
                    self.gate()
                old = held.get(row.name)
                if old is None or old.stamp < row.stamp:
                    held[row.name] = row

    def read(self, *queries):
        self.gate()
        return [self._answer(query) for query in queries]

    def _answer(self, query):
        first, last = query.bounds
        after, before = query.marker, query.end_marker
        rows = [row for name, row in sorted(
            (self.hidden if query.hidden else self.user).items())
            if not row.deleted and first <= name and
            (not last or name <= last) and name not in (after, before)]
        if query.exact:
            rows = [row for row in rows if row.name == query.prefix]
        return (rows[::-1] if query.reverse else rows)[:query.limit]


class MemoryCache:
    """What is used of a ``MemcacheRing``, in a dict; as text, as there."""

    def __init__(self):
        self.held = {}
        self.is_down = False

    def incr(self, key, delta=1, time=0):
        if self.is_down:
            raise MemcacheConnectionError('down')
        value = int(self.held.get(key, 0)) + delta
        self.held[key] = str(value)
        return value

    def set_multi(self, mapping, server_key, time=0):
        if not self.is_down:
            self.held.update((key, json.dumps(value))
                             for key, value in mapping.items())

    def get_multi(self, keys, server_key):
        if self.is_down:
            return None
        return [json.loads(self.held[key]) if key in self.held else None
                for key in keys]


class PatientCase(SwiftTestCase):
    """
    A case that no busy machine fails: only tests of slowness are impatient.

    ``memory`` is a directory that no disk is waited for in: SQLite would, at
    each commit.
    """

    def setUp(self):
        for target, name in ((fixtures, 'DEADLINE'), (row_client, 'SLOW')):
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
