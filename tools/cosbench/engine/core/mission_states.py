# SPDX-License-Identifier: Apache-2.0
"""The states of a mission on a driver, and which may follow which."""

from enum import Enum


class MissionState(Enum):
    """What a driver does with a mission."""

    #: The storage is opened, which logs in.
    AUTHING = 'authing'
    #: It waits to be started.
    READY = 'ready'
    #: It begins when the agreed delay is over.
    LAUNCHING = 'launching'
    RUNNING = 'running'
    #: No operation starts any more; the last ones end.
    CLOSING = 'closing'
    COMPLETED = 'completed'
    FAILED = 'failed'
    CANCELLED = 'cancelled'

    @property
    def final(self) -> bool:
        """Whether no other state may follow."""
        return not FOLLOWERS[self]


_S = MissionState
#: State -> those that may follow it.
FOLLOWERS: dict[MissionState, set[MissionState]] = {
    _S.AUTHING: {_S.READY, _S.FAILED, _S.CANCELLED},
    _S.READY: {_S.LAUNCHING, _S.FAILED, _S.CANCELLED},
    _S.LAUNCHING: {_S.RUNNING, _S.FAILED, _S.CANCELLED},
    _S.RUNNING: {_S.CLOSING, _S.FAILED, _S.CANCELLED},
    _S.CLOSING: {_S.COMPLETED, _S.FAILED, _S.CANCELLED},
    _S.COMPLETED: set(),
    _S.FAILED: set(),
    _S.CANCELLED: set(),
}
