# SPDX-License-Identifier: Apache-2.0
"""The clock by which operations are timed."""

import time

#: Seconds. Not the event loop's clock: uvloop's stands still during an
#: iteration and counts milliseconds.
clock = time.monotonic
