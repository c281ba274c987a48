# SPDX-License-Identifier: Apache-2.0
"""The life record of a container: whether it exists, and since when
(VERSIONING.md §5). It is a row of the hidden container, and reaches the other
sites like the versions there.

1. The record with the newer stamp wins, and brings the whole set of the
   container's metadata with it.
2. A container that has a live version is not deleted by a record. If the site
   that deleted it has purged the version, the purge comes first; otherwise the
   version comes there, and the container is made again, with a newer record.
3. What a record brings is done to Swift's container as of the record's stamp,
   at all sites: a change that is newer stays, whichever comes first.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Dict, Iterable, Literal, Optional, Tuple

from swift_lightsync.common.records import Length, Parsed, Record
from swift_lightsync.versioning.core.keys import LIFE
from swift_lightsync.versioning.core.row_data import (
    Row,
    parameters_of,
    with_parameters,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.stored_headers import Headers, lowered
from swift_lightsync.versioning.core.version import check_site

LIFE_MARKER = 'application/x-life;swift_versions_life=1'
#: Says to other sites whether versions are enabled: true or false.
ENABLED = 'x-versions-enabled'
#: Metadata of a container that all sites have in common ...
COMMON = ('x-container-read', 'x-container-write')
#: ... and how the names of others begin.
COMMON_PREFIX = 'x-container-meta-'
#: More than Swift lets a container have.
_MAX_HEADERS = 1000
_LINE_BREAK = re.compile(r'[\x00\r\n]')


@dataclass(frozen=True)
class Life:
    """When a container was last created, changed or deleted.

    :param exists: False: it was deleted
    :param stamp: of that moment
    :param site: where it was done
    """
    exists: bool
    stamp: Stamp
    site: str

    @property
    def as_of(self) -> Dict[str, str]:
        """The header of a request that does what the record says."""
        return as_of(self.stamp)


def as_of(stamp: Stamp) -> Dict[str, str]:
    """Return the header that has Swift change a container as of a stamp."""
    return {'X-Timestamp': str(stamp)}


def life_row(life: Life) -> Row:
    """Return the row of a life record; it is never a deleted row."""
    return Row(LIFE, life.stamp, 0, LIFE_MARKER, with_parameters(
        '', site=life.site, exists='1' if life.exists else ''))


def life_of(row: Row) -> Life:
    """Return the life record that a row is.

    :raises ValueError: if it is none
    """
    if row.name != LIFE or row.deleted:
        raise ValueError('a life record is %.80r, must be the row %r' % (
            row.name, LIFE))
    _, ours = parameters_of(row.etag)
    return Life(bool(ours.get('exists')), row.stamp,
                check_site(ours.get('site', '')))


class Step(Enum):
    """What a site does with the life record of another one."""

    #: It has this record, or a newer one.
    NOTHING = 'nothing'
    #: It gives the container the metadata of the record; makes it if missing.
    UPDATE = 'update'
    #: It deletes the container.
    DELETE = 'delete'
    #: It takes the record later, or never: it has a live version.
    REFUSE = 'refuse'


def step(mine: Optional[Life], theirs: Life, live: bool) -> Step:
    """Decide what a site does with the life record of another one.

    :param mine: the record that the site has, or None
    :param live: whether it has a live version in the container
    """
    if mine is not None and mine.stamp >= theirs.stamp:
        return Step.NOTHING
    if theirs.exists:
        return Step.UPDATE
    return Step.REFUSE if live else Step.DELETE


def is_common(name: str) -> bool:
    """Check whether a header of a container is the same at all sites.

    :param name: in lower case
    """
    return name in COMMON or name.startswith(COMMON_PREFIX)


def common_headers(headers: Iterable[Tuple[str, str]],
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


def _checked(headers: Headers) -> Headers:
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
    return headers


@dataclass(frozen=True, kw_only=True)
class LifeMessage(Record):
    """The head of a request that tells a peer of a life record.

    :param exists: False: the container was deleted, and has no headers
    :param headers: (name in lower case, value), see ``common_headers``
    """
    format: Literal[1] = 1
    verb: Literal['life'] = 'life'
    exists: bool
    stamp: Annotated[Stamp, Parsed(Stamp.parse)]
    site: Annotated[str, Parsed(check_site)]
    headers: Annotated[Headers, Length(_MAX_HEADERS)] = ()

    def __post_init__(self) -> None:
        if self.exists:
            _checked(self.headers)
        elif self.headers:
            raise ValueError('headers are %d, must be none of a deleted '
                             'container' % len(self.headers))

    @classmethod
    def of(cls, life: Life, headers: Headers = ()) -> 'LifeMessage':
        """Return the message about a record."""
        return cls(exists=life.exists, stamp=life.stamp, site=life.site,
                   headers=headers)

    @property
    def life(self) -> Life:
        """The record."""
        return Life(self.exists, self.stamp, self.site)
