# SPDX-License-Identifier: Apache-2.0
"""Digests of the versions of a container, by which sites find out whether they
have the same, and the messages by which they compare them (VERSIONING.md §5).

The objects are in 256 buckets, by the CRC-32 of their names. The digest of a
bucket is the exclusive or of one hash for each live version, so that the
digests of several databases can be joined. The root is that of LightSync's
hash tree, over the digests. What was made or changed a short time ago is left
out: it may be on its way. The life record of a container that exists is in a
bucket, too.

A *comparison* has the root of the digests of many containers. It is answered
with the digests of those containers whose root is another one there, up to as
many as one answer has room for.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Literal
from zlib import crc32

from swift_lightsync.common.records import Between, Length, Matches, Record
from swift_lightsync.sync.core import merkle
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    LIFE,
    RESERVED,
    VERSIONS,
)
from swift_lightsync.versioning.core.shipment import AnyStamp, PlaceName
from swift_lightsync.versioning.core.stamp import Stamp

BUCKETS = 256
_BYTES = 8
#: Hexadecimal digits of an offset, and of the offset of an id; a greater one
#: says when the metadata changed.
_OFFSET, _OF_AN_ID = 16, 10
#: Containers of one comparison.
MAX_COMPARED = 1000
#: Containers whose digests are in one answer: they have 5 KB each.
MAX_DIFFERENT = 128
#: Bytes of an answer.
MAX_ANSWER = 1 << 20
_HASH = (1 << 64) - 1

_Root = Annotated[str, Matches(re.compile('[0-9a-f]{32}'),
                               '32 hexadecimal digits')]
_Bucket = Annotated[int, Between(0, _HASH)]
_Place = Annotated[int, Between(0, MAX_COMPARED - 1)]


def bucket_of(obj: str) -> int:
    """Return the number of the bucket that an object is in."""
    return crc32(obj.encode('utf8')) % BUCKETS


#: That of the life record: no object has this name.
LIFE_BUCKET = bucket_of('')


def _change(inverted: str, offset: str, until: Stamp) -> str:
    """Return what of a row's timestamp tells when the metadata changed;
    nothing if that was too short a time ago.
    """
    version = Stamp.parse(inverted).inverted
    changed = version.change(Stamp(version.ticks, int(offset, 16)))
    # Its last digits are random, and differ between sites.
    return '' if changed is None or changed.ticks > until.ticks \
        else str(changed.ticks)


@dataclass(frozen=True)
class Digest:
    """The digests of all buckets of a container.

    :param buckets: as many numbers below 2^64 as there are buckets
    """
    buckets: tuple[int, ...] = (0,) * BUCKETS

    def __post_init__(self) -> None:
        if len(self.buckets) != BUCKETS:
            raise ValueError('a digest has %d buckets, must have %d' % (
                len(self.buckets), BUCKETS))

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str]],
           until: Stamp) -> 'Digest':
        """Compute the digest of some rows.

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

    def differing(self, other: 'Digest') -> frozenset[int]:
        """Return the numbers of the buckets that are not the same."""
        return frozenset(
            number for number, pair in enumerate(zip(
                self.buckets, other.buckets)) if pair[0] != pair[1])


@dataclass(frozen=True)
class Compared(Record):
    """One container of a comparison."""
    account: PlaceName
    container: PlaceName
    root: _Root


@dataclass(frozen=True)
class Comparison(Record):
    """The head of a comparison.

    :param until: up to which stamp versions are in the digests
    """
    format: Literal[1]
    verb: Literal['compare']
    until: AnyStamp
    containers: Annotated[tuple[Compared, ...], Length(MAX_COMPARED)]


@dataclass(frozen=True)
class Difference(Record):
    """A container whose root is another one at the receiver.

    :param place: in the comparison, from 0
    :param buckets: the receiver's digests
    """
    place: _Place
    buckets: Annotated[tuple[_Bucket, ...], Length(BUCKETS, BUCKETS)]

    @property
    def digest(self) -> Digest:
        return Digest(self.buckets)


@dataclass(frozen=True)
class Differences(Record):
    """The answer to a comparison.

    :param looked: how many of the containers have been looked at
    :param unknown: places of those of which the receiver cannot tell now
    """
    looked: Annotated[int, Between(0, MAX_COMPARED)]
    different: Annotated[tuple[Difference, ...], Length(MAX_DIFFERENT)] = ()
    unknown: Annotated[tuple[_Place, ...], Length(MAX_COMPARED)] = ()


def differences(body: bytes, count: int) -> Differences:
    """Read the answer to a comparison.

    :param count: of its containers
    :raises ValueError: if it is no such answer
    """
    found = Differences.parse(body, MAX_ANSWER, 'an answer')
    places = [each.place for each in found.different]
    if found.looked > count or len(set(places)) != len(places) or any(
            place >= found.looked for place in [*places, *found.unknown]):
        raise ValueError('an answer: looked is %d, must be at most %d, and '
                         'greater than all places, each once' % (
                             found.looked, count))
    return found
