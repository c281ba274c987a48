# SPDX-License-Identifier: Apache-2.0
"""Numbers the places that the kernel knows, for as long as it knows them."""

import itertools
from collections import Counter
from typing import Counter as CounterType
from typing import Dict

from swift_losf.mount.tree import Place

#: the number of the top, which is never forgotten (pyfuse3.ROOT_INODE)
ROOT = 1


class Inodes:
    """Gives each place that is looked up a number, which is never reused."""

    def __init__(self) -> None:
        self._new = itertools.count(ROOT + 1)
        self._places: Dict[int, Place] = {ROOT: ()}
        self._numbers: Dict[Place, int] = {(): ROOT}
        self._looked_up: CounterType[int] = Counter()

    def place(self, number: int) -> Place:
        """Return the place of a number that the kernel knows."""
        return self._places[number]

    def number(self, place: Place) -> int:
        """Return the number of a place, a new one if it has none yet."""
        if place not in self._numbers:
            number = self._numbers[place] = next(self._new)
            self._places[number] = place
        return self._numbers[place]

    def look_up(self, number: int) -> None:
        """Note that the kernel was told of a number once more."""
        self._looked_up[number] += 1

    def forget(self, number: int, times: int = 0) -> None:
        """Drop a number that the kernel does not know any more.

        :param times: of its look-ups that are forgotten
        """
        self._looked_up[number] -= times
        if number != ROOT and self._looked_up[number] <= 0:
            del self._looked_up[number]
            self._numbers.pop(self._places.pop(number, ()), None)
