# SPDX-License-Identifier: Apache-2.0
"""The life record of a container: what it is, and since when (VERSIONING.md
§5). It is one row of the hidden container, and reaches the other sites like
the versions there.

1. The record with the newer stamp wins, and is taken whole: whether the
   container exists, whether versions are enabled, its metadata.
2. A deletion keeps in its record what the container was. Where it loses, that
   is what the container is again.
3. A container that has a live version is not deleted by a record. If the site
   that deleted it has purged the version, the purge comes first; otherwise the
   version comes there, and the container is made again, with a newer record.
4. What a record brings is done to Swift's container as of the record's stamp,
   at all sites: a change that is newer stays, whichever comes first.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Optional

from swift_lightsync.common.records import Length, Parsed, Record
from swift_lightsync.versioning.core.row_data import (
    LIFE,
    Row,
    parameters_of,
    with_parameters,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import check_site

#: Pairs of a name in lower case and a value.
Headers = tuple[tuple[str, str], ...]
LIFE_MARKER = 'application/x-life;swift_versions_life=1'
#: Says to other sites whether versions are enabled: true or false.
ENABLED = 'x-versions-enabled'
#: Metadata of a container that all sites have in common ...
COMMON = ('x-container-read', 'x-container-write')
#: ... and how the names of others begin.
COMMON_PREFIX = 'x-container-meta-'
#: More than Swift lets a container have; and bytes of the row.
_MAX_HEADERS, MAX_LIFE = 1000, 1 << 16
_REMOVED = 'x-remove-container-'
_LINE_BREAK = re.compile(r'[\x00\r\n]')


def lowered(name: str) -> str:
    """Return a name in lower case; bytes outside ASCII stay."""
    return re.sub('[A-Z]+', lambda found: found[0].lower(), name)


@dataclass(frozen=True)
class Life(Record):
    """What a container is, since it was last made, changed or deleted.

    :param exists: False: it was deleted; were it not, it would be as it says
    :param stamp: of that moment
    :param site: where it was done
    :param described: when its headers were last changed; None: nobody has said
        what they are
    :param headers: (name in lower case, value), see ``common_headers``
    :raises ValueError: if no row could hold it
    """
    exists: bool
    stamp: Annotated[Stamp, Parsed(Stamp.parse)]
    site: Annotated[str, Parsed(check_site)]
    described: Annotated[Stamp, Parsed(Stamp.parse)] | None = None
    headers: Annotated[Headers, Length(_MAX_HEADERS)] = ()

    def __post_init__(self) -> None:
        if self.described is None:
            if self.headers:
                raise ValueError('described must say since when there are '
                                 'headers')
        elif self.described > self.stamp:
            raise ValueError('described is %s, must be at most the stamp, %s'
                             % (self.described, self.stamp))
        else:
            _check(self.headers)
            life_row(self)

    @property
    def as_of(self) -> dict[str, str]:
        """The header of a request that does what the record says."""
        return as_of(self.stamp)

    def describing(self, headers: Headers) -> 'Life':
        """Return the record of a change that gives the container headers."""
        return replace(self, described=self.stamp, headers=headers)

    def after(self, stamp: Stamp, site: str,
              other: Optional['Life'] = None) -> 'Life':
        """Return the record of what goes on as it was.

        :param other: what it is, if not what this record says
        """
        known = other or self
        return replace(self, stamp=stamp, site=site, headers=known.headers,
                       described=known.described)

    def is_older_than(self, other: Optional['Life']) -> bool:
        """Check whether another record has headers that are newer."""
        return bool(other and other.described and (
            self.described is None or self.described < other.described))


def as_of(stamp: Stamp) -> dict[str, str]:
    """Return the header that has Swift change a container as of a stamp."""
    return {'X-Timestamp': str(stamp)}


def life_row(life: Life) -> Row:
    """Return the row of a life record; it is never a deleted row.

    :raises ValueError: if it would be too long
    """
    return Row(LIFE, life.stamp, 0, LIFE_MARKER, with_parameters(
        '', MAX_LIFE, life=json.dumps(life.to_json(brief=True))))


def life_of(row: Row) -> Life:
    """Return the life record that a row is.

    :raises ValueError: if it is none
    """
    if row.name != LIFE or row.deleted:
        raise ValueError('a life record is %.80r, must be the row %r' % (
            row.name, LIFE))
    _, ours = parameters_of(row.etag)
    life = Life.parse(ours.get('life', ''), MAX_LIFE, 'a life record')
    if life.stamp != row.stamp:
        raise ValueError('a life record is of %s, must be of its row, %s' % (
            life.stamp, row.stamp))
    return life


def is_common(name: str) -> bool:
    """Check whether a header of a container is the same at all sites.

    :param name: in lower case
    """
    return name in COMMON or name.startswith(COMMON_PREFIX)


def common_headers(headers: Iterable[tuple[str, str]],
                   enabled: bool) -> Headers:
    """Return the metadata of a container that other sites are told.

    :param headers: (name, value) of the container
    :param enabled: whether versions are enabled
    """
    low = ((lowered(name), value) for name, value in headers)
    return (*sorted(pair for pair in low if is_common(pair[0]) and pair[1]),
            (ENABLED, 'true' if enabled else 'false'))


def changes(before: Iterable[str], headers: Headers) -> Headers:
    """Return the headers of a POST that replaces the whole set of metadata.
    Access lists are always among them: an older change that is under way may
    bring back none.

    :param before: the names of the headers that the container has
    :param headers: those that it is to have
    """
    wanted = dict(headers)
    gone = sorted({*map(lowered, before), *COMMON} - set(wanted))
    return (*headers, *((name, '') for name in gone if is_common(name)))


def changed(before: Headers, sent: Iterable[tuple[str, str]]) -> Headers:
    """Return the metadata of a container after a PUT or POST.

    :param before: those that it had
    :param sent: (name, value) of the request, as Swift has taken them
    """
    low = [(lowered(name), value) for name, value in sent]
    now = dict(before)
    now.update((name.replace('-remove', '', 1), '') for name, _ in low
               if name.startswith(_REMOVED))
    now.update(low)
    return common_headers(now.items(), now.get(ENABLED) == 'true')


def _check(headers: Headers) -> None:
    names = [name for name, _ in headers]
    for name, value in headers:
        if not (is_common(name) or name == ENABLED) or \
                name != lowered(name) or names.count(name) != 1 or \
                re.search(r'[\x00-\x20:\x7f]', name) or \
                _LINE_BREAK.search(value):
            raise ValueError('a header of a container is %.80r: %.80r, must '
                             'be one that sites have in common, in lower '
                             'case, once' % (name, value))
    if dict(headers).get(ENABLED) not in ('true', 'false'):
        raise ValueError('%s must be true or false' % ENABLED)
