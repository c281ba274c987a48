# SPDX-License-Identifier: Apache-2.0
"""One operation of one worker, as it happened."""

from typing import NamedTuple


class Sample(NamedTuple):
    """One operation that has ended.

    Times are seconds of the driver's monotonic clock, with intended and
    started <= first_byte <= ended.
    """

    #: ``Operation.id``.
    operation: str
    #: When it was due; at a closed loop that is when it started.
    intended: float
    started: float
    #: When the head of the response was there.
    first_byte: float
    ended: float
    #: Bytes of payload that were moved.
    size: int
    #: None: success; else a short class, as 'http 503' or 'timeout'.
    error: str | None = None
    #: Further rows of the results that it counts in, such as its endpoint's.
    rows: tuple[str, ...] = ()
    #: What the failure said; '' where nothing is known.
    message: str = ''
