# SPDX-License-Identifier: Apache-2.0
"""What an experiment computes: order, intervals, conditions. No I/O."""
