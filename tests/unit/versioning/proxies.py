# SPDX-License-Identifier: Apache-2.0
"""A proxy app that keeps objects in a dict, and the versioning filter in front
of it, with rows that are kept in dicts, too.
"""

import json
import os
from collections import defaultdict
from unittest import mock

from swift.common.request_helpers import (
    is_object_transient_sysmeta,
    is_sys_or_user_meta,
)
from swift.common.storage_policy import (
    POLICIES,
    StoragePolicy,
    StoragePolicyCollection,
)
from swift.common.swob import (
    HTTPAccepted,
    HTTPConflict,
    HTTPCreated,
    HTTPNoContent,
    HTTPNotFound,
    HTTPOk,
    Request,
    Response,
    normalize_etag,
    wsgi_to_str,
)
from swift.common.utils import Timestamp, md5, override_bytes_from_content_type

from swift_lightsync.common.rowless import ROWLESS
from swift_lightsync.proxy_server import Application
from swift_lightsync.versioning.core.row_data import (
    LISTINGS,
    RESERVED,
    VERSIONS,
    Row,
    user_container,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.proxy import middleware
from tests.unit.sync.fixtures import CapturingLogger
from tests.unit.versioning.memory import MemoryRows

START = 1700000000.0
#: In place of those of Swift, of which the tests have one.
TWO_POLICIES = StoragePolicyCollection([
    StoragePolicy(0, 'zero', True), StoragePolicy(1, 'gold')])
KEPT = ('content-type', 'x-delete-at', 'x-object-manifest')


def listing(rows, params):
    """Return what Swift lists of some rows.

    :param rows: a list of ``Row``
    :param params: of the request, text
    """
    prefix, delimiter = params.get('prefix', ''), params.get('delimiter')
    if 'path' in params:
        path = params['path'].rstrip('/')
        prefix, delimiter = path and path + '/', '/'
    reverse = params.get('reverse') in ('true', 'on')
    after, before = params.get('marker', ''), params.get('end_marker', '')
    if reverse:
        after, before = before, after
    items = {}
    for row in sorted(rows, key=lambda row: row.name, reverse=reverse):
        if not row.name.startswith(prefix) or row.name <= after or (
                before and row.name >= before):
            continue
        end = row.name.find(delimiter, len(prefix)) if delimiter else -1
        if end < 0:
            items[row.name] = _item(row)
        elif row.name[:end + len(delimiter)] != params.get('marker') and \
                'path' not in params:
            subdir = row.name[:end + len(delimiter)]
            items[subdir] = {'subdir': subdir}
    return list(items.values())[:int(params.get('limit', 10000))]


def _item(row):
    item = {'name': row.name, 'bytes': row.size, 'hash': row.etag,
            'content_type': row.content_type,
            'last_modified': Timestamp(str(row.stamp)).isoformat}
    override_bytes_from_content_type(item)
    return item


class Stored:
    """An object: its body, and the headers that it is answered with."""

    def __init__(self, body, headers):
        self.body = body
        self.headers = headers

    @property
    def stamp(self):
        return Timestamp(self.headers['X-Backend-Timestamp'])


class MemoryProxy(Application):
    """The app at the end of a pipeline; it has no servers."""

    cors_allow_origin = ()
    cors_expose_headers = ()
    strict_cors_mode = True

    def __init__(self, logger, now, mode):
        self.logger = logger
        self.now = now
        self.counted = {'write-repair': LISTINGS,
                        'read-repair': VERSIONS}[mode]
        self.containers = {}
        self.objects = {}
        #: names of storage policies that were asked for
        self.policies = {}
        #: as of when containers were deleted
        self.deleted = {}
        #: of the versions of a user's container
        self.rows = defaultdict(MemoryRows)
        #: of a user's container itself, by name
        self.own = defaultdict(dict)
        #: (method, path, whether without rows, what asked for it)
        self.seen = []
        self._pipeline_final_app = self._pipeline_request_logging_app = self

    def __call__(self, env, start_response):
        req = Request(env)
        names = [name and wsgi_to_str(name)
                 for name in req.split_path(2, 4, True)][1:]
        self.seen.append((req.method, '/'.join(filter(None, names)),
                          bool(env.get(ROWLESS)), env.get('swift.source')))
        if 'swift.authorize' in env and not (names[2] is None and
                                             req.method == 'HEAD'):
            if names[2]:
                req.acl = self.containers.get(
                    tuple(names[:2]), {}).get('X-Container-Write')
            denied = env['swift.authorize'](req)
            if denied:
                return denied(env, start_response)
        kind = 'account' if not names[1] else \
            'container' if not names[2] else 'object'
        answer = getattr(self, '_%s_%s' % (kind, req.method))(req, *names)
        return answer(env, start_response)

    def writes(self, method):
        """Paths of objects that a method was sent to, oldest first."""
        return [path for verb, path, _, _ in self.seen
                if verb == method and path.count('/') > 1]

    def _account_HEAD(self, req, account, *_):
        return HTTPNoContent(request=req)

    def _account_GET(self, req, account, *_):
        found = [{'name': name, 'count': self._count(name),
                  'bytes': self._bytes(name)}
                 for _, name in sorted(self.containers)
                 if name.startswith(RESERVED) ==
                 ('X-Backend-Allow-Reserved-Names' in req.headers)]
        return HTTPOk(request=req, body=json.dumps(found))

    def _rows_of(self, container):
        if not container.startswith(RESERVED):
            return list(self.own[container].values())
        replica = self.rows[user_container(container)].replicas[0]
        return [row for row in replica.held.values() if not row.deleted]

    def _count(self, container):
        counted = self.counted if container.startswith(RESERVED) else ''
        return sum(row.name.startswith(counted)
                   for row in self._rows_of(container))

    def _bytes(self, container):
        return sum(row.size for row in self._rows_of(container))

    def _container_PUT(self, req, account, container, _):
        place = account, container
        there = place in self.containers
        if not there and place in self.deleted and \
                self._timestamp(req) < self.deleted[place]:
            return HTTPConflict(request=req)
        policy = POLICIES.get_by_name(req.headers.get(
            'X-Storage-Policy', ''))
        if there and policy and str(policy.idx) != self.containers[place][
                'X-Backend-Storage-Policy-Index']:
            return HTTPConflict(request=req)
        if 'X-Storage-Policy' in req.headers:
            self.policies[place] = req.headers['X-Storage-Policy']
        meta = self.containers.setdefault(place, {
            'X-Backend-Storage-Policy-Index': str(policy.idx if policy
                                                  else 0)})
        meta.update((name, value) for name, value in req.headers.items()
                    if name.startswith('X-Container-'))
        req.environ.get('swift.infocache', {}).clear()
        return (HTTPAccepted if there else HTTPCreated)(
            request=req, headers={name: value for name, value in meta.items()
                                  if name.startswith('X-Backend-')})

    def _container_POST(self, req, account, container, _):
        if (account, container) not in self.containers:
            return HTTPNotFound(request=req)
        self._container_PUT(req, account, container, _)
        return HTTPNoContent(request=req)

    def _container_HEAD(self, req, account, container, _):
        meta = self.containers.get((account, container))
        if meta is None:
            return HTTPNotFound(request=req)
        return HTTPNoContent(request=req, headers=dict(meta, **{
            'X-Container-Object-Count': str(self._count(container)),
            'X-Container-Bytes-Used': str(self._bytes(container))}))

    def _container_GET(self, req, account, container, _):
        head = self._container_HEAD(req, account, container, _)
        if head.status_int == 404:
            return head
        params = {name: wsgi_to_str(value)
                  for name, value in req.params.items()}
        return HTTPOk(request=req, headers=dict(head.headers),
                      body=json.dumps(listing(self._rows_of(container),
                                              params)))

    def _container_DELETE(self, req, account, container, _):
        if self._count(container):
            return HTTPConflict(request=req)
        if self.containers.pop((account, container), None) is None:
            return HTTPNotFound(request=req)
        self.deleted[account, container] = self._timestamp(req)
        return HTTPNoContent(request=req)

    def _object_PUT(self, req, *path):
        if path[:2] not in self.containers:
            return HTTPNotFound(request=req)
        body = req.environ['wsgi.input'].read()
        if isinstance(body, str):
            body = body.encode('ascii')
        etag = md5(body, usedforsecurity=False).hexdigest()
        wanted = normalize_etag(req.headers.get('Etag'))
        if wanted and wanted != etag:
            return Response(request=req, status=422)
        stamp = self._timestamp(req)
        if path in self.objects and self.objects[path].stamp >= stamp:
            return HTTPAccepted(request=req)
        headers = {name: value for name, value in req.headers.items()
                   if self._is_kept(name)}
        if not headers.get('Content-Type'):
            headers['Content-Type'] = 'application/octet-stream'
        headers.update({'Etag': etag, 'X-Timestamp': stamp.normal,
                        'X-Backend-Timestamp': stamp.internal})
        self.objects[path] = Stored(body, headers)
        if not req.environ.get(ROWLESS):
            self.own[path[1]][path[2]] = Row(
                path[2], Stamp.parse(stamp.internal), len(body),
                headers['Content-Type'], etag)
        return HTTPCreated(request=req, headers={'Etag': etag})

    def _timestamp(self, req):
        return Timestamp(req.headers.get('X-Timestamp') or self.now())

    @staticmethod
    def _is_kept(name):
        return name.lower() in KEPT or is_sys_or_user_meta(
            'object', name) or is_object_transient_sysmeta(name)

    def _object_GET(self, req, *path):
        found = self.objects.get(path)
        if found is None:
            return HTTPNotFound(request=req)
        return Response(request=req, body=found.body, headers=found.headers,
                        conditional_response=True)

    _object_HEAD = _object_GET

    def _object_POST(self, req, *path):
        found = self.objects.get(path)
        if found is None:
            return HTTPNotFound(request=req)
        kept = {name: value for name, value in found.headers.items()
                if 'Meta-' not in name and 'Transient' not in name}
        kept.update((name, value) for name, value in req.headers.items()
                    if self._is_kept(name))
        found.headers = kept
        return HTTPAccepted(request=req)

    def _object_DELETE(self, req, *path):
        if path in self.objects and \
                self.objects[path].stamp >= self._timestamp(req):
            return HTTPConflict(request=req)
        found = self.objects.pop(path, None)
        if not req.environ.get(ROWLESS):
            self.own[path[1]].pop(path[2], None)
        return (HTTPNoContent if found else HTTPNotFound)(request=req)


class Pipeline:
    """The filter and its proxy.

    :param case: a TestCase
    :param mode: of the filter
    :param now: in seconds; each request takes one
    """

    def __init__(self, case, mode, **conf):
        self.logger = CapturingLogger()
        self.proxy = MemoryProxy(self.logger, lambda: self.now, mode)
        self.now = START
        patcher = mock.patch.object(
            middleware, 'Rows',
            lambda _app, _logger, _account, container, *_:
            self.proxy.rows[container])
        patcher.start()
        case.addCleanup(patcher.stop)
        self.filter = middleware.Versioning(
            self.proxy, dict({'mode': mode, 'site': 'north',
                              'site_preference': 'north, south',
                              'sites_conf': os.devnull}, **conf),
            logger=self.logger, now=lambda: self.now)

    def __call__(self, method, path, headers=None, body='', query='',
                 environ=None, **more):
        """:param path: below the account, unquoted
        :returns: a ``Response``
        """
        self.now += 1
        req = Request.blank('/v1/a/' + path if path else '/v1/a',
                            environ=environ, method=method,
                            headers=headers or {}, body=body, **more)
        req.query_string = query
        if method in ('POST', 'PUT') and not path.count('/'):
            req.environ.setdefault('swift.infocache', {})
        return req.get_response(self.filter)

    def strategy(self, container='c'):
        """Return the strategy of a container as it is now."""
        req = Request.blank('/v1/a/' + container)
        return self.filter.versioned(req.environ, 'a', container).strategy

    def put_old(self, obj, body='old', path='c', **headers):
        """Store an object as if its container had no versions."""
        self.now += 1
        req = Request.blank('/v1/a/%s/%s' % (path, obj), method='PUT',
                            headers=headers, body=body)
        resp = req.get_response(self.proxy)
        if resp.status_int != 201:
            raise AssertionError('PUT gave %s' % resp.status)

    def held(self):
        """The rows of versions by name, deleted ones too."""
        return self.proxy.rows['c'].replicas[0].held

    def listing(self, path='c', query='', environ=None, **headers):
        resp = self('GET', path, headers, query=query, environ=environ)
        return json.loads(resp.body)

    def versions(self, query='', path='c', source=None):
        """Return (name, id, is_latest) of each version, or a subdir."""
        environ = {'swift.source': source} if source else None
        return [item.get('subdir') or
                (item['name'], item['version_id'], item['is_latest'])
                for item in self.listing(path, 'versions&' + query,
                                         environ)]

    def put(self, obj, body='data', **headers):
        """Return the id of the version, or None."""
        resp = self('PUT', 'c/' + obj, headers, body)
        if resp.status_int != 201:
            raise AssertionError('PUT gave %s' % resp.status)
        return resp.headers.get('X-Object-Version-Id')
