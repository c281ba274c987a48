# SPDX-License-Identifier: Apache-2.0
"""The one exception of the simulator: its text says what to do."""


class SimulationError(Exception):
    """
    An argument is not allowed; the text names the value and what is allowed.
    """
