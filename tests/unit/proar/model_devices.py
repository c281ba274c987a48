# SPDX-License-Identifier: Apache-2.0
"""The devices of the model, and what is on their disks."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Set

from swift_lightsync.proar.core.standing import Standing

#: seconds for which an answer counts
VOUCH = 3.0


@dataclass
class Entry:
    """A logged write, and who has it."""
    stamp: int
    has: Set[int]
    #: when all had it
    converged: int = 0


@dataclass
class Device:
    """A device, its disk and what its processes share."""
    number: int
    ring: int = 1
    is_up: bool = True
    lives: int = 0
    value: int = 0
    log: List[Entry] = field(default_factory=list)
    promises: Dict[int, int] = field(default_factory=dict)
    promised_by: int = 1
    others_end: int = 0
    missed: int = 0
    standing: Any = None
    #: whether all that it once had to hold was brought to it
    is_filled: bool = True

    def __post_init__(self):
        self.forget()

    def forget(self):
        self.standing = Standing('boot', self.number, self.ring, VOUCH)

    def promise_as(self, ring):
        """Have promises of another ring be waited for."""
        if self.promised_by != ring:
            self.others_end = max([self.others_end, *self.promises.values()])
            self.promises.clear()
            self.promised_by = ring
