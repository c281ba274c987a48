# SPDX-License-Identifier: Apache-2.0
"""
Digests of the versions of a container, by which sites find out whether they
have the same (VERSIONING.md §5).

The objects are in 256 buckets, by the CRC-32 of their names. The digest of a
bucket is the exclusive or of one hash for each live version, so that the
digests of several databases can be joined. The root is that of LightSync's
hash tree, over the digests.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import FrozenSet, Iterable, Tuple
from zlib import crc32

from swift_lightsync.sync.core import merkle
from swift_lightsync.versioning.core.keys import RESERVED, VERSIONS
from swift_lightsync.versioning.core.row_data import DELETE_MARKER

BUCKETS = 256
_BYTES = 8
#: Hexadecimal digits of the offset of an id; a greater offset says when the
#: metadata changed ...
_OF_AN_ID = 10
#: ... and its last digits are random, and differ between sites.
_RANDOM = 4


def bucket_of(obj: str) -> int:
    """Return the number of the bucket that an object is in."""
    return crc32(obj.encode('utf8')) % BUCKETS


@dataclass(frozen=True)
class Digest:
    """
    The digests of all buckets of a container.

    :param buckets: as many numbers below 2^64 as there are buckets
    """
    buckets: Tuple[int, ...] = (0,) * BUCKETS

    def __post_init__(self) -> None:
        if len(self.buckets) != BUCKETS:
            raise ValueError('a digest has %d buckets, must have %d' % (
                len(self.buckets), BUCKETS))

    @classmethod
    def of(cls, rows: Iterable[Tuple[str, str, str]]) -> 'Digest':
        """
        Compute the digest of some rows.

        :param rows: (name, timestamp as the database has it, content type) of
            live versions
        """
        # It runs over all versions of a container: nothing is parsed.
        found = [0] * BUCKETS
        for name, created_at, content_type in rows:
            obj = name[len(VERSIONS):].rpartition(RESERVED)[0]
            offset = created_at.partition('+')[0].partition('_')[2].lstrip('0')
            changed = offset[:-_RANDOM] if len(offset) > _OF_AN_ID else ''
            kind = 'delete' if content_type == DELETE_MARKER else 'data'
            text = RESERVED.join((name, kind, changed))
            found[bucket_of(obj)] ^= int.from_bytes(blake2b(
                text.encode('utf8'), digest_size=_BYTES).digest(), 'big')
        return cls(tuple(found))

    def joined(self, other: 'Digest') -> 'Digest':
        """Return the digest of what two databases have; no row is in both."""
        return Digest(tuple(one ^ two for one, two in zip(
            self.buckets, other.buckets)))

    @property
    def root(self) -> str:
        """A text of 32 hexadecimal digits: the same for the same versions."""
        return merkle.root({'%02x' % number: '%016x' % each
                            for number, each in enumerate(self.buckets)
                            if each})

    def differing(self, other: 'Digest') -> FrozenSet[int]:
        """Return the numbers of the buckets that are not the same."""
        return frozenset(
            number for number, pair in enumerate(zip(
                self.buckets, other.buckets)) if pair[0] != pair[1])
