# SPDX-License-Identifier: Apache-2.0
"""Adaptors that do nothing, and the auth that has its token already."""

from cosbench.adaptors.base import (
    WHOLE,
    Auth,
    Credentials,
    Storage,
    Transfer,
    clock,
)
from cosbench.adaptors.http1 import parse_url
from cosbench.adaptors.settings import one_line


class NoneAuth(Auth):
    """``none``: no credentials; the storage's config may have some."""

    renewable = False

    @classmethod
    def from_config(cls, config):
        return cls()

    async def login(self):
        return Credentials()


class TokenAuth(Auth):
    """
    ``token``: a token that somebody else got.

    :param config: token; storage_url
    """

    renewable = False

    def __init__(self, config):
        url = config.parsed('storage_url', parse_url, None)
        self._credentials = Credentials(
            one_line(config, 'token'), str(url) if url else None)

    @classmethod
    def from_config(cls, config):
        return cls(config)

    async def login(self):
        return self._credentials


class NoneStorage(Storage):
    """``none``: every operation succeeds at once, and moves nothing."""

    @classmethod
    def from_config(cls, config, auth):
        return cls()

    async def _nothing(self):
        return Transfer(clock(), 0)

    async def create_container(self, name, headers=()):
        return await self._nothing()

    async def delete_container(self, name):
        return await self._nothing()

    async def put(self, container, name, body, want=WHOLE):
        return await self._nothing()

    async def get(self, container, name, sink=None, want=WHOLE):
        return await self._nothing()

    async def delete(self, container, name, want=WHOLE):
        return await self._nothing()

    async def list(self, container=None, name=None):
        return await self._nothing()

    async def head(self, container, name, want=WHOLE):
        return await self._nothing()

    async def post(self, container, name, want):
        return await self._nothing()

    async def list_versions(self, container, name=None):
        return await self._nothing()

    async def bulk_delete(self, container, names):
        return await self._nothing()

    async def delete_with_parts(self, container, name):
        return await self._nothing()

    async def upload(self, container, name, bodies, parts, note, want=WHOLE):
        return await self._nothing()

    async def length(self, container, name):
        return 0

    async def versions(self, container, name):
        return ['none']
