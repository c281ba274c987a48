# SPDX-License-Identifier: Apache-2.0
"""The life record of a container: what it is, and since when (VERSIONING.md
§5). It is one row of the hidden container, and reaches the other sites like
the versions there.

1. The record with the newer stamp says whether the container exists. Of each
   header the newest change counts, whichever record it is in: a record that
   meets an older one with newer headers is written once more, with these.
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
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated

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
#: How long noncurrent versions are kept, as Swift's container has it.
KEEP = 'x-container-sysmeta-site-versions-keep'
EXPIRE = 'x-container-sysmeta-site-versions-expire-noncurrent'
#: Metadata of a container that all sites have in common ...
COMMON = ('x-container-read', 'x-container-write', KEEP, EXPIRE, ENABLED)
#: ... and how the names of others begin.
COMMON_PREFIXES = ('x-container-meta-', 'x-container-sysmeta-s3api-')
#: More than Swift lets a container have; and bytes of the row.
_MAX_HEADERS, MAX_LIFE = 1000, 1 << 16
#: Headers of which a record says when each was changed.
MAX_SINCE = 100
#: How headers begin by which Swift lets clients remove others.
_REMOVED = ('x-remove-container-meta-', 'x-remove-container-read',
            'x-remove-container-write')
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
    :param described: when all of its headers were last told at once; None:
        nobody has said what they are
    :param headers: (name in lower case, value), see ``common_headers``
    :param since: (name, text of a ``Stamp``) of headers that were changed or
        removed after ``described``
    :raises ValueError: if no row could hold it
    """
    exists: bool
    stamp: Annotated[Stamp, Parsed(Stamp.parse)]
    site: Annotated[str, Parsed(check_site)]
    described: Annotated[Stamp, Parsed(Stamp.parse)] | None = None
    headers: Annotated[Headers, Length(_MAX_HEADERS)] = ()
    since: Annotated[Headers, Length(_MAX_HEADERS)] = ()

    def __post_init__(self) -> None:
        if self.described is None:
            if self.headers or self.since:
                raise ValueError('described must say since when there are '
                                 'headers')
        elif self.described > self.stamp:
            raise ValueError('described is %s, must be at most the stamp, %s'
                             % (self.described, self.stamp))
        else:
            _check(self.headers)
            _check_since(self.since, self.stamp)
            life_row(self)

    @property
    def as_of(self) -> dict[str, str]:
        """The header of a request that does what the record says."""
        return as_of(self.stamp)

    def describing(self, headers: Headers) -> 'Life':
        """Return the record of a container that has these headers, and none of
        before.
        """
        return replace(self, described=self.stamp, headers=headers, since=())

    def changed(self, sent: Iterable[tuple[str, str]]) -> 'Life':
        """Return the record of a change of some headers.

        :param sent: (name, value) of a PUT or POST, as Swift has taken them
        """
        now = {name: (str(self.stamp), value)
               for name, value in _set_by(sent).items() if is_common(name)}
        return self._with(self.described or self.stamp,
                          {**self._changes(), **now})

    def joined(self, older: 'Life') -> 'Life':
        """Return this record with what an older one says of headers that were
        changed later than here; the same record if there are none.
        """
        if older.described is None:
            return self
        last = max(older.described, self.described or older.described)
        mine, theirs = self._changes(), older._changes()
        return self._with(last, {
            name: found for name in {**mine, **theirs}
            if (found := max(each[name] for each in (mine, theirs)
                             if name in each)) >= (str(last), '')})

    def anew(self) -> 'Life':
        """Return the record of a container that has nothing of before."""
        return replace(self, described=None, headers=(), since=())

    def after(self, stamp: Stamp, site: str) -> 'Life':
        """Return the record of what goes on as it was."""
        return replace(self, stamp=stamp, site=site)

    def _changes(self) -> dict[str, tuple[str, str]]:
        """Return when each header was changed, and its value; empty: it was
        removed.
        """
        headers, since = dict(self.headers), dict(self.since)
        return {name: (since.get(name, str(self.described)),
                       headers.get(name, '')) for name in {**headers, **since}}

    def _with(self, described: Stamp,
              changes: dict[str, tuple[str, str]]) -> 'Life':
        """Return the record with such headers, see ``_changes``. Where too
        many were changed to tell of each, it tells all at once.
        """
        headers = common_headers(
            ((name, value) for name, (_, value) in changes.items()),
            changes.get(ENABLED, ('', ''))[1] == 'true')
        since = tuple(sorted((name, when) for name, (when, _)
                             in changes.items() if when != str(described)))
        if len(since) <= MAX_SINCE:
            with suppress(ValueError):
                return replace(self, described=described, headers=headers,
                               since=since)
        return self.describing(headers)


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
    return name in COMMON or name.startswith(COMMON_PREFIXES)


def common_headers(headers: Iterable[tuple[str, str]],
                   enabled: bool) -> Headers:
    """Return the metadata of a container that other sites are told.

    :param headers: (name, value) of the container
    :param enabled: whether versions are enabled
    """
    low = ((lowered(name), value) for name, value in headers)
    return tuple(sorted({
        **{name: value for name, value in low if value and is_common(name)},
        ENABLED: 'true' if enabled else 'false'}.items()))


def changes(before: Iterable[str], headers: Headers) -> Headers:
    """Return the headers of a POST that replaces the whole set of metadata.
    Those with names of their own, such as access lists, are always among them:
    an older change that is under way may bring back none.

    :param before: the names of the headers that the container has
    :param headers: those that it is to have
    """
    wanted = dict(headers)
    gone = sorted({*map(lowered, before), *COMMON} - set(wanted))
    return (*headers, *((name, '') for name in gone if is_common(name)))


def _set_by(sent: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers that a PUT or POST sets; empty: it removes them."""
    low = [(lowered(name), value) for name, value in sent]
    return {**{name.replace('-remove', '', 1): '' for name, _ in low
               if name.startswith(_REMOVED)}, **dict(low)}


def _check(headers: Headers) -> None:
    names = [name for name, _ in headers]
    for name, value in headers:
        if not is_common(name) or name != lowered(name) or \
                names.count(name) != 1 or \
                re.search(r'[\x00-\x20:\x7f]', name) or \
                _LINE_BREAK.search(value):
            raise ValueError('a header of a container is %.80r: %.80r, must '
                             'be one that sites have in common, in lower '
                             'case, once' % (name, value))
        if name in (KEEP, EXPIRE) and not re.fullmatch('[0-9]{1,9}', value):
            raise ValueError('%s is %.80r, must be a number' % (name, value))
    if dict(headers).get(ENABLED) not in ('true', 'false'):
        raise ValueError('%s must be true or false' % ENABLED)


def _check_since(since: Headers, stamp: Stamp) -> None:
    for name, when in since:
        if not is_common(name) or str(Stamp.parse(when)) != when or \
                Stamp.parse(when) > stamp:
            raise ValueError('since is %.80r: %.80r, must be a header that '
                             'sites have in common and a stamp of at most %s'
                             % (name, when, stamp))
