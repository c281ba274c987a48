# SPDX-License-Identifier: Apache-2.0
"""What travels between sites: one version, with the headers that are stored
with an object, or the life record of a container.

All of it comes from outside: whatever does not have the format below is
refused with a ValueError that names it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from swift_lightsync.common.records import (
    Between,
    Length,
    Matches,
    Parsed,
    Record,
    Utf8,
)
from swift_lightsync.versioning.core.life import Headers, Life, lowered
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
from swift_lightsync.versioning.core.version import Vector, Version, check_site

#: Bytes of an object's name and of a content type.
MAX_NAME = 4096
#: As long as a line of a client's headers.
MAX_TYPE = 8192
MAX_SIZE = (1 << 63) - 1
#: Bytes of all headers of an object.
MAX_HEADERS = 1 << 16
#: Headers of an object that are stored with it ...
STORED = frozenset((
    'cache-control', 'content-disposition', 'content-encoding',
    'content-language', 'content-type', 'etag', 'expires', 'x-delete-at',
    'x-object-manifest', 'x-robots-tag', 'x-static-large-object'))
#: ... and how the names of others begin.
STORED_PREFIXES = ('x-object-meta-', 'x-object-sysmeta-',
                   'x-object-transient-sysmeta-')
#: These are of one cluster's fragments.
_NOT_STORED = ('x-object-sysmeta-ec-',)
#: Under this name a version keeps X-Delete-At, whose data stays beyond it.
DELETE_AT = 'x-object-transient-sysmeta-site-versions-delete-at'
_HEADER = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,256}\Z", re.ASCII)


def is_stored(name: str) -> bool:
    """Return whether a header, in lower case, is stored with an object."""
    return name in STORED or (name.startswith(STORED_PREFIXES)
                              and not name.startswith(_NOT_STORED))


def stored_headers(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return those headers of an object that are stored with it.

    :param headers: pairs of a name and a value
    :returns: a tuple of such pairs, the names in lower case
    """
    low = ((lowered(name), value) for name, value in headers)
    return tuple(pair for pair in low if is_stored(pair[0]))


def _utf8(text: str, what: str) -> int:
    """Return the bytes of a text in UTF-8."""
    try:
        return len(text.encode('utf8'))
    except UnicodeEncodeError:
        raise ValueError('%s is %.80r, must hold no surrogates' % (
            what, text)) from None


def check_headers(headers: Headers) -> None:
    """Refuse headers of another site that no object may be stored with.

    :raises ValueError: if there is one
    """
    total, names = 0, set()
    for name, value in headers:
        # Swift lets names of user metadata be any UTF-8.
        readable = _HEADER.match(name) or (
            name.startswith(STORED_PREFIXES)
            and not re.search(r'[\x00-\x20:\x7f]', name))
        if not readable or name != lowered(name) or not is_stored(name):
            raise ValueError('a header is %.80r, must be one that is stored '
                             'with an object, in lower case' % name)
        if re.search(r'[\x00\r\n]', value) or name in names:
            raise ValueError('header %.80s is %.80r, must be there once, '
                             'without line breaks and null characters' % (
                                 name, value))
        total += _utf8(name, 'the name of a header') + \
            _utf8(value, 'header %.80s' % name)
        names.add(name)
    if total > MAX_HEADERS:
        raise ValueError('its headers have %d bytes, at most %d are allowed' %
                         (total, MAX_HEADERS))


def _tick(text: str) -> Stamp:
    stamp = Stamp.parse(text)
    if not stamp.is_tick:
        raise ValueError('%s must be given by a clock' % stamp)
    return stamp


def _etag(text: str) -> str:
    if parameters_of(text)[1]:
        raise ValueError('%.80r must have no parameters sv_*' % text)
    return text


#: The name of an account or a container.
PlaceName = Annotated[str, Length(256, 1), Utf8(256), Matches(
    re.compile('[^\0/]*'), 'a text without null characters and slashes')]
Name = Annotated[str, Length(MAX_NAME, 1), Utf8(MAX_NAME), Matches(
    re.compile('[^\0]*'), 'a text without null characters')]
SiteName = Annotated[str, Parsed(check_site)]
Id = Annotated[Stamp, Parsed(_tick)]
AnyStamp = Annotated[Stamp, Parsed(Stamp.parse)]
Size = Annotated[int, Between(0, MAX_SIZE)]
#: Of a storage policy; the empty one stands for a site's default.
_PolicyName = Annotated[str, Length(255), Matches(
    re.compile('[A-Za-z0-9-]*'), 'of letters, digits and hyphens')]
_Type = Annotated[str, Utf8(MAX_TYPE), Matches(
    re.compile(r'[^\0\r\n]*'),
    'a text without null characters and line breaks')]
# It is the value of a header of container servers.
_Etag = Annotated[str, Parsed(_etag, Annotated[str, Utf8(MAX_ETAG), Matches(
    re.compile('[ -~]*'), 'of printable ASCII')])]
#: A longer one fits into no row.
_Vector = Annotated[Vector, Parsed(Vector.parse, Annotated[
    str, Utf8(MAX_ETAG)])]


@dataclass(frozen=True)
class Shipment:
    """One thing that travels.

    :param container: the user's
    :param entry: an ``Entry``; where its data is means nothing to other sites
    :param headers: (name in lower case, value), those that are stored
    :param length: bytes of data that follow
    :param life: a life record, if there is no entry
    :param policy: the name of the container's storage policy, for a site
        where it is missing
    """
    account: str
    container: str
    entry: Entry | None = None
    headers: Headers = ()
    length: int = 0
    life: Life | None = None
    policy: str = ''

    def to_frame(self) -> 'Frame':
        """Return the shipment as it travels."""
        version, entry = None, self.entry
        if entry is not None:
            made = entry.version
            version = _Version(
                object=entry.object, id=made.id, site=made.site,
                vector=made.vector, kind=entry.kind, deleted=made.deleted,
                null=entry.null, size=entry.size, etag=entry.etag,
                type=entry.content_type, purged=entry.purged,
                changed=entry.changed, headers=self.headers)
        return Frame(self.length, _Shipped(
            account=self.account, container=self.container,
            policy=self.policy, version=version, life=self.life).to_json())


@dataclass(frozen=True)
class Frame(Record):
    """A shipment as it travels.

    :param length: bytes of data that are its
    :param what: JSON, of which nothing is known before ``open``
    """
    length: Size
    what: Any

    def open(self) -> Shipment:
        """Read what the shipment is.

        :raises ValueError: if it is none
        """
        found = _Shipped.from_json(self.what, 'a shipment')
        try:
            return _shipment(found, self.length)
        except ValueError as err:
            raise ValueError('a shipment: %s' % err) from err


@dataclass(frozen=True, kw_only=True)
class _Version(Record):
    """A version in a frame."""
    object: Name
    id: Id
    site: SiteName
    vector: _Vector
    kind: Kind
    deleted: bool
    null: bool
    size: Size
    etag: _Etag
    type: _Type
    purged: AnyStamp | None = None
    changed: AnyStamp | None = None
    headers: Headers


@dataclass(frozen=True, kw_only=True)
class _Shipped(Record):
    """What a frame holds: a version or a life record."""
    account: PlaceName
    container: PlaceName
    policy: _PolicyName = ''
    version: _Version | None = None
    life: Life | None = None


def _shipment(found: _Shipped, length: int) -> Shipment:
    version, place = found.version, (found.account, found.container)
    if (version is None) == (found.life is None):
        raise ValueError('must have either a version or a life')
    if version is None:
        if length:
            raise ValueError('length is %d, must be 0 for a life' % length)
        return Shipment(*place, life=found.life, policy=found.policy)
    check_headers(version.headers)
    return Shipment(*place, _entry(version, length), version.headers, length,
                    policy=found.policy)


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
