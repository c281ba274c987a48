# SPDX-License-Identifier: Apache-2.0
"""
The objects of ``bench losf``, and which of them each measurement touches.

Everything here follows from the seed, so that both backends get the same
bytes, names and timestamps.
"""

import math
import random
from dataclasses import dataclass

#: least and greatest size of an object, bytes: as many of 100 to 200 bytes
#: as of 32 to 64 KiB
SIZES = 100, 65536
#: Seconds between the timestamps of two objects.
STEP = 0.001


@dataclass(frozen=True)
class Object:
    """
    :param name: of the object
    :param size: bytes
    """
    name: str
    size: int

    def body(self, seed):
        """:returns: its bytes"""
        return random.Random('%s/%s/%d' % (
            seed, self.name, self.size)).randbytes(self.size)


def random_size(rng):
    """:returns: a size whose logarithm is uniform"""
    return round(math.exp(rng.uniform(*map(math.log, SIZES))))


def _objects(prefix, count, rng):
    return tuple(Object('%s-%07d' % (prefix, i), random_size(rng))
                 for i in range(count))


class DataSet:
    """
    :param seed: all choices follow from it
    :param count: how many objects there are
    """

    def __init__(self, seed, count):
        self.seed = seed
        self.objects = _objects('object', count, self._rng('objects'))
        self._order = self._rng('order').sample(range(count), count)

    def _rng(self, *purpose):
        return random.Random('/'.join(map(str, (self.seed, *purpose))))

    def sample(self, number, count):
        """
        :param number: from 0; different samples share no object
        :param count: of the objects
        :returns: a tuple of objects, in no order
        """
        chosen = self._order[number * count:(number + 1) * count]
        return tuple(self.objects[i] for i in chosen)

    def new(self, purpose, count):
        """:returns: a tuple of objects that do not exist yet"""
        return _objects('new-' + purpose, count, self._rng('new', purpose))

    def resized(self, objects, purpose):
        """:returns: the same objects, with other sizes"""
        rng = self._rng('resized', purpose)
        return tuple(Object(each.name, random_size(rng)) for each in objects)
