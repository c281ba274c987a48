# SPDX-License-Identifier: Apache-2.0
"""What a peer is to be sent, and what is to be noted when it has it."""

from dataclasses import dataclass
from typing import FrozenSet, Tuple

from swift_lightsync.proar.core.oplog import State

#: path hash, and whether it is about container updates
Key = Tuple[bytes, bool]


@dataclass(frozen=True)
class Push:
    """An object whose present state a peer needs.

    :param path_hash: of the object, 16 bytes
    :param eversions: of the entries that this state answers for
    :param logged: when the oldest of them was, Unix time in microseconds
    :param is_row: whether the peer needs the container updates of the object,
        not the object
    """
    path_hash: bytes
    eversions: Tuple[int, ...]
    logged: int
    is_row: bool = False

    @property
    def key(self) -> Key:
        """What the pushes of the same thing have in common."""
        return self.path_hash, self.is_row


@dataclass(frozen=True)
class Mark:
    """What is to be noted in the log.

    :param eversion: of an entry
    :param state: that it has now
    :param holders: ids of the other devices that hold it
    """
    eversion: int
    state: State
    holders: FrozenSet[int]
