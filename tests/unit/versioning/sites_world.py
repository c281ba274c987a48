# SPDX-License-Identifier: Apache-2.0
"""Sites in one process: real container servers with real databases on three
devices each, real rows and strategies, receivers behind real sockets, real
propagators. Only the data of versions is kept in a dict.
"""

import contextlib
import os
import time
from array import array
from functools import partial
from hashlib import md5, sha256
from random import getrandbits
from types import SimpleNamespace
from unittest import mock
from urllib.parse import quote

from swift.common.ring import Ring, RingData
from swift.common.storage_policy import POLICIES
from swift.common.swob import (
    HTTPConflict,
    HTTPNotFound,
    HTTPServerError,
    Request,
    Response,
    wsgi_to_str,
)
from swift.common.utils import Timestamp
from swift.container.backend import ContainerBroker
from swift.proxy.controllers.base import get_cache_key

from swift_lightsync.common.rowless import ROWLESS
from swift_lightsync.container_server import ContainerController
from swift_lightsync.versioning.core import life as lives
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    Entry,
    hidden_container,
)
from swift_lightsync.versioning.core.stamp import SiteClock, Stamp
from swift_lightsync.versioning.data.container_headers import (
    ENABLED,
    MODE,
    described,
    enabled_headers,
    made_headers,
    mode_headers,
    sysmeta,
)
from swift_lightsync.versioning.proxy.container_deletion import next_life
from swift_lightsync.versioning.rows import replicas
from swift_lightsync.versioning.rows.rows import Rows, RowsUnavailable
from swift_lightsync.versioning.sites.propagator import VersionsPropagator
from swift_lightsync.versioning.sites.receiver import Receiver
from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)
from tests.unit.sync.fixtures import CapturingLogger, node, served
from tests.unit.versioning.fakes import (
    PATIENCE,
    Network,
    PatientCase,
    Server,
    no_data,
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


class _Controller(ContainerController):
    """A container server whose clock is that of its site."""

    def __init__(self, site, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.site = site

    def _wrong_clock(self, clock):
        skew = self.site.skew if self.site.servers_skew is None else \
            self.site.servers_skew
        return super()._wrong_clock(clock and clock - skew)


class SiteContainer:
    """What ``SiteRequests`` gives a receiver."""

    def __init__(self, site, container, exists=None):
        self.site = site
        self.container = container
        self._exists = exists
        self.strategy = site.strategy_of(container)

    def _key(self, name):
        return hidden_container(self.container), name

    def put_data(self, entry, body, headers):
        return self.site.put_data(self._key(entry.data_name), entry, body,
                                  headers)

    def post_data(self, name, changed, headers):
        return self.site.post_data(self._key(name), changed, headers)

    def delete_data(self, name, after):
        self.site.delete_data(self._key(name), self.site.clock.tick(
            self.site.now(), after))

    def forget_latest(self, obj):
        self.site.forgotten.append(obj)

    @property
    def exists(self):
        """What its proxy knows, which may have been so some time ago."""
        return self.site.has_versions(self.container) \
            if self._exists is None else self._exists

    def headers(self):
        found = self.change('HEAD')
        return found.headers if found.is_success else {}

    def make(self, life, before):
        return self.change('PUT', made_headers(
            life, self.site.mode, hidden_container(self.container),
            POLICIES[0], before)).status_int

    def delete(self, life):
        return self.change('DELETE', life.as_of).status_int

    def change(self, method, headers=()):
        return Request.blank(
            self.site.make_path(ACCOUNT, self.container), method=method,
            headers=dict(headers), environ={'swift_owner': True}
        ).get_response(self.site.app)


class Site:
    """:param case: the ``SitesTestCase``
    :param mode: of its containers
    """

    user_agent = 'tests'

    def __init__(self, case, name, mode):
        self.name = name
        self.mode = mode
        self.devices = case.devices
        self.root = os.path.join(case.memory, name)
        self.devices_dir = os.path.join(self.root, 'node')
        for device in self.devices:
            os.makedirs(os.path.join(self.devices_dir, device))
        self.logger = CapturingLogger()
        #: seconds that its clock is ahead; another one of container servers
        self.skew = 0
        self.servers_skew = None
        self.clock = SiteClock(SITES.index(name), MAX_SKEW,
                               partial(getrandbits, 32))
        #: (container, name) to (Stamp, headers, body, Stamp of the headers)
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
        self.container_server = _Controller(
            self, {'devices': self.devices_dir, 'mount_check': 'false',
                   'log_requests': 'no'}, logger=self.logger)
        port = self.stack.enter_context(served(self.container_server))
        case.container_servers[port] = Server(self.container_server)
        self.stack.callback(case.container_servers.pop, port)
        self.conf = {**FAST, 'devices': self.devices_dir,
                     'mount_check': 'false', 'swift_dir': self.root,
                     'recon_cache_path': self.root, 'bind_port': str(port),
                     'site': name, 'site_preference': ','.join(SITES)}
        nodes = [node(number, port, device)
                 for number, device in enumerate(self.devices)]
        RingData([array('H', [node['id']] * 2) for node in nodes], nodes,
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

    def open(self, env, account, container, policy=None):
        hidden = hidden_container(container)
        cache = env.setdefault('swift.infocache', {})
        key = get_cache_key(account, container)
        if key not in cache:
            cache[key] = {'exists': self.has_versions(container)}
        exists = cache[key]['exists']
        if policy is not None and not (exists or self.has(hidden)):
            self._ask_all('PUT', hidden, mode_headers(self.mode, hidden))
        return SiteContainer(self, container, exists) \
            if exists or self.has(hidden) else None

    def put_data(self, key, entry, body, headers):
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
        stamp = entry.version.id
        if self.tombstones.get(key, Stamp(0)) > stamp or \
                key in self.data and self.data[key][0] >= stamp:
            return HTTPConflict()
        self.puts.append(key[1])
        self.data[key] = stamp, headers, b''.join(parts), stamp
        return Response(status=201)

    def post_data(self, key, changed, headers):
        stamp, _, body, _ = self.data[key]
        self.data[key] = stamp, dict(headers), body, changed
        return Response(status=202)

    def delete_data(self, key, stamp=None):
        stamp = stamp or self.clock.tick(self.now())
        if key in self.data and self.data[key][0] > stamp:
            return
        self.data.pop(key, None)
        self.tombstones[key] = stamp

    # What an internal client gives

    def get_object(self, req, *key):
        """Answer a GET of the data of an object."""
        found = self.data.get(key)
        if found is None:
            return HTTPNotFound(request=req)
        stamp, headers, body, changed = found
        response = Response(request=req, headers={
            'Content-Type': 'text/plain', 'Etag': md5(body).hexdigest(),
            **headers, 'X-Backend-Timestamp': str(changed),
            'X-Backend-Data-Timestamp': str(stamp)}, app_iter=iter(
                [body[:3], body[3:]] if len(body) > 3 else [body]))
        response.content_length = len(body)
        return response

    def make_path(self, account, container=None, obj=None):
        return '/v1/' + '/'.join(quote(name) for name in (
            account, container, obj) if name)

    def app(self, env, start_response):
        """GET, PUT and DELETE of objects, all requests to containers."""
        req = Request(env)
        _, _, container, obj = (name and wsgi_to_str(name) for name in
                                req.split_path(2, 4, True))
        if obj is None:
            # As Swift's proxy, which takes access lists from owners alone.
            taken = ('X-Container-', 'X-Timestamp') if env.get(
                'swift_owner') else ('X-Container-Meta-',
                                     'X-Container-Sysmeta-', 'X-Timestamp')
            *_, answer = [self._ask(device, req.method, container, headers={
                name: value for name, value in req.headers.items()
                if name.startswith(taken)})
                for device in self.devices]
            return answer(env, start_response)
        if req.method == 'GET':
            return self.get_object(req, container, obj)(env, start_response)
        stamp = Stamp.parse(Timestamp(req.headers['X-Timestamp']).internal)
        if req.method == 'PUT':
            headers = {name.lower(): value for name, value in
                       req.headers.items()
                       if name.lower().startswith('x-object-')}
            self.data[container, obj] = stamp, headers, req.body, stamp
        else:
            self.delete_data((container, obj), stamp)
            if not env.get(ROWLESS):
                self._rows_of(req.method, container, obj, stamp)
        return Response(status=201)(env, start_response)

    def get_container_metadata(self, account, container, **_):
        found = self._ask(self.devices[0], 'HEAD', container)
        return {name.lower(): value for name, value in found.headers.items()
                if found.status_int == 204}

    # Containers, rows

    def make_container(self, container=CONTAINER, made=(), enabled=()):
        """
        :param made: the header that says when, as ``enabled``; now by default
        """
        hidden = hidden_container(container)
        mode = mode_headers(self.mode, hidden)
        self._ask_all('PUT', hidden, mode)
        self._ask_all('PUT', container, {**mode, **dict(made)})
        self._ask_all('POST', container, {
            **enabled_headers(True), **dict(enabled)})

    def has(self, container):
        return self._ask(self.devices[0], 'HEAD', container).status_int == 204

    def has_versions(self, container):
        return sysmeta(MODE) in self._ask(
            self.devices[0], 'HEAD', container).headers

    # A client's requests to its container, as the filter does them

    def create(self, **headers):
        self._ask_all('PUT', hidden_container(CONTAINER))
        life = next_life(self.strategy, True)
        self.make_container(made=life.as_of, enabled=life.as_of)
        life = self.begin_change('POST', **headers)[0]
        self.strategy.set_life(self.described(life))

    def change(self, method, **headers):
        """Return the status of a request to the container."""
        life, status = self.begin_change(method, **headers)
        self.strategy.set_life(life)
        return status

    def begin_change(self, method, **headers):
        """Change the container; return the record of it, which is not
        written yet, and the status.
        """
        life = next_life(self.strategy, method != 'DELETE')
        status = SiteContainer(self, CONTAINER).change(method, dict(
            life.as_of, **{name.replace('_', '-'): value
                           for name, value in headers.items()})).status_int
        return (life if method == 'DELETE' else
                self.described(life, headers)), status

    def described(self, life, sent=None):
        """Return a record with what the container is.

        :param sent: the headers of a change; None: it is new
        """
        if sent is None or not life.described:
            return life.describing(described(
                SiteContainer(self, CONTAINER).headers()))
        told = {name.replace('_', '-').lower(): value
                for name, value in sent.items()}
        enabled = told.pop(sysmeta(ENABLED).lower(), None)
        return life.changed([*told.items(), *(
            [(lives.ENABLED, enabled.lower())] if enabled else [])])

    def metadata(self, name):
        return SiteContainer(self, CONTAINER).headers().get(name)

    def _ask(self, device, method, name, obj='', headers=()):
        part = self.ring.get_part(ACCOUNT, name)
        return Request.blank(
            quote('/%s/%d/%s/%s%s' % (device, part, ACCOUNT, name, obj)),
            method=method, headers={
                'X-Timestamp': Timestamp.now().internal,
                'X-Backend-Allow-Reserved-Names': 'true',
                'X-Backend-Storage-Policy-Index': '0', **dict(headers)
            }).get_response(self.container_server)

    def _ask_all(self, method, name, headers=()):
        for device in self.devices:
            response = self._ask(device, method, name, headers=headers)
            assert response.is_success, response.status

    def brokers(self, container=CONTAINER):
        """Return the brokers of a container's databases."""
        part, _ = self.ring.get_nodes(ACCOUNT, container)
        found = [ContainerBroker.create_broker(
            os.path.join(self.devices_dir, device), part, ACCOUNT, container,
            logger=self.logger)[0] for device in self.devices
            if self._ask(device, 'HEAD', container).status_int == 204]
        return found

    @property
    def strategy(self):
        return self.strategy_of(CONTAINER)

    def strategy_of(self, container):
        app = SimpleNamespace(container_ring=self.ring,
                              conn_timeout=PATIENCE, node_timeout=PATIENCE)
        rows = Rows(app, self.logger, ACCOUNT, container)
        return STRATEGIES[self.mode](rows, self.clock, self.name,
                                     self.now)

    # A client

    def put(self, obj, body, container=CONTAINER, null=False, **meta):
        """Return the ``Version`` that was made."""
        strategy = self.strategy_of(container)
        entry = Entry(obj, strategy.new_version(), len(body),
                      md5(body).hexdigest(), 'text/plain', null)
        stamp = entry.version.id
        self.data[hidden_container(container), entry.data_name] = (
            stamp, {'X-Object-Meta-' + name: value
                    for name, value in meta.items()}, body, stamp)
        done = strategy.commit(entry, partial(self._put_again, container))
        for gone in done.replaced:
            self.delete_data((hidden_container(container), gone.data_name))
        return done.entry.version

    def _put_again(self, container, old, new):
        hidden, stamp = hidden_container(container), new.version.id
        _, headers, body, _ = self.data[hidden, old.data_name]
        self.data[hidden, new.data_name] = stamp, headers, body, stamp

    def delete(self, obj, null=False):
        strategy = self.strategy
        done = strategy.commit(Entry(
            obj, strategy.new_version(deleted=True),
            content_type=DELETE_MARKER, null=null), no_data)
        for gone in done.replaced:
            self.delete_data((hidden_container(CONTAINER), gone.data_name))
        return done.entry.version

    def purge(self, obj, stamp):
        entry = self.strategy.get(obj, stamp)
        self.strategy.purge(entry)
        self.delete_data((hidden_container(CONTAINER), entry.data_name))

    def put_plain(self, obj, body, seconds):
        """An object from before its container had versions."""
        stamp = Stamp.parse(Timestamp(seconds).internal)
        self._rows_of('PUT', CONTAINER, obj, stamp, {
            'X-Size': str(len(body)), 'X-Etag': md5(body).hexdigest(),
            'X-Content-Type': 'text/plain'})
        self.data[CONTAINER, obj] = stamp, {}, body, stamp

    def _rows_of(self, method, container, obj, stamp, headers=()):
        for device in self.devices:
            self._ask(device, method, container, '/' + obj, {
                **dict(headers), 'X-Timestamp': str(stamp)})

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
        return {str(entry.version.id): self.data[
            hidden_container(CONTAINER), entry.data_name][2]
            for entry in self.strategy.history(obj)
            if not entry.version.deleted}

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
    #: of each site; each has a replica of all
    devices = DEVICES

    def setUp(self):
        super().setUp()
        self.container_servers = Ports()
        # Of rows there are so many requests that sockets would cost most of
        # the time; TestSockets has them.
        patcher = mock.patch.object(replicas, 'CONNECTIONS',
                                    Network(self.container_servers))
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
