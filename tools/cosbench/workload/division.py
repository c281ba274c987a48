# SPDX-License-Identifier: Apache-2.0
"""How a whole is divided over workers: ranges, workers of drivers.

``base = size // workers``, and the first ``size % workers`` get one more, as
COSBench divides a range. With more workers than elements the rest get an
empty part; COSBench crashed there.
"""

from dataclasses import dataclass


def part(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return one of the disjoint parts that cover a whole.

    :param size: of the whole, at least 0
    :param parts: how many, at least 1
    :param index: which, from 0
    :returns: (offset, length) of the part
    """
    base, extra = divmod(size, parts)
    return (base * index + min(index, extra), base + (index < extra))


def portion(total: int, parts: int, first: int, count: int) -> int:
    """Return how much some parts of a whole are together.

    :param first: of these parts, from 0
    :param count: how many they are
    """
    return sum(part(total, parts, index)[1]
               for index in range(first, first + count))


@dataclass(frozen=True)
class Share:
    """One worker of several, under division."""

    #: From 0.
    index: int
    workers: int

    def of(self, whole: range) -> range:
        """Return the worker's part of a whole."""
        offset, length = part(len(whole), self.workers, self.index)
        return whole[offset:offset + length]

    def to_pick_from(self, whole: range) -> range:
        """Return what a worker picks from, which is never empty.

        Where there are more workers than elements, several share one.

        :param whole: all numbers, at least one
        """
        workers = min(self.workers, len(whole))
        return Share(self.index % workers, workers).of(whole)
