# SPDX-License-Identifier: Apache-2.0
"""The clock of promises: one for all processes of a machine's boot."""

import time
from functools import cache


def now_ns():
    """Return nanoseconds since the machine's start, its sleep included."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@cache
def boot_id():
    """Return what tells this boot of the machine from all others."""
    with open('/proc/sys/kernel/random/boot_id') as file:
        return file.read().strip()
