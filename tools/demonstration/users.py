# SPDX-License-Identifier: Apache-2.0
"""
Users of a cluster, and the local files that they upload.

An answer other than the one that an operation calls for is a DemoError:
nothing is retried, nothing is passed over.
"""

import hashlib
import os
import random
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Optional
from urllib.parse import unquote

from swiftclient.client import ClientException, Connection

from tools import REPO
from tools.demonstration.errors import DemoError

THREADS = 8
#: seconds that an answer may take
TIMEOUT = 60
SEED = 'demo'
MAX_SIZE = 256 * 1024
SKIPPED_DIRECTORIES = ('__pycache__', 'site-packages', 'dist-packages')


@dataclass(frozen=True, order=True)
class ObjectName:
    """An object: its container and its name there."""

    container: str
    name: str

    def __str__(self) -> str:
        return '%s/%s' % (self.container, self.name)


@dataclass(frozen=True)
class LocalFile:
    """
    A file and the name that its object gets.

    :param path: where it is
    :param name: its path relative to its tree, after the tree's name
    """

    path: str
    name: str

    def read(self) -> bytes:
        try:
            with open(self.path, 'rb') as local:
                return local.read()
        except OSError as err:
            raise DemoError('%s was chosen for an upload and cannot be read: '
                            '%s' % (self.path, err.strerror)) from err


Upload = tuple[ObjectName, LocalFile]


def default_trees() -> dict[str, str]:
    """Return a dict of tree's name -> directory: of real, various files."""
    return {'project': REPO, 'packages': sysconfig.get_path('purelib'),
            'python': sysconfig.get_path('stdlib')}


def _files(tree: str, top: str, low: int, high: int) -> Iterator[LocalFile]:
    for directory, subdirectories, names in os.walk(top):
        subdirectories[:] = sorted(
            each for each in subdirectories if not each.startswith('.')
            and each not in SKIPPED_DIRECTORIES)
        for name in sorted(names):
            path = os.path.join(directory, name)
            if path.isprintable() and not path.endswith('.pyc') \
                    and not os.path.islink(path) and os.path.isfile(path) \
                    and os.access(path, os.R_OK) \
                    and low <= os.path.getsize(path) <= high:
                yield LocalFile(path, os.path.join(
                    tree, os.path.relpath(path, top)))


def choose(count: int, low: int = 0, high: int = MAX_SIZE,
           trees: Optional[dict[str, str]] = None) -> list[LocalFile]:
    """
    Choose files, evenly from all that there are, in an order by chance.

    The same trees give the same files in the same order.

    :param count: how many
    :param low: bytes that a file must have
    :param high: bytes that it may have
    :param trees: a dict of name -> directory; default_trees() if None
    :raises DemoError: if there are fewer files
    """
    trees = trees or default_trees()
    found = [each for tree, top in trees.items()
             for each in _files(tree, top, low, high)]
    if len(found) < count:
        raise DemoError('%d files are wanted, but %s hold only %d of %d to %d '
                        'KiB; choose a smaller --files' % (
                            count, ', '.join(trees.values()), len(found),
                            low // 1024, high // 1024))
    chosen = [found[i * len(found) // count] for i in range(count)]
    random.Random(SEED).shuffle(chosen)
    return chosen


def digest(data: bytes) -> str:
    """Return what two equal contents have in common."""
    return hashlib.sha256(data).hexdigest()


def each_of(operation: Callable[[Any], Any], items: Iterable[Any],
            count: Callable[[], None], threads: int = THREADS) -> list[Any]:
    """
    Do an operation with each item, in threads; the first failure ends it.

    :param count: called after each
    :returns: a list of the results, in the order of the items
    """
    def one(item):
        result = operation(item)
        count()
        return result

    with ThreadPoolExecutor(threads) as pool:
        pending = [pool.submit(one, item) for item in items]
        try:
            return [each.result() for each in pending]
        finally:
            pool.shutdown(cancel_futures=True)


class User:
    """
    A user with a token.

    :param environment: that of a client of a Cluster
    :raises DemoError: if that gives no token
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._local = threading.local()
        self._local.connection = Connection(
            *(environment[name] for name in ('ST_AUTH', 'ST_USER', 'ST_KEY')),
            retries=0, timeout=TIMEOUT)
        self.url, self.token = self._ask('get_auth')
        self.account = unquote(self.url.rpartition('/')[2])

    def _ask(self, method: str, *args, allowed: tuple = (), **kwargs) -> Any:
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
            raise DemoError('%s %s: %s' % (method, '/'.join(
                each for each in args if isinstance(each, str)),
                err)) from err

    def make_container(self, container: str, **headers: str) -> None:
        self._ask('put_container', container, headers={
            name.replace('_', '-'): value for name, value in headers.items()})

    def listing(self, container: str) -> list[str]:
        """Return the names of all objects of a container, sorted."""
        return [row['name'] for row in self._ask(
            'get_container', container, full_listing=True)[1]]

    def put(self, item: Upload) -> tuple[ObjectName, str]:
        """Upload; return the name and the digest of what was sent."""
        where, local = item
        data = local.read()
        self.write(where, data)
        return where, digest(data)

    def write(self, where: ObjectName, data: bytes,
              version_id: Optional[str] = None) -> None:
        """Upload data, or make an older version the latest (without data)."""
        self._ask('put_object', where.container, where.name, data,
                  query_string=_of(version_id))

    def delete(self, where: ObjectName,
               version_id: Optional[str] = None) -> None:
        self._ask('delete_object', where.container, where.name,
                  query_string=_of(version_id))

    def read(self, where: ObjectName, version_id: Optional[str] = None
             ) -> tuple[int, bytes]:
        """Return the status of a GET: 200, 404 or 503; and the content."""
        answer = self._ask('get_object', where.container, where.name,
                           query_string=_of(version_id), allowed=(404, 503))
        return (answer, b'') if isinstance(answer, int) else (200, answer[1])

    def check(self, item: tuple[ObjectName, Optional[str]]) -> Optional[str]:
        """
        Return what is wrong with an object, or None.

        :param item: its name and the digest of its content, or None if it
            must not be found
        """
        where, wanted = item
        status, data = self.read(where)
        if status != (404 if wanted is None else 200):
            return '%s: GET answers %d, and it %s' % (
                where, status, 'exists' if wanted else 'was deleted')
        if wanted is not None and digest(data) != wanted:
            return '%s: the content is not that of its local file' % where
        return None

    def versions(self, where: ObjectName) -> list[dict[str, Any]]:
        """Return the rows of ?versions, newest first; [] if there is none."""
        answer = self._ask('get_container', where.container, allowed=(404,),
                           query_string='versions')
        return [] if isinstance(answer, int) else [
            row for row in answer[1] if row['name'] == where.name]


def _of(version_id: Optional[str]) -> Optional[str]:
    return 'version-id=' + version_id if version_id else None
