# SPDX-License-Identifier: Apache-2.0
"""From the metrics of a node to what a report shows of it. No I/O."""
