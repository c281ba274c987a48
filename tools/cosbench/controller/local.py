# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Drivers of this host that live as long as a run."""

import secrets
from contextlib import asynccontextmanager

import aiohttp

from tools.cosbench.controller.client import Driver
from tools.cosbench.controller.plan import Address
from tools.cosbench.driver.pool import Child, Pool

#: A local process that gives no sign for so long (seconds) is lost.
TIMEOUT = 10.0


def session(tls=None):
    """
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
async def drivers(number, timeout=TIMEOUT):
    """
    :param number: of processes
    :returns: a context of ``Driver`` objects
    :raises OSError: if they do not start
    """
    secret = secrets.token_hex(32).encode()
    arguments = ('--port', '0', '--files', '/', '--log-level', 'warning')
    pool = Pool([Child(arguments, secret) for _ in range(number)])
    await pool.start()
    try:
        async with session() as http:
            yield [Driver(
                Address('driver%d' % index, 'driver%d' % index,
                        'http://127.0.0.1:%d' % child.port),
                secret, http, timeout)
                for index, child in enumerate(pool.children, 1)]
    finally:
        await pool.stop()
