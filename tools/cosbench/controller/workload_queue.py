# SPDX-License-Identifier: Apache-2.0
"""The controller: a queue of workloads, run one after the other."""

import asyncio
import json
import logging
import secrets
import time

from cosbench import adaptors
from cosbench.controller import result_document as documents
from cosbench.controller.core.workload_states import Policy, WorkloadState
from cosbench.controller.journal import NAME, journal
from cosbench.controller.json_parts import dumps
from cosbench.controller.live import Entry, brief, ended
from cosbench.controller.runfile import Unwritten
from cosbench.controller.workload_run import Context, WorkloadRun
from cosbench.document.reader import portable, read
from cosbench.errors import ConfigError, WorkloadError
from cosbench.tasks import beside, within
from cosbench.watch.collector import watching

#: Workloads that may wait.
MAX_QUEUE = 1000
log = logging.getLogger('cosbench.controller')


class QueueFull(Exception):
    """No more workloads are taken now."""


class Controller:
    """Queues workloads, and runs one after the other.

    :param archive: an ``Archive``
    :param drivers: ``Driver`` objects
    :param policy: a ``Policy``
    :param watched: ``Target`` objects: storage nodes
    """

    def __init__(self, archive, drivers, policy=Policy(), watched=()):
        self.archive = archive
        self.drivers = drivers
        self._policy = policy
        self._watched = watched
        self._entries = {}
        self._queue = []
        self._closing = False
        self._arrived = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    async def open(self):
        """Take up what an earlier controller left in the archive."""
        for document in await asyncio.to_thread(self.archive.recover):
            state = WorkloadState(document['state'])
            if state is WorkloadState.QUEUING:
                await self._take_up(document)
            else:
                self._entries[document['id']] = Entry(brief(document))

    async def _take_up(self, document):
        """Queue one that waited, if it is still taken."""
        entry = Entry(document)
        try:
            entry.workload = read(document['xml'].encode(),
                                  adaptors.installed()).workload
        except (ConfigError, RecursionError, WorkloadError) as err:
            log.error('%s is refused: %s', document['id'], err)
            self._entries[document['id']] = entry
            await self._settle(entry, WorkloadState.FAILED,
                               'it is refused: %s' % err)
        else:
            self._enqueue(entry)

    def submit(self, data, seed=None):
        """Put a workload into the queue.

        :param data: the bytes of a workload document
        :param seed: of all random choices; None: a new one
        :returns: the document of the run
        :raises WorkloadError: with all that it is refused for
        :raises QueueFull: also when this is closed
        :raises Unwritten: nothing is left of it then
        """
        if self._closing:
            raise QueueFull('the controller is stopping')
        if len(self._queue) >= MAX_QUEUE:
            raise QueueFull('%d workloads wait: no more are taken'
                            % MAX_QUEUE)
        entry = self._new(data, seed, WorkloadState.QUEUING)
        self._enqueue(entry)
        return entry.document

    def begin(self, data, seed=None):
        """As ``submit``, of what is not for the queue: ``run`` or ``fail`` is
        to follow. If neither comes to its end, the run has died, and no
        controller takes it up.

        :returns: its ``Entry``
        """
        entry = self._new(data, seed, WorkloadState.PROCESSING)
        self._entries[entry.document['id']] = entry
        return entry

    def _new(self, data, seed, state):
        text = portable(data)
        found = read(text.encode('utf8'), adaptors.installed())
        warnings = ['line %d: %s' % (each.line, each.reason)
                    for each in found.warnings]
        run_id = self.archive.new(found.workload.name)
        document = documents.empty(
            run_id, found.workload, text,
            secrets.randbits(53) if seed is None else seed, time.time(),
            warnings)
        document['state'] = state.value
        try:
            self.archive.save(document)
        except Unwritten:
            self.archive.remove(run_id)
            raise
        return Entry(document, found.workload)

    def _enqueue(self, entry):
        self._entries[entry.document['id']] = entry
        self._queue.append(entry)
        self._arrived.set()

    @property
    def ids(self):
        """The ids of all workloads, oldest first."""
        return list(self._entries)

    def entry(self, run_id):
        """Return a workload, whether it waits, runs or has ended.

        :raises KeyError: if there is none
        """
        return self._entries[run_id]

    def document(self, run_id):
        """Return the result document of a workload as of now.

        :raises KeyError, ArchiveError:
        """
        entry = self._entries[run_id]
        if entry.run is None and entry.state.final:
            return self.archive.load(run_id)
        return json.loads(entry.text())

    async def text(self, run_id):
        """Return the result document of a workload as JSON.

        :raises KeyError, ArchiveError:
        """
        entry = self._entries[run_id]
        if entry.run is None and entry.state.final:
            return await asyncio.to_thread(
                lambda: dumps(self.archive.load(run_id)))
        return entry.text()

    async def live(self, run_id):
        """Return what is shown of a workload now, as JSON.

        :raises KeyError, ArchiveError:
        """
        entry = self._entries[run_id]
        if entry.run is None and entry.state.final:
            return await asyncio.to_thread(
                lambda: ended(*self.archive.read(run_id)))
        return entry.live()

    async def cancel(self, run_id):
        """Cancel a workload; return whether there was something to cancel."""
        entry = self._entries[run_id]
        if entry in self._queue:
            self._queue.remove(entry)
            await self._settle(entry, WorkloadState.CANCELLED)
            return True
        if entry.run is None:
            return False
        await entry.run.cancel()
        return True

    async def work(self):
        """Run what is in the queue, until this is closed."""
        async with beside(self._save_again()):
            await self._work()

    async def _work(self):
        while not self._closing:
            if not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
                continue
            entry = self._queue.pop(0)
            self._idle.clear()
            try:
                await self.run(entry)
            except Exception as err:
                # The next workload must not suffer from this one.
                log.exception('%s', entry.document['id'])
                await self.fail(entry, err)
            finally:
                self._idle.set()

    async def run(self, entry, skip=None, enough=None):
        """Run one workload that is not in the queue; ``WorkloadRun``."""
        document = entry.document
        context = Context(document['id'], document['xml'], document['seed'],
                          list(self.drivers), self._policy.on_loss,
                          self._policy.lease)
        entry.run = WorkloadRun(entry.workload, context, skip, enough)
        ended = asyncio.Event()
        saver = asyncio.ensure_future(self._save(entry, ended))
        try:
            with journal(self.archive.path(document['id'])):
                async with watching(self._watched) as entry.run.nodes:
                    await entry.run.run()
        except OSError as err:
            if not entry.run.state.final:
                raise
            # The run has ended; what it said may be lost, and no more.
            log.error('%s: %s: %s', document['id'], NAME, err)
        finally:
            # What it is writing must not come after what is final.
            ended.set()
            await asyncio.gather(saver, return_exceptions=True)
        final = documents.filled(document, entry.run)
        await asyncio.to_thread(self.archive.finish, final)
        entry.document, entry.run = brief(final), None

    async def close(self):
        """Cancel what runs, and wait for its end; what waits stays, and
        nothing else is taken.
        """
        self._closing = True
        for entry in self._entries.values():
            if entry.run is not None:
                await entry.run.cancel()
        await self._idle.wait()
        await asyncio.to_thread(self.archive.finish_again)

    async def fail(self, entry, err):
        """Have one end that cannot go on.

        :param err: the exception that is why
        """
        await self._settle(entry, WorkloadState.FAILED, '%s: %s' % (
            type(err).__name__, err))

    async def _save(self, entry, ended):
        """What is known so far, whenever a stage or a period ends.

        :param ended: an Event: the run has ended
        """
        while not ended.is_set():
            try:
                await asyncio.to_thread(
                    self.archive.write, entry.document['id'], entry.text())
            except OSError as err:
                log.error('%s cannot be saved: %s', entry.document['id'],
                          err)
            try:
                await within(self._policy.save_period, ended.wait())
            except asyncio.TimeoutError:
                pass

    async def _save_again(self):
        """What has ended and was not written, every now and then."""
        while True:
            await asyncio.sleep(self._policy.save_period)
            await asyncio.to_thread(self.archive.finish_again)

    async def _settle(self, entry, state, *warnings):
        """Have one that does not run any more end."""
        found = json.loads(entry.text())
        found.update(state=state.value, stopped=time.time(),
                     warnings=found['warnings'] + list(warnings))
        entry.document, entry.run = found, None
        await asyncio.to_thread(self.archive.finish, found)
        entry.document = brief(found)
