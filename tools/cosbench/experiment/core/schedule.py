# SPDX-License-Identifier: Apache-2.0
"""In which order an experiment runs what.

A round runs each configuration once, in an order of its own, so that what
drifts (a disk that fills, a cache that warms, another user) meets all of
them alike. Order and seeds follow from the experiment's seed alone: one that
was interrupted goes on as it would have.
"""

import hashlib
from collections.abc import Sequence

#: Bits of a digest that are too many for the seed of a run, which has 53.
_SPARE = 256 - 53


def order(seed: int, round_: int, configurations: Sequence[str]
          ) -> list[str]:
    """
    Return the order of a round.

    :param seed: of the experiment
    :param round_: which, from 0
    :param configurations: their names
    :returns: the names in the order in which they run
    """
    return sorted(configurations,
                  key=lambda name: _digest(seed, round_, 'order', name))


def run_seed(seed: int, round_: int) -> int:
    """
    Return the seed of the runs of a round.

    All configurations of a round draw the same objects and sizes, and each
    round others.

    :param seed: of the experiment
    :param round_: which, from 0
    :returns: the seed of its runs
    """
    return int.from_bytes(_digest(seed, round_, 'seed'), 'big') >> _SPARE


def _digest(*parts: object) -> bytes:
    return hashlib.sha256('\0'.join(map(str, parts)).encode()).digest()
