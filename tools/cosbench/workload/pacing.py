# SPDX-License-Identifier: Apache-2.0
"""When a worker may begin its next operation.

Closed loop, as COSBench: when the one before has ended. Open loop (``rate=N``
of a normal work): at times that were fixed before, whatever the storage does.
What begins late is measured from when it was meant to begin, so that a stall
is seen in every operation that it held up (coordinated omission).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from cosbench.workload.zipf import RandomSource

MAX_RATE = 10 ** 6


class Arrival(Enum):
    """How the times at which operations begin follow one another."""

    CONSTANT = 'constant'
    POISSON = 'poisson'


@dataclass(frozen=True)
class Pace:
    """The rate of a whole work, and how its operations are spaced."""

    #: Operations a second of all workers.
    rate: float
    arrival: Arrival = Arrival.CONSTANT

    def offsets(self, worker: int, workers: int,
                rng: RandomSource) -> Iterator[float]:
        """Return the times at which a worker is meant to begin operations.

        :param worker: which, from 0
        :returns: endless ascending seconds since the start of the work
        """
        gap = workers / self.rate
        if self.arrival is Arrival.CONSTANT:
            return _even(worker / self.rate, gap)
        return _poisson(gap, rng)


def _even(first: float, gap: float) -> Iterator[float]:
    number = 0
    while True:
        # Not a running sum, which would drift.
        yield first + number * gap
        number += 1


def _poisson(gap: float, rng: RandomSource) -> Iterator[float]:
    due = 0.0
    while True:
        due += rng.expovariate(1 / gap)
        yield due


def pace(config: Config) -> Pace | None:
    """Return the pace that a config asks for.

    :returns: the pace; None: closed loop
    :raises ConfigError: if rate or arrival has a wrong value
    """
    arrival = config.choice('arrival', Arrival, Arrival.CONSTANT)
    if 'rate' not in config:
        if 'arrival' in config:
            raise ConfigError.of('arrival', config['arrival'],
                                 'together with rate')
        return None
    return Pace(config.parsed('rate', _rate), arrival)


def log_share(config: Config) -> float:
    """Return of which share of its requests a work keeps a log.

    :returns: 0: of none, to 1: of all
    :raises ConfigError: if it is no such number
    """
    return float(config.fraction('log', 0.0))


def _rate(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # A comparison with nan is false.
    if 0 < value <= MAX_RATE:
        return value
    raise ConfigError.of(key, text, 'operations a second, more than 0 and '
                         'at most %d' % MAX_RATE)
