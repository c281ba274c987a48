# SPDX-License-Identifier: Apache-2.0
"""What a worker does next: pure choices from its own random generator.

A worker's choices depend on the seed, the place of the work in the workload
and the worker's number, and on nothing else: not on how the workers were
split over drivers, nor on time. ``s(a,b)``, and ``r(a,b)`` without division,
take from counters that the workers of a mission share; these depend on the
order in which the workers come.
"""

import hashlib
from itertools import count

from cosbench.workload.division import Share
from cosbench.workload.model import Division, OperationType
from cosbench.workload.selectors import walk

#: The special works whose operations go through containers only.
WALKS_CONTAINERS = (OperationType.INIT, OperationType.DISPOSE)


def seed_of(seed, *place):
    """
    :param seed: of the workload
    :param place: integers and texts that tell one generator from another
    :returns: an int for ``random.Random``
    """
    text = '/'.join(str(each) for each in (seed,) + place)
    return int.from_bytes(hashlib.sha256(text.encode('utf8')).digest(),
                          'big')


def chooser(operations, rng):
    """
    :param operations: their ratios sum to 100
    :returns: a function that returns the index of the next one
    """
    table = [index for index, operation in enumerate(operations)
             for _ in range(operation.ratio)]
    if len(operations) == 1:
        return lambda: 0
    return lambda: table[rng.randrange(len(table))]


class Counters:
    """The counters that the workers of a mission share."""

    def __init__(self):
        self._counters = {}

    def get(self, operation, key):
        return self._counters.setdefault((operation.id, key), count())


class Draw:
    """
    The pickers of one operation of one worker.

    ``container()``, ``object()`` are names, ``size()`` is bytes; each is
    None where the operation has no such thing.
    """

    def __init__(self, operation, rng, counters, share):
        self._operation = operation
        self._rng = rng
        self._counters = counters
        self._share = share
        self.container = self._names('containers', Division.CONTAINER)
        self.object = self._names('objects', Division.OBJECT)
        self.size = operation.sizes and operation.sizes.picker(
            rng, counters.get(operation, 'sizes'))

    def _names(self, key, division):
        names = getattr(self._operation, key)
        if names is None:
            return None
        share = self._share if self._operation.division is division else None
        draw = names.selector.picker(
            self._rng, self._counters.get(self._operation, key), share)
        return lambda: names.name(draw())


def targets(operation, share):
    """
    What one worker of a special work goes through, each thing once.

    :param share: the worker's ``Share``
    :returns: (container, object) names; the object is None where the
        operation is one on containers
    """
    containers = operation.containers
    if operation.type in WALKS_CONTAINERS:
        for number in _numbers(containers.selector, share):
            yield containers.name(number), None
        return
    objects = operation.objects
    for number in _numbers(containers.selector, Share(0, 1)):
        container = containers.name(number)
        for each in _numbers(objects.selector, share):
            yield container, objects.name(each)


def _numbers(selector, share):
    for span in walk(selector, share):
        yield from span
