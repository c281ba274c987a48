# SPDX-License-Identifier: Apache-2.0
"""
Write-Repair: the latest version is decided when an update is committed
(Write-Repair and Read-Repair §3.2.1; VERSIONING.md §3).
"""

from swift_lightsync.versioning.strategies.strategy import Strategy


class WriteRepair(Strategy):
    """The strategy of containers in the mode write-repair."""

    listed = True
