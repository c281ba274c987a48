# SPDX-License-Identifier: Apache-2.0
"""What a driver is asked about triggers: PROTOCOL.md, part 1."""

import asyncio
import logging
from dataclasses import dataclass

from cosbench.driver.signed_server import Failure
from cosbench.driver.triggers import Run, directory, find
from cosbench.engine.core.mission import Id, Lease
from cosbench.workload import names
from swift_lightsync.common.records import Record

#: That run at the same time.
MAX_TRIGGERS = 64
log = logging.getLogger('cosbench.trigger')


@dataclass(frozen=True)
class _Request(Record, exact=True):
    """What a controller asks for when it starts a trigger."""

    id: Id
    trigger: str
    lease: Lease


class TriggerRequests:
    """
    Answers what a controller asks about triggers.

    :param root: where scripts are, or None: no triggers are run
    :param head: a function that returns what each answer has
    :raises ConfigError: see ``directory``
    """

    def __init__(self, root, head):
        self._root = directory(root)
        self._head = head
        self._runs = {}
        self._starting = asyncio.Lock()

    def routes(self):
        """Return the routes for ``signed_server.application``."""
        one = '/v1/triggers/{id}'
        return (('POST', '/v1/triggers', self._start),
                ('GET', one, self._keep), ('DELETE', one, self._end))

    @property
    def ids(self):
        """The ids of triggers that run; None: this driver runs none."""
        return None if self._root is None else list(self._runs)

    async def end_overdue(self):
        """End those that no controller asks for."""
        overdue = [run for run in self._runs.values() if run.overdue]
        for run in overdue:
            log.warning('%s: no word from the controller', run.key)
        await asyncio.gather(*map(self._finish, overdue))

    async def close(self):
        await asyncio.gather(*map(self._finish, list(self._runs.values())))

    async def _finish(self, run):
        reason = await run.end()
        # Another may have asked for the same.
        self._runs.pop(run.key, None)
        return reason

    async def _start(self, request, body):
        run = _run(body)
        if self._root is None:
            raise Failure(403, 'this driver runs no triggers: its operator '
                          'gave no --triggers')
        async with self._starting:
            return await self._started(run)

    async def _started(self, run):
        known = self._runs.get(run.key)
        if known is not None:
            if known.trigger != run.trigger:
                raise Failure(409, 'another trigger is called %s' % run.key)
            # Its first answer was lost on the way.
            return 200, self._head()
        if len(self._runs) >= MAX_TRIGGERS:
            raise Failure(503, 'the driver runs %d triggers, and no more'
                          % MAX_TRIGGERS)
        path = find(self._root, run.trigger.script)
        try:
            await run.start(path)
        except OSError as err:
            raise Failure(503, 'trigger %s cannot be run: %s' % (
                run.trigger, err.strerror)) from None
        self._runs[run.key] = run
        return 201, self._head()

    async def _keep(self, request, body):
        self._known(request).hear()
        return 200, self._head()

    async def _end(self, request, body):
        reason = await self._finish(self._known(request))
        return 200, {**self._head(), 'reason': reason}

    def _known(self, request):
        run = self._runs.get(request.match_info['id'])
        if run is None:
            raise Failure(404, 'there is no such trigger')
        return run


def _run(body):
    """
    Make the run that a controller asks for.

    :param body: what ``json.loads`` returned
    :returns: a ``Run``, not started
    :raises RecordError, ConfigError: names what is wrong
    """
    found = _Request.from_json(body, 'trigger')
    return Run(found.id, names.trigger('trigger', found.trigger), found.lease)
