# SPDX-License-Identifier: Apache-2.0
"""``mock``: a storage that waits and, if asked, fails; no network."""

import asyncio
import random

from cosbench.adaptors.base import (
    WHOLE,
    Auth,
    Credentials,
    OperationError,
    Storage,
    Transfer,
    clock,
)
from cosbench.adaptors.content import Body
from cosbench.adaptors.parts import put_all
from cosbench.workload.model import HASH_TRAILER

MAX_DELAY = 24 * 3600 * 1000


class MockAuth(Auth):
    """Gives a token after a while.

    :param config: token; delay, milliseconds
    """

    def __init__(self, config):
        self._token = config.text('token', 'token')
        self._delay = config.integer('delay', 0, most=MAX_DELAY) / 1000
        self.retry = config.integer('retry', 0)

    async def login(self):
        await asyncio.sleep(self._delay)
        return Credentials(self._token)


class MockStorage(Storage):
    """Keeps nothing: any object is there, and has ``size`` bytes.

    :param config: size, bytes of an object that is read; delay of each
        operation, milliseconds; errors, the probability that one fails;
        seed of that
    """

    def __init__(self, config, auth):
        self._size = config.integer('size', 1000)
        self._delay = config.integer('delay', 10, most=MAX_DELAY) / 1000
        self._errors = config.fraction('errors', 0.0)
        self._random = random.Random(config.integer('seed', 0))
        self._auth = auth

    async def open(self):
        await self._auth.login()

    async def _wait(self, size=0):
        await asyncio.sleep(self._delay)
        if self._errors and self._random.random() < self._errors:
            raise OperationError('mock', 'as asked for with errors=%g'
                                 % self._errors)
        return Transfer(clock(), size)

    async def _empty(self, *args, **options):
        return await self._wait()

    create_container = delete_container = delete = list = head = post = \
        list_versions = bulk_delete = delete_with_parts = _empty

    async def put(self, container, name, body, want=WHOLE):
        # Through it, as a storage goes: a body that breaks must show.
        return await self._wait(sum(len(block) for block in body))

    async def get(self, container, name, sink=None, want=WHOLE):
        size = self._size
        if want.span is not None:
            size = max(0, min(want.span[1] + 1, size) - want.span[0])
        transfer = await self._wait(size)
        if sink is not None:
            for block in Body(size, hash_check=size >= HASH_TRAILER):
                sink(block)
        return transfer

    async def length(self, container, name):
        return self._size

    async def versions(self, container, name):
        return ['mock']

    async def upload(self, container, name, bodies, parts, note, want=WHOLE):
        async def put(number, body):
            return (await self.put(container, name, body)).first_byte, None
        await put_all(bodies, parts.parallel, put, note)
        return await self._wait(sum(each.size for each in bodies))
