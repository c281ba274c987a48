# SPDX-License-Identifier: Apache-2.0
"""The names of rows and of data objects (VERSIONING.md §3)."""

from dataclasses import dataclass
from typing import Iterable, List, Optional

from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Version, check_site

#: What Swift keeps clients from using in names.
RESERVED = '\0'
_HIDDEN = 'site-versions'
_VERSION = 'V'
_HISTORY = 'v'
_READ_REPAIR = 'R'


def _joined(*parts: str) -> str:
    return ''.join(RESERVED + part for part in parts)


def _split(name: str, kind: str, parts: int) -> List[str]:
    found = name.split(RESERVED)[1:] if name.startswith(RESERVED) else []
    if len(found) != parts or found[0] != kind:
        raise ValueError('the name of a row is %.120r, must be %r and %d '
                         'more parts, each after a null character' %
                         (name, kind, parts - 1))
    return found[1:]


def hidden_container(container: str) -> str:
    """Return the name of the hidden container of a user's container."""
    return _joined(_HIDDEN, container)


def user_container(hidden: str) -> str:
    """
    Return the name of the user's container that a hidden one belongs to.

    :param hidden: the name of a hidden container
    :raises ValueError: if it is none
    """
    return _split(hidden, _HIDDEN, 2)[0]


def room_for_versions(sites: Iterable[str]) -> int:
    """
    Return how much longer the names of an object's versions can be than its
    own.

    :param sites: the names of all sites
    :returns: characters, at most, in any mode and of any site
    """
    stamp = str(Stamp(0, 1))
    return max(len(_joined(_READ_REPAIR, '', site, stamp)) for site in sites)


@dataclass(frozen=True)
class Place:
    """
    The parts of the name of a version's row.

    :param site: None if the name does not tell it
    """
    object: str
    id: Stamp
    site: Optional[str] = None


class WriteRepairKeys:
    """
    Names of Write-Repair: ``V:foo:v4`` and ``v:foo``; ``A:foo`` is the
    object's own name.
    """

    all_versions = _joined(_VERSION, '')
    all_histories = _joined(_HISTORY, '')

    @staticmethod
    def history(obj: str) -> str:
        return _joined(_HISTORY, obj)

    @staticmethod
    def version(obj: str, version: Version) -> str:
        return _joined(_VERSION, obj, version.id.inverted_text)

    @staticmethod
    def of_object(obj: str) -> str:
        """Return the prefix of the names of all versions of an object."""
        return _joined(_VERSION, obj, '')

    @staticmethod
    def parse(name: str) -> Place:
        """
        Read the name of a version's row.

        :raises ValueError: if it is not one
        """
        obj, inverted = _split(name, _VERSION, 3)
        return Place(obj, Stamp.parse(inverted).inverted)


class ReadRepairKeys:
    """Names of Read-Repair: ``pre:id:sid:ts``."""

    all_versions = _joined(_READ_REPAIR, '')

    @staticmethod
    def version(obj: str, version: Version) -> str:
        return _joined(_READ_REPAIR, obj, version.site,
                       version.id.inverted_text)

    @staticmethod
    def of_object(obj: str) -> str:
        """Return the prefix of the names of all versions of an object."""
        return _joined(_READ_REPAIR, obj, '')

    @staticmethod
    def of_site(obj: str, site: str) -> str:
        """Return the prefix of the names of a site's versions of an object."""
        return _joined(_READ_REPAIR, obj, site, '')

    @staticmethod
    def parse(name: str) -> Place:
        """Read the name of a version's row; see ``WriteRepairKeys``."""
        obj, site, inverted = _split(name, _READ_REPAIR, 4)
        return Place(obj, Stamp.parse(inverted).inverted, check_site(site))
