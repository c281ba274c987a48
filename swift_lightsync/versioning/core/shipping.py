# SPDX-License-Identifier: Apache-2.0
"""
The messages between sites: the heads of requests, and the answers.

A head is a JSON object. An *offer* lists versions, and is answered with the
places in its list that the receiver lacks; a *shipment* is one version, and
its data follows the head. The headers of a request say nothing about a
version. Everything that is read here comes from outside: whatever does not
have the format below is refused with a ValueError that names it.
"""

import json
import re
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    List,
    Literal,
    Optional,
    Sequence,
    Tuple,
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
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    MAX_ETAG,
    PURGE_MARKER,
    Entry,
    Kind,
    parameters_of,
    row_of,
    stamped_etag,
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
#: Bytes of an object's name and of a content type.
MAX_NAME = 4096
#: As long as a line of a client's headers.
MAX_TYPE = 8192
MAX_SIZE = (1 << 63) - 1


def _tick(text: str) -> Stamp:
    stamp = Stamp.parse(text)
    if not stamp.is_tick:
        raise ValueError('%s must be given by a clock' % stamp)
    return stamp


def _etag(text: str) -> str:
    if parameters_of(text)[1]:
        raise ValueError('%.80r must have no parameters sv_*' % text)
    return text


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
_Vector = Annotated[Vector, Parsed(Vector.parse)]
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
class _Offer(Record):
    """The head of an offer."""
    format: Literal[1]
    verb: Literal['offer']
    versions: Annotated[Tuple[Offered, ...], Length(MAX_OFFERED)]


@dataclass(frozen=True, kw_only=True)
class _Ship(Record):
    """The head of a shipment."""
    format: Literal[1] = FORMAT
    verb: Literal['ship'] = 'ship'
    object: _Name
    id: _Id
    site: _Site
    vector: _Vector
    kind: Kind
    deleted: bool
    size: _Size
    etag: _Etag
    type: _Type
    purged: Optional[_Stamp] = None
    changed: Optional[_Stamp] = None
    headers: Headers
    length: _Size


@dataclass(frozen=True)
class _Lacking(Record):
    """The answer to an offer."""
    lacking: Tuple[int, ...]


@dataclass(frozen=True)
class Shipment:
    """
    One version, as it travels.

    :param entry: an ``Entry``; where its data is means nothing to other sites
    :param headers: (name in lower case, value), those that are stored
    :param length: bytes of data that follow
    """
    entry: Entry
    headers: Headers = ()
    length: int = 0


def _head(record: Record) -> bytes:
    head = json.dumps(record.to_json(), separators=(',', ':')).encode('ascii')
    if len(head) > MAX_HEAD:
        raise ValueError('a head has %d bytes, at most %d are allowed' % (
            len(head), MAX_HEAD))
    return head


def offer(versions: Sequence[Offered]) -> bytes:
    """
    Return the head of a request that offers versions.

    :param versions: ``Offered``, at most ``MAX_OFFERED``
    """
    return _head(_Offer(FORMAT, 'offer', tuple(versions)))


def shipment(shipped: Shipment) -> bytes:
    """Return the head of a request that carries a version."""
    entry = shipped.entry
    version = entry.version
    return _head(_Ship(
        object=entry.object, id=version.id, site=version.site,
        vector=version.vector, kind=entry.kind, deleted=version.deleted,
        size=entry.size, etag=entry.etag, type=entry.content_type,
        purged=entry.purged, changed=entry.changed, headers=shipped.headers,
        length=shipped.length))


def _shipment(found: _Ship) -> Shipment:
    if dict(found.vector).get(found.site) != found.id:
        raise ValueError('vector is %.120s, must have %s for its site %s' % (
            found.vector, found.id, found.site))
    entry = Entry(
        found.object,
        Version(found.id, found.site, found.vector, found.deleted),
        found.size, found.etag, found.type, purged=found.purged,
        changed=found.changed)
    if found.kind is not entry.kind:
        raise ValueError('kind is %s, must be %s, by its fields' % (
            found.kind.value, entry.kind.value))
    if entry.kind is Kind.DATA:
        if entry.content_type in (DELETE_MARKER, PURGE_MARKER):
            raise ValueError('type is %s, must not be that of a marker' %
                             entry.content_type)
    elif found.length:
        raise ValueError('length is %d, must be 0 for kind %s' % (
            found.length, entry.kind.value))
    # Before its data is stored: no row could tell of it.
    stamped_etag(row_of(entry, entry.object))
    check_headers(found.headers)
    return Shipment(entry, found.headers, found.length)


def decode(head: bytes) -> Union[Tuple[Offered, ...], Shipment]:
    """
    Read the head of a request.

    :returns: a tuple of ``Offered``, or a ``Shipment``
    :raises ValueError: if it is none
    """
    fields = load_json(head, MAX_HEAD, 'a head')
    if not isinstance(fields, dict) or fields.get('verb') != 'ship':
        return _Offer.from_json(fields, 'an offer').versions
    # Of the fields with defaults these two must be there.
    found = _Ship.from_json({'format': None, **fields}, 'a shipment')
    try:
        return _shipment(found)
    except ValueError as err:
        raise ValueError('a shipment: %s' % err) from err


def answer(**fields: Any) -> bytes:
    """Return the bytes of an answer."""
    return json.dumps(fields, sort_keys=True,
                      separators=(',', ':')).encode('ascii')


def lacking(body: bytes, count: int) -> List[int]:
    """
    Read the answer to an offer.

    :param body: of the answer
    :param count: of the versions that were offered
    :returns: a sorted list of the places of those to ship
    :raises ValueError: if it is no such answer
    """
    places = _Lacking.parse(body, MAX_HEAD, 'an answer').lacking
    for place in places:
        if not 0 <= place < count:
            raise ValueError('an answer: lacking has %.60r, must be numbers '
                             '0 to %d' % (place, count - 1))
    return sorted(set(places))


def reason(body: bytes) -> str:
    """Return the error text in the answer to a refused request."""
    try:
        found = load_json(body, MAX_HEAD)
    except RecordError:
        return ''
    error = found.get('error') if isinstance(found, dict) else None
    return error[:1000] if isinstance(error, str) else ''
