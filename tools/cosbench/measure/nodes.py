# SPDX-License-Identifier: Apache-2.0
"""What the storage's nodes did in a run, second by second."""

from dataclasses import astuple, dataclass, fields
from typing import Annotated, Any, List, Optional, Tuple

from cosbench.measure.limits import Count, Figure, Name, Reason
from swift_lightsync.common.records import Between, Length, Record

#: Points of a node: a day of seconds.
MAX_POINTS = 86400
_Row = Tuple[Optional[Annotated[float, Between(0, 1e15)]], ...]


@dataclass(frozen=True)
class NodePoint:
    """A node, from the point before to this one; None: not known."""

    #: Unix seconds.
    when: float
    #: Percent of all processors, and of the busiest.
    cpu: Optional[float] = None
    core: Optional[float] = None
    #: Percent of the time in which the busiest disk had something to do.
    disk: Optional[float] = None
    #: Milliseconds that an access of the slowest disk took.
    wait: Optional[float] = None
    #: Bytes a second of all disks, and of all network cards.
    read: Optional[float] = None
    written: Optional[float] = None
    received: Optional[float] = None
    sent: Optional[float] = None
    #: Percent of the speed of the busiest network card.
    network: Optional[float] = None
    #: Updates that wait for a container server (recon's async_pending).
    pending: Optional[float] = None
    #: Milliseconds that a request to a server of the kind took.
    proxy_ms: Optional[float] = None
    container_ms: Optional[float] = None
    object_ms: Optional[float] = None

    def to_json(self) -> List[Any]:
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
    disks: Annotated[Tuple[Tuple[Name, Figure], ...], Length(10000)] = ()
    #: Looks that failed.
    missed: Count = 0
    rows: Annotated[Tuple[_Row, ...], Length(MAX_POINTS)] = ()

    @property
    def points(self) -> List[NodePoint]:
        """Its rows, the oldest first."""
        return [NodePoint.of(row) for row in self.rows if row]
