# SPDX-License-Identifier: Apache-2.0
"""Decides which volumes are compacted, in which order, and how fast: no I/O.

FORMAT.md, "Compaction".
"""

from collections.abc import Iterable
from dataclasses import dataclass

from swift_losf.format.header import FIRST_RECORD

#: the part that may be garbage while a disk is nearly full: what somebody
#: deletes then, to have room, has to come back
SCARCE_GARBAGE = 0.05
#: the part of the time that work may take while somebody is served
BUSY_SHARE = 0.25


@dataclass(frozen=True)
class VolumeUse:
    """What one volume takes of its disk, and what for.

    :param number: of the volume
    :param type: a VolumeType
    :param files: entries that point to it, in quarantine or not
    :param live: bytes of the records that have entries
    :param size: bytes up to its end
    :param allocated: bytes that it takes of the disk
    :param extents: into how many pieces of the disk
    :param is_free: whether it may be compacted
    """
    number: int
    type: int
    files: int
    live: int
    size: int
    allocated: int
    extents: int
    is_free: bool = True

    @property
    def garbage(self) -> int:
        """The bytes that compaction gives back."""
        return max(0, self.allocated - self.live - FIRST_RECORD)

    @property
    def garbage_share(self) -> float:
        """The part of what it takes that is garbage."""
        return self.garbage / self.allocated if self.allocated else 0.0


@dataclass(frozen=True)
class Limits:
    """What calls for compaction.

    :param garbage: the part of the bytes that all volumes take that may be
        garbage
    :param extents: that a volume may have
    :param reserve: bytes of the disk that copies leave free
    :param slack: bytes of garbage for which no volume is compacted: so much
        filesystems may allocate beside the data
    :param scarce: bytes of the disk: with fewer free, it is nearly full
    """
    garbage: float
    extents: int
    reserve: int
    slack: int = 64 * 2 ** 10
    scarce: int = 0


def plan(volumes: Iterable[VolumeUse], limits: Limits, free: int
         ) -> list[int]:
    """Choose the volumes that are compacted.

    Those without files come first: nothing of them is copied. Of the others
    those with the largest part of garbage are taken, until what is left of it
    is allowed, which is less on a disk that is nearly full. None is taken
    that has less than half of the allowed part, or for whose copies there is
    no room. Of one that nobody may lock, the garbage counts all the same.

    :param volumes: of one device and policy
    :param limits: Limits
    :param free: bytes of the disk that are free
    :returns: numbers of volumes, in the order in which they are compacted
    """
    used = list(volumes)
    allowed = limits.garbage
    if free < limits.scarce:
        allowed = min(allowed, SCARCE_GARBAGE)
    chosen = [each.number for each in used
              if each.is_free and not each.files]
    others = [each for each in used if each.files]
    garbage = sum(each.garbage for each in others)
    allocated = sum(each.allocated for each in others)
    for each in sorted(others, reverse=True,
                       key=lambda one: one.garbage_share):
        if (not each.is_free or each.garbage <= limits.slack
                or each.garbage_share < allowed / 2
                or each.live > free - limits.reserve):
            continue
        if (garbage > allowed * allocated
                or each.extents > limits.extents):
            chosen.append(each.number)
            garbage -= each.garbage
            allocated -= each.garbage
    return chosen


@dataclass(frozen=True)
class Rates:
    """How fast the background may be.

    :param busy: bytes a second while somebody is served
    :param idle: the same, while nobody is
    """
    busy: int
    idle: int

    def pause(self, seconds, count, is_busy):
        """Return for how many seconds to pause after a piece of work.

        :param seconds: that it took
        :param count: bytes that it read
        :param is_busy: whether somebody is served
        """
        if not is_busy:
            return max(0.0, count / self.idle - seconds)
        return max(count / self.busy - seconds,
                   seconds / BUSY_SHARE - seconds)
