# SPDX-License-Identifier: Apache-2.0
"""
The messages between sites: the heads of requests, and the answers.

A head is a JSON object. An *offer* lists versions of many containers, and is
answered with the places in its list that the receiver lacks. A *pack* lists
*shipments*, of many containers too: versions, whose data follow the head in
their order, and life records of containers. It is answered with one result
for each shipment. A pack has one shipment of any length, or many small ones.

The headers of a request say nothing about a version. Everything that is read
here comes from outside: whatever does not have the format below is refused
with a ValueError that names it, and a bad shipment says nothing against the
others of its pack.
"""

import json
import re
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Callable,
    Iterable,
    Iterator,
    List,
    Literal,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from swift_lightsync.common.records import (
    Between,
    Length,
    Matches,
    Parsed,
    Record,
    RecordError,
    Utf8,
    load_json,
)
from swift_lightsync.versioning.core.life import LifeMessage
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    MAX_ETAG,
    PURGE_MARKER,
    Entry,
    Kind,
    parameters_of,
    row_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.stored_headers import (
    Headers,
    check_headers,
)
from swift_lightsync.versioning.core.version import Vector, Version, check_site

FORMAT: Literal[1] = 1
MAX_HEAD = 1 << 20
MAX_OFFERED = 1000
#: Shipments of one pack; bytes of the data of each, if there are several,
#: and of all.
MAX_PACKED = 256
MAX_SMALL = 1 << 16
MAX_PACK = 1 << 22
#: Bytes of an object's name and of a content type.
MAX_NAME = 4096
#: As long as a line of a client's headers.
MAX_TYPE = 8192
MAX_SIZE = (1 << 63) - 1
#: Bytes of the error text of one shipment.
MAX_ERROR = 1000
_T = TypeVar('_T')


def _tick(text: str) -> Stamp:
    stamp = Stamp.parse(text)
    if not stamp.is_tick:
        raise ValueError('%s must be given by a clock' % stamp)
    return stamp


def _etag(text: str) -> str:
    if parameters_of(text)[1]:
        raise ValueError('%.80r must have no parameters sv_*' % text)
    return text


# Of an account or a container.
_Place = Annotated[str, Length(256, 1), Utf8(256), Matches(
    re.compile('[^\0/]*'), 'a text without null characters and slashes')]
_Name = Annotated[str, Length(MAX_NAME, 1), Utf8(MAX_NAME), Matches(
    re.compile('[^\0]*'), 'a text without null characters')]
_Type = Annotated[str, Utf8(MAX_TYPE), Matches(
    re.compile(r'[^\0\r\n]*'),
    'a text without null characters and line breaks')]
# It is the value of a header of container servers.
_Etag = Annotated[str, Parsed(_etag, Annotated[str, Utf8(MAX_ETAG), Matches(
    re.compile('[ -~]*'), 'of printable ASCII')])]
_Site = Annotated[str, Parsed(check_site)]
_Id = Annotated[Stamp, Parsed(_tick)]
_Stamp = Annotated[Stamp, Parsed(Stamp.parse)]
#: A longer one fits into no row.
_Vector = Annotated[Vector, Parsed(Vector.parse, Annotated[
    str, Utf8(MAX_ETAG)])]
_Size = Annotated[int, Between(0, MAX_SIZE)]


@dataclass(frozen=True)
class Offered(Record):
    """
    One version of an offer.

    :param site: that made it
    :param changed: when its metadata changed, or None if never
    """
    object: _Name
    id: _Id
    site: _Site
    kind: Kind
    changed: Optional[_Stamp] = None


@dataclass(frozen=True)
class Group(Record):
    """The versions of one container in an offer."""
    account: _Place
    container: _Place
    versions: Annotated[Tuple[Offered, ...], Length(MAX_OFFERED)]


@dataclass(frozen=True, kw_only=True)
class Offer(Record):
    """The head of an offer; its versions are numbered through all groups."""
    format: Literal[1] = FORMAT
    verb: Literal['offer'] = 'offer'
    groups: Annotated[Tuple[Group, ...], Length(MAX_OFFERED)]

    def __post_init__(self) -> None:
        count = sum(len(group.versions) for group in self.groups)
        if count > MAX_OFFERED:
            raise ValueError('its groups have %d versions, at most %d are '
                             'allowed' % (count, MAX_OFFERED))


@dataclass(frozen=True, kw_only=True)
class _Version(Record):
    """A version in a shipment."""
    object: _Name
    id: _Id
    site: _Site
    vector: _Vector
    kind: Kind
    deleted: bool
    null: bool
    size: _Size
    etag: _Etag
    type: _Type
    purged: Optional[_Stamp] = None
    changed: Optional[_Stamp] = None
    headers: Headers


@dataclass(frozen=True, kw_only=True)
class _Shipped(Record):
    """A shipment in the head of a pack: a version or a life record."""
    account: _Place
    container: _Place
    version: Optional[_Version] = None
    life: Optional[LifeMessage] = None


@dataclass(frozen=True)
class Shipment:
    """
    One thing that travels: a version, or the life record of a container.

    :param container: the user's
    :param entry: an ``Entry``; where its data is means nothing to other sites
    :param headers: (name in lower case, value), those that are stored
    :param length: bytes of data that follow
    :param life: a ``LifeMessage``, if there is no entry
    """
    account: str
    container: str
    entry: Optional[Entry] = None
    headers: Headers = ()
    length: int = 0
    life: Optional[LifeMessage] = None


@dataclass(frozen=True)
class Frame(Record):
    """
    A shipment as it came.

    :param length: bytes of data that are its
    :param what: JSON that nobody has looked at yet
    """
    length: _Size
    what: Any

    def open(self) -> Shipment:
        """
        Read what the shipment is.

        :raises ValueError: if it is none
        """
        found = _Shipped.from_json(self.what, 'a shipment')
        try:
            return _shipment(found, self.length)
        except ValueError as err:
            raise ValueError('a shipment: %s' % err) from err


@dataclass(frozen=True, kw_only=True)
class Pack(Record):
    """The head of a pack."""
    format: Literal[1]
    verb: Literal['ship']
    shipments: Annotated[Tuple[Frame, ...], Length(MAX_PACKED, 1)]

    def __post_init__(self) -> None:
        most = max(frame.length for frame in self.shipments)
        if len(self.shipments) > 1 and (
                most > MAX_SMALL or self.length > MAX_PACK):
            raise ValueError(
                'its %d shipments have up to %d bytes, and %d together, at '
                'most %d and %d are allowed' % (
                    len(self.shipments), most, self.length, MAX_SMALL,
                    MAX_PACK))

    @property
    def length(self) -> int:
        """Bytes of data that follow the head."""
        return sum(frame.length for frame in self.shipments)

    @property
    def is_small(self) -> bool:
        """Whether it is read whole before anything is stored."""
        return self.length <= MAX_SMALL or len(self.shipments) > 1


@dataclass(frozen=True)
class Lacking(Record):
    """
    The answer to an offer.

    :param lacking: places of the versions to ship
    :param unknown: places of those that the receiver cannot tell of now
    :param error: why it cannot
    """
    lacking: Tuple[int, ...]
    unknown: Tuple[int, ...] = ()
    error: str = ''


@dataclass(frozen=True)
class Result(Record):
    """
    What became of one shipment.

    :param status: as of HTTP
    :param error: why it is not stored, or ''
    """
    status: Annotated[int, Between(100, 599)]
    error: Annotated[str, Utf8(MAX_ERROR)] = ''

    @property
    def is_stored(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True)
class _Results(Record):
    """The answer to a pack."""
    results: Annotated[Tuple[Result, ...], Length(MAX_PACKED)]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(',', ':')).encode('ascii')


def _head(head: bytes) -> bytes:
    if len(head) > MAX_HEAD:
        raise ValueError('a head has %d bytes, at most %d are allowed' % (
            len(head), MAX_HEAD))
    return head


def offer(groups: Iterable[Group]) -> bytes:
    """
    Return the head of a request that offers versions.

    :param groups: of at most ``MAX_OFFERED`` versions
    """
    return _head(_json(Offer(groups=tuple(groups)).to_json()))


def framed(shipped: Shipment) -> bytes:
    """Return the part of a pack's head that is about one shipment."""
    version, entry = None, shipped.entry
    if entry is not None:
        made = entry.version
        version = _Version(
            object=entry.object, id=made.id, site=made.site,
            vector=made.vector, kind=entry.kind, deleted=made.deleted,
            null=entry.null, size=entry.size, etag=entry.etag,
            type=entry.content_type, purged=entry.purged,
            changed=entry.changed, headers=shipped.headers)
    what = _Shipped(account=shipped.account, container=shipped.container,
                    version=version, life=shipped.life)
    return _json(Frame(shipped.length, what.to_json()).to_json())


def pack(frames: Iterable[bytes]) -> bytes:
    """
    Return the head of a request that carries shipments.

    :param frames: what ``framed`` gave for each
    """
    return _head(b'{"format":%d,"verb":"ship","shipments":[%s]}' % (
        FORMAT, b','.join(frames)))


def bounded(items: Iterable[_T], most: int, weight: int,
            weigh: Callable[[_T], int]) -> Iterator[List[_T]]:
    """
    Split a list into parts that are not too large for one request.

    :param most: items of a part
    :param weight: that a part may have, unless it has one item only
    :param weigh: returns the weight of an item
    """
    part: List[_T] = []
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


def _shipment(found: _Shipped, length: int) -> Shipment:
    version = found.version
    if (version is None) == (found.life is None):
        raise ValueError('must have either a version or a life')
    if version is None:
        if length:
            raise ValueError('length is %d, must be 0 for a life' % length)
        return Shipment(found.account, found.container, life=found.life)
    entry = _entry(version, length)
    check_headers(version.headers)
    return Shipment(found.account, found.container, entry, version.headers,
                    length)


def _entry(found: _Version, length: int) -> Entry:
    if dict(found.vector).get(found.site) != found.id:
        raise ValueError('vector is %.120s, must have %s for its site %s' % (
            found.vector, found.id, found.site))
    entry = Entry(
        found.object,
        Version(found.id, found.site, found.vector, found.deleted),
        found.size, found.etag, found.type, found.null, purged=found.purged,
        changed=found.changed)
    if found.kind is not entry.kind:
        raise ValueError('kind is %s, must be %s, by its fields' % (
            found.kind.value, entry.kind.value))
    if entry.kind is Kind.DATA:
        if entry.content_type in (DELETE_MARKER, PURGE_MARKER):
            raise ValueError('type is %s, must not be that of a marker' %
                             entry.content_type)
    elif length:
        raise ValueError('length is %d, must be 0 for kind %s' % (
            length, entry.kind.value))
    # Before its data is stored: no row could tell of it.
    row_of(entry)
    return entry


def decode(head: bytes) -> Union[Offer, Pack]:
    """
    Read the head of a request.

    :raises ValueError: if it is none
    """
    fields = load_json(head, MAX_HEAD, 'a head')
    if not isinstance(fields, dict) or fields.get('verb') != 'ship':
        # Of the fields with defaults these two must be there.
        if isinstance(fields, dict):
            fields = {'format': None, 'verb': None, **fields}
        return Offer.from_json(fields, 'an offer')
    return Pack.from_json(fields, 'a pack')


def answer(record: Record) -> bytes:
    """Return the bytes of an answer."""
    return _json(record.to_json())


def error(text: str) -> bytes:
    """Return the bytes of the answer to a request that is refused."""
    return _json({'error': text})


def results(found: Iterable[Result]) -> bytes:
    """Return the bytes of the answer to a pack."""
    return answer(_Results(tuple(found)))


def lacking(body: bytes, count: int) -> Lacking:
    """
    Read the answer to an offer.

    :param body: of the answer
    :param count: of the versions that were offered
    :raises ValueError: if it is no such answer
    """
    found = Lacking.parse(body, MAX_HEAD, 'an answer')
    for place in found.lacking + found.unknown:
        if not 0 <= place < count:
            raise ValueError('an answer: a place is %.60r, must be 0 to %d' %
                             (place, count - 1))
    return found


def results_of(body: bytes, count: int) -> Sequence[Result]:
    """
    Read the answer to a pack.

    :param count: of its shipments
    :returns: a ``Result`` for each of them
    :raises ValueError: if it is no such answer
    """
    found = _Results.parse(body, MAX_HEAD, 'an answer').results
    if len(found) != count:
        raise ValueError('an answer: there are %d results, must be %d' % (
            len(found), count))
    return found


def reason(body: bytes) -> str:
    """Return the error text in the answer to a refused request."""
    try:
        found = load_json(body, MAX_HEAD)
    except RecordError:
        return ''
    text = found.get('error') if isinstance(found, dict) else None
    return text[:MAX_ERROR] if isinstance(text, str) else ''
