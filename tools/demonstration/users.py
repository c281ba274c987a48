# SPDX-License-Identifier: Apache-2.0
"""Users of a cluster, and what they upload.

An answer other than the one that an operation calls for is a ToolError:
nothing is retried, nothing is passed over.
"""

import hashlib
import random
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from swiftclient.client import ClientException, Connection

from tools import ToolError

#: seconds that an answer may take
TIMEOUT = 60


@dataclass(frozen=True, order=True)
class ObjectName:
    """An object: its container and its name there."""

    container: str
    name: str

    def __str__(self) -> str:
        return '%s/%s' % (self.container, self.name)


class Upload(NamedTuple):
    """What is put where: bytes by chance, always the same for the same seed.

    :param where: the ObjectName
    :param seed: what the content follows from
    :param low, high: bytes that it has; most are small
    """

    where: ObjectName
    seed: str
    low: int = 1
    high: int = 256 * 1024

    @property
    def data(self) -> bytes:
        chance = random.Random(self.seed)
        size = self.low * (self.high / self.low) ** chance.random()
        return chance.getrandbits(8 * int(size)).to_bytes(int(size), 'big')


def digest(data: bytes) -> str:
    """Return what two equal contents have in common."""
    return hashlib.sha256(data).hexdigest()


class User:
    """A user with a token.

    :param environment: that of a client of a Cluster
    :raises ToolError: if that gives no token
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._local = threading.local()
        self._local.connection = Connection(
            *(environment[name] for name in ('ST_AUTH', 'ST_USER', 'ST_KEY')),
            retries=0, timeout=TIMEOUT)
        self.url, self.token = self._ask('get_auth')
        self.account = unquote(self.url.rpartition('/')[2])

    def _ask(self, method: str, *args: Any, allowed: tuple = (),
             **kwargs: Any) -> Any:
        """Return an answer; if its status is one of allowed, the status."""
        if not hasattr(self._local, 'connection'):
            self._local.connection = Connection(
                retries=0, timeout=TIMEOUT, preauthurl=self.url,
                preauthtoken=self.token)
        try:
            return getattr(self._local.connection, method)(*args, **kwargs)
        except (ClientException, OSError) as err:
            status = getattr(err, 'http_status', None)
            if status in allowed:
                return status
            raise ToolError('%s %s: %s' % (method, '/'.join(
                each for each in args if isinstance(each, str)),
                err)) from err

    def make_container(self, container: str, headers: dict[str, str]) -> None:
        self._ask('put_container', container, headers=headers)

    def listing(self, container: str) -> list[str]:
        """Return the names of all objects of a container, sorted."""
        return [row['name'] for row in self._ask(
            'get_container', container, full_listing=True)[1]]

    def write(self, where: ObjectName, data: bytes) -> None:
        self._ask('put_object', where.container, where.name, data)

    def put(self, upload: Upload) -> tuple[ObjectName, str]:
        """Upload; return the name and the digest of what was sent."""
        data = upload.data
        self.write(upload.where, data)
        return upload.where, digest(data)

    def delete(self, where: ObjectName) -> None:
        self._ask('delete_object', where.container, where.name)

    def read(self, where: ObjectName, version_id: str = ''
             ) -> tuple[int, bytes]:
        """Return the status of a GET: 200, 404 or 503; and the content."""
        answer = self._ask(
            'get_object', where.container, where.name, allowed=(404, 503),
            query_string='version-id=' + version_id if version_id else None)
        return (answer, b'') if isinstance(answer, int) else (200, answer[1])

    def check(self, item: tuple[ObjectName, str | None]) -> str:
        """Return what is wrong with an object, if anything.

        :param item: its name and the digest of its content, or None if it
            must not be found
        """
        where, wanted = item
        status, data = self.read(where)
        if status != (404 if wanted is None else 200):
            return '%s: GET answers %d, and it %s' % (
                where, status, 'exists' if wanted else 'was deleted')
        return '' if wanted in (None, digest(data)) else (
            '%s: the content is not what was uploaded' % where)

    def versions(self, where: ObjectName) -> list[dict[str, Any]]:
        """Return the rows of ?versions, newest first; [] if there is none."""
        answer = self._ask('get_container', where.container, allowed=(404,),
                           query_string='versions')
        return [] if isinstance(answer, int) else [
            row for row in answer[1] if row['name'] == where.name]
