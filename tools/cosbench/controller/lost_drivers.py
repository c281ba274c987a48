# SPDX-License-Identifier: Apache-2.0
"""Lost drivers: what they still do is ended as soon as they answer again.

So they do not load the storage beside those that took over.
"""

import asyncio
import logging
import time

from cosbench.controller.driver_client import NoAnswer, RequestDenied
from cosbench.tasks import ended

#: Seconds between two tries.
PAUSE = 1.0
log = logging.getLogger('cosbench.work')


class LostDrivers:
    """Tells the drivers that were lost in a run to end their missions.

    :param warnings: a list, which is told of drivers that came back
    """

    def __init__(self, warnings):
        self._warnings = warnings
        self._tasks = set()

    def end_mission_of(self, share):
        """Begin to ask a driver to end its mission, until it answers.

        :param share: the ``DriverShare`` of the lost driver
        """
        self._tasks.add(asyncio.ensure_future(self._end(share)))

    async def close(self):
        """Try no longer: the leases of these missions end them."""
        await ended(*self._tasks)

    async def _end(self, share):
        lost = time.monotonic()
        while not await self._has_answered(share):
            await asyncio.sleep(PAUSE)
        if share.is_ended_late:
            text = 'driver %s, which was lost, answers again after %.0f s: ' \
                'until then its %d workers may have gone on; what they did ' \
                'is not counted' % (
                    share.driver.address.name, time.monotonic() - lost,
                    share.mission.count)
            self._warnings.append(text)
            log.warning('%s', text)

    @staticmethod
    async def _has_answered(share):
        try:
            await share.end_lost()
        except NoAnswer:
            return False
        except RequestDenied:
            # It has never had it, or was started again.
            pass
        return True
