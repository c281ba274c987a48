# SPDX-License-Identifier: Apache-2.0
"""Tests of swift_lightsync.sync; deterministic, hypothesis included."""
