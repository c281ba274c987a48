# SPDX-License-Identifier: Apache-2.0
"""Discrete events: a clock, and processes that wait for it.

A process is a generator. It yields a number, the seconds that it waits, or
:class:`Together`, other processes that it waits for.
"""

import heapq
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True)
class Together:
    """Run processes at the same time; go on when all are done.

    :param processes: a list of generators
    :param limit: how many of them run at once
    """
    processes: list
    limit: int


class Task:
    """A process that is running."""

    def __init__(self, process, done=None):
        self.process = process
        self.alive = True
        self.children = []
        self._done = done

    def finish(self):
        self.alive = False
        if self._done:
            self._done()

    def kill(self):
        """End the process where it stands, and all processes it waits for."""
        if not self.alive:
            return
        for child in self.children:
            child.kill()
        self.process.close()
        self.finish()


class Events:
    """The clock, and all events to come."""

    def __init__(self):
        self.now = 0.0
        self._order = count()
        self._heap = []

    def at(self, when, call, *args):
        """Call a function at a time, not before now."""
        heapq.heappush(self._heap, (max(when, self.now), next(self._order),
                                    call, args))

    def spawn(self, process, done=None):
        """Start a process at this time.

        :param process: a generator
        :param done: a function that is called when it has ended
        :returns: a :class:`Task`
        """
        task = Task(process, done)
        self.at(self.now, self._step, task)
        return task

    def run(self, going=lambda: True, until=float('inf')):
        """Let time pass.

        :param going: a function; time stands still once it returns False
        :param until: ... or once it is this late
        """
        while self._heap and self._heap[0][0] <= until and going():
            self.now, _, call, args = heapq.heappop(self._heap)
            call(*args)

    def wait(self, seconds):
        """Let so much time pass."""
        until = self.now + seconds
        self.run(until=until)
        self.now = until

    def _step(self, task):
        if not task.alive:
            return
        try:
            wanted = next(task.process)
        except StopIteration:
            task.finish()
            return
        if isinstance(wanted, Together):
            self._gather(task, wanted)
        else:
            self.at(self.now + wanted, self._step, task)

    def _gather(self, task, wanted):
        waiting = list(reversed(wanted.processes))
        running = 0

        def start():
            nonlocal running
            while waiting and running < wanted.limit:
                running += 1
                task.children.append(self.spawn(waiting.pop(), ended))

        def ended():
            nonlocal running
            running -= 1
            if task.alive:
                task.children = [child for child in task.children
                                 if child.alive]
                start()
                if not running:
                    self.at(self.now, self._step, task)

        start()
        if not running:
            self.at(self.now, self._step, task)
