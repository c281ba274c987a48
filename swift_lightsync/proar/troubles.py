# SPDX-License-Identifier: Apache-2.0
"""What went wrong with the primary-role writes of a device: counted by its
object-servers, kept in recon, told by swift-proar-lag. OPERATING.md.
"""

import os
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, fields
from typing import Annotated, Any

from swift.common.concurrency import sleep, spawn
from swift.common.recon import DEFAULT_RECON_CACHE_PATH
from swift.common.utils import dump_recon_cache

from swift_lightsync.common.records import Between, Record

#: in recon_cache_path; the converger's, too
FILE = 'proar.recon'
KEY = 'object_troubles'
#: seconds between two records of one device
PERIOD = 1.0

Count = Annotated[int, Between(0, 10 ** 15 - 1)]
Number = Annotated[float, Between(0, 1e15)]


@dataclass(frozen=True)
class Troubles(Record):
    """What one process counted, or all of them together.

    :param last: when the last of it happened, Unix time
    :param failed_intents: writes whose bodies had come when they could not be
        logged: a quorum was made of them at once, or their clients got 503
    :param refused_log: writes that were refused, since the log has no room
    :param refused_lag: ... since the device holds too much alone
    :param failed_rows: container updates without a majority that could not
        be logged
    """
    last: Number = 0
    failed_intents: Count = 0
    refused_log: Count = 0
    refused_lag: Count = 0
    failed_rows: Count = 0

    def plus(self, other):
        """Return what two processes counted together."""
        return Troubles(max(self.last, other.last), **{
            name: getattr(self, name) + getattr(other, name)
            for name in COUNTS})


COUNTS = tuple(each.name for each in fields(Troubles) if each.name != 'last')


class TroubleCounter:
    """Counts the troubles of this process, and records them.

    :param conf: of the object-server
    :param logger: Swift's
    """

    def __init__(self, conf, logger):
        self._path = os.path.join(conf.get(
            'recon_cache_path', DEFAULT_RECON_CACHE_PATH), FILE)
        self._logger = logger
        self._counts: dict[str, Any] = defaultdict(Counter)
        self._recorded = -PERIOD
        self._is_late = False

    def count(self, device, what):
        """Count one trouble of a device.

        :param device: its name
        :param what: one of COUNTS
        """
        self._counts[device][what] += 1
        self._counts[device]['last'] = int(time.time())
        pause = self._recorded + PERIOD - time.monotonic()
        if pause <= 0:
            self._record()
        elif not self._is_late:
            self._is_late = True
            spawn(self._record_after, pause)

    def _record_after(self, pause):
        sleep(pause)
        self._is_late = False
        self._record()

    def _record(self):
        self._recorded = time.monotonic()
        dump_recon_cache({KEY: {
            '%s/%d' % (device, os.getpid()): Troubles(**counts).to_json()
            for device, counts in self._counts.items()}}, self._path,
            self._logger)


def together(counted):
    """Return what all processes counted of each device.

    :param counted: what they recorded, a dict of device/process -> Troubles
    :returns: a dict of device -> Troubles
    """
    found: dict[str, Troubles] = {}
    for name, each in counted.items():
        device = name.rpartition('/')[0]
        found[device] = found.get(device, Troubles()).plus(each)
    return found
