# SPDX-License-Identifier: Apache-2.0
"""Takes a task through all databases; no task waits for another."""

import time
from typing import Any

from swift.common.concurrency import Empty, LightQueue, Timeout, sleep

from swift_lightsync.versioning.core.progress import Lag
from swift_lightsync.versioning.core.sync_point import Follower, fair
from swift_lightsync.versioning.sites.database import BROKER_ERRORS

#: Items that a task has under way at once.
UNDER_WAY = 4096
#: Databases with items that are due; these are not kept waiting for others.
READY = 500


class TaskRunner:
    """Runs one task.

    :param task: see ``Follower``; ``of_hidden`` says whether it follows the
        databases of hidden containers or those of users' containers; ``room``,
        how many items it takes now; ``run`` starts to work on some items of
        any databases, each a ``Work``, which it tells in the end whether it is
        ``done`` or ``failed``
    :param databases: ``Databases``
    :param options: ``PropagatorOptions``
    """

    def __init__(self, task, databases, options, logger, now=time.time):
        self.task = task
        self.databases = databases
        #: how many items are
        self.under_way = 0
        self._options = options
        self._logger = logger
        self._now = now
        # By the databases' ids; those that have more to do now.
        self._followers: dict[str, Follower] = {}
        self._active: list[Follower] = []
        # Of those that have nothing to do: the state in which that was so.
        self._idle: dict[str, Any] = {}
        # When each account had its last turn.
        self._turns: dict[str, int] = {}
        # Something has ended.
        self._bell = LightQueue()

    def run_forever(self):
        """Look for what is new in each interval, and work on it."""
        interval = self._options.interval
        while True:
            end = time.monotonic() + interval
            self.run_pass(age=interval / 2)
            while self._active and self._wait(end - time.monotonic()):
                self._go_on(self._now())
            sleep(max(0, end - time.monotonic()))

    def run_all(self):
        """Work until nothing is left of what is due now."""
        now = self._now()
        while self.run_pass(now) or self.under_way:
            while self.under_way:
                self._wait(self._options.interval)
                self._go_on(now)

    def run_pass(self, now=None, age=0.0):
        """Start what is due, and store how far all is done.

        :param now: what is due later is left, Unix time; None: now
        :param age: seconds for which what is known of the databases holds
        :returns: whether there is more to do as soon as something has ended
        """
        now = self._now() if now is None else now
        self.databases.refresh(age)
        ids = set()
        ready: list[Follower] = []
        for directory, database in self.databases.followed(
                self.task.of_hidden):
            ids.add(database.id)
            state = self.databases.state(directory)
            if state is not None and self._idle.get(database.id) == state:
                continue
            self._idle.pop(database.id, None)
            self._guarded(database, self._look, state, database, now, ready)
            if len(ready) >= READY:
                self._start(ready)
                ready = []
        for known in set(self._followers) - ids:
            del self._followers[known]
            self._idle.pop(known, None)
        busy = [each for known, each in self._followers.items()
                if known not in self._idle]
        self._active = [each for each in busy if each.has_more]
        self._go_on(now)
        for follower in busy:
            self._guarded(follower.database, follower.save)
            if follower.is_idle:
                self._idle[follower.database.id] = follower.looked_at
        return bool(self._active)

    def _go_on(self, now):
        """Start as much as the task has room for, of all that is due."""
        for follower in self._active:
            # What is known of it is enough to see what is due.
            self._guarded(follower.database, follower.read_on, now)
        self._start([each for each in self._active if each.is_ready])
        self._active = [each for each in self._active if each.has_more]

    def lag(self):
        """Return the ``Lag`` of all databases."""
        lags = [each.progress.lag for each in self._followers.values()]
        return Lag(sum(lag.rows for lag in lags), min(
            (lag.oldest for lag in lags if lag.oldest is not None),
            default=None))

    def _look(self, state, database, now, ready):
        follower = self._followers.get(database.id)
        if follower is None:
            follower = self._followers[database.id] = Follower(
                self.task, database, self._options, self._now, self._ended)
        follower.look(state, now)
        if follower.is_ready:
            ready.append(follower)

    def _start(self, ready):
        """Give the task its fair share of what is due."""
        works = []
        if self._now() >= self.task.backoff.until:
            works = fair(ready, min(self.task.room, UNDER_WAY -
                                    self.under_way), self._turns)
        self.under_way += len(works)
        try:
            if works:
                self.task.run(works)
        except (Exception, Timeout):
            # What is not done stays so, and is found again.
            self._logger.exception('Task %s failed', self.task.name)
            for work in works:
                work.failed()
        # Answers have to be read meanwhile.
        sleep(0)

    def _ended(self, work):
        self.under_way -= 1
        if self._bell.empty():
            self._bell.put(None)

    def _wait(self, seconds):
        """Wait until something has ended; return False if nothing has."""
        try:
            self._bell.get(timeout=max(0, seconds))
        except Empty:
            return False
        return True

    def _guarded(self, database, step, *args):
        try:
            step(*args)
        except BROKER_ERRORS as err:
            self._logger.warning('%s: not looked at: %s', database, err)
        except (Exception, Timeout):
            self._logger.exception('%s: task %s failed', database,
                                   self.task.name)
