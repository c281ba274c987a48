# SPDX-License-Identifier: Apache-2.0
"""
When the rounds of each device here were last played.

The replicator, or the worker that has the device, sets the mtime of a file in
``recon_cache_path`` when it comes to the device's rounds in a pass; the
object-server tells those who ask. PROTOCOL.md, "Idle neighbours".
"""

import os
import time

from swift.common.recon import DEFAULT_RECON_CACHE_PATH

from swift_lightsync.sync.names import ROUNDS_FILE

#: A neighbour is idle once its rounds were not played for as many times as
#: long as ours were,
IDLE_INTERVALS = 3
#: and for as many seconds.
IDLE = 300


class Activity:
    """
    :param conf: a dict: ``recon_cache_path`` is the directory of the files
    :param logger: a logger
    """

    def __init__(self, conf, logger):
        self.directory = conf.get('recon_cache_path',
                                  DEFAULT_RECON_CACHE_PATH)
        self.logger = logger
        self._begin = time.time()

    def _path(self, device):
        return os.path.join(self.directory, ROUNDS_FILE % device)

    def note(self, device):
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

    def since(self, device):
        """
        :returns: seconds since the rounds of a device were last played; 0 if
            that is not known
        """
        return self._age(device, time.time())

    def idle(self, device):
        """
        :returns: whole seconds since the rounds of a device were last played
            or, if that is not known, since this process began
        """
        # A stat takes a microsecond: less than to keep what it found.
        return int(self._age(device, self._begin))

    def _age(self, device, unknown):
        try:
            then = os.stat(self._path(device)).st_mtime
        except OSError:
            then = unknown
        # A time to come is that of a clock that was wrong.
        return abs(time.time() - then)


class Idleness:
    """
    Who of the neighbours is idle in a pass: answers sync messages, but plays
    no rounds, so that what it holds goes no further.

    :param activity: the :class:`Activity` of the local devices
    """

    def __init__(self, activity):
        self.activity = activity
        self.begin_pass()

    def begin_pass(self, partial=False):
        """
        :param partial: whether the pass leaves out some partitions of its
            devices, so that it is none of their rounds
        """
        self._partial = partial
        #: Local device -> seconds after which others are idle, by comparison.
        self._patience = {}
        #: Key of a neighbour -> seconds since its rounds were played.
        self._told = {}

    def playing(self, device):
        """
        Note that rounds are being played.

        :param device: name of the local device
        """
        if device in self._patience:
            return
        self._patience[device] = max(
            IDLE, IDLE_INTERVALS * self.activity.since(device))
        if not self._partial:
            self.activity.note(device)

    def told(self, device, key, seconds):
        """
        Note what a neighbour told of itself.

        :param device: name of the local device that asked it
        :param key: its ``device_key``
        :param seconds: since its rounds were played, or None
        :returns: True if it is found to be idle by this
        """
        known = self.is_idle(device, key)
        if seconds is not None:
            self._told[key] = seconds
        return not known and self.is_idle(device, key)

    def is_idle(self, device, key):
        """One that tells nothing is taken for one that plays its rounds."""
        return self._told.get(key, 0) > self._patience.get(device, IDLE)
