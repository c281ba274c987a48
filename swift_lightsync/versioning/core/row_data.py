# SPDX-License-Identifier: Apache-2.0
"""
What rows mean as versions and pointers (VERSIONING.md §3).

``Row`` is what a container server stores; ``Entry`` is what it means for a
version, ``Pointer`` what it means for Write-Repair's stored latest.
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Dict, Optional, Tuple
from urllib.parse import quote, unquote

from swift_lightsync.versioning.core.keys import Place
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version, check_site

#: What Swift's object versioning calls a delete marker.
DELETE_MARKER = 'application/x-deleted;swift_versions_deleted=1'
PURGE_MARKER = 'application/x-purged;swift_versions_purged=1'
MAX_ETAG = 4096
_BYTES = re.compile(r'\d{1,19}\Z', re.ASCII)


class Kind(Enum):
    """The kinds of versions."""

    DATA = 'data'
    DELETE = 'delete'
    PURGE = 'purge'


@dataclass(frozen=True)
class Row:
    """
    A row as a container server stores it.

    :param name: in its container
    :param stamp: the row's timestamp
    :param size: bytes
    :param etag: an MD5 and parameters
    :param deleted: whether it is written to delete the row; never read
    """
    name: str
    stamp: Stamp
    size: int = 0
    content_type: str = 'application/octet-stream'
    etag: str = ''
    deleted: bool = False


@dataclass(frozen=True)
class Entry:
    """
    One version of an object.

    :param object: its name in the user's container
    :param size: bytes of the data
    :param etag: that clients see
    :param plain: the data is the object of that name in the user's
        container (a null version), and not under the version's own name
    :param purged: the ``Stamp`` of its purge, or None
    :param changed: the ``Stamp`` of the last change of its metadata, or
        None
    """
    object: str
    version: Version
    size: int = 0
    etag: str = ''
    content_type: str = 'application/octet-stream'
    plain: bool = False
    purged: Optional[Stamp] = None
    changed: Optional[Stamp] = None

    @property
    def kind(self) -> Kind:
        """The kind of this version."""
        if self.purged:
            return Kind.PURGE
        return Kind.DELETE if self.version.deleted else Kind.DATA


@dataclass(frozen=True)
class Pointer:
    """
    Which version is the latest, and what it was chosen from.

    :param stamp: the timestamp of the row
    :param latest: an ``Entry``, or None after the purge of all
    :param frontier: of ``Version``
    """
    stamp: Stamp
    latest: Optional[Entry] = None
    frontier: Tuple[Version, ...] = field(default=())


def with_parameters(etag: str, **parameters: Any) -> str:
    """
    Return the etag of a row, with our parameters after the object's etag.

    :raises ValueError: if it is too long for a row
    """
    text = '; '.join([etag] + [
        'sv_%s=%s' % (name, quote(str(value), safe=''))
        for name, value in sorted(parameters.items()) if value != ''])
    if len(text) > MAX_ETAG:
        raise ValueError('the etag of a row has %d bytes, at most %d are '
                         'allowed' % (len(text), MAX_ETAG))
    return text


def parameters_of(etag: str) -> Tuple[str, Dict[str, str]]:
    """Return the etag without our parameters, and the parameters as a dict."""
    parts = etag.split('; ')
    ours: Dict[str, str] = {}
    rest = []
    for part in parts:
        name, found, value = part.partition('=')
        if found and name.startswith('sv_'):
            ours[name[len('sv_'):]] = unquote(value)
        else:
            rest.append(part)
    return '; '.join(rest), ours


def stamped_etag(row: Row) -> str:
    """
    Return the etag of a row with its stamp, as container servers store it.

    :raises ValueError: if it is too long
    """
    etag, ours = parameters_of(row.etag)
    return with_parameters(etag, **{**ours, 'stamp': str(row.stamp)})


def unstamped_etag(etag: str) -> Tuple[str, Optional[str]]:
    """
    Split an etag that ``stamped_etag`` has made.

    :returns: the etag of the row, and the text of its stamp or None
    """
    rest, ours = parameters_of(etag)
    stamp = ours.pop('stamp', None)
    return with_parameters(rest, **ours), stamp


def _bytes_of(parameters: Dict[str, str]) -> int:
    found = parameters.get('bytes', '0')
    if not _BYTES.match(found):
        raise ValueError('the bytes of a version are %.60r, must be at most '
                         '19 decimal digits' % found)
    return int(found)


def row_of(entry: Entry, name: str) -> Row:
    """Return the ``Row`` of a version under a name from ``keys``."""
    version = entry.version
    etag = with_parameters(entry.etag, site=version.site,
                           vector=version.vector,
                           at='plain' if entry.plain else '')
    if entry.purged:
        return Row(name, entry.purged, 0, PURGE_MARKER, etag)
    stamp = version.id.changed(entry.changed) if entry.changed \
        else version.id
    if version.deleted:
        return Row(name, stamp, 0, DELETE_MARKER, etag)
    return Row(name, stamp, entry.size, entry.content_type, etag)


def entry_of(row: Row, place: Place) -> Entry:
    """
    Return the version that a row describes.

    :param place: the row's name, parsed by ``keys``
    :raises ValueError: if the row is not one of a version
    """
    etag, ours = parameters_of(row.etag)
    site = place.site or check_site(ours.get('site', ''))
    version = Version(place.id, site, Vector.parse(ours.get('vector', '')),
                      row.content_type == DELETE_MARKER)
    return Entry(place.object, version, row.size, etag, row.content_type,
                 ours.get('at') == 'plain',
                 row.stamp if row.content_type == PURGE_MARKER else None,
                 place.id.change(row.stamp))


def _member(version: Version) -> str:
    return '%s/%s/%s/%s' % (version.id, version.site, version.vector,
                            'd' if version.deleted else 'p')


def _member_of(text: str) -> Version:
    parts = text.split('/')
    if len(parts) != 4 or parts[3] not in ('d', 'p'):
        raise ValueError('a member of a frontier is %.120r, must be '
                         'id/site/vector/d or p' % (text,))
    return Version(Stamp.parse(parts[0]), check_site(parts[1]),
                   Vector.parse(parts[2]), parts[3] == 'd')


def history_row(name: str, pointer: Pointer) -> Row:
    """Return the ``Row`` of ``v:foo``."""
    entry = pointer.latest
    if entry is None:
        return Row(name, pointer.stamp, 0, PURGE_MARKER, '')
    return Row(name, pointer.stamp, 0, entry.content_type, with_parameters(
        entry.etag, id=entry.version.id, bytes=entry.size,
        at='plain' if entry.plain else '',
        frontier=';'.join(map(_member, pointer.frontier))))


def pointer_of(row: Row, obj: str) -> Pointer:
    """
    Return the pointer that a row describes.

    :param row: ``v:foo``
    :raises ValueError: if the row is not one of a pointer
    """
    if row.content_type == PURGE_MARKER:
        return Pointer(row.stamp)
    etag, ours = parameters_of(row.etag)
    frontier = tuple(map(_member_of, ours.get('frontier', '').split(';')))
    identity = Stamp.parse(ours.get('id', ''))
    for version in frontier:
        if version.id == identity:
            return Pointer(row.stamp, Entry(
                obj, version, _bytes_of(ours), etag,
                row.content_type, ours.get('at') == 'plain'), frontier)
    raise ValueError('the latest of %.120r is %s, must be in its frontier'
                     % (obj, identity))


def latest_row(pointer: Pointer, obj: str) -> Row:
    """Return the ``Row`` of ``A:foo``, for the listing of a container."""
    entry = pointer.latest
    if entry is None or entry.version.deleted:
        return Row(obj, pointer.stamp, deleted=True)
    return Row(obj, pointer.stamp, 0, entry.content_type, with_parameters(
        entry.etag, id=entry.version.id, site=entry.version.site,
        bytes=entry.size, at='plain' if entry.plain else ''))


def null_of(row: Row, site: str) -> Optional[Entry]:
    """
    Return the null version that the row of an object describes.

    :param row: of an object, in the user's container
    :param site: the name of this site
    :returns: the ``Entry`` of a null version that has no row of its own yet,
        or None if Write-Repair wrote the row
    """
    etag, ours = parameters_of(row.etag)
    if 'id' in ours:
        return None
    return Entry(row.name, Version(row.stamp, site,
                                   Vector({site: row.stamp})),
                 row.size, etag, row.content_type, plain=True)


def listed_entry(row: Row) -> Optional[Entry]:
    """
    Return the latest version that a row in the user's container describes.

    :param row: of an object, in the user's container
    :returns: the ``Entry`` that Write-Repair wrote there, without its vector;
        None if Write-Repair did not write the row
    :raises ValueError: if the row is not well formed
    """
    etag, ours = parameters_of(row.etag)
    if 'id' not in ours:
        return None
    version = Version(Stamp.parse(ours['id']),
                      check_site(ours.get('site', '')), Vector())
    return Entry(row.name, version, _bytes_of(ours), etag,
                 row.content_type, ours.get('at') == 'plain')
