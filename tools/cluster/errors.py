# SPDX-License-Identifier: Apache-2.0
"""The one exception of the cluster: its text says what to do."""


class ClusterError(Exception):
    """What went wrong, with the value and the remedy."""
