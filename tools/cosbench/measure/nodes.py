# SPDX-License-Identifier: Apache-2.0
"""What the storage's nodes did in a run, second by second."""

from dataclasses import astuple, dataclass, fields
from typing import Annotated, Any

from cosbench.measure.limits import Count, Figure, Name, Reason
from swift_lightsync.common.records import Between, Length, Record

#: Points of a node: a day of seconds.
MAX_POINTS = 86400
_Row = tuple[Annotated[float, Between(0, 1000000000000000.0)] | None, ...]


@dataclass(frozen=True)
class NodePoint:
    """A node, from the point before to this one; None: not known."""

    #: Unix seconds.
    when: float
    #: Percent of all processors, and of the busiest.
    cpu: float | None = None
    core: float | None = None
    #: Percent of the time in which the busiest disk had something to do.
    disk: float | None = None
    #: Milliseconds that an access of the slowest disk took.
    wait: float | None = None
    #: Bytes a second of all disks, and of all network cards.
    read: float | None = None
    written: float | None = None
    received: float | None = None
    sent: float | None = None
    #: Percent of the speed of the busiest network card.
    network: float | None = None
    #: Updates that wait for a container server (recon's async_pending).
    pending: float | None = None
    #: Milliseconds that a request to a server of the kind took.
    proxy_ms: float | None = None
    container_ms: float | None = None
    object_ms: float | None = None

    def to_json(self) -> list[Any]:
        """Return the row of a result document."""
        return [None if each is None else round(each, 3)
                for each in astuple(self)]

    @classmethod
    def of(cls, row: _Row) -> 'NodePoint':
        """Make a point of a row; what later versions add is left out."""
        when, *rest = row[:len(fields(cls))]
        return cls(when or 0.0, *rest)


@dataclass(frozen=True)
class NodeResult(Record):
    """A storage node in a run."""

    name: Name
    url: Annotated[str, Length(1000)] = ''
    #: Why figures are missing.
    reason: Reason = ''
    #: (disk, percent of the run in which it had something to do).
    disks: Annotated[tuple[tuple[Name, Figure], ...], Length(10000)] = ()
    #: Looks that failed.
    missed: Count = 0
    rows: Annotated[tuple[_Row, ...], Length(MAX_POINTS)] = ()

    @property
    def points(self) -> list[NodePoint]:
        """Its rows, the oldest first."""
        return [NodePoint.of(row) for row in self.rows if row]
