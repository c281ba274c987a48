# SPDX-License-Identifier: Apache-2.0
"""Takes a task through all databases; no task waits for another."""

import time

from swift.common.concurrency import Timeout, sleep

from swift_lightsync.versioning.core.sync_point import Follower, Lag
from swift_lightsync.versioning.sites.databases import BROKER_ERRORS


class TaskRunner:
    """
    Runs one task.

    :param task: see ``Follower``; ``of_hidden`` says whether it follows the
        databases of hidden containers or those of users' containers
    :param databases: ``Databases``
    :param options: ``PropagatorOptions``
    """

    def __init__(self, task, databases, options, logger, now=time.time):
        self.task = task
        self.databases = databases
        self._options = options
        self._logger = logger
        self._now = now
        # By the databases' ids.
        self._followers = {}

    def run_forever(self):
        while True:
            sleep(0 if self.run_pass() else self._options.interval)

    def run_all(self):
        """Work until nothing is due any more."""
        while self.run_pass():
            pass

    def run_pass(self):
        """
        Do what is due now, one turn in each database.

        :returns: whether any database has more work due than its turn allowed
        """
        more, ids = False, set()
        for directory, database in self.databases.followed(
                self.task.of_hidden):
            ids.add(database.id)
            try:
                more |= self._follower(database).work(
                    self.databases.state(directory))
            except BROKER_ERRORS as err:
                self._logger.warning('%s: not looked at: %s', database, err)
            except (Exception, Timeout):
                # What is not done stays so, and is found again.
                self._logger.exception('%s: task %s failed', database,
                                       self.task.name)
        for known in set(self._followers) - ids:
            del self._followers[known]
        return more

    def lag(self):
        """Return the ``Lag`` of all databases."""
        lags = [each.progress.lag for each in self._followers.values()]
        return Lag(sum(lag.rows for lag in lags), min(
            (lag.oldest for lag in lags if lag.oldest is not None),
            default=None))

    def _follower(self, database):
        found = self._followers.get(database.id)
        if found is None:
            found = self._followers[database.id] = Follower(
                self.task, database, self._options, self._now)
        return found
