# SPDX-License-Identifier: Apache-2.0
"""The triggers of a driver: scripts that run as long as a stage does.

1. What runs is an executable file directly in the directory that the
   driver's operator named; without a directory nothing does.
2. It gets its arguments as they are, without a shell, and an environment of
   PATH and LANG only. It is the driver's user nevertheless.
3. It ends, with all that it started, when the controller asks for that, when
   no controller asks for it for its lease, and when the driver dies.
4. What it writes goes to the driver's log, up to ``MAX_LINES``.
"""

import asyncio
import logging
import os
import stat
import sys
import time
from dataclasses import dataclass
from typing import Any

from cosbench.driver import until_eof
from cosbench.driver.signed_server import Failure
from cosbench.engine.core.mission import Id, Lease
from cosbench.errors import ConfigError
from cosbench.tasks import ended, within
from cosbench.workload import names
from swift_lightsync.common.records import Record
from swift_lightsync.common.text import printable

#: Seconds from SIGTERM to SIGKILL, and those that ``until_eof`` has in all.
GRACE, PATIENCE = 5.0, 10.0
MAX_LINES, MAX_LINE = 1000, 1000
ENVIRONMENT = {
    'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'LANG': 'C.UTF-8'}
log = logging.getLogger('cosbench.trigger')


def directory(path):
    """Check the directory that triggers are run from.

    :param path: as the operator gave it; None: no triggers
    :returns: the real one
    :raises ConfigError: if it is none, or anyone may put scripts there
    """
    if path is None:
        return None
    if not os.path.isdir(path):
        raise ConfigError.of('--triggers', path, 'a directory')
    if os.stat(path).st_mode & stat.S_IWOTH:
        raise ConfigError.of('--triggers', path, 'a directory that not '
                             'everybody may write to')
    return os.path.realpath(path)


def find(root, script):
    """Return the path of a script.

    :param root: of ``directory``
    :param script: the name of a file
    :raises ConfigError: if it is not directly there, or cannot be run
    """
    path = os.path.join(root, script)
    # A link may lead elsewhere.
    if os.path.realpath(path) != path or os.path.dirname(path) != root \
            or not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise ConfigError.of('trigger', script, 'an executable file, and no '
                             'link, in %s' % root)
    return path


class Run:
    """A trigger that runs.

    :param key: the controller's name of it
    :param trigger: a ``Trigger``
    :param lease: seconds without a word after which it ends
    """

    def __init__(self, key, trigger, lease):
        self.key = key
        self.trigger = trigger
        self._heard = time.monotonic()
        self._lease = lease
        #: From ``start`` on: the process, and the task that reads from it.
        self._process: Any = None
        self._reader: Any = None
        self._said = ''

    @property
    def overdue(self):
        return time.monotonic() - self._heard > self._lease

    def hear(self):
        """A controller has asked for it."""
        self._heard = time.monotonic()

    async def start(self, path):
        """Start the script.

        :raises OSError: if no process can be made
        """
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, '-I', until_eof.__file__, str(GRACE), path,
            *self.trigger.arguments, cwd=os.path.dirname(path),
            env=ENVIRONMENT, start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT)
        self._reader = asyncio.ensure_future(self._read())
        log.info('%s: %s runs', self.key, self.trigger)

    async def end(self):
        """End it with all that it started, or see that it has ended.

        :returns: what went wrong; empty: nothing
        """
        self._process.stdin.close()
        try:
            status = await within(PATIENCE, self._process.wait())
        except asyncio.TimeoutError:
            self._process.kill()
            status = await self._process.wait()
        # One that left its group may hold the other end for ever.
        await asyncio.wait([self._reader], timeout=1)
        await ended(self._reader)
        reason = status and 'exit status %d%s' % (
            status, self._said and ': ' + self._said) or ''
        log.info('%s: %s has ended%s', self.key, self.trigger,
                 reason and ': ' + reason)
        return reason

    async def _read(self):
        number = 0
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                line = b'(a line that is too long)'
            if not line:
                return
            self._said = printable(
                line.decode('utf8', 'replace').rstrip()[:MAX_LINE])
            number += 1
            if number <= MAX_LINES:
                log.info('%s: %s', self.key, self._said)
            elif number == MAX_LINES + 1:
                log.warning('%s: what else it says is not logged', self.key)


#: That run at the same time.
MAX_TRIGGERS = 64


@dataclass(frozen=True)
class _Request(Record, exact=True):
    """What a controller asks for when it starts a trigger."""

    id: Id
    trigger: str
    lease: Lease


class TriggerRequests:
    """Answers what a controller asks about triggers.

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
        asked = _Request.from_json(body, 'trigger')
        run = Run(asked.id, names.trigger('trigger', asked.trigger),
                  asked.lease)
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
