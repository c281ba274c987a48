# SPDX-License-Identifier: Apache-2.0
"""What a majority of a cluster's container servers says of an object."""

from dataclasses import dataclass
from types import SimpleNamespace

from swift.common.utils import get_logger

from swift_lightsync.versioning.core.row_data import (
    Entry,
    Row,
    listed_of,
    listing_name,
)
from swift_lightsync.versioning.core.verb import Request
from swift_lightsync.versioning.rows.rows import Rows


@dataclass(frozen=True)
class Stored:
    """:param head: the newest version, or None
    :param row: the object's listing row, or None
    """
    head: Entry | None
    row: Row | None

    def is_listed_as(self, latest):
        """:param latest: the id of a version, or None
        :returns: whether it is the head, and the listing row is its
        """
        if self.head is None:
            return latest is None and (self.row is None or self.row.deleted)
        listed = listed_of(self.row.etag) if self.row else None
        return str(self.head.version.id) == latest and \
            listed is not None and listed.id == self.head.version.id and \
            self.row.deleted == self.head.version.deleted


def stored(cluster, account, container, obj):
    """:param cluster: a Cluster, whose container is in the mode write-repair
    :returns: what is ``Stored`` of an object
    """
    app = SimpleNamespace(container_ring=cluster.ring('container'),
                          conn_timeout=5, node_timeout=60)
    name = listing_name(obj)
    told = Rows(app, get_logger({}, name='stored'), account, container).read(
        Request(object=obj, names=(name,), listed=True))
    return Stored(told.head, told.rows.get(name))
