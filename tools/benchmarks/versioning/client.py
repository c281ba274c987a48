# SPDX-License-Identifier: Apache-2.0
"""
The clients: a process that makes requests to a proxy-server.

``play`` runs in a process of its own, so that the clients' Python does not
wait for the bench's.
"""

import http.client
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from tools.benchmarks.errors import BenchError

PATIENCE = 120


class Op(Enum):
    """A request, and the status of its success."""
    PUT = 201
    GET = 200


@dataclass(frozen=True)
class Load:
    """
    What the clients do.

    :param url: of the container
    :param token: of the account
    :param op: an Op
    :param names: of objects, one for each request, a tuple
    :param size: of each object, bytes
    :param clients: requests at the same time
    :param seed: of the bytes
    """
    url: str
    token: str
    op: Op
    names: tuple
    size: int
    clients: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Outcome:
    """
    :param seconds: from the first request to the end of the last one
    :param waits: seconds, of the requests that succeeded, a tuple
    :param failures: what the others were answered, a tuple of texts
    """
    seconds: float
    waits: tuple
    failures: tuple


class _Names:
    """The names that are left, for several threads."""

    def __init__(self, names):
        self._names = iter(names)
        self._lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self._lock:
            return next(self._names)


def _wrong(load, response, body):
    """:returns: a text if it is not the answer to an Op, else None"""
    if response.status != load.op.value:
        return 'status %d' % response.status
    if load.op is Op.GET and len(body) != load.size:
        return '%d bytes instead of %d' % (len(body), load.size)
    return None


def _request_all(load, names, sent):
    url = urlsplit(load.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=PATIENCE)
    headers = {'X-Auth-Token': load.token,
               'Content-Type': 'application/octet-stream'}
    found = []
    try:
        # Its connection is there when the first request begins.
        connection.request('HEAD', url.path, headers=headers)
        connection.getresponse().read()
        for name in names:
            begin = time.perf_counter()
            connection.request(load.op.name, '%s/%s' % (url.path, name),
                               sent, headers)
            response = connection.getresponse()
            body = response.read()
            found.append((time.perf_counter() - begin,
                          _wrong(load, response, body)))
    finally:
        connection.close()
    return found


def play(load):
    """
    Make requests, in order, as many at the same time as there are clients.

    :param load: the Load
    :returns: the Outcome
    :raises BenchError: if none succeeded, or a connection was lost
    """
    sent = random.Random(load.seed).randbytes(load.size) \
        if load.op is Op.PUT else None
    names = _Names(load.names)
    begin = time.perf_counter()
    try:
        with ThreadPoolExecutor(load.clients) as pool:
            done = [pool.submit(_request_all, load, names, sent)
                    for _ in range(load.clients)]
            found = [each for thread in done for each in thread.result()]
    except (OSError, http.client.HTTPException) as err:
        raise BenchError('%s to %s: %r' % (load.op.name, load.url, err))
    seconds = time.perf_counter() - begin
    waits = tuple(wait for wait, wrong in found if not wrong)
    failures = tuple(wrong for _, wrong in found if wrong)
    if not waits:
        raise BenchError('%d times %s to %s, none succeeded: %s' % (
            len(found), load.op.name, load.url, sorted(set(failures))))
    return Outcome(seconds, waits, failures)


def ask(method, url, headers):
    """
    :returns: the headers of the answer
    :raises BenchError: if it is no success
    """
    url = urlsplit(url)
    connection = http.client.HTTPConnection(url.netloc, timeout=PATIENCE)
    try:
        connection.request(method, url.path, headers=headers)
        response = connection.getresponse()
        response.read()
    finally:
        connection.close()
    if response.status // 100 != 2:
        raise BenchError('%s %s: status %d' % (method, url.path,
                                               response.status))
    return response.headers
