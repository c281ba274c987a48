# SPDX-License-Identifier: Apache-2.0
"""What a worker does next: pure choices from its own random generator.

A worker's choices depend on the seed, the place of the work in the workload
and the worker's number, and on nothing else: not on how the workers were
split over drivers, nor on time. ``s(a,b)``, and ``r(a,b)`` without division,
take from counters that the workers of a mission share; these depend on the
order in which the workers come.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from cosbench.workload.division import Share
from cosbench.workload.model import Division, Names, Operation, OperationType
from cosbench.workload.requests import Piece
from cosbench.workload.selectors import Picker, Selector, Sizes, uniform
from cosbench.workload.zipf import RandomSource

#: First and last byte of a range, or None; the number of a part, or None.
PieceOf = tuple[tuple[int, int] | None, int | None]
#: The special works whose operations go through containers only.
WALKS_CONTAINERS = (OperationType.INIT, OperationType.DISPOSE)


def seed_of(seed: int, *place: int | str) -> int:
    """Return the seed of one of many random generators.

    :param place: what tells one generator from another
    :returns: an int for ``random.Random``
    """
    text = '/'.join(str(each) for each in (seed,) + place)
    return int.from_bytes(hashlib.sha256(text.encode('utf8')).digest(),
                          'big')


def chooser(operations: Sequence[Operation], rng: RandomSource) -> Picker:
    """Return what chooses among operations by their ratios.

    :param operations: their ratios sum to 100
    :returns: a function that returns the index of the next operation
    """
    table = [index for index, operation in enumerate(operations)
             for _ in range(operation.ratio)]
    if len(operations) == 1:
        return lambda: 0
    pick = uniform(range(len(table)), rng)
    return lambda: table[pick()]


class Counters:
    """The counters that the workers of a mission share."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str], Iterator[int]] = {}

    def get(self, operation: Operation, key: str) -> Iterator[int]:
        """Return a counter, which is made when it is first asked for.

        :param key: what is counted, such as ``sizes``
        :returns: an iterator over 0, 1, 2, ...
        """
        return self._counters.setdefault((operation.id, key), count())


class Choices:
    """What one worker chooses for one of its operations.

    ``container()`` and ``object()`` return names, ``size()`` returns bytes,
    ``piece()`` a ``PieceOf``; each is None where the operation has no such
    thing.

    :param operation: an operation of the worker's work
    :param rng: the worker's random generator
    :param counters: of the mission
    :param share: the worker's share
    """

    def __init__(self, operation: Operation, rng: RandomSource,
                 counters: Counters, share: Share) -> None:
        self._operation = operation
        self._rng = rng
        self._counters = counters
        self._share = share
        self.container = self._names('containers', operation.containers,
                                     Division.CONTAINER)
        self.object = self._names('objects', operation.objects,
                                  Division.OBJECT)
        self.size = operation.sizes and operation.sizes.picker(
            rng, counters.get(operation, 'sizes'))
        self.piece = operation.piece and self._pieces(operation.piece)
        #: Returns the path of a file, for filewrite; set by who knows them.
        self.path: Callable[[], str] | None = None

    def _names(self, key: str, names: Names | None,
               division: Division) -> Callable[[], str] | None:
        if names is None:
            return None
        name = names.name
        pick = names.selector.picker(
            self._rng, self._counters.get(self._operation, key),
            self._share if self._operation.division is division else None)
        return lambda: name(pick())

    def _pieces(self, piece: Piece) -> Callable[[], PieceOf]:
        def picker(of: Selector | Sizes, key: str) -> Picker:
            return of.picker(self._rng, self._counters.get(
                self._operation, key))
        if piece.part is not None:
            number = picker(piece.part, 'part')
            return lambda: (None, number())
        assert piece.length is not None
        length = picker(piece.length, 'length')
        offset = picker(piece.offset, 'offset') if piece.offset else None

        def span() -> PieceOf:
            first = offset() if offset else 0
            return (first, first + length() - 1), None
        return span


def targets(operation: Operation,
            share: Share) -> Iterator[tuple[str, str | None]]:
    """Yield what one worker of a special work goes through, each thing once.

    :returns: (container, object) names; the object is None where the
        operation is one on containers
    """
    containers, objects = operation.containers, operation.objects
    if containers is None:
        return
    if operation.type in WALKS_CONTAINERS or objects is None:
        for number in _numbers(containers.selector, share):
            yield containers.name(number), None
        return
    for number in _numbers(containers.selector, Share(0, 1)):
        container = containers.name(number)
        for each in _numbers(objects.selector, share):
            yield container, objects.name(each)


def _numbers(selector: Selector, share: Share) -> Iterator[int]:
    for span in walk(selector, share):
        yield from span


def walk(selector: Selector, share: Share) -> tuple[range, ...]:
    """Return what a worker goes through that visits each thing once.

    :param selector: of what there is
    :returns: the worker's part, as disjoint ranges, ascending
    """
    done, parts = 0, []
    spans = disjoint(selector.spans())
    mine = share.of(range(sum(len(span) for span in spans)))
    for span in spans:
        place, done = done, done + len(span)
        found = span[max(0, mine.start - place):max(0, mine.stop - place)]
        if found:
            parts.append(found)
    return tuple(parts)


def disjoint(spans: Sequence[range]) -> tuple[range, ...]:
    """Return the same integers, each in one range only, ascending."""
    merged: list[range] = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start,
                               max(merged[-1].stop, span.stop))
        else:
            merged.append(span)
    return tuple(merged)
