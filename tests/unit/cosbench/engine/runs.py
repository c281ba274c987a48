# SPDX-License-Identifier: Apache-2.0
"""Missions of the tests, run on a storage that writes down what it is asked.
"""

import asyncio
import time

from cosbench.adaptors.base import OperationError, Storage, Transfer
from cosbench.document.reader import read
from cosbench.engine.core.mission import Mission, find
from cosbench.engine.mission_run import MissionRun
from cosbench.measure.tally import Tally
from tests.unit.cosbench.engine.virtual_time import VirtualTime

#: Seconds of its own time that no test takes.
DEADLINE = 30


def tally(run, row='op1'):
    """:returns: the ``Tally`` of a row of what a mission has reported"""
    return Tally.from_json(run.report(0)['operations'][row])


class Recorder(Storage):
    """Keeps each operation as (name, container, object, size).

    :param delay: seconds of each operation
    :param refuse: None, or a function of (name, container, object) that
        returns the kind of error to raise, or None
    """

    def __init__(self, delay=0.0, refuse=None):
        self.asked = []
        self.opened = self.closed = 0
        self.objects = {}
        #: Those that containers were created with.
        self.headers = {}
        self._delay = delay
        self._refuse = refuse or (lambda *args: None)

    async def open(self):
        self.opened += 1

    async def close(self):
        self.closed += 1

    async def _done(self, name, container, key=None, size=0):
        self.asked.append((name, container, key, size))
        if self._delay:
            await asyncio.sleep(self._delay)
        kind = self._refuse(name, container, key)
        if isinstance(kind, Exception):
            raise kind
        if kind:
            raise OperationError(kind)
        return Transfer(time.monotonic(), size)

    async def create_container(self, name, headers=()):
        self.headers[name] = headers
        return await self._done('create', name)

    async def delete_container(self, name):
        return await self._done('dispose', name)

    async def put(self, container, name, body):
        data = b''.join(body)
        self.objects[container, name] = data
        return await self._done('put', container, name, len(data))

    async def get(self, container, name, sink=None):
        data = self.objects.get((container, name), b'')
        if sink is not None:
            sink(data)
        return await self._done('get', container, name, len(data))

    async def delete(self, container, name):
        return await self._done('delete', container, name)

    async def list(self, container=None, name=None):
        return await self._done('list', container, name)


def mission(document, **fields):
    """:returns: (``Mission`` of all workers of a document's only work, unless
        fields say otherwise; its ``Work``)
    """
    workload = read(document.encode()).workload
    work = workload.stages[fields.get('stage', 0)].works[
        fields.get('work', 0)]
    found = Mission(**{
        'id': 'm', 'document': document, 'stage': 0, 'work': 0, 'first': 0,
        'count': work.workers, 'seed': 1, **fields})
    return found, find(found, workload)


def ran(document, storage, files=None, grace=30.0, during=None, clock=None,
        request_log=None, **fields):
    """Run a mission to its end, in a time that only waits make go on.

    :param during: a coroutine function of the ``MissionRun``, or None
    :param clock: a ``VirtualTime``, or None
    :param request_log: a ``RequestLog``, or None
    :returns: the ``MissionRun``
    """
    async def run():
        found = MissionRun(*mission(document, **fields), storage, files,
                           grace, request_log)
        await found.prepare()
        if not found.state.final:
            found.start(0)
        if during is not None:
            await during(found)
        await asyncio.wait_for(found.wait(), DEADLINE)
        # Its last steps come after the state.
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        return found
    return (clock or VirtualTime()).run(run())
