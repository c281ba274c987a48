# SPDX-License-Identifier: Apache-2.0
"""Tasks that go on beside something else, and end with it; and the limit of
time for all waits.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar('T')


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


async def within(seconds: float | None, waiting: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine, in a task of its own, for so long at most.

    A limit that is kept by cancelling the task that waits, or ``wait_for``
    before Python 3.12, takes a cancellation that comes just then for its own
    or forgets it, and ``ended`` waits for ever.

    :param seconds: None: no limit
    :returns: its result; it is lost if this is cancelled just then
    :raises asyncio.TimeoutError: when the time is over and it has ended
    """
    task = asyncio.ensure_future(waiting)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    finally:
        await ended(task)
    if not done:
        raise asyncio.TimeoutError
    return task.result()
