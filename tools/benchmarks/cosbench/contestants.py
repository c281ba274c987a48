# SPDX-License-Identifier: Apache-2.0
"""The clients that are compared; each runs in a process of its own.

A contestant is an async context: it gives ``operation()``, a coroutine
function for one request that has come back whole.
"""

import asyncio
import resource
import time
from contextlib import asynccontextmanager

import aiohttp
import uvloop

from cosbench.adaptors import load
from cosbench.adaptors.content import Body
from cosbench.adaptors.http1 import Client, parse_url
from cosbench.adaptors.none import NoneAuth
from cosbench.workload.config import Config

#: Seconds that are not counted: connections, caches.
WARM_UP = 0.5


@asynccontextmanager
async def _lean(port, scenario):
    client = Client(parse_url('url', 'http://127.0.0.1:%d' % port), 30)
    target = b'/v1/a/c/%d' % scenario.size

    async def operation():
        body = Body(scenario.size) if scenario.method == 'PUT' else None
        response = await client.request(
            scenario.method.encode(), target, body=body)
        return response.status
    yield operation
    await client.close()


def _storage(kind, text):
    """
    :param kind: of ``storage``
    :param text: its config, with a place for the port
    :returns: a contestant that goes through the adaptor, as workers do
    """
    @asynccontextmanager
    async def contestant(port, scenario):
        storage = load('storage', kind).from_config(
            Config.parse(text % port), NoneAuth())
        await storage.open()
        name = str(scenario.size)

        async def put():
            await storage.put('c', name, Body(scenario.size))
            return 201

        async def get():
            await storage.get('c', name)
            return 200
        yield {'GET': get, 'PUT': put}[scenario.method]
        await storage.close()
    return contestant


@asynccontextmanager
async def _aiohttp(port, scenario):
    url = 'http://127.0.0.1:%d/v1/a/c/%d' % (port, scenario.size)
    data = bytes(scenario.size) if scenario.method == 'PUT' else None
    async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0)) as session:
        async def operation():
            async with session.request(
                    scenario.method, url, data=data) as response:
                await response.read()
                return response.status
        yield operation


#: name -> (contestant, the event loop it runs on)
CONTESTANTS = {
    'aiohttp': (_aiohttp, asyncio.new_event_loop),
    'aiohttp-uvloop': (_aiohttp, uvloop.new_event_loop),
    'client': (_lean, uvloop.new_event_loop),
    'client-asyncio': (_lean, asyncio.new_event_loop),
    'swift': (_storage(
        'swift', 'token=t;storage_url=http://127.0.0.1:%d/v1/a'),
        uvloop.new_event_loop),
    's3': (_storage(
        's3', 'accesskey=a;secretkey=s;endpoint=http://127.0.0.1:%d'),
        uvloop.new_event_loop),
}


def _cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def _load(make, port, scenario, workers, seconds):
    """:returns: (operations, failures, CPU seconds, seconds)"""
    counts = {True: 0, False: 0}
    going = True

    async def worker(operation):
        while going:
            counts[200 <= await operation() < 300] += 1

    async with make(port, scenario) as operation:
        tasks = [asyncio.ensure_future(worker(operation))
                 for _ in range(workers)]
        await asyncio.sleep(WARM_UP)
        counts.update({True: 0, False: 0})
        cpu, begin = _cpu(), time.monotonic()
        await asyncio.sleep(seconds)
        figures = (counts[True], counts[False], _cpu() - cpu,
                   time.monotonic() - begin)
        going = False
        await asyncio.gather(*tasks)
    return figures


def run(pipe, name, port, scenario, workers, seconds):
    """
    :param pipe: the figures of ``_load`` are sent there
    """
    make, new_loop = CONTESTANTS[name]
    with asyncio.Runner(loop_factory=new_loop) as runner:
        pipe.send(runner.run(_load(make, port, scenario, workers, seconds)))
