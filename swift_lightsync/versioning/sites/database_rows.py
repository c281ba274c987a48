# SPDX-License-Identifier: Apache-2.0
"""What the records of container databases mean for the propagator."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Optional

from swift.common.utils import decode_timestamps

from swift_lightsync.versioning.core.keys import LIFE, PURGES, VERSIONS
from swift_lightsync.versioning.core.life import Life, life_of
from swift_lightsync.versioning.core.row_data import (
    Entry,
    Row,
    entry_of,
    parameters_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Version

#: Records of which is remembered what they mean: each task reads them.
_REMEMBERED = 4096


@dataclass(frozen=True)
class Item:
    """
    A row of a database that a task may have to do with.

    :param rowid: in its database
    :param row: a ``Row``
    :param entry: the version that the row or purge record is about; in a
        user's container, the null version that its object is to be; None of
        a life record
    :param life: the life record that the row is, or None
    """
    rowid: int
    row: Row
    entry: Optional[Entry] = None
    life: Optional[Life] = None


class Meaning(NamedTuple):
    """
    What a record means, see ``Item``.

    :param made: when it was made, Unix time
    """
    made: float
    row: Row
    entry: Optional[Entry] = None
    life: Optional[Life] = None


@lru_cache(_REMEMBERED)
def meaning_of(site, hidden, name, created_at, size, content_type, etag,
               deleted):
    """
    Return the ``Meaning`` of a record of a database.

    :param site: the name of this site
    :param hidden: whether the record is one of a hidden container
    :raises ValueError: if it should be a version but cannot be read
    """
    stamp = Stamp.parse(decode_timestamps(created_at)[0].internal)
    row = Row(name, stamp, size, content_type, etag, bool(deleted))
    if row.deleted:
        return Meaning(stamp.seconds, row)
    if not hidden:
        return Meaning(stamp.seconds, row, _legacy(row, site))
    if name.startswith((VERSIONS, PURGES)):
        return Meaning(stamp.seconds, row, entry_of(row))
    life = life_of(row) if name == LIFE else None
    return Meaning(stamp.seconds, row, None, life)


def made_at(record):
    """Return when a record of a database was made, in Unix time."""
    return float(decode_timestamps(record['created_at'])[0])


def _legacy(row, site):
    """Return the null version that an object becomes when it is adopted."""
    etag, _ = parameters_of(row.etag)
    return Entry(row.name, Version.after((), row.stamp, site), row.size, etag,
                 row.content_type, null=True)
