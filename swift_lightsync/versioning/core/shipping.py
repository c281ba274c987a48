# SPDX-License-Identifier: Apache-2.0
"""The messages between sites: the heads of requests, JSON, and the answers.

An *offer* lists versions and life records of many containers, and is answered
with the places in its list that the receiver lacks. A *pack* lists shipments
of many containers; their data follow the head, in the same order. It has one
shipment of any length, or several small ones, and is answered with a result
for each. A bad shipment says nothing against the others of its pack.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from swift_lightsync.common.records import (
    Between,
    Length,
    Record,
    RecordError,
    Utf8,
    load_json,
)
from swift_lightsync.versioning.core.comparing import Comparison
from swift_lightsync.versioning.core.row_data import Kind
from swift_lightsync.versioning.core.shipment import (
    AnyStamp,
    Frame,
    Id,
    Name,
    PlaceName,
    SiteName,
)

FORMAT: Literal[1] = 1
MAX_HEAD = 1 << 20
MAX_OFFERED = 1000
#: Shipments of a pack.
MAX_PACKED = 256
#: Bytes of data, of all shipments and of each, if there are several.
MAX_PACK = 1 << 22
MAX_SMALL = 1 << 16
#: Bytes of an error text.
MAX_ERROR = 1000
#: The status of a shipment that the receiver has not begun, as it has too much
#: to do; of a request, if that holds of all of it.
LATER = 429
Seconds = Annotated[float, Between(0, 1e6)]
_T = TypeVar('_T')


@dataclass(frozen=True)
class Offered(Record):
    """One version of an offer.

    :param site: that made it
    :param changed: when its metadata changed, or None if never
    """
    object: Name
    id: Id
    site: SiteName
    kind: Kind
    changed: AnyStamp | None = None


@dataclass(frozen=True)
class Group(Record):
    """The versions of one container in an offer.

    :param life: the stamp of its life record, which has the first place; None:
        that is not offered
    """
    account: PlaceName
    container: PlaceName
    versions: Annotated[tuple[Offered, ...], Length(MAX_OFFERED)]
    life: AnyStamp | None = None

    @property
    def places(self) -> int:
        """How many places it has in the offer."""
        return len(self.versions) + (self.life is not None)


@dataclass(frozen=True)
class Offer(Record):
    """The head of an offer; its places are counted through all groups."""
    format: Literal[1]
    verb: Literal['offer']
    groups: Annotated[tuple[Group, ...], Length(MAX_OFFERED)]

    def __post_init__(self) -> None:
        count = sum(group.places for group in self.groups)
        if count > MAX_OFFERED:
            raise ValueError('its groups have %d versions, at most %d are '
                             'allowed' % (count, MAX_OFFERED))


@dataclass(frozen=True)
class Pack(Record):
    """The head of a pack."""
    format: Literal[1]
    verb: Literal['ship']
    shipments: Annotated[tuple[Frame, ...], Length(MAX_PACKED, 1)]

    def __post_init__(self) -> None:
        most = max(frame.length for frame in self.shipments)
        if len(self.shipments) > 1 and (
                most > MAX_SMALL or self.length > MAX_PACK):
            raise ValueError(
                'length is up to %d for %d shipments, and %d in all; at most '
                '%d and %d are allowed' % (most, len(self.shipments),
                                           self.length, MAX_SMALL, MAX_PACK))

    @property
    def length(self) -> int:
        """Bytes of data that follow the head."""
        return sum(frame.length for frame in self.shipments)

    @property
    def is_small(self) -> bool:
        """Whether all of it is verified before anything is stored."""
        return len(self.shipments) > 1 or self.length <= MAX_SMALL


@dataclass(frozen=True)
class Lacking(Record):
    """The answer to an offer.

    :param lacking: places of the versions to ship
    :param unknown: places of those that the receiver cannot tell of now
    :param error: why it cannot
    :param later: places of those that it has not begun to look at
    :param seconds: that it has taken
    """
    lacking: tuple[int, ...]
    unknown: tuple[int, ...] = ()
    error: str = ''
    later: tuple[int, ...] = ()
    seconds: Seconds = 0.0


@dataclass(frozen=True)
class Result(Record):
    """The answer to one shipment.

    :param status: as of HTTP
    :param error: why it is not stored, or ''
    """
    status: Annotated[int, Between(100, 599)]
    error: Annotated[str, Utf8(MAX_ERROR)] = ''

    @property
    def is_stored(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class Results(Record):
    """The answer to a pack.

    :param results: a ``Result`` for each shipment
    :param seconds: that the receiver has taken
    """
    results: Annotated[tuple[Result, ...], Length(MAX_PACKED)]
    seconds: Seconds = 0.0


def encoded(value: Any) -> bytes:
    """Return the bytes of a value of JSON."""
    return json.dumps(value, separators=(',', ':')).encode('ascii')


def _head(head: bytes) -> bytes:
    if len(head) > MAX_HEAD:
        raise ValueError('a head has %d bytes, at most %d are allowed' % (
            len(head), MAX_HEAD))
    return head


def offer(groups: Iterable[Group]) -> bytes:
    """Return the head of a request that offers versions.

    :param groups: of at most ``MAX_OFFERED`` versions
    """
    return _head(encoded(Offer(FORMAT, 'offer', tuple(groups)).to_json()))


def pack(frames: Iterable[bytes]) -> bytes:
    """Return the head of a request that carries shipments.

    :param frames: the JSON of the ``Frame`` of each
    """
    return _head(b'{"format":%d,"verb":"ship","shipments":[%s]}' % (
        FORMAT, b','.join(frames)))


def bounded(items: Iterable[_T], most: int, weight: int,
            weigh: Callable[[_T], int]) -> Iterator[list[_T]]:
    """Split a list into parts that are not too large for one request.

    :param most: items of a part
    :param weight: that a part may have, unless it has one item only
    :param weigh: returns the weight of an item
    """
    part: list[_T] = []
    total = 0
    for item in items:
        more = weigh(item)
        if part and (len(part) >= most or total + more > weight):
            yield part
            part, total = [], 0
        part.append(item)
        total += more
    if part:
        yield part


def decode(head: bytes) -> Offer | Pack | Comparison:
    """Read the head of a request.

    :raises ValueError: if it is none
    """
    fields = load_json(head, MAX_HEAD, 'a head')
    verb = fields.get('verb') if isinstance(fields, dict) else None
    if verb == 'ship':
        return Pack.from_json(fields, 'a pack')
    if verb == 'compare':
        return Comparison.from_json(fields, 'a comparison')
    return Offer.from_json(fields, 'an offer')


def error(text: str) -> bytes:
    """Return the bytes of the answer to a request that is refused."""
    return encoded({'error': text})


def results(found: Iterable[Result], seconds: float = 0.0) -> bytes:
    """Return the bytes of the answer to a pack."""
    return encoded(Results(tuple(found), seconds).to_json())


def lacking(body: bytes, count: int) -> Lacking:
    """Read the answer to an offer.

    :param body: of the answer
    :param count: of the versions that were offered
    :raises ValueError: if it is no such answer
    """
    found = Lacking.parse(body, MAX_HEAD, 'an answer')
    for place in found.lacking + found.unknown + found.later:
        if not 0 <= place < count:
            raise ValueError('an answer: a place is %.60r, must be 0 to %d' %
                             (place, count - 1))
    return found


def results_of(body: bytes, count: int) -> Results:
    """Read the answer to a pack.

    :param count: of its shipments
    :raises ValueError: if it is no such answer
    """
    found = Results.parse(body, MAX_HEAD, 'an answer')
    if len(found.results) != count:
        raise ValueError('an answer: there are %d results, must be %d' % (
            len(found.results), count))
    return found


def reason(body: bytes) -> str:
    """Return the error text in the answer to a refused request."""
    try:
        found = load_json(body, MAX_HEAD)
    except RecordError:
        return ''
    text = found.get('error') if isinstance(found, dict) else None
    return text[:MAX_ERROR] if isinstance(text, str) else ''
