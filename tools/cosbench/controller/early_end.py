# SPDX-License-Identifier: Apache-2.0
"""Ends the works of a stage before their time is over, if that is enough."""

import asyncio
from contextlib import asynccontextmanager

from cosbench.controller.core.workload_states import StageState

#: Seconds between two looks.
LOOK = 1.0


@asynccontextmanager
async def ending_early(stage, enough, look=LOOK):
    """Watch a stage in the block, which runs it.

    :param stage: a ``StageRun``
    :param enough: a function of it that says why it may end, or '' while it
        may not; None: it ends when its time is over
    :param look: seconds between two looks
    """
    if enough is None:
        yield
        return
    task = asyncio.ensure_future(_watch(stage, enough, look))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _watch(stage, enough, look):
    reason = ''
    while not reason:
        await asyncio.sleep(look)
        reason = enough(stage) if stage.state is StageState.RUNNING else ''
    await asyncio.gather(*(each.end_early(reason) for each in stage.works))
