# SPDX-License-Identifier: Apache-2.0
"""Tasks that go on beside something else, and end with it; and the limit of
time for all waits: ``wait_for`` of Python before 3.12 ignores a cancellation
that comes just as the result does, and ``ended`` would wait for ever.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

if sys.version_info >= (3, 11):
    from asyncio import timeout
else:
    # It comes with aiohttp there.
    from async_timeout import timeout

__all__ = ['beside', 'ended', 'timeout']


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended, however they do."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def beside(*coroutines: Coroutine[Any, Any, Any],
                 ) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Run coroutines as long as the block goes on.

    :returns: a context of their tasks
    """
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        yield tasks
    finally:
        await ended(*tasks)
