# SPDX-License-Identifier: Apache-2.0
"""Objects of 10 GB go up and come down through a driver of some megabytes."""

import asyncio
import unittest
from multiprocessing import get_context

import pytest

from cosbench.adaptors import storage_of
from cosbench.adaptors.content import Body
from cosbench.workload.config import Config
from cosbench.workload.model import Auth, Storage
from cosbench.workload.requests import Parts

SIZE = 10 ** 10
PART = 64 * 2 ** 20
#: Bytes that the driver may need more than before.
MOST = 64 * 2 ** 20
DEADLINE = 900
CONFIGS = {
    'swift': 'token=t;storage_url=http://127.0.0.1:%d/v1/a',
    's3': 'accesskey=a;secretkey=s;endpoint=http://127.0.0.1:%d'}


async def _serve(reader, writer):
    """Swallow what is written; of what is read, send zeros."""
    block = bytes(2 ** 18)
    while True:
        try:
            head = await reader.readuntil(b'\r\n\r\n')
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        length = [int(line.split(b':')[1]) for line in head.split(b'\r\n')
                  if line.lower().startswith(b'content-length')]
        left = sum(length)
        while left:
            left -= len(await reader.read(min(left, 2 ** 18)))
        body = b'<UploadId>u</UploadId>' if b'?uploads' in head else b''
        size = SIZE if head.startswith(b'GET') else len(body)
        writer.write(b'HTTP/1.1 200 OK\r\nEtag: "e"\r\nContent-Length: %d'
                     b'\r\n\r\n%b' % (size, body))
        for place in range(len(body), size, len(block)):
            writer.write(block[:size - place])
            await writer.drain()


def serve(pipe):
    async def run():
        server = await asyncio.start_server(_serve, '127.0.0.1', 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()
    asyncio.run(run())


def peak():
    """Return the most bytes that this process had in memory."""
    # Not ru_maxrss: that of the parent is in it.
    with open('/proc/self/status', encoding='ascii') as status:
        return 1024 * next(int(line.split()[1]) for line in status
                           if line.startswith('VmHWM'))


def drive(kind, port, pipe):
    """Send what each way moved, and by how much this process grew."""
    async def run():
        storage = storage_of(Auth(), Storage(kind, Config.parse(
            CONFIGS[kind] % port)))
        await storage.open()
        await storage.put('c', 'small', Body(PART, seed=1))
        before = peak()
        bodies = [Body(min(PART, SIZE - place), seed=place)
                  for place in range(0, SIZE, PART)]
        moved = [(await storage.put('c', 'one', Body(SIZE, seed=2))).size,
                 (await storage.upload('c', 'parts', bodies, Parts(PART, 4),
                                       lambda *args: None)).size,
                 (await storage.get('c', 'one', lambda data: None)).size]
        await storage.close()
        pipe.send((moved, peak() - before))
    asyncio.run(run())


@pytest.mark.long
class TestHuge(unittest.TestCase):

    def started(self, target, *args):
        mine, its = get_context('spawn').Pipe()
        process = get_context('spawn').Process(
            target=target, args=(*args, its), daemon=True)
        process.start()
        self.addCleanup(process.join, 60)
        self.addCleanup(process.terminate)
        return mine

    def test_memory_does_not_grow_with_the_object(self):
        server = self.started(serve)
        self.assertTrue(server.poll(60))
        port = server.recv()
        for kind in CONFIGS:
            driver = self.started(drive, kind, port)
            self.assertTrue(driver.poll(DEADLINE), kind)
            moved, grown = driver.recv()
            self.assertEqual([SIZE] * 3, moved)
            self.assertLess(grown, MOST)
            print('%s grew by %.1f MB' % (kind, grown / 10 ** 6))
