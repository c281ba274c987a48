# SPDX-License-Identifier: Apache-2.0
"""
The notes of when an object expires, of which a primary-role write awaits most.

One server makes all of them, where stock Swift spreads them over the replicas
and a quorum of those answers the client. So the answer waits for a majority
here, and a hung container server delays nobody.
"""

from swift.common.concurrency import Queue, Timeout, spawn


class ExpiryUpdates:
    """
    Updates that run at the same time.

    :param logger: is told of those that fail after the answer
    """

    def __init__(self, logger):
        self._logger = logger
        self._thread_locals = logger.thread_locals
        self._ended: Queue = Queue()
        self._begun = 0
        self._is_awaited = True

    def begin(self, method, *args, **kwargs):
        """Run a method, which makes or saves one update, from now on."""
        self._begun += 1
        spawn(self._run, method, *args, **kwargs)

    def _run(self, method, *args, **kwargs):
        self._logger.thread_locals = self._thread_locals
        error = None
        try:
            method(*args, **kwargs)
        except (Exception, Timeout) as err:
            error = err
            if not self._is_awaited:
                self._logger.exception('A note of expiry was lost')
        self._ended.put(error)

    def wait(self):
        """
        Return when a majority of the updates were made, or were saved.

        :raises OSError: if one of them could not be saved
        """
        try:
            for _ in range(self._begun // 2 + 1 if self._begun else 0):
                error = self._ended.get()
                if error is not None:
                    raise error
        finally:
            self._is_awaited = False
