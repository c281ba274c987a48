# SPDX-License-Identifier: Apache-2.0
"""A controller that stops takes nothing more and starts nothing more."""

import asyncio
import json
from unittest import mock

from cosbench.controller import workload_queue
from cosbench.controller.core.workload_states import WorkloadState
from tests.unit.cosbench.console.sites import SHORT, SiteCase


class TestClosing(SiteCase):

    def setUp(self):
        self.ran = []

    async def run_until_cancelled(self, run):
        self.ran.append(run.context.id)
        run.enter(WorkloadState.PROCESSING)
        await self.cancelled.wait()
        run.enter(WorkloadState.CANCELLED)

    def running(self):
        """:returns: a context in which workloads run until they are cancelled
        """
        case = self

        async def run(self):
            await case.run_until_cancelled(self)

        async def cancel(self):
            await case.may_cancel.wait()
            case.cancelled.set()
        self.cancelled, self.may_cancel = asyncio.Event(), asyncio.Event()
        return mock.patch.multiple(workload_queue.WorkloadRun, run=run,
                                   cancel=cancel)

    async def test_what_comes_while_it_stops_is_refused(self):
        self.controller.submit(SHORT.encode())
        self.controller.submit(SHORT.encode())
        with self.running():
            worker = asyncio.ensure_future(self.controller.work())
            while not self.ran:
                await asyncio.sleep(0.01)
            closing = asyncio.ensure_future(self.controller.close())
            await asyncio.sleep(0)
            status, text, _ = await self.api('POST', '/v1/workloads',
                                             data=SHORT)
            self.assertEqual((503, {'error': 'the controller is stopping'}),
                             (status, json.loads(text)))
            await self.login()
            status, text, _ = await self.submit(SHORT)
            self.assertEqual(503, status)
            self.assertIn('the controller is stopping', text)
            self.may_cancel.set()
            await closing
            await worker
        self.assertEqual(['w1'], self.ran)
        self.assertEqual(['w1', 'w2'], self.archive.ids)
        self.assertEqual(['cancelled', 'queuing'], [
            self.archive.load(each)['state'] for each in self.archive.ids])

    async def test_what_came_just_before_waits_for_the_next_one(self):
        with self.running():
            worker = asyncio.ensure_future(self.controller.work())
            await asyncio.sleep(0)
            self.controller.submit(SHORT.encode())
            await self.controller.close()
            await asyncio.wait_for(worker, 60)
        self.assertEqual([], self.ran)
        self.assertEqual('queuing', self.archive.load('w1')['state'])
