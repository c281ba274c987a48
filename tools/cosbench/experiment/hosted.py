# SPDX-License-Identifier: Apache-2.0
"""Experiments that a controller conducts itself, each in a thread.

Their runs go through its queue, beside those of others. A controller that is
stopped or killed leaves them to be continued: what has finished is kept.
"""

import asyncio
import logging
import os
from contextlib import suppress
from typing import Any

from cosbench.controller.workload_queue import Controller, QueueFull
from cosbench.errors import ArchiveError, ConfigError, WorkloadError
from cosbench.experiment.book import Book, Plan
from cosbench.experiment.conduct import RunFailed, conduct, elsewhere, remember
from cosbench.experiment.findings import Aims
from cosbench.tasks import within

#: That go on at the same time; seconds between two looks at a run.
MOST, LOOK = 8, 0.5
log = logging.getLogger('cosbench.experiment')


class Hosted:
    """The experiments of a controller.

    :param controller: a ``Controller``
    :param directory: has the directories of experiments
    """

    def __init__(self, controller: Controller, directory: str) -> None:
        self.directory = directory
        self._controller = controller
        #: Name -> its task, and an Event: it is to end.
        self._running: dict[str, tuple[asyncio.Event, asyncio.Task[None]]] = {}
        #: Name -> what it said last.
        self.said: dict[str, str] = {}

    def path(self, name: str) -> str:
        """Return the directory of an experiment."""
        return os.path.join(self.directory, name)

    def is_running(self, name: str) -> bool:
        """Return whether it goes on here."""
        return name in self._running

    async def begin(self, name: str, aims: Aims, plan: Plan | None = None
                   ) -> None:
        """Begin an experiment, or go on with one.

        :param name: of its directory
        :param plan: its ``Plan``; None: it goes on with what is there
        :raises ConfigError: if another experiment is there, or too many go on
        :raises ArchiveError: if another process conducts it
        """
        if len(self._running) >= MOST or name in self._running:
            raise ConfigError('%s is one of %d experiments that go on, or '
                              'would be one too many' % (
                                  name, len(self._running)))
        if plan is not None and os.path.exists(self.path(name)):
            raise ConfigError('there is an experiment %s: choose another '
                              'name' % name)
        book = await asyncio.to_thread(_opened, self.path(name), plan, aims)
        self.said[name] = 'It begins.'
        stopped = asyncio.Event()
        self._running[name] = stopped, asyncio.ensure_future(
            self._conduct(name, book, aims, stopped))

    async def _conduct(self, name: str, book: Book, aims: Aims,
                       stopped: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()

        def fetch(data: bytes, seed: int) -> dict[str, Any]:
            return asyncio.run_coroutine_threadsafe(
                self._fetch(data, seed, stopped), loop).result()

        def say(line: str) -> None:
            self.said[name] = line
            log.info('%s: %s', name, line)
        try:
            await asyncio.to_thread(conduct, book, aims, elsewhere(
                book.archive, fetch), say)
            say('It has ended.')
        except (RunFailed, ConfigError, ArchiveError, OSError) as err:
            say(str(err))
        finally:
            book.close()
            self._running.pop(name, None)

    async def _fetch(self, data: bytes, seed: int, stopped: asyncio.Event
                    ) -> dict[str, Any]:
        """Have the controller run a document; return what it did."""
        if stopped.is_set():
            raise RunFailed('It was stopped; what has finished is kept.')
        try:
            run_id = self._controller.submit(data, seed)['id']
        except (QueueFull, WorkloadError) as err:
            raise RunFailed(str(err)) from None
        entry = self._controller.entry(run_id)
        while not entry.state.final:
            with suppress(asyncio.TimeoutError):
                await within(LOOK, stopped.wait())
                await self._controller.cancel(run_id)
                stopped = asyncio.Event()
        return await asyncio.to_thread(self._controller.document, run_id)

    def stop(self, name: str) -> None:
        """Have one end as soon as its run is cancelled."""
        if name in self._running:
            self._running[name][0].set()

    async def close(self) -> None:
        """Stop all, and wait for their ends."""
        for name in self._running:
            self.stop(name)
        await asyncio.gather(*(task for _, task in self._running.values()))


def _opened(path: str, plan: Plan | None, aims: Aims) -> Book:
    """Return the ``Book`` of an experiment, which knows its aims."""
    book = Book(path, plan)
    try:
        book.recover()
        remember(book, aims)
        return book
    except BaseException:
        book.close()
        raise
