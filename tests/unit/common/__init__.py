# SPDX-License-Identifier: Apache-2.0
"""Tests of swift_lightsync.common; deterministic, hypothesis included."""

from hypothesis import settings

settings.register_profile('deterministic', derandomize=True, database=None,
                          deadline=None)
settings.load_profile('deterministic')
