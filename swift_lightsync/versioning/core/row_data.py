# SPDX-License-Identifier: Apache-2.0
"""The rows of a hidden container (VERSIONING.md §3): their names, and those of
data; ``Row``, which a container server stores; ``Entry``, which a row means
for one version of an object. Both modes have the same names.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import quote, unquote

from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version, check_site

#: What Swift's object versioning calls a delete marker.
DELETE_MARKER = 'application/x-deleted;swift_versions_deleted=1'
PURGE_MARKER = 'application/x-purged;swift_versions_purged=1'
MAX_ETAG = 4096
_BYTES = re.compile(r'\d{1,19}\Z', re.ASCII)
#: What Swift keeps clients from using in names.
RESERVED = '\0'
#: Sorts after all that a name may go on with.
LAST = '\U0010ffff'
_HIDDEN = 'site-versions'
_VERSION = 'V'
_LISTING = 'A'
_PURGE = 'P'


def _joined(*parts: str) -> str:
    return ''.join(RESERVED + part for part in parts)


def _split(name: str, kind: str, parts: int) -> list[str]:
    found = name.split(RESERVED)[1:] if name.startswith(RESERVED) else []
    if len(found) != parts or found[0] != kind:
        raise ValueError('the name of a row is %.120r, must be %r and %d '
                         'more parts, each after a null character' %
                         (name, kind, parts - 1))
    return found[1:]


#: How the names of all rows of versions begin ...
VERSIONS = _joined(_VERSION, '')
#: ... those of listing rows ...
LISTINGS = _joined(_LISTING, '')
#: ... and those of purge records.
PURGES = _joined(_PURGE, '')
#: The row that says whether the container exists: the life record.
LIFE = _joined('C')
#: Header of a DELETE of a hidden container that is to have no rows.
UNUSED = 'X-Container-Sysmeta-Site-Versions-Unused'
#: How much longer the name of a version's data is than its object's.
ROOM = len(_joined(_VERSION, '', str(Stamp(0, 1))))


def hidden_container(container: str) -> str:
    """Return the name of the hidden container of a user's container."""
    return _joined(_HIDDEN, container)


def user_container(hidden: str) -> str:
    """Return the name of the user's container that a hidden one belongs to.

    :param hidden: the name of a hidden container
    :raises ValueError: if it is none
    """
    return _split(hidden, _HIDDEN, 2)[0]


@dataclass(frozen=True)
class VersionName:
    """The parts of the name of a version's row."""
    object: str
    id: Stamp


def version_name(obj: str, stamp: Stamp) -> str:
    """Return the name of a version's row, and of its data object."""
    return _joined(_VERSION, obj, stamp.inverted_text)


def versions_of(obj: str) -> str:
    """Return how the names of all versions of an object begin."""
    return _joined(_VERSION, obj, '')


def listing_name(obj: str) -> str:
    """Return the name of an object's listing row."""
    return _joined(_LISTING, obj)


def purge_name(obj: str, stamp: Stamp) -> str:
    """Return the name of the record that a version is purged."""
    return _joined(_PURGE, obj, str(stamp))


def parse_version(name: str) -> VersionName:
    """Read the name of a version's row.

    :raises ValueError: if it is not one
    """
    obj, inverted = _split(name, _VERSION, 3)
    return VersionName(obj, Stamp.parse(inverted).inverted)


def parse_purge(name: str) -> VersionName:
    """Read the name of a purge record.

    :raises ValueError: if it is not one
    """
    obj, stamp = _split(name, _PURGE, 3)
    return VersionName(obj, Stamp.parse(stamp))


class Kind(Enum):
    """The kinds of versions."""

    DATA = 'data'
    DELETE = 'delete'
    PURGE = 'purge'


@dataclass(frozen=True)
class Row:
    """A row as a container server stores it.

    :param name: in its container
    :param stamp: the row's timestamp
    :param size: bytes
    :param etag: an MD5 and parameters
    :param deleted: whether it only says that the row is deleted
    """
    name: str
    stamp: Stamp
    size: int = 0
    content_type: str = 'application/octet-stream'
    etag: str = ''
    deleted: bool = False


@dataclass(frozen=True)
class Entry:
    """One version of an object.

    :param object: its name in the user's container
    :param size: bytes of the data
    :param etag: that clients see
    :param null: whether clients call it ``null``: it is older than
        versioning, or was written while that was suspended
    :param purged: the ``Stamp`` of its purge, or None
    :param changed: the ``Stamp`` of the last change of its metadata, or
        None
    """
    object: str
    version: Version
    size: int = 0
    etag: str = ''
    content_type: str = 'application/octet-stream'
    null: bool = False
    purged: Stamp | None = None
    changed: Stamp | None = None

    @property
    def kind(self) -> Kind:
        """The kind of this version."""
        if self.purged:
            return Kind.PURGE
        return Kind.DELETE if self.version.deleted else Kind.DATA

    @property
    def data_name(self) -> str:
        """The name of its data in the hidden container, which is that of its
        row; nothing else ever names these data.
        """
        return version_name(self.object, self.version.id)


def with_parameters(etag: str, most: int = MAX_ETAG,
                    **parameters: Any) -> str:
    """Return the etag of a row, with our parameters after the object's etag.

    :param most: bytes that it may have
    :raises ValueError: if it is too long for a row
    """
    text = '; '.join([etag] + [
        'sv_%s=%s' % (name, quote(str(value), safe=''))
        for name, value in sorted(parameters.items()) if value != ''])
    if len(text) > most:
        raise ValueError('the etag of a row has %d bytes, at most %d are '
                         'allowed' % (len(text), most))
    return text


def parameters_of(etag: str) -> tuple[str, dict[str, str]]:
    """Return the etag without our parameters, and the parameters as a dict."""
    parts = etag.split('; ')
    ours: dict[str, str] = {}
    rest = []
    for part in parts:
        name, found, value = part.partition('=')
        if found and name.startswith('sv_'):
            ours[name[len('sv_'):]] = unquote(value)
        else:
            rest.append(part)
    return '; '.join(rest), ours


def row_of(entry: Entry) -> Row:
    """Return the ``Row`` of a version; that of a purged one says that the row
    is deleted.

    :raises ValueError: if the row would be too long
    """
    version = entry.version
    name = version_name(entry.object, version.id)
    etag = with_parameters(entry.etag, site=version.site,
                           vector=version.vector,
                           null='1' if entry.null else '')
    if entry.purged:
        return Row(name, entry.purged, 0, 'application/deleted', etag, True)
    stamp = version.id.changed(entry.changed) if entry.changed \
        else version.id
    if version.deleted:
        return Row(name, stamp, 0, DELETE_MARKER, etag)
    return Row(name, stamp, entry.size, entry.content_type, etag)


def purge_record(entry: Entry) -> Row:
    """Return the row that tells the other sites of a purge.

    :param entry: with ``purged``
    """
    assert entry.purged is not None
    return Row(purge_name(entry.object, entry.version.id), entry.purged, 0,
               PURGE_MARKER, row_of(entry).etag)


def entry_of(row: Row) -> Entry:
    """Return the version that a row or a purge record describes.

    :raises ValueError: if the row is neither
    """
    record = row.content_type == PURGE_MARKER and not row.deleted
    name = (parse_purge if record else parse_version)(row.name)
    etag, ours = parameters_of(row.etag)
    version = Version(name.id, check_site(ours.get('site', '')),
                      Vector.parse(ours.get('vector', '')),
                      row.content_type == DELETE_MARKER)
    gone = record or row.deleted
    return Entry(name.object, version, row.size, etag, row.content_type,
                 bool(ours.get('null')), row.stamp if gone else None,
                 None if gone else name.id.change(row.stamp))


def listing_row(entry: Entry | None, obj: str, stamp: Stamp) -> Row:
    """Return the listing row of an object, ``A:foo``.

    :param entry: its latest version, or None if it has none
    :param stamp: of the row
    """
    name = listing_name(obj)
    if entry is None:
        return Row(name, stamp, deleted=True)
    etag = with_parameters(
        entry.etag, id=entry.version.id, bytes=entry.size,
        null='1' if entry.null else '')
    if entry.version.deleted:
        # It tells which version it was made of, too.
        return Row(name, stamp, 0, 'application/deleted', etag, True)
    return Row(name, stamp, 0, entry.content_type, etag)


@dataclass(frozen=True)
class Listed:
    """What a listing row says about the latest version.

    :param etag: that clients see
    """
    id: Stamp
    size: int
    etag: str
    null: bool


def listed_of(etag: str) -> Listed | None:
    """Read the etag of a listing row.

    :returns: None if the row says that the object has no version
    :raises ValueError: if it is none of a listing row
    """
    plain, ours = parameters_of(etag)
    if 'id' not in ours:
        return None
    size = ours.get('bytes', '0')
    if not _BYTES.match(size):
        raise ValueError('the bytes of a version are %.60r, must be at most '
                         '19 decimal digits' % size)
    return Listed(Stamp.parse(ours['id']), int(size), plain,
                  bool(ours.get('null')))
