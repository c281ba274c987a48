# SPDX-License-Identifier: Apache-2.0
"""How a whole is divided over workers: ranges, quotas, workers of drivers.

``base = size // workers``, and the first ``size % workers`` get one more, as
COSBench divides a range. With more workers than elements the rest get an
empty part; COSBench crashed there.
"""

from dataclasses import dataclass


def part(size, parts, index):
    """
    :param size: of the whole, at least 0
    :param parts: how many, at least 1
    :param index: which, from 0
    :returns: (offset, length) of the part; the parts are disjoint and cover
        the whole
    """
    base, extra = divmod(size, parts)
    return (base * index + min(index, extra), base + (index < extra))


@dataclass(frozen=True)
class Share:
    """One worker of several, under division."""

    #: From 0.
    index: int
    workers: int

    def of(self, whole):
        """
        :param whole: a ``range``
        :returns: the worker's part of it, which may be empty
        """
        offset, length = part(len(whole), self.workers, self.index)
        return whole[offset:offset + length]

    def to_pick_from(self, whole):
        """
        As ``of``, for a worker that must pick something: where there are
        more workers than elements, several share one.

        :param whole: a ``range`` that is not empty
        :returns: a ``range`` that is not empty
        """
        workers = min(self.workers, len(whole))
        return Share(self.index % workers, workers).of(whole)


def quota(total, workers, index):
    """
    What a worker may use of a total. The quotas add up to the total, and a
    quota of 0 is nothing, whereas COSBench rounded down and ran for ever on
    0.

    :param total: operations or bytes; 0: no limit
    :returns: of the same unit; None: no limit
    """
    return part(total, workers, index)[1] if total else None
