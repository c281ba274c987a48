# SPDX-License-Identifier: Apache-2.0
"""
The sync queue: the jobs of a pass, in an order that can still change.

LightSync §5.4.3, Fig. 24.
"""


class SyncQueue(list):
    """
    A list of jobs that can be reordered while it is being iterated over.
    """

    _position = 0

    def __iter__(self):
        self._position = 0
        while self._position < len(self):
            self._position += 1
            yield self[self._position - 1]

    def move_to_head(self, jobs):
        """
        Put jobs before all others that are still to come; those that were
        handed out already, or were never in the queue, come (again).

        :param jobs: a list of jobs
        """
        moved = {id(job) for job in jobs}
        waiting = [job for job in self[self._position:]
                   if id(job) not in moved]
        self[self._position:] = list(jobs) + waiting
