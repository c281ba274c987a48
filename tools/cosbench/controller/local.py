# SPDX-License-Identifier: Apache-2.0
"""Drivers of this host that live as long as a run."""

import os
import secrets
from contextlib import asynccontextmanager

import aiohttp

from cosbench.controller.core.plan import Address
from cosbench.controller.driver_client import Driver
from cosbench.driver.process_pool import Child, Pool
from cosbench.driver.triggers import directory
from cosbench.tasks import beside

#: A local process that gives no sign for so long (seconds) is lost.
TIMEOUT = 10.0
#: What all drivers here are called together.
HERE = 'local'


def session(tls=None):
    """Return what requests to drivers are sent with.

    :param tls: an ``SSLContext`` for drivers with TLS, or None
    :returns: an ``aiohttp.ClientSession`` for ``Driver`` objects
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            limit=0, **({'ssl': tls} if tls else {})),
        # No proxy, no cookies: drivers are spoken to directly.
        trust_env=False, cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None))


@asynccontextmanager
async def drivers(number, timeout=TIMEOUT, triggers=None,
                  request_log=None):
    """Start driver processes, and end them after the block.

    :param number: of processes
    :param triggers: the directory of their scripts, or None
    :param request_log: the directory of their logs of requests, or None
    :raises ConfigError: if there is no such directory
    :returns: a context of ``Driver`` objects
    :raises OSError: if they do not start
    """
    secret = secrets.token_hex(32).encode()
    arguments: tuple[str, ...] = (
        '--port', '0', '--files', '/', '--log-level', 'warning')
    if triggers is not None:
        # What scripts say is shown.
        arguments = arguments[:-1] + (
            'info', '--triggers', directory(triggers))
    if request_log is not None:
        arguments += ('--request-log', os.path.abspath(request_log))
    pool = Pool([Child(arguments, secret) for _ in range(number)])
    await pool.start()
    try:
        async with session() as http:
            found = [Driver(
                Address('driver%d' % index, HERE,
                        'http://127.0.0.1:%d' % child.port),
                secret, http, timeout)
                for index, child in enumerate(pool.children, 1)]
            async with beside(*map(_watch, pool.children, found)):
                yield found
    finally:
        await pool.stop()


async def _watch(child, driver):
    """Tell when the process has ended: nothing answers then."""
    status = await child.process.wait()
    driver.end_reason = 'its process %d ended, %s' % (
        child.process.pid, 'killed by signal %d' % -status if status < 0
        else 'with exit status %d' % status)
