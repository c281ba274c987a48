# SPDX-License-Identifier: Apache-2.0
"""What is written into objects, and whether what is read is that.

Random content is the key stream of AES in counter mode: the same seed gives
the same bytes on every machine, at some 4 GB a CPU second, and no two seeds
have a block in common, so that no storage finds anything to deduplicate or
to compress. What a storage shall find is asked for with ``dedup`` and
``compress``.

With ``hash_check`` the last ``HASH_TRAILER`` bytes of an object are
``!!!!``, the MD5 of all before them in hex, ``!!!!``, as COSBench has it.
"""

import hashlib
import os
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from cosbench.workload.model import HASH_TRAILER, Content

#: Bytes of a block of a body, at most.
BLOCK = 2 ** 18
#: Bytes that ``dedup`` repeats as a whole: a multiple of what storages
#: deduplicate by.
UNIT = 2 ** 17
#: Bytes of which each has its part of what ``compress`` leaves out.
PAGE = 2 ** 12
#: How many units there are to repeat.
REPEATED = 64
_MARK = b'!!!!'
_ZEROS = memoryview(bytes(BLOCK))
_NONCE_BITS = 64
_stream = Cipher(algorithms.AES(b'cosbench content'),
                 modes.CTR(bytes(16))).encryptor()


def _random(seed, offset, size):
    """Return bytes of the stream of a seed; the offset is in blocks of it."""
    nonce = (seed % 2 ** _NONCE_BITS) << 64 | offset // 16
    _stream.reset_nonce(nonce.to_bytes(16, 'big'))
    return _stream.update(_ZEROS[:size])


def _compressible(data, percent):
    """Return the data with that much of each page, its end, as zeros."""
    made = bytearray(data)
    for begin in range(0, len(made), PAGE):
        end = min(begin + PAGE, len(made))
        kept = begin + (end - begin) * (100 - percent) // 100
        made[kept:end] = _ZEROS[:end - kept]
    return made


def _md5():
    return hashlib.md5(usedforsecurity=False)


def _trailer(digest):
    return _MARK + digest.hexdigest().encode('ascii') + _MARK


@dataclass(frozen=True)
class Body:
    """The content of an object, iterable in blocks as often as needed.

    :param size: bytes, the trailer included
    :param content: a ``Content``
    :param seed: an integer; equal ones give equal content
    :param chunked: whether the request tells no length
    :param hash_check: whether it ends with the trailer; size must be
        ``HASH_TRAILER`` at least
    :param dedup: percent of its units that many objects have, too
    :param compress: percent of each page that is zeros
    :raises ValueError: if it is less
    """

    size: int
    content: Content = Content.RANDOM
    seed: int = 0
    chunked: bool = False
    hash_check: bool = False
    dedup: int = 0
    compress: int = 0

    def __post_init__(self):
        least = HASH_TRAILER if self.hash_check else 0
        if self.size < least:
            raise ValueError('size=%d: must be at least %d'
                             % (self.size, least))

    def __iter__(self):
        if self.hash_check:
            return _hashed(self._blocks(self.size - HASH_TRAILER))
        return self._blocks(self.size)

    def _blocks(self, size):
        if self.content is Content.ZERO:
            return (_ZEROS[:min(BLOCK, size - place)]
                    for place in range(0, size, BLOCK))
        if self.dedup or self.compress:
            return (self._unit(place, min(UNIT, size - place))
                    for place in range(0, size, UNIT))
        seed = self.seed
        return (_random(seed, place, min(BLOCK, size - place))
                for place in range(0, size, BLOCK))

    def _unit(self, place, size):
        # Spread evenly; where an object begins in that follows from its seed.
        turn, offset = place // UNIT + self.seed % 100, place
        seed = self.seed
        if (turn + 1) * self.dedup // 100 > turn * self.dedup // 100:
            seed, offset = -1, (seed // 100 + turn) % REPEATED * UNIT
        data = _random(seed, offset, size)
        return _compressible(data, self.compress) if self.compress else data


class FileBody:
    """A file as the content of an object, read block by block, in the event
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
    """Checks the trailer of one object that is read: ``feed`` all of it in
    blocks of any size, then ask for ``good``.
    """

    __slots__ = ('_digest', '_tail')

    def __init__(self):
        self._digest = _md5()
        #: What may be the trailer: the last bytes so far.
        self._tail = b''

    def feed(self, data):
        """Take the next block of the object.

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
