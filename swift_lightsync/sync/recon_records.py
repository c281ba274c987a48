# SPDX-License-Identifier: Apache-2.0
"""The records of the file ``lightsync.recon``, which RECON.md describes.

They are read from files and from other nodes: whatever is not as described
is refused, with the reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol, TypeVar

from swift_lightsync.common.address import Device, place_name
from swift_lightsync.common.nodes import MAX_BYTES
from swift_lightsync.common.records import Between, Record, RecordError
from swift_lightsync.sync.core.sync_round import Answer

FILE = 'lightsync.recon'
VERSION = 1

#: Numbers beyond any that we write are refused.
Count = Annotated[int, Between(0, 10 ** 15 - 1)]
Number = Annotated[float, Between(0, 1e15)]


@dataclass(frozen=True)
class PairRecord(Record):
    """What is known of a device and a neighbour. See RECON.md."""
    policy: Count
    device: Device
    neighbour: Device
    since: Number
    checked: Number
    agreed: Number | None
    partitions: Count
    differed: Count
    differing: Count
    answer: Answer

    @property
    def name(self) -> str:
        """The key of the record in the file."""
        return '%d %s %s' % (self.policy, place_name(self.device),
                             place_name(self.neighbour))


@dataclass(frozen=True)
class PassRecord(Record):
    """The last pass over a device. See RECON.md."""
    device: Device
    ended: Number
    duration: Number
    partitions: Count
    exchanges: Count
    full_exchanges: Count
    hand_offs: Count = 0
    hand_offs_seconds: Number = 0.0
    messages: Count = 0
    asked: Count = 0
    differing: Count = 0
    busy: Count = 0
    pushed: Count = 0
    scrubbed: Count = 0
    closed: Count = 0
    scrub_seconds: Number = 0.0

    @property
    def name(self) -> str:
        """The key of the record in the file."""
        return place_name(self.device)


@dataclass(frozen=True)
class _Recorded(Record):
    """The content of the file."""
    version: Literal[1]
    pairs: dict[str, PairRecord] = field(default_factory=dict)
    devices: dict[str, PassRecord] = field(default_factory=dict)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_N = TypeVar('_N', bound=_Named)


def read(path: str) -> tuple[dict[str, PairRecord], dict[str, PassRecord]]:
    """Read a ``lightsync.recon``.

    :param path: path of the file
    :returns: the records of pairs and those of devices, by their names; none
        if there is no file
    :raises RecordError: if the file is not as described
    :raises OSError: if it cannot be read
    """
    try:
        with open(path, 'rb') as recon:
            data = recon.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}, {}
    if not data:
        # The file was made, but not written yet.
        return {}, {}
    try:
        recorded = _Recorded.parse(data, MAX_BYTES)
    except RecordError as err:
        raise RecordError('%s: %s' % (path, err)) from None
    return (_by_name(recorded.pairs.values()),
            _by_name(recorded.devices.values()))


def _by_name(records: Iterable[_N]) -> dict[str, _N]:
    return {record.name: record for record in records}
