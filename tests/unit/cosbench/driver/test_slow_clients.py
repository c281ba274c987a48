# SPDX-License-Identifier: Apache-2.0
"""Connections that send no request are closed; all others stay."""

import asyncio
import unittest

from aiohttp import ClientSession, web

from cosbench.driver.process import SlowClients
from tests.waiting import wait_for

#: Seconds of the test's clock.
TIMEOUT = 10.0
DEADLINE = 60


class TestSlowClients(unittest.IsolatedAsyncioTestCase):

    async def asyncSetUp(self):
        async def answer(request):
            return web.Response(text='here')
        self.now = 100.0
        app = web.Application()
        app.router.add_get('/', answer)
        self.slow = SlowClients(app, TIMEOUT, lambda: self.now)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        self.addAsyncCleanup(self.runner.cleanup)
        await web.TCPSite(self.runner, '127.0.0.1', 0).start()
        self.port = self.runner.addresses[0][1]

    async def opened(self, data):
        before = len(self.runner.server.connections)
        reader, writer = await asyncio.open_connection('127.0.0.1',
                                                       self.port)
        self.addCleanup(writer.close)
        writer.write(data)
        await asyncio.to_thread(wait_for, lambda: len(
            self.runner.server.connections) > before, 'it is taken',
            DEADLINE)
        return reader

    def look(self):
        self.slow.look(self.runner.server.connections)

    async def test_half_a_head_is_waited_for_so_long_and_no_longer(self):
        lots = [await self.opened(data) for data in (
            b'', b'GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')]
        self.look()
        self.now += TIMEOUT - 1
        self.look()
        self.assertFalse(any(each.at_eof() for each in lots))
        self.now += 1
        self.look()
        for each in lots:
            self.assertEqual(b'', await asyncio.wait_for(each.read(),
                                                         DEADLINE))

    async def test_who_has_asked_may_ask_again_later(self):
        async with ClientSession() as session:
            url = 'http://127.0.0.1:%d/' % self.port
            for _ in range(3):
                async with session.get(url) as answer:
                    self.assertEqual('here', await answer.text())
                kept, = self.runner.server.connections
                self.look()
                self.now += 10 * TIMEOUT
                self.look()
                self.assertEqual([kept], self.runner.server.connections)
