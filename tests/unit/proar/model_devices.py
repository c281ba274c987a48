# SPDX-License-Identifier: Apache-2.0
"""The devices of the model, and what is on their disks."""

from dataclasses import dataclass, field, replace
from typing import Any

from swift_lightsync.proar.core.filling import Filling
from swift_lightsync.proar.core.standing import Standing

#: seconds for which an answer counts
VOUCH = 3.0
#: more seconds than a life has
RECLAIM_AGE = 1e9
DEVICES = (0, 1, 2, 3)


@dataclass
class Entry:
    """A logged write, and who has it."""
    stamp: int
    has: set[int]
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
    log: list[Entry] = field(default_factory=list)
    promises: dict[int, int] = field(default_factory=dict)
    promised_by: int = 1
    others_end: int = 0
    missed: int = 0
    standing: Any = None
    #: the standing that its disk has
    noted: Any = None
    #: which loss was its last one
    loss: int = 1
    #: when its object-replicator's last pass without a failure began
    passed: float = 0.0

    def __post_init__(self):
        self.forget()
        self.noted = self.full()

    def full(self):
        """Return the standing of one that has all that it has to hold."""
        return replace(self.standing, filling=Filling(
            self.loss, 0, RECLAIM_AGE))

    def forget(self):
        self.standing = Standing('boot', self.number, self.ring, VOUCH)

    def note(self, began, answers):
        """Have the disk have the standing after a round of questions."""
        self.standing = self.noted = self.standing.filled_after(
            began, answers, self.noted, self.loss)

    def has_all(self):
        """Return whether it has all that was ever brought to it."""
        return self.noted is not None and self.noted.ring == self.ring \
            and self.noted.has_all(
                set(DEVICES) - {self.number}, self.loss, RECLAIM_AGE)

    def promise_as(self, ring):
        """Have promises of another ring be waited for."""
        if self.promised_by != ring:
            self.others_end = max([self.others_end, *self.promises.values()])
            self.promises.clear()
            self.promised_by = ring
