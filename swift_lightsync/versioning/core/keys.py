# SPDX-License-Identifier: Apache-2.0
"""The names of rows and of data objects (VERSIONING.md §3)."""

from dataclasses import dataclass
from typing import Optional

from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import check_site

#: What Swift keeps clients from using in names.
RESERVED = '\0'
_HIDDEN = 'site-versions'
_VERSION = 'V'
_HISTORY = 'v'
_READ_REPAIR = 'R'


def _joined(*parts):
    return ''.join(RESERVED + part for part in parts)


def _split(name, kind, parts):
    found = name.split(RESERVED)[1:] if name.startswith(RESERVED) else []
    if len(found) != parts or found[0] != kind:
        raise ValueError('the name of a row is %.120r, must be %r and %d '
                         'more parts, each after a null character' %
                         (name, kind, parts - 1))
    return found[1:]


def hidden_container(container):
    """:returns: the name of the container that holds its rows and data"""
    return _joined(_HIDDEN, container)


def user_container(hidden):
    """:raises ValueError: unless it is the name of a hidden container"""
    return _split(hidden, _HIDDEN, 2)[0]


def room_for_versions(sites):
    """
    :param sites: the names of all
    :returns: how many more characters than its object's the name of a
        version's data has at most, in any mode and of any site
    """
    stamp = str(Stamp(0, 1))
    return max(len(_joined(_READ_REPAIR, '', site, stamp)) for site in sites)


@dataclass(frozen=True)
class Place:
    """
    What the name of a version's row says.

    :param site: None where the name does not say it
    """
    object: str
    id: Stamp
    site: Optional[str] = None


class WriteRepairKeys:
    """``V:foo:v4``, ``v:foo``; ``A:foo`` is the row of the object itself."""

    all_versions = _joined(_VERSION, '')
    all_histories = _joined(_HISTORY, '')

    @staticmethod
    def history(obj):
        return _joined(_HISTORY, obj)

    @staticmethod
    def version(obj, version):
        return _joined(_VERSION, obj, version.id.inverted_text)

    @staticmethod
    def of_object(obj):
        """The prefix of the names of all versions of an object."""
        return _joined(_VERSION, obj, '')

    @staticmethod
    def parse(name):
        """
        :returns: the ``Place`` of a version
        :raises ValueError: if the name is not that of a version
        """
        obj, inverted = _split(name, _VERSION, 3)
        return Place(obj, Stamp.parse(inverted).inverted)


class ReadRepairKeys:
    """``pre:id:sid:ts``"""

    all_versions = _joined(_READ_REPAIR, '')

    @staticmethod
    def version(obj, version):
        return _joined(_READ_REPAIR, obj, version.site,
                       version.id.inverted_text)

    @staticmethod
    def of_object(obj):
        """The prefix of the names of all versions of an object."""
        return _joined(_READ_REPAIR, obj, '')

    @staticmethod
    def of_site(obj, site):
        """The prefix of the names of a site's versions of an object."""
        return _joined(_READ_REPAIR, obj, site, '')

    @staticmethod
    def parse(name):
        """As that of ``WriteRepairKeys``."""
        obj, site, inverted = _split(name, _READ_REPAIR, 4)
        return Place(obj, Stamp.parse(inverted).inverted, check_site(site))
