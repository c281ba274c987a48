# SPDX-License-Identifier: Apache-2.0
"""What rows mean (VERSIONING.md §3): ``Row`` is what a container server
stores, ``Entry`` is what it means for one version of an object.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Dict, Optional, Tuple
from urllib.parse import quote, unquote

from swift_lightsync.versioning.core.keys import (
    listing_name,
    parse_purge,
    parse_version,
    purge_name,
    version_name,
)
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
    purged: Optional[Stamp] = None
    changed: Optional[Stamp] = None

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


def _bytes_of(parameters: Dict[str, str]) -> int:
    found = parameters.get('bytes', '0')
    if not _BYTES.match(found):
        raise ValueError('the bytes of a version are %.60r, must be at most '
                         '19 decimal digits' % found)
    return int(found)


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


def listing_row(entry: Optional[Entry], obj: str, stamp: Stamp) -> Row:
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


def listed_of(etag: str) -> Optional[Listed]:
    """Read the etag of a listing row.

    :returns: None if the row says that the object has no version
    :raises ValueError: if it is none of a listing row
    """
    plain, ours = parameters_of(etag)
    if 'id' not in ours:
        return None
    return Listed(Stamp.parse(ours['id']), _bytes_of(ours), plain,
                  bool(ours.get('null')))
