# SPDX-License-Identifier: Apache-2.0
"""The states of workloads and stages, as COSBench names them; policies."""

from dataclasses import dataclass
from enum import Enum


class WorkloadState(Enum):
    """What the controller does with a workload."""

    QUEUING = 'queuing'
    PROCESSING = 'processing'
    FINISHED = 'finished'
    #: A stage failed; those after it ran nevertheless.
    FAILED = 'failed'
    CANCELLED = 'cancelled'
    #: The controller died in it.
    TERMINATED = 'terminated'

    @property
    def final(self) -> bool:
        """Whether no other state may follow."""
        return self not in (WorkloadState.QUEUING, WorkloadState.PROCESSING)


class StageState(Enum):
    """What the controller does with a stage, or a work of it."""

    WAITING = 'waiting'
    BOOTING = 'booting'
    #: Missions go to the drivers.
    SUBMITTING = 'submitting'
    #: Storages are opened.
    AUTHING = 'authing'
    LAUNCHING = 'launching'
    RUNNING = 'running'
    #: The closure delay.
    CLOSING = 'closing'
    COMPLETED = 'completed'
    FAILED = 'failed'
    CANCELLED = 'cancelled'
    TERMINATED = 'terminated'
    #: Never begun, and never will be.
    SKIPPED = 'skipped'

    @property
    def final(self) -> bool:
        """Whether no other state may follow."""
        return self in _FINAL


_S = StageState
_FINAL = (_S.COMPLETED, _S.FAILED, _S.CANCELLED, _S.TERMINATED, _S.SKIPPED)


class OnLoss(Enum):
    """What is done when a driver is lost in the middle of a work."""

    #: The work has failed: what it measured is not what was asked for.
    FAIL = 'fail'
    #: Other drivers take its workers over; the result says so.
    REDISTRIBUTE = 'redistribute'


#: Seconds between two saves of a run that goes on.
SAVE_PERIOD = 5.0


@dataclass(frozen=True)
class Policy:
    """Options of a controller; times are in seconds."""

    on_loss: OnLoss = OnLoss.FAIL
    #: Without a word of the controller for so long drivers stop.
    lease: float = 60.0
    #: Between two saves.
    save_period: float = SAVE_PERIOD
