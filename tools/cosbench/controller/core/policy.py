# SPDX-License-Identifier: Apache-2.0
"""What a controller was told to do about drivers and saves."""

from dataclasses import dataclass

from cosbench.controller.core.workload_states import OnLoss

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
