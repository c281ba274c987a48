# SPDX-License-Identifier: Apache-2.0
"""
When the rounds of each device here were last played.

The replicator, or the worker that has the device, sets the mtime of a file in
``recon_cache_path`` when it comes to the device's rounds in a pass; the
object-server tells those who ask. PROTOCOL.md, "Idle neighbours".
"""

import os
import time
from collections.abc import Mapping
from logging import Logger
from typing import Any, Optional

from swift.common.recon import DEFAULT_RECON_CACHE_PATH

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.names import ROUNDS_FILE

#: A neighbour is idle once its rounds were not played for as many times as
#: long as ours were,
IDLE_INTERVALS = 3
#: and for as many seconds.
IDLE = 300


class Activity:
    """
    The files that say when the rounds of the devices here were played.

    :param conf: a section: ``recon_cache_path`` is the directory of the files
    :param logger: where a file that cannot be written is logged
    """

    def __init__(self, conf: Mapping[str, Any], logger: Logger) -> None:
        self.directory: str = conf.get('recon_cache_path',
                                  DEFAULT_RECON_CACHE_PATH)
        self.logger = logger
        self._begin = time.time()

    def _path(self, device: str) -> str:
        return os.path.join(self.directory, ROUNDS_FILE % device)

    def note_round(self, device: str) -> None:
        """
        Note that the rounds of a device are being played.

        :param device: its name
        """
        try:
            with open(self._path(device), 'ab') as rounds:
                os.utime(rounds.fileno())
        except OSError as err:
            self.logger.warning(
                'Unable to note that the rounds of %s are being played; '
                'others will take it for idle: %s', device, err)

    def seconds_since_round(self, device: str) -> float:
        """
        Return how long ago the rounds of a device were last played.

        :param device: its name
        :returns: seconds; 0 if that is not known
        """
        return self._age(device, time.time())

    def idle_seconds(self, device: str) -> int:
        """
        Return for how long the rounds of a device have not been played.

        :param device: its name
        :returns: whole seconds since they were last played or, if that is not
            known, since this process began
        """
        # A stat takes a microsecond, which is less than keeping its result.
        return int(self._age(device, self._begin))

    def _age(self, device: str, unknown: float) -> float:
        try:
            then = os.stat(self._path(device)).st_mtime
        except OSError:
            then = unknown
        # A time to come was taken from a clock that was wrong.
        return abs(time.time() - then)


class Idleness:
    """
    Which neighbours are idle in a pass.

    An idle neighbour answers sync messages but plays no rounds, so that what
    it holds goes no further.

    :param activity: the files of the local devices
    """

    def __init__(self, activity: Activity) -> None:
        self.activity = activity
        self.begin_pass()

    def begin_pass(self, partial: bool = False) -> None:
        """
        Forget what the pass before found.

        :param partial: whether the pass leaves out some partitions of its
            devices, so that it does not count as a round of theirs
        """
        self._partial = partial
        #: By local device: seconds after which its neighbours are idle.
        self._patience: dict[str, float] = {}
        #: By neighbour: seconds since its rounds were played.
        self._idle: dict[DeviceTuple, float] = {}

    def note_round(self, device: str) -> None:
        """
        Note that the rounds of a device are being played.

        :param device: name of the local device
        """
        if device in self._patience:
            return
        self._patience[device] = max(
            IDLE, IDLE_INTERVALS * self.activity.seconds_since_round(device))
        if not self._partial:
            self.activity.note_round(device)

    def note_answer(self, device: str, key: DeviceTuple,
                    seconds: Optional[float]) -> bool:
        """
        Note what a neighbour says about its own rounds.

        :param device: name of the local device that asked it
        :param key: the neighbour's ``device_key``
        :param seconds: since its rounds were played, or None
        :returns: True if the neighbour is found to be idle now
        """
        known = self.is_idle(device, key)
        if seconds is not None:
            self._idle[key] = seconds
        return not known and self.is_idle(device, key)

    def is_idle(self, device: str, key: DeviceTuple) -> bool:
        """
        Return whether a neighbour is idle, by the measure of a local device.

        A neighbour that says nothing is taken for one that plays its rounds.

        :param device: name of the local device
        :param key: the neighbour's ``device_key``
        """
        return self._idle.get(key, 0) > self.patience(device)

    def patience(self, device: str) -> float:
        """
        Return after how many seconds a device counts as idle.

        :param device: name of the local device that judges
        """
        return self._patience.get(device, IDLE)
