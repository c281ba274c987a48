# SPDX-License-Identifier: Apache-2.0
"""The messages of devices that vouch for each other. PROTOCOL.md."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from swift_lightsync.common.records import Between, Length, Record
from swift_lightsync.proar.core.remembered import LogPosition

#: Bytes that a message may have.
MAX_BYTES = 8 << 20
#: Seconds for which a device may be asked to keep its promise.
LONGEST = 60.0
#: Places that a device lists for one asker; with more it does not vouch.
MOST_HELD = 10000
MOST_DEVICES = 65536

Number = Annotated[int, Between(0, (1 << 32) - 1)]
Slot = Annotated[int, Between(0, 255)]
DeviceId = Annotated[int, Between(0, MOST_DEVICES - 1)]
Name = Annotated[str, Length(255)]
Place = tuple[Number, Slot]


@dataclass(frozen=True)
class Ask(Record):
    """The question whether devices hold what primary roles lack.

    :param policy: index of the storage policy
    :param ring: version of the asker's object ring
    :param seconds: how long the asker counts on the answer
    :param askers: ids of the devices that are primary roles
    :param peers: id -> name of the devices that are asked
    :param logs: id of an asker -> how far its log is, if that is told
    :param version: of the format
    """
    policy: Number
    ring: Number
    seconds: Annotated[float, Between(0.001, LONGEST)]
    askers: Annotated[tuple[DeviceId, ...], Length(MOST_DEVICES)]
    peers: dict[int, Name]
    logs: dict[int, LogPosition] = field(default_factory=dict)
    version: Literal[1] = 1


@dataclass(frozen=True)
class Answer(Record):
    """What devices hold.

    :param ring: version of the answerer's object ring
    :param peers: id of each device that can tell -> id of an asker -> the
        places of which that asker lacks something
    :param older: id of a device -> ids of the askers whose logs are older
        than it knows: it does not vouch for them
    :param passed: when the last pass of the node's object-replicator began, if
        it had no failure, Unix time; 0: not known
    :param time: when it was given, by the same clock, Unix time
    :param unsure: ids of the devices that may have lost what they once held
    :param version: of the format
    """
    ring: Number
    peers: dict[int, dict[int, tuple[Place, ...]]]
    older: dict[int, tuple[DeviceId, ...]] = field(default_factory=dict)
    passed: Annotated[float, Between(0, 1e15)] = 0.0
    time: Annotated[float, Between(0, 1e15)] = 0.0
    unsure: Annotated[tuple[DeviceId, ...], Length(MOST_DEVICES)] = ()
    version: Literal[1] = 1


@dataclass(frozen=True)
class Missed(Record):
    """The news that a primary role misses a write.

    :param policy: index of the storage policy
    :param device: name of the primary role's device
    :param partition: of the object
    :param slot: of the object
    :param version: of the format
    """
    policy: Number
    device: Name
    partition: Number
    slot: Slot
    version: Literal[1] = 1
