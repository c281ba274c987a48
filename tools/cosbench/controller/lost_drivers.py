# SPDX-License-Identifier: Apache-2.0
"""
Lost drivers: what they still do is ended as soon as they answer again, so
that they do not load the storage beside those that took over.
"""

import asyncio
import logging
import time

from cosbench.controller.driver_client import Denied, Gone

#: Seconds between two tries.
PAUSE = 1.0
log = logging.getLogger('cosbench.work')


class Recalls:
    """
    :param warnings: a list, which is told of drivers that came back
    """

    def __init__(self, warnings):
        self._warnings = warnings
        self._tasks = set()

    def begin(self, share):
        """
        :param share: the ``Share`` of a lost driver
        """
        self._tasks.add(asyncio.ensure_future(self._recall(share)))

    async def end(self):
        """Try no longer: the leases of these missions end them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _recall(self, share):
        lost = time.monotonic()
        while not await self._is_over(share):
            await asyncio.sleep(PAUSE)
        if share.is_recalled:
            text = 'driver %s, which was lost, answers again after %.0f s: ' \
                'until then its %d workers may have gone on; what they did ' \
                'is not counted' % (
                    share.driver.address.name, time.monotonic() - lost,
                    share.mission.count)
            self._warnings.append(text)
            log.warning('%s', text)

    @staticmethod
    async def _is_over(share):
        try:
            await share.recall()
        except Gone:
            return False
        except Denied:
            # It has never had it, or was started again.
            pass
        return True
