# SPDX-License-Identifier: Apache-2.0
"""The sync queue: the jobs of a pass, in an order that can still change.

LightSync §5.4.3, Fig. 24.
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

_Job = TypeVar('_Job')


class SyncQueue(list[_Job]):
    """A list of jobs that can be reordered while it is iterated over."""

    _position = 0

    def __iter__(self) -> Iterator[_Job]:
        self._position = 0
        while self._position < len(self):
            self._position += 1
            yield self[self._position - 1]

    def move_to_head(self, jobs: Sequence[_Job]) -> None:
        """Put jobs before all others that are still to come.

        Jobs that were handed out already come again, and jobs that were never
        in the queue are added.

        :param jobs: the jobs, in the order in which they are to come
        """
        moved = {id(job) for job in jobs}
        waiting = [job for job in self[self._position:]
                   if id(job) not in moved]
        self[self._position:] = list(jobs) + waiting
