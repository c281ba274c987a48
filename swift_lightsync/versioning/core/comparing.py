# SPDX-License-Identifier: Apache-2.0
"""
The messages by which sites compare what they have (VERSIONING.md §5).

A *comparison* has the root of the digests of many containers. It is answered
with the digests of those containers whose root is another one there, up to as
many as one answer has room for.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal, Tuple

from swift_lightsync.common.records import Between, Length, Matches, Record
from swift_lightsync.versioning.core.digest import BUCKETS, Digest
from swift_lightsync.versioning.core.shipment import AnyStamp, PlaceName

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


@dataclass(frozen=True)
class Compared(Record):
    """One container of a comparison."""
    account: PlaceName
    container: PlaceName
    root: _Root


@dataclass(frozen=True)
class Comparison(Record):
    """
    The head of a comparison.

    :param until: up to which stamp versions are in the digests
    """
    format: Literal[1]
    verb: Literal['compare']
    until: AnyStamp
    containers: Annotated[Tuple[Compared, ...], Length(MAX_COMPARED)]


@dataclass(frozen=True)
class Difference(Record):
    """
    A container whose root is another one at the receiver.

    :param place: in the comparison, from 0
    :param buckets: the receiver's digests
    """
    place: _Place
    buckets: Annotated[Tuple[_Bucket, ...], Length(BUCKETS, BUCKETS)]

    @property
    def digest(self) -> Digest:
        return Digest(self.buckets)


@dataclass(frozen=True)
class Differences(Record):
    """
    The answer to a comparison.

    :param looked: how many of the containers have been looked at
    :param unknown: places of those of which the receiver cannot tell now
    """
    looked: Annotated[int, Between(0, MAX_COMPARED)]
    different: Annotated[Tuple[Difference, ...], Length(MAX_DIFFERENT)] = ()
    unknown: Annotated[Tuple[_Place, ...], Length(MAX_COMPARED)] = ()


def differences(body: bytes, count: int) -> Differences:
    """
    Read the answer to a comparison.

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
