# SPDX-License-Identifier: Apache-2.0
"""Tells which neighbours answer, but play no rounds.

PROTOCOL.md, "Idle neighbours".
"""

from typing import Protocol

from swift_lightsync.common.address import DeviceTuple

#: A neighbour is idle once its rounds were not played for as many times as
#: long as ours were,
IDLE_INTERVALS = 3
#: and for as many seconds.
IDLE = 300


class Rounds(Protocol):
    """When the rounds of the devices here were last played."""

    def note_round(self, device: str) -> None:
        """Note that the rounds of a device are being played."""

    def seconds_since_round(self, device: str) -> float:
        """Return how long ago they were last played; 0: it is not known."""


class Idleness:
    """Which neighbours are idle in a pass.

    An idle neighbour answers sync messages but plays no rounds, so that what
    it holds goes no further.

    :param activity: the files of the local devices
    """

    def __init__(self, activity: Rounds) -> None:
        self.activity = activity
        self.begin_pass()

    def begin_pass(self, partial: bool = False) -> None:
        """Forget what the pass before found.

        :param partial: whether the pass leaves out some partitions of its
            devices, so that it does not count as a round of theirs
        """
        self._partial = partial
        #: By local device: seconds after which its neighbours are idle.
        self._patience: dict[str, float] = {}
        #: By neighbour: seconds since its rounds were played.
        self._idle: dict[DeviceTuple, float] = {}

    def note_round(self, device: str) -> None:
        """Note that the rounds of a device are being played.

        :param device: name of the local device
        """
        if device in self._patience:
            return
        self._patience[device] = max(
            IDLE, IDLE_INTERVALS * self.activity.seconds_since_round(device))
        if not self._partial:
            self.activity.note_round(device)

    def note_answer(self, device: str, key: DeviceTuple,
                    seconds: float | None) -> bool:
        """Note what a neighbour says about its own rounds.

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
        """Return after how many seconds a device counts as idle.

        :param device: name of the local device that judges
        """
        return self._patience.get(device, IDLE)
