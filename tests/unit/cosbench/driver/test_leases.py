# SPDX-License-Identifier: Apache-2.0
"""Leases of what a driver holds: it ends when no controller asks for it.

The driver is in the test's process, where leases go by a clock of the test.
"""

import asyncio
import time
import unittest
from types import SimpleNamespace
from unittest import mock

from aiohttp import web

from cosbench.driver import mission_service, triggers
from cosbench.driver.mission_service import Service
from cosbench.driver.signature import WINDOW, Gate
from cosbench.tasks import within
from tests.unit.cosbench.driver.scripts import HOLD, Scripts, wait_for_end
from tests.unit.cosbench.driver.test_driver import mission
from tests.unit.cosbench.processes import DEADLINE, KEY, ask_driver

LEASE = 3600


class TestLeases(unittest.IsolatedAsyncioTestCase):

    async def asyncSetUp(self):
        self.now = 0.0
        clock = SimpleNamespace(
            time=time.time, process_time=time.process_time,
            monotonic=lambda: self.now)
        for module in mission_service, triggers:
            self.enterContext(mock.patch.object(module, 'time', clock))
        self.scripts = Scripts(self)
        self.scripts.write('hold.sh', HOLD)
        service = Service(Gate(KEY, WINDOW), triggers_root=self.scripts.root)
        runner = web.AppRunner(service.application())
        await runner.setup()
        self.addAsyncCleanup(runner.cleanup)
        self.addAsyncCleanup(service.close)
        await web.TCPSite(runner, '127.0.0.1', 0).start()
        self.url = 'http://127.0.0.1:%d' % runner.addresses[0][1]
        leases = asyncio.ensure_future(service.watch_leases(0.01))
        self.addCleanup(leases.cancel)

    async def ask(self, method, target, found=None):
        status, answer = await asyncio.to_thread(
            ask_driver, self.url, method, target, found)
        self.assertLess(status, 300, answer)
        return answer

    async def until(self, found, key):
        """Wait for what the status says: no word about what is held."""
        async def is_found():
            while (await self.ask('GET', '/v1/status'))[key] != found:
                pass
        await within(DEADLINE, is_found())

    async def start(self, key):
        await self.ask('POST', '/v1/triggers', {
            'id': key, 'trigger': 'hold.sh', 'lease': LEASE})

    async def test_a_mission_that_no_one_asks_for_ends(self):
        await self.ask('POST', '/v1/missions', mission(lease=LEASE))
        await self.until({'m1': 'ready'}, 'missions')
        await self.ask('POST', '/v1/missions/m1/start', {'delay': 0})
        await self.until({'m1': 'running'}, 'missions')
        self.now += LEASE + 1
        await self.until({'m1': 'cancelled'}, 'missions')
        answer = await self.ask('GET', '/v1/missions/m1/news')
        self.assertIn('no word from the controller', answer['reason'])

    async def test_a_trigger_that_no_one_asks_for_ends(self):
        await self.start('t1')
        pids = await asyncio.to_thread(self.scripts.pids)
        self.now += LEASE + 1
        await self.until([], 'triggers')
        await asyncio.to_thread(wait_for_end, *pids)

    async def test_what_is_asked_for_goes_on(self):
        for key in ('t1', 't2'):
            await self.start(key)
        await self.ask('POST', '/v1/missions', mission(lease=LEASE))
        await self.until({'m1': 'ready'}, 'missions')
        self.now += LEASE - 1
        await self.ask('GET', '/v1/triggers/t1')
        await self.ask('GET', '/v1/missions/m1/news')
        with self.assertLogs('cosbench.trigger', 'WARNING') as logged:
            self.now += LEASE - 1
            await self.until(['t1'], 'triggers')
        # All that were overdue at once are named before any of them ends.
        self.assertEqual(['t2: no word from the controller'], [
            each.getMessage() for each in logged.records])
        self.assertEqual({'m1': 'ready'}, (
            await self.ask('GET', '/v1/status'))['missions'])
