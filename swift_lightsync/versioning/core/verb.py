# SPDX-License-Identifier: Apache-2.0
"""The messages of the verb VERSION (VERSIONING.md §4): what a proxy or
propagator asks one replica of a hidden container, and what that answers.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from swift_lightsync.common.records import (
    Between,
    Length,
    Parsed,
    Record,
    Utf8,
)
from swift_lightsync.versioning.core.comparing import BUCKETS
from swift_lightsync.versioning.core.life import MAX_LIFE
from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.core.stamp import Stamp

#: Bytes of a request's body, and rows that it may write or ask for.
MAX_BODY = 1 << 20
MAX_ROWS = 1000
#: Rows of one page.
MAX_PAGE = 10000
#: Bytes of an answer: a page of the longest rows.
MAX_ANSWER = 1 << 27
#: Bytes of a message that is read once, where several say the same.
_SMALL = 1 << 12
_NAME = 4096
_SIZE = (1 << 63) - 1
_HASH = (1 << 64) - 1

_Name = Annotated[str, Utf8(_NAME)]
_Stamp = Annotated[Stamp, Parsed(Stamp.parse)]


@dataclass(frozen=True)
class WireRow(Record):
    """A ``Row`` as JSON."""
    name: _Name
    stamp: _Stamp
    size: Annotated[int, Between(0, _SIZE)]
    type: Annotated[str, Utf8(_NAME * 2)]
    etag: Annotated[str, Utf8(MAX_LIFE)]
    deleted: bool

    @classmethod
    def of(cls, row: Row) -> 'WireRow':
        return cls(row.name, row.stamp, row.size, row.content_type, row.etag,
                   row.deleted)

    @property
    def row(self) -> Row:
        return Row(self.name, self.stamp, self.size, self.type, self.etag,
                   self.deleted)


@dataclass(frozen=True)
class Page(Record):
    """A part of all live rows, by name.

    :param prefix: of their names
    :param marker: only names after it (before it if ``reverse``)
    :param end_marker: only names before it (after it if ``reverse``)
    :param heads: only the first row of each object, which is that of its
        newest version; for rows of versions only
    :param nulls: only null versions
    """
    prefix: _Name = ''
    marker: _Name = ''
    end_marker: _Name = ''
    limit: Annotated[int, Between(1, MAX_PAGE)] = MAX_PAGE
    reverse: bool = False
    heads: bool = False
    nulls: bool = False


@dataclass(frozen=True)
class Request(Record):
    """What a replica is to do; it does all of it in one transaction.

    :param object: whose newest version is told; empty: of none
    :param rows: to merge: of two rows of one name the newer stays
    :param names: of rows to tell of, deleted ones too
    :param listed: whether the object has a listing row (Write-Repair)
    :param stamp: of this operation, for the listing row after a purge
    :param clock: what the wall clock of the sender says, in seconds, if it
        has made the stamps of the rows; None: they are not its own
    :param page: of rows to tell
    :param digest: up to which stamp live versions are in the digests to
        tell; None: tell none
    """
    object: _Name = ''
    rows: Annotated[tuple[WireRow, ...], Length(MAX_ROWS)] = ()
    names: Annotated[tuple[_Name, ...], Length(MAX_ROWS)] = ()
    listed: bool = False
    stamp: _Stamp | None = None
    clock: Annotated[float, Between(0, 10000000000.0)] | None = None
    page: Page | None = None
    digest: _Stamp | None = None


@dataclass(frozen=True)
class Shard(Record):
    """A shard that has some of the rows that were asked about.

    :param name: its account and container, joined by a slash
    :param lower: all names of the shard are greater; '' if there is no bound
    :param upper: no name of the shard is greater; '' if there is no bound
    """
    name: _Name
    lower: _Name
    upper: _Name


@dataclass(frozen=True)
class Answer(Record):
    """What a replica has.

    :param before: the newest version of the object before the request's rows,
        if it has some
    :param head: the newest version of the object now
    :param rows: those of the names that it knows, deleted ones too
    :param page: the rows of the page
    :param shards: that have to be asked as well
    :param left: the names of rows that belong to shards and were not merged
    :param only_shards: whether the database itself has no rows
    :param digests: of the buckets, see ``Digest``; none if not asked for, or
        if they cannot be told while the container is being sharded
    """
    before: WireRow | None = None
    head: WireRow | None = None
    rows: Annotated[tuple[WireRow, ...], Length(2 * MAX_ROWS)] = ()
    page: Annotated[tuple[WireRow, ...], Length(MAX_PAGE)] = ()
    shards: Annotated[tuple[Shard, ...], Length(100000)] = ()
    left: Annotated[tuple[_Name, ...], Length(MAX_ROWS)] = ()
    only_shards: bool = False
    digests: Annotated[tuple[Annotated[int, Between(0, _HASH)], ...],
                       Length(BUCKETS)] = ()


_M = TypeVar('_M', bound=Record)


@lru_cache(256)
def _read_small(kind: Any, text: bytes) -> Any:
    return kind.parse(text, _SMALL, 'VERSION')


def read(kind: type[_M], text: bytes, most: int) -> _M:
    """Read a message. Replicas that agree answer with the same bytes, and
    many clients ask for one object.

    :param kind: ``Request`` or ``Answer``
    :param most: bytes that it may have
    :raises ValueError: if it is none
    """
    if len(text) > _SMALL:
        return kind.parse(text, most, 'VERSION')
    known: Any = kind
    found: _M = _read_small(known, text)
    return found


def encoded(message: Record) -> bytes:
    """Return the bytes of a request, an answer or a row, without the fields
    that have their default.
    """
    return json.dumps(message.to_json(brief=True),
                      separators=(',', ':')).encode('ascii')
