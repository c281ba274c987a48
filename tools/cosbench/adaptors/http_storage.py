# SPDX-License-Identifier: Apache-2.0
"""Storages that are asked over HTTP: all but the dialect of each."""

import re
from typing import Any

from cosbench.adaptors.base import WHOLE, OperationError, Storage, Transfer
from cosbench.adaptors.parts import Answer

#: Whether a name is as it is when it is quoted, as most are.
is_plain = re.compile(r'[A-Za-z0-9_.~/-]*', re.ASCII).fullmatch


def done(response):
    """Return the ``Transfer`` of a request that moves no data."""
    return Transfer(response.first_byte, 0)


def received(response):
    """Return the ``Transfer`` of a request for data."""
    return Transfer(response.first_byte, response.size)


def etag_of(response):
    """Return the ETag of an answer, as a text.

    :raises OperationError: if there is none
    """
    etag = response.headers.get(b'etag')
    if etag is None:
        raise OperationError('protocol', 'an upload without an ETag')
    return etag.decode('latin1')


class HttpStorage(Storage):
    """Moves objects by requests of HTTP.

    A dialect gives ``request``, ``versions_of`` and the names below; ``get``
    and ``put`` of whole objects, which a driver spends its time on; and what
    it has no name in common for with others.
    """

    #: Of the query: what names a version, a part; what lists versions to be
    #: read by ``versions_of``, a function of the answer and a name.
    VERSION = PART = ''
    LIST_VERSIONS: tuple[tuple[str, str], ...] = (('versions', ''),)
    versions_of: Any = None

    def __init__(self):
        #: What tells servers apart -> ``Client``.
        self._clients = {}

    @property
    def resent(self):  # type: ignore[override]
        return sum(client.resent for client in self._clients.values())

    async def close(self):
        for client in self._clients.values():
            await client.close()

    async def request(self, method, container, name='', query=(), headers=(),
                      body=None, sink=None, absent=False):
        """Send a request for a container or an object of it.

        :param method: a text
        :param name: of the object; empty: for the container
        :param query: (name, value) texts
        :param headers: (name in lower case, value) pairs
        :param absent: whether 404 is a success, too
        :returns: the ``Response``, a success; the rest as of ``Client``
        :raises OperationError: if it is none
        """
        raise NotImplementedError

    def _query(self, want):
        """Return what of a ``Want`` stands in the query."""
        if want.version is not None:
            return [(self.VERSION, want.version)]
        return [] if want.part is None else [(self.PART, str(want.part))]

    async def _read(self, method, container, name, want, sink=None):
        headers = want.headers
        if want.span:
            headers = (*headers, ('range', 'bytes=%d-%d' % want.span))
        return await self.request(method, container, name, self._query(want),
                                  headers, sink=sink)

    async def get_wanted(self, container, name, sink, want):
        """Read what a ``Want`` says of an object; see ``get``."""
        response = await self._read('GET', container, name, want, sink)
        if (want.span or want.part) and response.status != 206:
            raise OperationError('partial', '%s/%s: all of it was sent'
                                 % (container, name))
        return received(response)

    async def head(self, container, name, want=WHOLE):
        return done(await self._read('HEAD', container, name, want))

    async def delete(self, container, name, want=WHOLE):
        return done(await self.request(
            'DELETE', container, name, self._query(want), want.headers,
            absent=True))

    async def delete_container(self, name):
        return done(await self.request('DELETE', name, absent=True))

    async def length(self, container, name):
        response = await self.request('HEAD', container, name, absent=True)
        if response.status == 404:
            return None
        # The head of a response has had its length checked.
        return int(response.headers.get(b'content-length', b'0'))

    async def versions(self, container, name):
        answer = Answer()
        await self.request('GET', container, '', [
            *self.LIST_VERSIONS, ('prefix', name)], sink=answer)
        return self.versions_of(answer.data, name)

    async def list_versions(self, container, name=None):
        return received(await self.request('GET', container, '', [
            ('versions', ''), *([('prefix', name)] if name else [])]))
