# SPDX-License-Identifier: Apache-2.0
"""What the records of container databases mean for propagation."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

from swift.common.utils import decode_timestamps

from swift_lightsync.versioning.core.keys import (
    ReadRepairKeys,
    WriteRepairKeys,
)
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
    A row of a database that is one version.

    :param rowid: in its database
    :param row: a ``Row``
    :param entry: the version, an ``Entry``
    :param keys: of the mode; None if the row is of the user's container
    """
    rowid: int
    row: Row
    entry: Entry
    keys: Optional[type]


@lru_cache(_REMEMBERED)
def meaning_of(site, hidden, name, created_at, size, content_type, etag,
             deleted):
    """
    Return the meaning of a record of a database.

    :param site: the name of this site
    :param hidden: whether the record is one of a hidden container
    :returns: when it was made in Unix time, its ``Row``, its ``Entry`` and the
        keys of its mode; None and None if it is no version
    :raises ValueError: if it should be a version but cannot be read
    """
    stamp = Stamp.parse(decode_timestamps(created_at)[0].internal)
    row = Row(name, stamp, size, content_type, etag, bool(deleted))
    if not row.deleted and not hidden:
        return stamp.seconds, row, _null(row, site), None
    if not row.deleted:
        for keys in (WriteRepairKeys, ReadRepairKeys):
            if name.startswith(keys.all_versions):
                return (stamp.seconds, row, entry_of(row, keys.parse(name)),
                        keys)
    return stamp.seconds, row, None, None


def made_at(record):
    """Return when a record of a database was made, in Unix time."""
    return float(decode_timestamps(record['created_at'])[0])


def _null(row, site):
    etag, ours = parameters_of(row.etag)
    if ours:
        return None
    version = Version.after((), row.stamp, site)
    return Entry(row.name, version, row.size, etag, row.content_type,
                 plain=True)
