# SPDX-License-Identifier: Apache-2.0
"""
The clients: a process that writes objects through a proxy-server.

``play`` runs in a process of its own, so that the clients' Python does not
wait for the bench's.
"""

import http.client
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

from tools.benchmarks.errors import BenchError
from tools.benchmarks.proar import replicas

#: seconds that an answer may take
PATIENCE = 120
#: ... between two looks for the replicas of an object
GLANCE = 0.01
CREATED = 201


@dataclass(frozen=True)
class Batch:
    """
    What the clients write.

    :param url: of the container
    :param token: of the account
    :param clients: requests at the same time
    :param seconds: after which no new request is begun
    :param least: writes that are made in any case
    :param seed: of the bytes
    :param size: of each object, bytes
    :param places: a dict of the objects' names -> the directories of their
        replicas
    :param patience: seconds for which all replicas of an object are waited
        for before the next is written; None: the next is written at once
    """
    url: str
    token: str
    clients: int
    seconds: float
    least: int
    seed: int
    size: int
    places: dict
    patience: float = None


@dataclass(frozen=True)
class Write:
    """
    :param name: of the object
    :param seconds: that the client waited
    :param answered: Unix time
    :param status: of the answer
    """
    name: str
    seconds: float
    answered: float
    status: int

    @property
    def is_acknowledged(self):
        """Whether the object is written."""
        return self.status == CREATED


@dataclass(frozen=True)
class Outcome:
    """
    :param begun: Unix time
    :param seconds: from the first request to the end of the last one
    :param writes: a tuple of Write
    """
    begun: float
    seconds: float
    writes: tuple

    @property
    def acknowledged(self):
        """Those of the writes that were, a list."""
        return [write for write in self.writes if write.is_acknowledged]


class _Names:
    """
    The names that are left, for several threads.

    :param batch: the Batch
    """

    def __init__(self, batch):
        self._names = iter(batch.places)
        self._owed = batch.least
        self._deadline = time.perf_counter() + batch.seconds
        self._lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self._lock:
            self._owed -= 1
            if self._owed < 0 and time.perf_counter() > self._deadline:
                raise StopIteration
            return next(self._names)


def _write_all(batch, names, body):
    url = urlsplit(batch.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=PATIENCE)
    headers = {'X-Auth-Token': batch.token,
               'Content-Type': 'application/octet-stream'}
    try:
        # Its connection is there when the first write begins.
        connection.request('HEAD', url.path, headers=headers)
        connection.getresponse().read()
        return [_write(connection, url.path, name, body, headers, batch)
                for name in names]
    finally:
        connection.close()


def _write(connection, container, name, body, headers, batch):
    begin = time.perf_counter()
    connection.request('PUT', '%s/%s' % (container, name), body, headers)
    response = connection.getresponse()
    response.read()
    write = Write(name, time.perf_counter() - begin, time.time(),
                  response.status)
    if batch.patience and write.is_acknowledged:
        replicas.wait({name: batch.places[name]}, batch.patience,
                      interval=GLANCE)
    return write


def play(batch):
    """
    Write objects, in order, as many at the same time as there are clients.

    :param batch: the Batch
    :returns: the Outcome
    :raises BenchError: if no write was acknowledged
    """
    body = random.Random(batch.seed).randbytes(batch.size)
    begun, begin = time.time(), time.perf_counter()
    names = _Names(batch)
    with ThreadPoolExecutor(batch.clients) as pool:
        done = [pool.submit(_write_all, batch, names, body)
                for _ in range(batch.clients)]
        writes = [write for each in done for write in each.result()]
    outcome = Outcome(begun, time.perf_counter() - begin, tuple(writes))
    if not outcome.acknowledged:
        raise BenchError('%d writes to %s, none with status %d: %s' % (
            len(writes), batch.url, CREATED,
            sorted({write.status for write in writes})))
    return outcome
