# SPDX-License-Identifier: Apache-2.0
"""
The clients: a process that asks an object-server, with connections it keeps.

``play`` runs in a process of its own, so that the clients' Python does not
wait for the bench's.
"""

import http.client
import threading
import time
from dataclasses import dataclass

from swift.common.utils import Timestamp

from tools.benchmarks.errors import BenchError

#: seconds that an answer may take on a throttled device
PATIENCE = 120


@dataclass(frozen=True)
class Request:
    """
    :param method: of HTTP
    :param path: of the object-server
    :param statuses: that are right, a tuple
    :param obj: the Object: of a PUT, what to send; of a GET and HEAD that
        finds it, what is expected; None if that is nothing
    """
    method: str
    path: str
    statuses: tuple
    obj: object = None


@dataclass(frozen=True)
class Batch:
    """
    What the clients do.

    :param address: (host, port) of the object-server
    :param clients: requests at the same time
    :param seconds: after which no new request is begun
    :param seed: of the bytes of what is PUT
    :param requests: a tuple of Request
    """
    address: tuple
    clients: int
    seconds: float
    seed: int
    requests: tuple


@dataclass(frozen=True)
class Outcome:
    """
    :param seconds: from the first operation to the end of the last one
    :param latencies: of each operation, seconds: a tuple
    :param cpu_seconds: of the process that did it, if it is no client
    :param rpcs: to the index server, of that process
    """
    seconds: float
    latencies: tuple
    cpu_seconds: float = 0.0
    rpcs: int = 0


class _Client:
    """One connection, and the thread that uses it."""

    def __init__(self, address, source):
        self.source = source
        self.connection = http.client.HTTPConnection(*address,
                                                     timeout=PATIENCE)
        self.latencies = []
        self.error = None

    def connect(self):
        self._ask('GET', '/healthcheck')

    def _ask(self, *args):
        self.connection.request(*args)
        response = self.connection.getresponse()
        return response, response.read()

    def work(self, deadline):
        try:
            for request, body in self.source:
                self._play(request, body)
                if time.perf_counter() > deadline:
                    break
        except Exception as err:
            self.error = err
        finally:
            self.connection.close()

    def _play(self, request, body):
        headers = {}
        if request.method in ('PUT', 'DELETE'):
            headers['X-Timestamp'] = Timestamp.now().internal
        if request.method == 'PUT':
            headers['Content-Type'] = 'application/octet-stream'
        begin = time.perf_counter()
        response, received = self._ask(request.method, request.path, body,
                                       headers)
        self.latencies.append(time.perf_counter() - begin)
        self._check(request, response, received)

    @staticmethod
    def _check(request, response, received):
        what = '%s %s' % (request.method, request.path)
        if response.status not in request.statuses:
            raise BenchError('%s: status %d; expected: %s' % (
                what, response.status, request.statuses))
        if request.obj and request.method in ('GET', 'HEAD'):
            size = int(response.headers['Content-Length'])
            if request.method == 'GET':
                size = len(received)
            if size != request.obj.size:
                raise BenchError('%s: %d bytes; expected: %d' % (
                    what, size, request.obj.size))


class _Source:
    """The requests that are left, for several threads."""

    def __init__(self, items):
        self._items = iter(items)
        self._lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self._lock:
            return next(self._items)


def play(batch):
    """
    Send requests, in order, as many at the same time as there are clients.

    :param batch: the Batch
    :returns: the Outcome
    :raises BenchError: if an answer is not the right one
    """
    source = _Source([
        (request, request.obj.body(batch.seed)
         if request.method == 'PUT' else None) for request in batch.requests])
    clients = [_Client(batch.address, source) for _ in range(batch.clients)]
    for each in clients:
        each.connect()
    begin = time.perf_counter()
    threads = [threading.Thread(target=each.work,
                                args=(begin + batch.seconds,))
               for each in clients]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    seconds = time.perf_counter() - begin
    for each in clients:
        if each.error:
            raise BenchError(str(each.error)) from each.error
    return Outcome(seconds, tuple(
        latency for each in clients for latency in each.latencies))
