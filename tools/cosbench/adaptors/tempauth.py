# SPDX-License-Identifier: Apache-2.0
"""``tempauth`` and ``swauth``: user and key for a token, by headers."""

from cosbench.adaptors.base import Credentials
from cosbench.adaptors.http_auth import HttpAuth, header
from cosbench.adaptors.settings import one_line


class TempAuth(HttpAuth):
    """
    Logs in with user and key in headers.

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
