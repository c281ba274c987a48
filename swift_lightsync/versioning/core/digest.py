# SPDX-License-Identifier: Apache-2.0
"""
Digests of the versions of a container, by which sites find out whether they
have the same (VERSIONING.md §5).

The objects are in 256 buckets, by the CRC-32 of their names. The digest of a
bucket is the exclusive or of one hash for each live version, so that the
digests of several databases can be joined. The root is that of LightSync's
hash tree, over the digests. What was made or changed a short time ago is left
out: it may be on its way. The life record of a container that exists is in a
bucket, too.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import FrozenSet, Iterable, Tuple
from zlib import crc32

from swift_lightsync.sync.core import merkle
from swift_lightsync.versioning.core.keys import LIFE, RESERVED, VERSIONS
from swift_lightsync.versioning.core.row_data import DELETE_MARKER
from swift_lightsync.versioning.core.stamp import Stamp

BUCKETS = 256
_BYTES = 8
#: Hexadecimal digits of an offset, and of the offset of an id; a greater one
#: says when the metadata changed.
_OFFSET, _OF_AN_ID = 16, 10


def bucket_of(obj: str) -> int:
    """Return the number of the bucket that an object is in."""
    return crc32(obj.encode('utf8')) % BUCKETS


#: That of the life record: no object has this name.
LIFE_BUCKET = bucket_of('')


def _change(inverted: str, offset: str, until: Stamp) -> str:
    """
    Return what of a row's timestamp tells when the metadata changed; nothing
    if that was too short a time ago.
    """
    version = Stamp.parse(inverted).inverted
    changed = version.change(Stamp(version.ticks, int(offset, 16)))
    # Its last digits are random, and differ between sites.
    return '' if changed is None or changed.ticks > until.ticks \
        else str(changed.ticks)


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
    def of(cls, rows: Iterable[Tuple[str, str, str]],
           until: Stamp) -> 'Digest':
        """
        Compute the digest of some rows.

        :param rows: (name, timestamp as the database has it, content type) of
            live versions, and of the life record
        :param until: what is later is left out
        """
        # It runs over all versions of a container: little is parsed.
        found = [0] * BUCKETS
        earliest, latest = until.inverted_text, str(until)
        for name, created_at, content_type in rows:
            seconds, _, offset = created_at.partition('+')[0].partition('_')
            if name == LIFE:
                number, inverted = LIFE_BUCKET, ''
                changed = '%s_%s' % (seconds, offset.zfill(_OFFSET))
                if changed > latest:
                    continue
            else:
                obj, _, inverted = name[len(VERSIONS):].rpartition(RESERVED)
                if inverted < earliest:
                    continue
                number = bucket_of(obj)
                offset = offset.lstrip('0')
                changed = _change(inverted, offset, until) \
                    if len(offset) > _OF_AN_ID else ''
            kind = 'delete' if content_type == DELETE_MARKER else 'data'
            found[number] ^= int.from_bytes(blake2b(
                RESERVED.join((name, kind, changed)).encode('utf8'),
                digest_size=_BYTES).digest(), 'big')
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
