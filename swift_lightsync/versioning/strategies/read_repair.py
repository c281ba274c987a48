# SPDX-License-Identifier: Apache-2.0
"""
Read-Repair: the latest version is decided when an object is read or listed
(Write-Repair and Read-Repair §3.2.2; VERSIONING.md §3).
"""

from swift_lightsync.versioning.strategies.strategy import Strategy


class ReadRepair(Strategy):
    """The strategy of containers in the mode read-repair."""

    listed = False
