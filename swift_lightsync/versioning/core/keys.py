# SPDX-License-Identifier: Apache-2.0
"""The names of rows in a hidden container, and of data objects (VERSIONING.md
§3). Both modes have the same names.
"""

from dataclasses import dataclass
from typing import List

from swift_lightsync.versioning.core.stamp import Stamp

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


def _split(name: str, kind: str, parts: int) -> List[str]:
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


def parse_listing(name: str) -> str:
    """Return the object that a listing row is about.

    :raises ValueError: if it is not the name of one
    """
    return _split(name, _LISTING, 2)[0]


def parse_purge(name: str) -> VersionName:
    """Read the name of a purge record.

    :raises ValueError: if it is not one
    """
    obj, stamp = _split(name, _PURGE, 3)
    return VersionName(obj, Stamp.parse(stamp))
