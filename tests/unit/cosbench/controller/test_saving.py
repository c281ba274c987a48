# SPDX-License-Identifier: Apache-2.0

import asyncio
import shutil
import tempfile
import threading
import time
import unittest
from unittest import mock

from cosbench.controller import workload_queue
from cosbench.controller.run_store import Archive
from cosbench.controller.workload_queue import Controller
from tests.unit.cosbench.controller import runs


class TestSaving(unittest.TestCase):

    def test_what_is_saved_on_the_way_is_not_saved_after_the_end(self):
        root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, root)
        archive = Archive(root)
        self.addCleanup(archive.close)
        order, begun = [], threading.Event()

        def write(*args):
            begun.set()
            time.sleep(0.2)
            order.append('on the way')

        async def end(run):
            # A disk takes its time, and the run does not wait for it.
            await asyncio.to_thread(begun.wait)

        async def submit_and_run():
            controller = Controller(archive, [])
            entry = controller.begin(
                runs.started([]).context.xml.encode())
            with mock.patch.object(archive, 'write', write), \
                    mock.patch.object(archive, 'finish',
                                      lambda *args: order.append('the end')), \
                    mock.patch.object(workload_queue.WorkloadRun, 'run', end):
                await controller.run(entry)
        asyncio.run(submit_and_run())
        self.assertEqual(['on the way', 'the end'], order)
