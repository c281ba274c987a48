# SPDX-License-Identifier: Apache-2.0
"""Copies what a device has of a policy from one side to the other.

1. ``copy``: while the daemons use the one side, the other is made equal to it:
   what it lacks is copied, what the source has no longer is removed.
2. ``finish``: when the daemons use the other side, what it still lacks is
   copied, unless a newer file there supersedes it; and each file of the old
   side is removed once the other has it.

Either may be ended at any time and begun again: what is there under its name
is whole, and is not copied again.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from swift_losf.convert.sides import Damaged, Side, place
from swift_losf.format.name_code import supersedes

#: files that are read and written at a time
WORKERS = 64
#: files that are under way at a time: most wait for a flush that they share
WAITING = 512


@dataclass
class Tally:
    """What a run has done.

    :param copied: files
    :param bytes: of their data
    :param removed: files
    :param present: files that were there already
    :param failed: what could not be copied, and why
    """
    copied: int = 0
    bytes: int = 0
    removed: int = 0
    present: int = 0
    failed: list[str] = field(default_factory=list)


class Converter:
    """Copies from one Side to another.

    :param source: the Side that is copied from
    :param target: the other one
    :param bandwidth: bytes a second at most, or None
    """

    def __init__(self, source: Side, target: Side,
                 bandwidth: float | None = None) -> None:
        self._source = source
        self._target = target
        self._bandwidth = bandwidth
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._workers = threading.Semaphore(WORKERS)
        self._paced = 0
        self._under_way: list[Any] = []
        self.tally = Tally()

    def copy(self) -> Tally:
        """Make the target equal to the source, and return what was done."""
        self._run(self._mirror, sorted(
            set(self._source.partitions()).union(self._target.partitions())))
        self._target.settle()
        return self.tally

    def finish(self) -> Tally:
        """Copy what is left, empty the source, and return what was done."""
        # What a run that was killed has written, too.
        self._target.settle()
        self._run(self._move, self._source.partitions())
        return self.tally

    def _run(self, convert: Callable[..., None], partitions: list[int]
             ) -> None:
        with ThreadPoolExecutor(WAITING) as pool:
            for partition in partitions:
                wanted = self._source.hashes(partition)
                there = self._target.hashes(partition)
                for object_hash in sorted({*wanted, *there}):
                    convert(pool, partition, object_hash, set(wanted.get(
                        object_hash, ())), set(there.get(object_hash, ())))
            self._join()

    def _mirror(self, pool: ThreadPoolExecutor, partition: int,
                object_hash: str, wanted: Any, there: Any) -> None:
        self.tally.present += len(wanted & there)
        for name in sorted(wanted - there):
            self._submit(pool, self._copy, partition, object_hash, name)
        extra = sorted(there - wanted)
        if extra:
            self._target.remove(place(self._target.layout, partition,
                                      object_hash), extra)
            self.tally.removed += len(extra)

    def _move(self, pool: ThreadPoolExecutor, partition: int,
              object_hash: str, wanted: Any, there: Any) -> None:
        if wanted:
            self._submit(pool, self._move_hash, partition, object_hash,
                         sorted(wanted), there)

    def _move_hash(self, partition: int, object_hash: str,
                   names: list[str], there: Any) -> None:
        where = place(self._target.layout, partition, object_hash)
        lacking = [name for name in names if name not in there and not any(
            supersedes(other, name) for other in there)]
        copied = [name for name in lacking
                  if self._copy(partition, object_hash, name)]
        if lacking:
            self._target.invalidate(where)
        if copied:
            self._target.settle()
        done = [name for name in names
                if name not in lacking or name in copied]
        with self._workers:
            self._source.remove(where, done)
        with self._lock:
            self.tally.removed += len(done)

    def _copy(self, partition: int, object_hash: str, name: str) -> bool:
        where = place(self._source.layout, partition, object_hash, name)
        try:
            with self._workers:
                self._target.require_room()
                with self._source.open(where) as source:
                    size = source.size
                    self._pace(size)
                    enter = self._target.write(where, source)
            if enter:
                enter()
        except FileNotFoundError:
            # The daemons have removed it: the next run sees what came.
            return False
        except Damaged as err:
            with self._lock:
                self.tally.failed.append('partition %d, %s/%s: %s' % (
                    partition, object_hash, name, err))
            return False
        with self._lock:
            self.tally.copied += 1
            self.tally.bytes += size
        return True

    def _pace(self, size: int) -> None:
        if not self._bandwidth:
            return
        with self._lock:
            self._paced += size
            pause = (self._begun + self._paced / self._bandwidth
                     - time.monotonic())
        if pause > 0:
            time.sleep(pause)

    def _submit(self, pool: ThreadPoolExecutor, *work: Any) -> None:
        self._under_way.append(pool.submit(*work))
        if len(self._under_way) >= 4 * WAITING:
            self._join()

    def _join(self) -> None:
        """Wait for what is under way.

        :raises OSError: if a disk is full, or fails
        :raises DiskFileDeviceUnavailable: if an index cannot be asked
        """
        under_way, self._under_way = self._under_way, []
        errors = [each.exception() for each in under_way]
        for error in filter(None, errors):
            raise error
