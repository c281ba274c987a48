# SPDX-License-Identifier: Apache-2.0
"""Adaptors that do nothing, and the auth that has its token already."""

from cosbench.adaptors.base import Auth, Credentials, Storage, Transfer, clock
from cosbench.adaptors.http1 import parse_url
from cosbench.adaptors.settings import one_line


class NoneAuth(Auth):
    """``none``: no credentials; the storage's config may have some."""

    renewable = False

    async def login(self):
        return Credentials()


class TokenAuth(Auth):
    """``token``: a token that somebody else got.

    :param config: token; storage_url
    """

    renewable = False

    def __init__(self, config):
        url = config.parsed('storage_url', parse_url, None)
        self._credentials = Credentials(
            one_line(config, 'token'), str(url) if url else None)

    async def login(self):
        return self._credentials


class NoneStorage(Storage):
    """``none``: every operation succeeds at once, and moves nothing."""

    async def _nothing(self, *args, **options):
        return Transfer(clock(), 0)

    create_container = delete_container = put = get = delete = list = head = \
        post = list_versions = bulk_delete = delete_with_parts = upload = \
        _nothing

    async def length(self, container, name):
        return 0

    async def versions(self, container, name):
        return ['none']
