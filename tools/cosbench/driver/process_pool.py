# SPDX-License-Identifier: Apache-2.0
"""Several driver processes of one host, one a core, each with its port."""

import asyncio
import json
import logging
import os
import sys
from typing import Any

from cosbench.driver.secret import SECRET
from cosbench.tasks import within

#: Seconds.
BOOT, STOP, PAUSE = 30.0, 10.0, 1.0
log = logging.getLogger('cosbench.pool')


class Child:
    """A driver process that ends when this process does, however that ends.

    :param arguments: of ``cosbench driver``
    :param secret: bytes; None: it has its own
    """

    def __init__(self, arguments, secret=None):
        self._arguments = ('driver', '--until-eof') + tuple(arguments)
        self._environment = dict(os.environ)
        if secret is not None:
            self._environment[SECRET] = secret.decode()
        #: From ``start`` on.
        self.process: Any = None
        #: Where it listens.
        self.port = None

    async def start(self):
        """Start the process, and wait until it listens.

        :raises OSError: if it does not come up
        """
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, '-m', 'cosbench', *self._arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env=self._environment)
        try:
            line = await within(BOOT, self.process.stdout.readline())
            self.port = json.loads(line)['port']
        except (ValueError, asyncio.TimeoutError):
            await self.stop()
            raise OSError('a driver process did not start: exit status %s'
                          % self.process.returncode) from None

    async def stop(self):
        """End it, by force if it does not end."""
        if self.process.returncode is None:
            self.process.stdin.close()
            try:
                await within(STOP, self.process.wait())
            except asyncio.TimeoutError:
                self.process.kill()
                await self.process.wait()


class Pool:
    """Children on ports of their own that are started again when they die.

    :param children: ``Child`` objects
    """

    def __init__(self, children):
        self.children = children

    async def start(self):
        """Start all processes.

        :raises OSError: if one does not come up; then none is left
        """
        try:
            for child in self.children:
                await child.start()
        except OSError:
            await self.stop()
            raise

    async def keep(self):
        """Start again what ends, until cancelled."""
        await asyncio.gather(*(self._keep(each) for each in self.children))

    async def _keep(self, child):
        while True:
            status = await child.process.wait()
            log.error('driver process %d ended with %d: it is started '
                      'again', child.process.pid, status)
            await asyncio.sleep(PAUSE)
            try:
                await child.start()
            except OSError as err:
                log.error('%s', err)

    async def stop(self):
        await asyncio.gather(*(child.stop() for child in self.children
                               if child.process is not None))
