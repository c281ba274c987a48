# SPDX-License-Identifier: Apache-2.0
"""Versions, their partial order and how the latest is chosen (Write-Repair and
Read-Repair §3.1 and §3.3; VERSIONING.md §2).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from swift_lightsync.versioning.core.stamp import MAX_SITES, Stamp

#: Texts of which is remembered what they mean; a long one has 13 KB.
_REMEMBERED = 1024
_SITE = re.compile(r'[a-z0-9][a-z0-9-]{0,31}\Z', re.ASCII)

#: Sites and their stamps.
Stamps = Mapping[str, Stamp] | Iterable[tuple[str, Stamp]]


def check_site(name: str) -> str:
    """Check the name of a site.

    :returns: the name
    :raises ValueError: if it is not one that rows and headers can hold
    """
    if not _SITE.match(name):
        raise ValueError('the name of a site is %.60r, must be 1 to 32 of '
                         'a-z, 0-9 and -, not - first' % (name,))
    return name


class Vector(tuple[tuple[str, Stamp], ...]):
    """A version vector: pairs (site, newest stamp seen of it), sorted by site;
    immutable. If it does not name a site, nothing of that site has been seen.
    """

    def __new__(cls, stamps: Stamps = ()) -> 'Vector':
        return super().__new__(cls, sorted(dict(stamps).items()))

    @classmethod
    @lru_cache(_REMEMBERED)
    def parse(cls, text: str) -> 'Vector':
        """Read a vector.

        :param text: what ``str`` of a vector gives
        :raises ValueError: if it is not
        """
        pairs = [each.split(':', 1) for each in text.split(',')] if text \
            else []
        if len(pairs) > MAX_SITES or any(len(pair) != 2 for pair in pairs):
            raise ValueError('a vector is %.60r, must be at most %d '
                             'site:stamp joined by commas' %
                             (text, MAX_SITES))
        vector = cls((check_site(site), Stamp.parse(stamp))
                     for site, stamp in pairs)
        if str(vector) != text:
            raise ValueError('a vector is %.60r, must be sorted by site and '
                             'name each once' % (text,))
        return vector

    def __str__(self) -> str:
        return ','.join('%s:%s' % pair for pair in self)

    def __repr__(self) -> str:
        return 'Vector(%s)' % (self,)

    def covers(self, site: str, stamp: Stamp) -> bool:
        """Check whether the vector includes a stamp of a site."""
        return any(name == site and seen >= stamp for name, seen in self)

    def joined(self, *others: 'Vector') -> 'Vector':
        """Return the ``Vector`` that includes all that some vectors include.
        """
        stamps = dict(self)
        for other in others:
            for site, stamp in other:
                stamps[site] = max(stamp, stamps.get(site, stamp))
        return Vector(stamps)


@dataclass(frozen=True)
class Version:
    """One version of an object, apart from its data.

    :param id: its ``Stamp``
    :param site: the name of the site that made it
    :param vector: what its writer had seen of the object, and itself
    :param deleted: whether it is a delete marker
    """
    id: Stamp
    site: str
    vector: Vector
    deleted: bool = False

    @classmethod
    def after(cls, seen: Iterable['Version'], stamp: Stamp, site: str,
              deleted: bool = False) -> 'Version':
        """Return the version that a site makes now.

        :param seen: the versions that the writer has read
        """
        vector = Vector({site: stamp}).joined(*(
            other.vector for other in seen))
        return cls(stamp, site, vector, deleted)

    def descends_from(self, other: 'Version') -> bool:
        """Check whether this version's writer had seen another version."""
        return self.id != other.id and \
            self.vector.covers(other.site, other.id) and \
            not (self.site == other.site and self.id < other.id)


def frontier(versions: Iterable[Version]) -> list[Version]:
    """Return the versions that no other version has superseded.

    :param versions: of one object, in any order, with repetitions
    :returns: a list of the versions that no other descends from, greatest id
        first; empty only if there are none
    """
    versions = list(versions)
    # Of two of one site only the newer can be in it.
    newest: dict[str, Version] = {}
    for version in versions:
        known = newest.get(version.site)
        if known is None or known.id < version.id:
            newest[version.site] = version
    undominated = [version for version in newest.values()
                   if not any(other.descends_from(version)
                              for other in versions)]
    # Vectors that claim each other are nobody's: none of them counts.
    return sorted(undominated or newest.values(),
                  key=lambda version: version.id, reverse=True)
