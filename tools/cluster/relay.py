# SPDX-License-Identifier: Apache-2.0
"""
The network between sites: ``python -m tools.cluster.relay STATE``.

A process that listens for each pair (from, to) of sites and passes on what
comes, later or not at all, as the file STATE says: a JSON list of links. It
reads the file again when that has changed; a link that is cut breaks what
passes through it, and takes no new connections.
"""

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass, replace

POLL = 0.02
CHUNK = 1 << 16


@dataclass(frozen=True)
class Link:
    """
    The way from one site to another.

    :param source: the name of the site that connects
    :param target: of the one that it connects to
    :param port: where it connects, on 127.0.0.1
    :param address: (IP, port) of the other's proxy
    :param delay: seconds that all takes, each way
    :param cut: whether nothing passes
    """
    source: str
    target: str
    port: int
    address: tuple
    delay: float = 0
    cut: bool = False


def read(path):
    """:returns: a tuple of ``Link``"""
    with open(path, encoding='utf8') as state:
        return tuple(Link(**dict(fields, address=tuple(fields['address'])))
                     for fields in json.load(state))


def write(path, links):
    """Replace the file; a reader sees the old or the new one."""
    with open(path + '.new', 'w', encoding='utf8') as state:
        json.dump([asdict(link) for link in links], state)
    os.rename(path + '.new', path)


def change(path, source, target, **values):
    """
    :returns: whether there is such a link
    """
    links = read(path)
    write(path, [replace(link, **values)
                 if (link.source, link.target) == (source, target) else link
                 for link in links])
    return any((link.source, link.target) == (source, target)
               for link in links)


class Relay:
    """
    One link at work.

    :param link: a ``Link``
    """

    def __init__(self, link):
        self.link = link
        self._server = None
        self._tasks = set()

    async def follow(self, link):
        """Be as a link is now."""
        self.link = link
        if link.cut and self._server:
            self._server.close()
            self._server = None
            for task in list(self._tasks):
                task.cancel()
        elif not link.cut and not self._server:
            self._server = await asyncio.start_server(
                self._accept, '127.0.0.1', link.port)

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        other = None
        try:
            await asyncio.sleep(self.link.delay)
            back, other = await asyncio.open_connection(*self.link.address)
            await asyncio.gather(self._pass(reader, other),
                                 self._pass(back, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            for each in (writer, other):
                if each:
                    each.transport.abort()

    async def _pass(self, reader, writer):
        loop = asyncio.get_running_loop()
        queue = asyncio.Queue(64)

        async def send():
            while True:
                due, chunk = await queue.get()
                await asyncio.sleep(max(0, due - loop.time()))
                if not chunk:
                    # An HTTP/1.1 peer that has heard all closes by itself.
                    writer.close()
                    return
                writer.write(chunk)
                await writer.drain()
        sender = asyncio.ensure_future(send())
        try:
            chunk = True
            while chunk:
                chunk = await reader.read(CHUNK)
                await queue.put((loop.time() + self.link.delay, chunk))
            await sender
        finally:
            sender.cancel()


async def run(path):
    """Relay what the file says, until the process is killed."""
    relays, seen = {}, None
    while True:
        found = os.stat(path)
        if (found.st_ino, found.st_mtime_ns) != seen:
            seen = found.st_ino, found.st_mtime_ns
            for link in read(path):
                relay = relays.setdefault(link.port, Relay(link))
                await relay.follow(link)
        await asyncio.sleep(POLL)


if __name__ == '__main__':
    asyncio.run(run(sys.argv[1]))
