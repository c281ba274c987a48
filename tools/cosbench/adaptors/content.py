# SPDX-License-Identifier: Apache-2.0
"""What is written into objects, and whether what is read is that.

Random content is cut from a pool of random bytes that a process makes once:
the same seed gives the same bytes, on every machine, at the cost of a
slice. It repeats after ``POOL`` bytes: a store that compresses or
deduplicates over a longer distance sees that.

With ``hash_check`` the last ``HASH_TRAILER`` bytes of an object are
``!!!!``, the MD5 of all before them in hex, ``!!!!``, as COSBench has it.
"""

import hashlib
import os
import random
from dataclasses import dataclass
from functools import lru_cache

from cosbench.workload.model import HASH_TRAILER, Content

#: Bytes of a block of a body, at most.
BLOCK = 2 ** 18
#: Bytes of random content before it repeats.
POOL = 2 ** 22
#: Seeds take places this far apart: a prime, so that all are taken.
_STRIDE = 1048583
_MARK = b'!!!!'


@lru_cache(maxsize=None)
def _pool(content):
    """Return POOL bytes, and the first BLOCK of them again."""
    if content is Content.ZERO:
        return memoryview(bytes(POOL + BLOCK))
    data = random.Random('cosbench').randbytes(POOL)
    return memoryview(data + data[:BLOCK])


def _md5():
    return hashlib.md5(usedforsecurity=False)


def _trailer(digest):
    return _MARK + digest.hexdigest().encode('ascii') + _MARK


@dataclass(frozen=True)
class Body:
    """
    The content of an object, iterable in blocks as often as needed.

    :param size: bytes, the trailer included
    :param content: a ``Content``
    :param seed: an integer; equal ones give equal content
    :param chunked: whether the request tells no length
    :param hash_check: whether it ends with the trailer; size must be
        ``HASH_TRAILER`` at least
    :raises ValueError: if it is less
    """

    size: int
    content: Content = Content.RANDOM
    seed: int = 0
    chunked: bool = False
    hash_check: bool = False

    def __post_init__(self):
        least = HASH_TRAILER if self.hash_check else 0
        if self.size < least:
            raise ValueError('size=%d: must be at least %d'
                             % (self.size, least))

    def __iter__(self):
        if self.hash_check:
            return _hashed(self._blocks(self.size - HASH_TRAILER))
        return self._blocks(self.size)

    def _blocks(self, left):
        pool, place = _pool(self.content), self.seed * _STRIDE % POOL
        while left > BLOCK:
            yield pool[place:place + BLOCK]
            place = (place + BLOCK) % POOL
            left -= BLOCK
        if left:
            yield pool[place:place + left]


class FileBody:
    """
    A file as the content of an object, read block by block, in the event
    loop: a page cache is assumed.

    :param path: of the file; what is in it when this is made counts
    :param hash_check: whether the trailer follows the file
    :raises OSError: if there is no such file
    """

    chunked = False

    def __init__(self, path, hash_check=False):
        self.path = path
        self.hash_check = hash_check
        self._length = os.stat(path).st_size
        self.size = self._length + (HASH_TRAILER if hash_check else 0)

    def __iter__(self):
        return _hashed(self._blocks()) if self.hash_check else self._blocks()

    def _blocks(self):
        left = self._length
        with open(self.path, 'rb') as source:
            while left:
                block = source.read(min(left, BLOCK))
                if not block:
                    raise OSError('%s has become shorter' % self.path)
                left -= len(block)
                yield block


def _hashed(blocks):
    digest = _md5()
    for block in blocks:
        digest.update(block)
        yield block
    yield _trailer(digest)


class Checker:
    """
    Checks the trailer of one object that is read: ``feed`` all of it in
    blocks of any size, then ask for ``good``.
    """

    __slots__ = ('_digest', '_tail')

    def __init__(self):
        self._digest = _md5()
        #: What may be the trailer: the last bytes so far.
        self._tail = b''

    def feed(self, data):
        """
        Take the next block of the object.

        :param data: bytes or a memoryview
        """
        if len(data) >= HASH_TRAILER:
            self._digest.update(self._tail)
            self._digest.update(data[:-HASH_TRAILER])
            self._tail = bytes(data[-HASH_TRAILER:])
        else:
            tail = self._tail + data
            self._digest.update(tail[:-HASH_TRAILER])
            self._tail = tail[-HASH_TRAILER:]

    @property
    def good(self):
        """Whether a trailer is there, and right."""
        return self._tail == _trailer(self._digest)
