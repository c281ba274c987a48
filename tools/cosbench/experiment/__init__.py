# SPDX-License-Identifier: Apache-2.0
"""Experiments: several configurations, each run several times."""
