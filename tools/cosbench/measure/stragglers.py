# SPDX-License-Identifier: Apache-2.0
"""
Operations that begin in the run time of a work and end after it.

They count in no figure, but a run whose last ones hang has to tell of it.
"""

from dataclasses import dataclass
from typing import Annotated

from cosbench.measure.limits import Count
from swift_lightsync.common.records import Between, Record


@dataclass(frozen=True)
class Stragglers(Record, exact=True):
    """How many such operations a work had; sums merge."""

    operations: Count = 0
    #: Of these.
    failed: Count = 0
    #: After the run time, when the last one ended.
    seconds: Annotated[float, Between(0, 1e12)] = 0.0

    def __add__(self, other: 'Stragglers') -> 'Stragglers':
        return Stragglers(self.operations + other.operations,
                          self.failed + other.failed,
                          max(self.seconds, other.seconds))
