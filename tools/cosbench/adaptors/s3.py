# SPDX-License-Identifier: Apache-2.0
"""``s3``: S3 with Signature Version 4.

- Requests always tell their length: S3 takes no chunked ones.
- ``payload_signing=true`` signs bodies, too, at the cost of a SHA-256.
- Buckets are in the host name (virtual-hosted) unless path_style_access is
  true, the endpoint is an IP address or localhost, or the name cannot be
  in one; names with dots cannot, for the sake of certificates.
- A list of a bucket has one page; with an object, those that begin so.
"""

import ipaddress
import re
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from urllib.parse import quote

from cosbench.adaptors.base import WHOLE, OperationError, Transfer
from cosbench.adaptors.core import s3_bodies, sigv4
from cosbench.adaptors.http1 import Url, parse_url
from cosbench.adaptors.http_auth import Payload
from cosbench.adaptors.http_storage import (
    HttpStorage,
    done,
    etag_of,
    is_plain,
    received,
)
from cosbench.adaptors.parts import Answer, put_all
from cosbench.adaptors.s3_signing import Signing
from cosbench.adaptors.settings import Connector, one_line
from cosbench.errors import ConfigError

ENDPOINT = 'http://s3.amazonaws.com'
#: Where a bucket is without a LocationConstraint.
HOME = 'us-east-1'
#: Containers of which it is known where they are.
_MOST_PLACES = 4096
_OK = range(200, 300)
_IN_HOST = re.compile(r'[a-z0-9][a-z0-9-]{1,61}[a-z0-9]')
_OF_REGION = re.compile(r's3[.-]([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com')
#: Creating what is there: a success, as in COSBench.
_EXISTS = (b'BucketAlreadyOwnedByYou', b'BucketAlreadyExists')


class S3Storage(HttpStorage):
    """Moves objects by S3.

    :param config: accesskey, secretkey, sessiontoken; endpoint, region;
        timeout, milliseconds; path_style_access; payload_signing;
        proxyhost, proxyport; what ``Connector`` takes
    :param auth: is not asked: the keys are in the config
    """

    VERSION, PART = 'versionId', 'partNumber'
    versions_of = staticmethod(s3_bodies.versions_of)

    def __init__(self, config, auth=None):
        super().__init__()
        self._url = config.parsed(
            'endpoint', parse_url, parse_url('endpoint', ENDPOINT))
        self._connector = Connector(config, via=_proxy(config, self._url))
        host = _OF_REGION.fullmatch(self._url.host)
        self._region = one_line(config, 'region', host[1] if host else HOME)
        self._signing = Signing(
            sigv4.Scope(one_line(config, 'accesskey'),
                        config.text('secretkey'), self._region),
            one_line(config, 'sessiontoken', ''),
            config.flag('payload_signing', False))
        self._in_path = config.flag('path_style_access', False) or \
            _is_address(self._url.host)
        self._placed = lru_cache(_MOST_PLACES)(self._place)

    def _place(self, container):
        """Return the client of a bucket, and its path with a slash."""
        path = self._url.path
        host = container
        if container and (self._in_path
                          or not _IN_HOST.fullmatch(container)):
            path += '/' + quote(container, safe='-_.~')
            host = None
        client = self._clients.get(host)
        if client is None:
            url = self._url._replace(path='')
            if host:
                url = url._replace(host='%s.%s' % (host, url.host))
            client = self._clients[host] = self._connector.client(url)
        return client, path + '/'

    async def _request(self, method, container, name='', query=(),
                       body=None, sink=None, headers=()):
        client, path = self._placed(container)
        # Most names are as they are when they are quoted.
        path += name if is_plain(name) else quote(name, safe='/-_.~')
        query = sigv4.query_string(query) if query else ''
        signed = self._signing.lines(method, client.url, path, query, body,
                                     headers)
        target = '%s?%s' % (path, query) if query else path
        return await client.request(
            method.encode(), target.encode('ascii'), signed, body, sink)

    async def request(self, method, container, name='', query=(), headers=(),
                      body=None, sink=None, absent=False):
        response = await self._request(method, container, name, query, body,
                                       sink, headers)
        if not absent or response.status != 404:
            _check(response, method, container, name)
        return response

    async def create_container(self, name, headers=()):
        body = None
        if self._region != HOME:
            body = Payload(s3_bodies.constraint(self._region))
        response = await self._request('PUT', name, body=body,
                                       headers=headers)
        if response.status != 409 or not any(
                code in response.excerpt for code in _EXISTS):
            _check(response, 'PUT', name)
        return done(response)

    async def put(self, container, name, body, want=WHOLE):
        response = await self._request(
            'PUT', container, name, (), replace(body, chunked=False)
            if body.chunked else body, None, want.headers)
        _check(response, 'PUT', container, name)
        return Transfer(response.first_byte, body.size)

    async def get(self, container, name, sink=None, want=WHOLE):
        if want is not WHOLE:
            return await self.get_wanted(container, name, sink, want)
        response = await self._request('GET', container, name, (), None, sink)
        _check(response, 'GET', container, name)
        return Transfer(response.first_byte, response.size)

    async def post(self, container, name, want):
        """Copy the object to itself: S3 has no other way."""
        answer = Answer()
        response = await self.request(
            'PUT', container, name, sink=answer, headers=[
                *want.headers, ('x-amz-copy-source', '/%s/%s' % (
                    container, quote(name, safe='/-_.~'))),
                ('x-amz-metadata-directive', 'REPLACE')])
        s3_bodies.check_no_error(answer.data)
        return done(response)

    async def bulk_delete(self, container, names):
        answer, data = Answer(), s3_bodies.names_to_delete(names)
        response = await self.request(
            'POST', container, '', [('delete', '')],
            [('content-md5', s3_bodies.digest(data))], Payload(data), answer)
        s3_bodies.check_no_error(answer.data)
        return done(response)

    async def upload(self, container, name, bodies, parts, note, want=WHOLE):
        answer = Answer()
        await self.request('POST', container, name, [('uploads', '')],
                           want.headers, sink=answer)
        upload = ('uploadId', s3_bodies.upload_of(answer.data))

        async def put(number, body):
            response = await self.request(
                'PUT', container, name, [('partNumber', str(number)), upload],
                body=body)
            return response.first_byte, etag_of(response)

        try:
            etags = await put_all(bodies, parts.parallel, put, note)
            answer = Answer()
            response = await self.request(
                'POST', container, name, [upload], (),
                Payload(s3_bodies.completion(etags)), answer)
            # A completion that fails late has said 200 before.
            s3_bodies.check_no_error(answer.data)
        except OperationError:
            with suppress(OperationError):
                await self.request('DELETE', container, name, [upload])
            raise
        return Transfer(response.first_byte, sum(each.size for each in bodies))

    async def delete_with_parts(self, container, name):
        # The storage has them, and gives them up with the object.
        return await self.delete(container, name)

    async def list(self, container=None, name=None):
        query = [('list-type', '2')] if container else []
        if name:
            query.append(('prefix', name))
        return received(await self.request('GET', container, '', query))


def _check(response, method, *names):
    if response.status not in _OK:
        raise OperationError('http %d' % response.status, '%s %s: %s' % (
            method, '/'.join(name or '' for name in names),
            response.said()))


def _is_address(host):
    try:
        ipaddress.ip_address(host)
        return True
    except ValueError:
        return host == 'localhost'


def _proxy(config, endpoint):
    if not config.text('proxyhost', ''):
        return None
    if endpoint.scheme == 'https':
        raise ConfigError('proxyhost=%r: must not be used with an https '
                          'endpoint' % config['proxyhost'])
    return Url('http', config['proxyhost'],
               config.integer('proxyport', least=1, most=65535))
