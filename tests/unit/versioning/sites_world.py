# SPDX-License-Identifier: Apache-2.0
"""
Sites in one process: real container servers with real databases on three
devices each, real rows and strategies, receivers behind real sockets, real
propagators. Only the data of versions is kept in a dict.
"""

import contextlib
import os
import time
from array import array
from hashlib import md5, sha256
from types import SimpleNamespace
from unittest import mock

from swift.common.header_key_dict import HeaderKeyDict
from swift.common.internal_client import UnexpectedResponse
from swift.common.ring import Ring, RingData
from swift.common.swob import (
    HTTPConflict,
    HTTPNotFound,
    HTTPServerError,
    Request,
    Response,
)
from swift.common.utils import Timestamp
from swift.container.backend import ContainerBroker
from swift.container.server import ContainerController

from swift_lightsync.versioning.core.clock import HybridClock
from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.core.row_data import DELETE_MARKER, Entry
from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_lightsync.versioning.rows import row_client
from swift_lightsync.versioning.rows.rows import Rows, RowsUnavailable
from swift_lightsync.versioning.sites.databases import ENABLED, MODE
from swift_lightsync.versioning.sites.propagator import VersionsPropagator
from swift_lightsync.versioning.sites.receiver import Receiver
from swift_lightsync.versioning.strategies.read_repair import ReadRepair
from swift_lightsync.versioning.strategies.write_repair import WriteRepair
from tests.unit.sync.fixtures import CapturingLogger, node, served
from tests.unit.versioning.fakes import (
    PATIENCE,
    Network,
    PatientCase,
    Server,
)

SITES = ('rome', 'paris', 'oslo')
DEVICES = ('sda', 'sdb', 'sdc')
ACCOUNT, CONTAINER = 'AUTH_a', 'c'
MAX_SKEW = 60
FAST = {'retry_delay': '0.001', 'max_retry_delay': '0.001',
        'conn_timeout': str(PATIENCE), 'node_timeout': str(PATIENCE),
        'handover_delay': '0',
        'repair_delay': '0', 'bind_ip': '127.0.0.1'}
STRATEGIES = {'write-repair': WriteRepair, 'read-repair': ReadRepair}


def key_of(one, other):
    """Return what two sites share, a text."""
    return sha256('-'.join(sorted((one, other))).encode()).hexdigest()


class Site:
    """
    :param case: the ``SitesTestCase``
    :param mode: of its containers
    """

    def __init__(self, case, name, mode):
        self.name = name
        self.mode = mode
        self.root = os.path.join(case.memory, name)
        self.devices_dir = os.path.join(self.root, 'node')
        for device in DEVICES:
            os.makedirs(os.path.join(self.devices_dir, device))
        self.logger = CapturingLogger()
        self.skew = 0
        self.clock = HybridClock(offset_of(SITES.index(name), 7), MAX_SKEW)
        #: (container, name) to (Stamp, headers, body)
        self.data = {}
        #: keys of data to the ``Stamp`` of its tombstone
        self.tombstones = {}
        self.puts = []
        self.broken = set()
        self.requests = []
        #: objects whose latest a memcache had to forget
        self.forgotten = []
        self.stack = contextlib.ExitStack()
        case.addCleanup(self.stack.close)
        self.container_server = ContainerController(
            {'devices': self.devices_dir, 'mount_check': 'false',
             'log_requests': 'no'},
            logger=self.logger)
        port = self.stack.enter_context(served(self.container_server))
        case.container_servers[port] = Server(self.container_server)
        self.stack.callback(case.container_servers.pop, port)
        self.conf = {**FAST, 'devices': self.devices_dir,
                     'mount_check': 'false', 'swift_dir': self.root,
                     'recon_cache_path': self.root, 'bind_port': str(port),
                     'site': name, 'site_preference': ','.join(SITES)}
        nodes = [node(number, port, device)
                 for number, device in enumerate(DEVICES)]
        RingData([array('H', [number] * 2) for number in range(3)], nodes,
                 31).save(os.path.join(self.root, 'container.ring.gz'))
        self.ring = Ring(self.root, ring_name='container')
        self.proxy = contextlib.ExitStack()
        case.addCleanup(self.proxy.close)
        self.port = 0

    def now(self):
        return time.time() + self.skew

    # The proxy-server

    def listen(self):
        self.port = self.proxy.enter_context(served(
            self, port=self.port))

    def go_away(self):
        self.proxy.close()

    def introduce(self, others):
        """Write versioning-sites.conf."""
        with open(os.path.join(self.root, 'versioning-sites.conf'),
                  'w') as conf:
            for other in others:
                conf.write('[%s]\nendpoints = http://127.0.0.1:%d\n'
                           'key = %s\n' % (other.name, other.port,
                                           key_of(self.name, other.name)))
        self.receiver = Receiver(self.conf, self.name, self.clock,
                                 self.logger, self, now=self.now)

    def __call__(self, env, start_response):
        req = Request(env)
        self.requests.append(req)
        if self.receiver.handles(req):
            return self.receiver(req)(env, start_response)
        return HTTPNotFound(request=req)(env, start_response)

    def _strategy(self, env, account, container, create=False):
        if create:
            self.make_container()
        elif not self.brokers(container):
            return None
        return self.strategy

    def _put_data(self, env, account, container, name, entry, body, headers):
        if 'data' in self.broken:
            return HTTPServerError()
        headers = dict(headers)
        parts = []
        try:
            # As an object server: it commits when it has its length.
            left = int(headers.pop('content-length'))
            while left:
                chunk = body.read(min(left, 1000))
                left -= len(chunk)
                parts.append(chunk)
        except Exception:
            return HTTPServerError()
        key = hidden_container(container), name
        if key in self.tombstones and \
                self.tombstones[key] > entry.version.id:
            return HTTPConflict()
        self.puts.append(name)
        self.data[key] = (
            entry.version.id, headers, b''.join(parts), entry.version.id)
        return Response(status=201)

    def _post_data(self, env, account, container, name, entry, changed,
                   headers):
        key = hidden_container(container), name
        stamp, _, body, _ = self.data[key]
        self.data[key] = stamp, dict(headers), body, changed
        return Response(status=202)

    def _delete_data(self, env, account, container, name):
        key = hidden_container(container), name
        stamp = self.clock.tick(self.now())
        if key in self.data and self.data[key][0] > stamp:
            return
        self.data.pop(key, None)
        self.tombstones[key] = stamp

    def _forget_latest(self, env, account, container, obj):
        self.forgotten.append(obj)

    # What an internal client gives

    def get_object(self, account, container, name, headers):
        found = self.data.get((container, name))
        if found is None:
            raise UnexpectedResponse('404 Not Found', HTTPNotFound())
        stamp, headers, body, changed = found
        return 200, HeaderKeyDict({
            **headers, 'Content-Length': len(body), 'X-Backend-Timestamp':
            str(changed), 'X-Backend-Data-Timestamp': str(stamp)}), \
            iter([body[:3], body[3:]] if len(body) > 3 else [body])

    # Containers, rows

    def make_container(self, container=CONTAINER):
        for name in (container, hidden_container(container)):
            for device in DEVICES:
                response = self._ask(device, 'PUT', name, headers={
                    ENABLED: 'true', MODE: self.mode})
                assert response.status_int in (201, 202), response.status

    def _ask(self, device, method, name, obj='', headers=()):
        part = self.ring.get_part(ACCOUNT, name)
        return Request.blank(
            '/%s/%d/%s/%s%s' % (device, part, ACCOUNT, name, obj),
            method=method, headers={
                'X-Timestamp': Timestamp.now().internal,
                'X-Backend-Allow-Reserved-Names': 'true',
                'X-Backend-Storage-Policy-Index': '0', **dict(headers)
            }).get_response(self.container_server)

    def brokers(self, container=CONTAINER):
        """Return the brokers of a container's databases."""
        part, _ = self.ring.get_nodes(ACCOUNT, container)
        found = [ContainerBroker.create_broker(
            os.path.join(self.devices_dir, device), part, ACCOUNT, container,
            logger=self.logger)[0] for device in DEVICES
            if self._ask(device, 'HEAD', container).status_int == 204]
        return found

    @property
    def strategy(self):
        app = SimpleNamespace(container_ring=self.ring,
                              conn_timeout=PATIENCE, node_timeout=PATIENCE)
        rows = Rows(app, self.logger, ACCOUNT, CONTAINER)
        return STRATEGIES[self.mode](rows, self.clock, self.name, SITES,
                                     self.now)

    # A client

    def put(self, obj, body, **meta):
        """Return the ``Version`` that was made."""
        strategy = self.strategy
        basis = strategy.begin(obj)
        version = strategy.new_version(basis)
        entry = Entry(obj, version, len(body), md5(body).hexdigest(),
                      'text/plain')
        self.data[hidden_container(CONTAINER), strategy.data_name(entry)] = (
            version.id, {'X-Object-Meta-' + name: value
                         for name, value in meta.items()}, body, version.id)
        strategy.commit(basis, entry)
        return version

    def delete(self, obj):
        strategy = self.strategy
        basis = strategy.begin(obj)
        version = strategy.new_version(basis, deleted=True)
        strategy.commit(basis, Entry(obj, version,
                                     content_type=DELETE_MARKER))
        return version

    def put_plain(self, obj, body, seconds):
        """An object from before its container had versions."""
        stamp = Timestamp(seconds)
        for device in DEVICES:
            self._ask(device, 'PUT', CONTAINER, '/' + obj, {
                'X-Timestamp': stamp.internal, 'X-Size': str(len(body)),
                'X-Etag': md5(body).hexdigest(),
                'X-Content-Type': 'text/plain'})
        stamp = Stamp.parse(stamp.internal)
        self.data[CONTAINER, obj] = stamp, {}, body, stamp

    # The propagator

    def propagator(self, **options):
        return VersionsPropagator({**self.conf, **options}, self.logger,
                                  self.ring, self)

    def propagate(self, times=1, **options):
        propagator = self.propagator(**options)
        for _ in range(times):
            propagator.run_once()
        return propagator

    # What there is

    def history(self, obj):
        """Return what its clients see of all versions, newest first."""
        return [(str(entry.version.id), entry.version.site,
                 str(entry.version.vector), entry.kind, entry.size,
                 entry.etag, entry.content_type)
                for entry in self.strategy.history(obj)]

    def bodies(self, obj):
        """Return the data of all versions that have some."""
        strategy = self.strategy
        found = {}
        for entry in strategy.history(obj):
            if not entry.version.deleted:
                key = (CONTAINER, obj) if entry.plain else (
                    hidden_container(CONTAINER), strategy.data_name(entry))
                found[str(entry.version.id)] = self.data[key][2]
        return found

    def latest(self, obj):
        """Return the id of the latest; None: no version, no container."""
        try:
            entry = self.strategy.latest(obj)
        except RowsUnavailable as err:
            if err.missing:
                return None
            raise
        return entry and str(entry.version.id)


class Ports(dict):
    """Servers by their ports; no other port takes a connection."""

    def __missing__(self, port):
        raise ConnectionRefusedError('refused')


class SitesTestCase(PatientCase):
    """Three sites that know each other."""

    modes = ('write-repair',) * 3

    def setUp(self):
        super().setUp()
        self.container_servers = Ports()
        # Of rows there are so many requests that sockets would cost most of
        # the time; TestSockets has them.
        patcher = mock.patch.object(row_client, 'http_connect',
                                    Network(self.container_servers).connect)
        patcher.start()
        self.addCleanup(patcher.stop)
        self.sites = [Site(self, name, mode)
                      for name, mode in zip(SITES, self.modes)]
        for site in self.sites:
            site.listen()
        for site in self.sites:
            site.introduce([each for each in self.sites if each is not site])
        self.rome, self.paris, self.oslo = self.sites

    def assert_same(self, *objects):
        for obj in objects:
            for of in (Site.history, Site.bodies, Site.latest):
                found = [of(site, obj) for site in self.sites]
                self.assertEqual([found[0]] * len(found), found, obj)

    def settle(self):
        """All sites propagate until nothing changes."""
        for _ in range(3):
            for site in self.sites:
                site.propagate()
