# SPDX-License-Identifier: Apache-2.0
"""When the rounds of each device here were last played.

The replicator, or the worker that has the device, sets the mtime of a file in
``recon_cache_path`` when it comes to the device's rounds in a pass; the
object-server tells those who ask. PROTOCOL.md, "Idle neighbours".
"""

import os
import time
from collections.abc import Mapping
from logging import Logger
from typing import Any

from swift.common.recon import DEFAULT_RECON_CACHE_PATH

from swift_lightsync.sync.names import ROUNDS_FILE


class Activity:
    """The files that say when the rounds of the devices here were played.

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
        """Note that the rounds of a device are being played.

        :param device: its name
        """
        try:
            try:
                os.utime(self._path(device))
            except FileNotFoundError:
                with open(self._path(device), 'ab') as rounds:
                    os.utime(rounds.fileno())
        except OSError as err:
            self.logger.warning(
                'Unable to note that the rounds of %s are being played; '
                'others will take it for idle: %s', device, err)

    def seconds_since_round(self, device: str) -> float:
        """Return how long ago the rounds of a device were last played.

        :param device: its name
        :returns: seconds; 0 if that is not known
        """
        return self._age(device, time.time())

    def idle_seconds(self, device: str) -> int:
        """Return for how long the rounds of a device have not been played.

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
