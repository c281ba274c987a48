# SPDX-License-Identifier: Apache-2.0
"""What a majority of a cluster's containers says of an object."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Optional, Tuple

from swift.common.utils import get_logger

from swift_lightsync.versioning.core.keys import WriteRepairKeys
from swift_lightsync.versioning.core.row_data import (
    Entry,
    Pointer,
    entry_of,
    listed_entry,
    pointer_of,
)
from swift_lightsync.versioning.rows.row_wire import Query
from swift_lightsync.versioning.rows.rows import Rows


@dataclass(frozen=True)
class Stored:
    """
    :param pointer: a ``Pointer``, or None
    :param listed: the ``Entry`` of the object's row in the user's
        container, or None
    :param versions: each ``Entry`` that has a row of its own
    """
    pointer: Optional[Pointer]
    listed: Optional[Entry]
    versions: Tuple[Entry, ...]

    def points_to(self, latest):
        """
        :param latest: the id of a version, or None
        :returns: whether the pointer, and the row that is listed, are its
        """
        entry = next((each for each in self.versions
                      if str(each.version.id) == latest), None)
        shown = entry and not entry.version.deleted
        return _version(self.pointer and self.pointer.latest) == \
            _version(entry) and \
            _version(self.listed) == _version(entry if shown else None)


def _version(entry):
    return entry and entry.version.id


def stored(cluster, account, container, obj):
    """
    :param cluster: a Cluster, whose container is in the mode write-repair
    :returns: what is ``Stored`` of an object
    """
    app = SimpleNamespace(container_ring=cluster.ring('container'),
                          conn_timeout=5, node_timeout=60)
    keys = WriteRepairKeys
    histories, listed, versions = Rows(
        app, get_logger({}, name='stored'), account, container).read(
            Query(True, keys.history(obj), exact=True),
            Query(False, obj, exact=True),
            Query(True, keys.of_object(obj)))
    return Stored(
        pointer_of(histories[0], obj) if histories else None,
        listed_entry(listed[0]) if listed else None,
        tuple(entry_of(row, keys.parse(row.name)) for row in versions))
