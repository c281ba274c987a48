# SPDX-License-Identifier: Apache-2.0
"""Which driver gets which workers of a work, and what a lost one leaves."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from re import Match
from typing import Protocol, TypeVar

from cosbench.engine.core.mission import Mission, Step, remaining
from cosbench.errors import ConfigError
from cosbench.measure.limits import Count
from cosbench.workload import division
from cosbench.workload.model import Work, WorkType
from swift_lightsync.common.records import Record

_ADDRESS = re.compile(
    r'(?:(?P<name>[A-Za-z0-9_-]{1,64})=)?(?P<scheme>https?)://'
    r'(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):'
    r'(?P<first>\d{1,5})(?:-(?P<last>\d{1,5}))?/?', re.ASCII)
FORM = '[name=]http[s]://host:port or ...:first-last'
MAX_DRIVERS = 1024


@dataclass(frozen=True)
class Address:
    """How one driver process is called, and where it is."""

    name: str
    #: All processes that were given as one have it; ``driver=`` may pin a
    #: work to either.
    group: str
    url: str

    def answers_to(self, name: str) -> bool:
        """Return whether ``driver=`` with this name means the process."""
        return name in (self.name, self.group)


class _HasAddress(Protocol):

    @property
    def address(self) -> Address:
        """Where it is."""


_D = TypeVar('_D', bound=_HasAddress)
_T = TypeVar('_T')


def addresses(texts: Iterable[str]) -> tuple[Address, ...]:
    """Return the driver processes that a command line names.

    :param texts: of the form ``FORM``; without a name the nth is called
        ``drivern``
    :returns: their addresses; a range of ports gives ``name-1``,
        ``name-2``, ...
    :raises ConfigError: for what is malformed, or named twice
    """
    found: list[Address] = []
    for number, text in enumerate(texts, 1):
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise ConfigError.of('driver', text, FORM)
        found += _processes(text, match, match['name'] or 'driver%d' % number)
    for key in ('name', 'url'):
        values = [getattr(each, key) for each in found]
        for value in values:
            if values.count(value) > 1:
                raise ConfigError.of('driver', value, 'given once')
    return tuple(found)


def _processes(text: str, match: Match[str],
               group: str) -> list[Address]:
    first = int(match['first'])
    last = int(match['last'] or first)
    if not 1 <= first <= last <= 65535 or last - first >= MAX_DRIVERS:
        raise ConfigError.of('driver', text, FORM + ' with ports from 1 to '
                             '65535')
    url = '%s://%s:' % (match['scheme'], match['host'])
    if first == last:
        return [Address(group, group, url + str(first))]
    return [Address('%s-%d' % (group, port - first + 1), group,
                    url + str(port)) for port in range(first, last + 1)]


def eligible(work: Work, drivers: Iterable[_D]) -> list[_D]:
    """Return the drivers that may have workers of a work.

    :param work: which may be pinned to a driver
    :returns: some of them, or all
    """
    pinned = work.driver
    return [each for each in drivers
            if pinned is None or each.address.answers_to(pinned)]


def shares(first: int, count: int, drivers: Sequence[_T],
           turn: int = 0) -> list[tuple[_T, int, int]]:
    """Share workers out to drivers.

    :param first: the first of the workers
    :param count: how many workers
    :param drivers: at least one
    :param turn: which driver comes first, so that works of few workers do
        not all go to the same one
    :returns: (driver, first, count) of those that get any
    """
    found = []
    for index in range(len(drivers)):
        offset, size = division.part(count, len(drivers), index)
        if size:
            found.append((drivers[(index + turn) % len(drivers)],
                          first + offset, size))
    return found


@dataclass(frozen=True)
class Progress(Record, exact=True):
    """What a mission has used, as far as it was reported."""

    operations: Count = 0
    volume: Count = 0


def inherited(mission: Mission, work: Work, progress: Progress,
              elapsed: float) -> Mission | None:
    """Return what others must do of a mission whose driver was lost.

    A special work's share is done anew, since which of it was done is not
    known and doing it twice does no harm. A normal work goes on for the
    time and with the quotas that are left.

    :param elapsed: seconds of the work's time that are over
    :returns: a mission to be shared; None: nothing is left
    """
    again = replace(mission, attempt=mission.attempt + 1)
    if work.type is not WorkType.NORMAL or mission.step is not Step.MAIN:
        return again
    total = work.rampup + work.runtime + work.rampdown
    if work.runtime and elapsed >= total:
        return None
    operations = _left(mission.operations, work.total_ops, work, mission,
                       progress.operations)
    volume = _left(mission.volume, work.total_bytes, work, mission,
                   progress.volume)
    if operations == 0 or volume == 0:
        return None
    return replace(again, elapsed=elapsed, operations=operations,
                   volume=volume)


def _left(own: int | None, total: int, work: Work, mission: Mission,
          used: int) -> int | None:
    if own is not None:
        return max(0, own - used)
    return remaining(total, work.workers, mission.first, mission.count, used)


def split(mission: Mission, drivers: Sequence[_D], turn: int,
          name: Callable[[_D], str]) -> list[tuple[_D, Mission]]:
    """Split a mission over drivers.

    :param mission: all of it is done by others
    :param drivers: at least one
    :param turn: as of ``shares``
    :param name: a function that returns a new id for a driver's mission
    :returns: each driver that gets workers, with its own mission
    """
    def portion(total: int | None, begin: int, count: int) -> int | None:
        return None if total is None else division.portion(
            total, mission.count, begin, count)
    parts: list[tuple[_D, Mission]] = []
    used = 0
    for driver, first, count in shares(
            mission.first, mission.count, drivers, turn):
        parts.append((driver, mission.share(
            first, count, id=name(driver), driver=driver.address.name,
            operations=portion(mission.operations, used, count),
            volume=portion(mission.volume, used, count))))
        used += count
    return parts
