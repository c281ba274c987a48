# SPDX-License-Identifier: Apache-2.0
"""``swift``: the Object Storage API v1.

- What the auth gives wins over ``token`` and ``storage_url`` of the config,
  as in COSBench.
- A token that was good and is refused (401) has expired: one login for all
  workers, then the operation once more. A token that never was good is not
  renewed, or each operation would log in.
- Nothing else is tried again.
- Each upload of a large object (SLO, DLO) has segments of its own, so that
  who reads the object as it was is not disturbed. What was overwritten leaves
  its segments, as in any Swift, until the object is deleted with its parts.
- As in COSBench: a list with an object is a HEAD of it; what is there
  already, or not there any more, is a success.
"""

import uuid
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from cosbench.adaptors.base import WHOLE, OperationError, Transfer
from cosbench.adaptors.core import swift_bodies
from cosbench.adaptors.http1 import header_lines, parse_url
from cosbench.adaptors.http_auth import Payload
from cosbench.adaptors.http_storage import (
    HttpStorage,
    done,
    etag_of,
    is_plain,
    received,
)
from cosbench.adaptors.login import Login
from cosbench.adaptors.parts import Answer, put_all
from cosbench.adaptors.settings import Connector, one_line
from cosbench.errors import ConfigError
from cosbench.workload.requests import Large

_NOT_FOUND = 404
_OCTETS = header_lines([('Content-Type', 'application/octet-stream')])
_BULK = header_lines([('Content-Type', 'text/plain'),
                      ('Accept', 'application/json')])
_TYPE = 'content-type'
#: Segments that one request lists and deletes.
_PAGE = 1000


@lru_cache(maxsize=4096)
def _container(name):
    return b'/' + quote(name, safe='').encode('ascii')


def _path(container, name):
    return _container(container) + b'/' + (
        name if is_plain(name) else quote(name)).encode('ascii')


@lru_cache(maxsize=64)
def _object_lines(headers):
    return header_lines(headers) + (
        b'' if _TYPE in dict(headers) else _OCTETS)


def _query_text(pairs):
    """Write a query, with its question mark; what has no value is a flag."""
    return '?' + '&'.join(
        '%s=%s' % (name, quote(value, safe='')) if value else name
        for name, value in pairs) if pairs else ''


class _Account:
    """Where the account is and how to be let in; fixed but for ``good``."""

    __slots__ = ('credentials', 'client', 'path', 'headers', 'good')

    def __init__(self, credentials, client, path, token):
        self.credentials = credentials
        self.client = client
        self.path = path
        self.headers = header_lines(
            [('X-Auth-Token', token)] if token else [])
        #: Whether the storage has accepted the token once.
        self.good = False


class SwiftStorage(HttpStorage):
    """Moves objects by the Object Storage API.

    :param config: timeout, milliseconds; token; storage_url; endpoint, which
        is asked instead of the storage URL's server; policy of containers
        that are created; what ``Connector`` takes
    :param auth: an ``Auth``
    """

    VERSION, PART = 'version-id', 'part-number'
    LIST_VERSIONS = (('versions', ''), ('format', 'json'), ('limit', '1000'))
    versions_of = staticmethod(swift_bodies.versions_of)

    def __init__(self, config, auth):
        super().__init__()
        self._connector = Connector(config)
        self._token = one_line(config, 'token', '')
        self._url = config.parsed('storage_url', parse_url, None)
        self._endpoint = config.parsed('endpoint', parse_url, None)
        policy = one_line(config, 'policy', '')
        self._policy = {'x-storage-policy': policy} if policy else {}
        self._login = Login(auth)
        #: From ``open`` on.
        self._account: Any = None

    async def open(self):
        self._use(await self._login.credentials())
        self._account.good = self._login.reused

    def _use(self, credentials):
        try:
            url = self._url
            if credentials.storage_url:
                url = parse_url('storage_url', credentials.storage_url)
            if url is None:
                raise ConfigError('neither the auth nor the config of the '
                                  'storage has a storage_url')
        except ConfigError as err:
            raise OperationError('auth', str(err)) from None
        server = (self._endpoint or url)._replace(path='')
        if server not in self._clients:
            self._clients[server] = self._connector.client(server)
        self._account = _Account(
            credentials, self._clients[server], url.path.encode('ascii'),
            credentials.token or self._token)

    async def _renew(self, stale):
        """Return whether there is another account than the stale one."""
        if self._account is stale:
            if not stale.good:
                return False
            credentials = await self._login.renewed(stale.credentials)
            if credentials is None:
                return False
            # The first of those who waited.
            if self._account is stale:
                self._use(credentials)
        return True

    async def _request(self, method, path, headers=b'', body=None,
                       sink=None, absent=False):
        """Send a request, and once more after a new login.

        :param absent: whether 404 is a success, too
        """
        account = self._account
        response = await account.client.request(
            method, account.path + path, account.headers + headers, body,
            sink)
        if response.status == 401 and await self._renew(account):
            account = self._account
            response = await account.client.request(
                method, account.path + path, account.headers + headers, body,
                sink)
        status = response.status
        if 200 <= status < 300 or absent and status == _NOT_FOUND:
            account.good = True
            return response
        raise OperationError('http %d' % status, '%s %s: %s; X-Trans-Id %s' % (
            method.decode(), (account.path + path).decode(),
            response.said(),
            response.headers.get(b'x-trans-id', b'-').decode('latin1')))

    async def request(self, method, container, name='', query=(), headers=(),
                      body=None, sink=None, absent=False):
        path = _path(container, name) if name else _container(container)
        return await self._request(
            method.encode(), path + _query_text(query).encode('ascii'),
            header_lines(headers), body, sink, absent)

    async def create_container(self, name, headers=()):
        return done(await self.request('PUT', name, headers={
            **self._policy, **dict(headers)}.items()))

    async def put(self, container, name, body, want=WHOLE):
        response = await self._request(
            b'PUT', _path(container, name), _object_lines(want.headers)
            if want.headers else _OCTETS, body)
        return Transfer(response.first_byte, body.size)

    async def get(self, container, name, sink=None, want=WHOLE):
        if want is not WHOLE:
            return await self.get_wanted(container, name, sink, want)
        response = await self._request(
            b'GET', _path(container, name), b'', None, sink)
        return Transfer(response.first_byte, response.size)

    async def post(self, container, name, want):
        return done(await self.request('POST', container, name,
                                       headers=want.headers))

    async def bulk_delete(self, container, names):
        answer = Answer()
        response = await self._request(
            b'POST', b'?bulk-delete', _BULK, Payload(
                swift_bodies.names_to_delete(container, names)), answer)
        swift_bodies.check_deleted(answer.data, len(names))
        return done(response)

    async def upload(self, container, name, bodies, parts, note, want=WHOLE):
        prefix = '%s/parts/%s/' % (name, uuid.uuid4().hex)

        async def put(number, body):
            response = await self.request(
                'PUT', container, '%s%05d' % (prefix, number), body=body)
            return response.first_byte, etag_of(response).strip('"')

        etags = await put_all(bodies, parts.parallel, put, note)
        query: list[tuple[str, str]] = []
        headers, manifest = want.headers, b''
        if parts.large is Large.DLO:
            headers = (*headers, ('x-object-manifest', '%s/%s' % (
                quote(container, safe=''), quote(prefix))))
        else:
            query = [('multipart-manifest', 'put')]
            manifest = swift_bodies.manifest(container, [
                ('%s%05d' % (prefix, number), etag, body.size) for number,
                (etag, body) in enumerate(zip(etags, bodies), 1)])
        response = await self.request('PUT', container, name, query, headers,
                                      Payload(manifest))
        return Transfer(response.first_byte, sum(each.size for each in bodies))

    async def delete_with_parts(self, container, name):
        """Remove an object, then all segments that any upload of it left."""
        deleted = await self.delete(container, name)
        while True:
            answer = Answer()
            await self.request(
                'GET', container, '', [
                    ('format', 'json'), ('limit', str(_PAGE)),
                    ('prefix', name + '/parts/')], sink=answer, absent=True)
            # Of a container that is not there nothing is kept.
            names = swift_bodies.names_of(answer.data)
            if not names:
                return deleted
            await self.bulk_delete(container, names)

    async def list(self, container=None, name=None):
        if name:
            response = await self._request(b'HEAD', _path(container, name))
        else:
            response = await self._request(
                b'GET', _container(container) if container else b'')
        return received(response)
