# SPDX-License-Identifier: Apache-2.0

import asyncio
import threading
import time
from unittest import mock

from cosbench.controller import workload_queue
from tests.unit.cosbench.console.sites import SHORT, SiteCase


class TestSaving(SiteCase):

    async def test_what_is_saved_on_the_way_is_not_saved_after_the_end(self):
        order, begun = [], threading.Event()

        def write(*args):
            begun.set()
            time.sleep(0.2)
            order.append('on the way')

        async def end(run):
            # A disk takes its time, and the run does not wait for it.
            await asyncio.to_thread(begun.wait)

        entry = self.controller.begin(SHORT.encode())
        with mock.patch.object(self.archive, 'write', write), \
                mock.patch.object(self.archive, 'finish',
                                  lambda *args: order.append('the end')), \
                mock.patch.object(workload_queue.WorkloadRun, 'run', end):
            await self.controller.run(entry)
        self.assertEqual(['on the way', 'the end'], order)
