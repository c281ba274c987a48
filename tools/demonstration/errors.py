# SPDX-License-Identifier: Apache-2.0
"""The one exception of the demonstration: its text says what failed."""


class DemoError(Exception):
    """What was expected, and what was found instead."""
