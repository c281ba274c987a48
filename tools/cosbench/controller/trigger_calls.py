# SPDX-License-Identifier: Apache-2.0
"""The triggers of a run: scripts on the drivers around a stage or all of it.

A trigger runs once for each address that the controller was given: once a
host, however many processes the driver has there. As in COSBench, one that
fails is said, and the run goes on.
"""

import asyncio
import logging
import secrets
from contextlib import asynccontextmanager
from typing import Any

from cosbench.controller.driver_client import (
    DriverLost,
    NoAnswer,
    RequestDenied,
)
from cosbench.tasks import beside

#: Seconds that a driver may take to end a trigger.
ENDING = 15.0
#: Words in a lease.
BEATS = 4
OFF = 'triggers are not run'
log = logging.getLogger('cosbench.trigger')


class _Run:
    """One trigger on one driver.

    :param context: the ``Context`` of the workload's run
    """

    def __init__(self, driver, trigger, key, context):
        self.started = False
        self._driver = driver
        self._trigger = trigger
        self._key = key
        self._context = context

    @property
    def _path(self):
        return '/v1/triggers/' + self._key

    async def start(self):
        try:
            await self._driver.insist('POST', '/v1/triggers', {
                'id': self._key, 'trigger': str(self._trigger),
                'lease': self._context.lease})
            self.started = True
        except (DriverLost, RequestDenied) as err:
            self._warn(err)

    async def keep(self):
        """Say that it is wanted, until cancelled."""
        while True:
            await asyncio.sleep(self._context.lease / BEATS)
            try:
                await self._driver.ask('GET', self._path)
            except (NoAnswer, RequestDenied) as err:
                # At its end is soon enough to say so.
                log.debug('%s: %s', self._key, err)

    async def end(self):
        try:
            answer = await self._driver.insist('DELETE', self._path,
                                               wait=ENDING)
            if answer.get('reason'):
                self._warn(answer['reason'])
        except (DriverLost, RequestDenied) as err:
            self._warn(err)

    def _warn(self, reason):
        text = 'driver %s: trigger %s: %s' % (
            self._driver.address.name, self._trigger, reason)
        self._context.warnings.append(text)
        log.warning('%s', text)


@asynccontextmanager
async def around(context, trigger, place):
    """Run a trigger on the drivers, for as long as this context is open.

    :param context: the ``Context`` of the workload's run
    :param trigger: a ``Trigger``, or None
    :param place: what it is around, as part of its name there
    """
    runs = [_Run(driver, trigger, '%s-%s-%s' % (
        context.id, place, secrets.token_hex(4)), context)
        for driver in _hosts(context) if trigger]
    await asyncio.gather(*(each.start() for each in runs))
    runs = [each for each in runs if each.started]
    try:
        async with beside(*(each.keep() for each in runs)):
            yield
    finally:
        await asyncio.gather(*(each.end() for each in runs))


def _hosts(context):
    """Return one driver of each address, of those that run triggers."""
    found: dict[str, Any] = {}
    for driver in context.live:
        if driver.address.name in context.triggering:
            found.setdefault(driver.address.group, driver)
    return list(found.values())


async def greet(context, driver, status):
    """Learn whether a driver runs triggers, and end what was left there.

    :param status: its answer to ``GET /v1/status``
    :raises DriverLost, RequestDenied:
    """
    left = status.get('triggers')
    if left is None:
        return
    context.triggering.add(driver.address.name)
    for key in left:
        await driver.insist('DELETE', '/v1/triggers/' + key, wait=ENDING)


def warn(context, workload):
    """Say which drivers will not run what a workload has."""
    if not workload.trigger and not any(
            stage.trigger for stage in workload.stages):
        return
    without = sorted(driver.address.name for driver in context.live
                     if driver.address.name not in context.triggering)
    if without:
        context.warnings.append(
            OFF + ' on ' + ', '.join(without) if context.triggering else OFF)
