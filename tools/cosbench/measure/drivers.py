# SPDX-License-Identifier: Apache-2.0
"""What each driver did of a work, and whether it limited what was measured.

A process runs several works at the same time, one after the other, or both:
its figures are those of the time in which it had workers of this one.
Operations that begin in the run time and end after it count in no figure;
but a run whose last ones hang has to tell of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from cosbench.measure.limits import Count, Figure, Name, or_else
from swift_lightsync.common.records import Between, Record

#: From here on a driver's own figures say that it limits the work.
BUSY_PERCENT, LATE_MS = 90.0, 20.0


@dataclass(frozen=True)
class WorkDriver(Record):
    """A driver in one work; each number is None where it is not known."""

    name: Annotated[str, or_else('', Name | None)] = ''
    workers: Annotated[int, Between(0, 10 ** 9)] | None = None
    #: Percent of its core.
    cpu_percent_p95: Figure | None = None
    loop_lag_ms_p99: Figure | None = None
    #: Requests that went out once more, on a new connection.
    resent: Count | None = None


def strains(drivers: Sequence[WorkDriver]) -> list[str]:
    """Return warnings of drivers that limited a work.

    :returns: at most one text on processors, and one on event loops
    """
    found = []
    busy = _beyond(drivers, 'cpu_percent_p95', BUSY_PERCENT)
    if busy:
        found.append(
            '%s used %.0f%% of its core%s: the results may show its limit, '
            'not the storage\'s' % (_worst(busy)))
    late = _beyond(drivers, 'loop_lag_ms_p99', LATE_MS)
    if late:
        found.append('%s was late by %.0f ms%s: its times are too long by '
                     'as much' % _worst(late))
    return found


def _beyond(drivers: Sequence[WorkDriver], key: str,
            limit: float) -> dict[str, float]:
    """Return the highest figure of each driver that is beyond the limit."""
    found: dict[str, float] = {}
    for each in drivers:
        value = getattr(each, key)
        if value is not None and value > limit:
            found[each.name] = max(value, found.get(each.name, value))
    return found


def _worst(values: dict[str, float]) -> tuple[str, float, str]:
    name = max(values, key=values.__getitem__)
    more = len(values) - 1
    return 'driver ' + name, values[name], \
        ', and %d more like it' % more if more else ''


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
