# SPDX-License-Identifier: Apache-2.0
"""The network between sites: ``python -m tools.cluster.relay STATE``.

A process that listens for each pair (from, to) of sites and passes on what
comes, later or not at all, as the file STATE says: a JSON list of links. It
reads the file again when that has changed; a link that is cut breaks what
passes through it, and takes no new connections.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from swift_lightsync.common.files import replace_file

POLL = 0.02
CHUNK = 1 << 16


@dataclass(frozen=True)
class Link:
    """The way from one site to another.

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
    address: tuple[str, int]
    delay: float = 0
    cut: bool = False


def read(path: str) -> tuple[Link, ...]:
    with open(path, encoding='utf8') as state:
        return tuple(Link(**dict(fields, address=tuple(fields['address'])))
                     for fields in json.load(state))


def write(path: str, links: Iterable[Link]) -> None:
    replace_file(path, json.dumps([asdict(link) for link in links]).encode())


def change(path: str, source: str, target: str, **values: Any) -> bool:
    """Change a link; return whether there is such a one."""
    links = read(path)
    changed = [replace(link, **values)
               if (link.source, link.target) == (source, target) else link
               for link in links]
    write(path, changed)
    return (source, target) in {(link.source, link.target) for link in links}


class Relay:
    """One link at work.

    :param link: a ``Link``
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self._server: asyncio.Server | None = None
        self._tasks: set = set()

    async def follow(self, link: Link) -> None:
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

    async def _accept(self, reader: asyncio.StreamReader,
                      writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        other: asyncio.StreamWriter | None = None
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

    async def _pass(self, reader: asyncio.StreamReader,
                    writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(64)

        async def send() -> None:
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
            while True:
                chunk = await reader.read(CHUNK)
                await queue.put((loop.time() + self.link.delay, chunk))
                if not chunk:
                    break
            await sender
        finally:
            sender.cancel()


async def run(path: str) -> None:
    """Relay what the file says, until the process is killed."""
    relays: dict[int, Relay] = {}
    seen: tuple[int, int] | None = None
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
