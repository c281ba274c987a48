# SPDX-License-Identifier: Apache-2.0
"""Auths that ask a server: what all have in common, and tempauth."""

from cosbench.adaptors.base import Auth, Credentials
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.http1 import header_lines, parse_url
from cosbench.adaptors.parts import Answer
from cosbench.adaptors.settings import Connector, one_line
from cosbench.errors import ConfigError

MAX_RETRY = 1000


class Payload:
    """The body of a request that is in memory.

    :param data: bytes: the body of a request
    """

    chunked = False

    def __init__(self, data):
        self._data = data
        self.size = len(data)

    def __iter__(self):
        return iter([self._data])


class HttpAuth(Auth):
    """An auth that asks a server.

    :param config: auth_url or url; timeout; retry; caching; what
        ``Connector`` takes
    :param options: of the ``Connector``
    """

    def __init__(self, config, **options):
        key = 'auth_url' if 'auth_url' in config else 'url'
        if key not in config:
            raise ConfigError('auth_url is missing from the config')
        self._url = config.parsed(key, parse_url)
        self._connector = Connector(config, **options)
        self.retry = config.integer('retry', 0, most=MAX_RETRY)
        if config.flag('caching', False):
            self.cache_key = (type(self), config)

    async def ask(self, method, target, headers, payload=None):
        """Send one request to the server.

        :param method: bytes
        :param target: text, quoted
        :param headers: (name, value) pairs
        :param payload: bytes, or None
        :returns: (``Response``, bytes of its body)
        :raises OperationError: ``auth``, if its status is not 2xx
        """
        answer = Answer()
        client = self._connector.client(self._url)
        try:
            response = await client.request(
                method, target.encode('ascii'), header_lines(headers),
                payload and Payload(payload), answer)
        except OperationError as err:
            raise self.refusal(str(err)) from err
        finally:
            await client.close()
        if response.status // 100 != 2:
            raise self.refusal('http %d' % response.status)
        return response, answer.data

    def refusal(self, reason):
        """Return an error that names the server."""
        return OperationError('auth', '%s: %s' % (self._url, reason))


def header(response, *names):
    """Return the first of the headers that is there, as a text."""
    for name in names:
        value = response.headers.get(name)
        if value:
            return value.decode('utf8', 'replace')
    return None


class TempAuth(HttpAuth):
    """Logs in with user and key in headers.

    :param config: username, password, auth_url; see ``HttpAuth``
    """

    def __init__(self, config):
        super().__init__(config)
        self._headers = (('X-Auth-User', one_line(config, 'username')),
                         ('X-Auth-Key', one_line(config, 'password')))

    async def login(self):
        response, _ = await self.ask(
            b'GET', self._url.path or '/', self._headers)
        token = header(response, b'x-auth-token', b'x-storage-token')
        url = header(response, b'x-storage-url')
        if not token or not url:
            raise self.refusal('the answer lacks X-Auth-Token or '
                               'X-Storage-Url')
        return Credentials(token, url)
