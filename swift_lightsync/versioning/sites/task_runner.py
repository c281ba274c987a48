# SPDX-License-Identifier: Apache-2.0
"""
A lane takes one task through all databases: it has their sync points, and
what is held. Lanes do not wait for each other.
"""

import time
from dataclasses import dataclass
from typing import Optional
from zlib import crc32

from swift.common.concurrency import Timeout, sleep

from swift_lightsync.versioning.core.sync_point import Progress, turn
from swift_lightsync.versioning.sites.databases import BROKER_ERRORS, PAGE

#: Rows beyond the point of which some are held: so many are looked at.
WINDOW = 20000
#: Batches of one database, after which the others have their turn.
TURN = 10


@dataclass(frozen=True)
class Lag:
    """
    What a task has not done.

    :param rows: how many rows
    :param oldest: when the oldest was made, Unix time, or None
    """
    rows: int
    oldest: Optional[float]


class Lane:
    """
    :param task: as peer_task tells
    :param databases: ``Databases``
    :param ordinal: a function of a ``Database``: at which place of the ring
        it is, and of how many; (None, count) at none
    :param options: ``PropagatorOptions``
    """

    def __init__(self, task, databases, ordinal, options, logger,
                 now=time.time):
        self.task = task
        self.databases = databases
        self._ordinal = ordinal
        self._options = options
        self._logger = logger
        self._now = now
        # By the databases' ids.
        self._progress = {}
        # What they were when all was looked at, and when it was only noted.
        self._states = {}
        self._noted = {}

    def run_forever(self):
        while True:
            sleep(0 if self.run_pass() else self._options.interval)

    def run_all(self):
        """Do all that is due."""
        while self.run_pass():
            pass

    def run_pass(self):
        """
        Do what is due now, in all databases, each a turn.

        :returns: whether there was more in one than a turn's
        """
        more = False
        followed = [(directory, database)
                    for directory, database in self.databases
                    if database.hidden == self.task.of_hidden]
        for directory, database in followed:
            try:
                more |= self._work(directory, database)
            except BROKER_ERRORS as err:
                self._logger.warning('%s: not looked at: %s', database, err)
            except (Exception, Timeout):
                # What is not done stays so, and is found again.
                self._logger.exception('%s: task %s failed', database,
                                       self.task.name)
        ids = {database.id for _, database in followed}
        for known in set(self._progress) - ids:
            del self._progress[known]
            self._states.pop(known, None)
            self._noted.pop(known, None)
        return more

    def lag(self):
        """:returns: the ``Lag`` of all databases"""
        oldest = [progress.oldest for progress in self._progress.values()
                  if progress.oldest is not None]
        return Lag(sum(len(progress.waiting)
                       for progress in self._progress.values()),
                   min(oldest, default=None))

    def _work(self, directory, database):
        """:returns: whether there is more to do than was in this turn"""
        state = self.databases.state(directory)
        progress = self._progress.get(database.id)
        if progress is None:
            progress = Progress(database.point(self.task.name))
            self._progress[database.id] = progress
        elif state == self._states.get(database.id) and \
                self._now() < progress.due_at:
            return False
        # Unless all of it is looked at, it is to be looked at again.
        self._states.pop(database.id, None)
        if not self.task.is_ready(self._now()):
            self._note(database, progress, state)
            return False
        ordinal, replicas = self._ordinal(database)
        share, after = replicas if ordinal is None else 0, progress.point
        for _ in range(TURN):
            if not self.task.is_ready(self._now()):
                return False
            items, after = self._batch(database, progress, after, share,
                                       (ordinal, replicas))
            if items:
                self._run(database, progress, items)
            if progress.advance():
                database.save_point(self.task.name, progress.point)
            if not items:
                # Where much is due, others are busy with their own shares.
                share, after = share + 1, progress.point
                if share >= replicas or self._now() < progress.due_at:
                    self._states[database.id] = state
                    return False
        return True

    def _note(self, database, progress, state):
        """Look at what is new, for ``lag``."""
        if state != self._noted.get(database.id):
            for _ in self._rows(database, progress, progress.end):
                pass
            self._noted[database.id] = state

    def _run(self, database, progress, items):
        for rowid, done in self.task.run(database, items):
            if done:
                progress.done(rowid)
            else:
                progress.hold(rowid, self._now(), self._options.retry_delay,
                              self._options.max_retry_delay)

    def _batch(self, database, progress, after, share, place):
        """
        :param after: the ROWID of the last row that was looked at
        :param share: whose rows are wanted: 0 for those that this replica's
            server is the first to act on, 1 for those that it takes over
            first
        :param place: of this replica, and how many there are
        :returns: the ``Item`` that are due, as many as go at once, and the
            last row that was looked at
        """
        now, batch = self._now(), []
        for after, item in self._rows(database, progress, after):
            whose = turn(crc32(item.row.name.encode('utf8')), *place)
            if progress.is_new(after):
                progress.schedule(after, now + self.task.delay +
                                  self._options.handover_delay * whose)
            if whose == share and progress.is_due(after, now):
                batch.append(item)
                if len(batch) == self._options.batch_size:
                    break
        return batch, after

    def _rows(self, database, progress, after):
        """Look at the rows after a ROWID: (ROWID, ``Item``) of each."""
        end = progress.point + WINDOW
        while after < end:
            page = database.items(after)
            progress.look(after, [row[:2] for row in page], len(page) < PAGE)
            for after, _, item in page:
                if item is None or not self.task.wants(item):
                    progress.done(after)
                elif progress.is_last(after, self.task.subject(item)):
                    yield after, item
            if len(page) < PAGE:
                break
