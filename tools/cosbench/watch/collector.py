# SPDX-License-Identifier: Apache-2.0
"""Asks the storage's nodes for their metrics as long as a run goes on.

A node that does not answer costs figures and a warning, never the run.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from cosbench.measure.nodes import MAX_POINTS, NodePoint
from cosbench.tasks import beside
from cosbench.watch.core.node_figures import Look, busy_disks, point
from cosbench.watch.core.targets import Target
from swift_lightsync.common.openmetrics import MAX_TEXT

#: Seconds between two looks, and in which an answer must be there.
PERIOD, TIMEOUT = 1.0, 5.0
log = logging.getLogger('cosbench.watch')


class Node:
    """What is known of a node in a run.

    :param target: the ``Target``
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.reason = ''
        self.missed = 0
        self.points: list[NodePoint] = []
        self._first: Look | None = None
        self._last: Look | None = None

    def take(self, when: float, text: str, pending: int | None = None) -> None:
        """Take what the node has answered.

        :param when: unix seconds
        :param pending: see ``point``
        """
        look = Look.of(when, text)
        if not look.counters:
            self.miss('its answer has no metric of a node')
            return
        if self._last is not None and len(self.points) < MAX_POINTS:
            found = point(self._last, look, pending)
            if found is not None:
                self.points.append(found)
        self._first, self._last = self._first or look, look

    def miss(self, reason: str) -> None:
        """Count a look that failed."""
        self.missed += 1
        if not self.reason:
            self.reason = reason
            log.warning('node %s: %s', self.target.name, reason)

    def to_json(self) -> dict[str, Any]:
        """Return what a result document has of it."""
        disks = busy_disks(self._first, self._last) \
            if self._first and self._last and \
            self._last.when > self._first.when else {}
        return {'name': self.target.name, 'url': self.target.url,
                'reason': self.reason, 'missed': self.missed,
                'disks': [list(each) for each in sorted(disks.items())],
                'rows': [each.to_json() for each in self.points]}


@asynccontextmanager
async def watching(targets: Iterable[Target]) -> AsyncIterator[list[Node]]:
    """Watch nodes in the block.

    :returns: a context of ``Node`` objects, which fill
    """
    nodes = [Node(each) for each in targets]
    if not nodes:
        yield nodes
        return
    async with aiohttp.ClientSession(
            trust_env=False, cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT)) as http:
        async with beside(*(_follow(each, http) for each in nodes)):
            yield nodes


async def _follow(node: Node, http: aiohttp.ClientSession) -> None:
    while True:
        due = time.monotonic() + PERIOD
        try:
            text = await _text(http, node.target.url)
            when = time.time()
            node.take(when, text, await _pending(http, node.target))
        except (aiohttp.ClientError, OSError, ValueError,
                asyncio.TimeoutError) as err:
            node.miss('no figures: %s' % (str(err) or type(err).__name__))
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _text(http: aiohttp.ClientSession, url: str) -> str:
    async with http.get(url, allow_redirects=False) as answer:
        if answer.status != 200:
            raise ValueError('the answer was %d' % answer.status)
        body = b''
        async for block in answer.content.iter_chunked(1 << 16):
            body += block
            if len(body) > MAX_TEXT:
                raise ValueError('the answer is larger than %d bytes'
                                 % MAX_TEXT)
        return body.decode('utf8', 'replace')


async def _pending(http: aiohttp.ClientSession, target: Target) -> int | None:
    if target.recon is None:
        return None
    found = json.loads(await _text(http, target.recon + '/recon/async'))
    value = found.get('async_pending') if isinstance(found, dict) else None
    return value if isinstance(value, int) and value >= 0 else None
