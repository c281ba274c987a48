# SPDX-License-Identifier: Apache-2.0
"""``tools/demo``: clusters that are broken and repaired before your eyes.

The acts are lost_node, volumes, roles and versions; ``act`` has what they have
in common, ``stage`` the clusters, ``survey`` what is on the disks.
"""
