# SPDX-License-Identifier: Apache-2.0
"""The one exception of the simulator: its text says what to do."""


class SimulationError(Exception):
    """What went wrong, with the value and what is allowed."""
