# SPDX-License-Identifier: Apache-2.0
"""
What is measured: ``prepare`` is done first, ``play`` is what is measured, and
``warm_up`` reads what it is going to touch.
"""

import json
import subprocess
import sys
from dataclasses import replace

from tools import REPO
from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf import walk
from tools.benchmarks.losf.client import Batch, Outcome, Request, play
from tools.benchmarks.losf.storage import ACCOUNT, CONTAINER

#: op -> method, statuses that are right
METHODS = {
    'get': ('GET', (200,)),
    'head': ('HEAD', (200,)),
    'put': ('PUT', (201,)),
    'put_over': ('PUT', (201,)),
    'delete': ('DELETE', (204,)),
}


class Requests:
    """
    What the clients ask for.

    :param site: the Site
    :param clients: an executor, in whose process they are
    :param requests: a sequence of Request
    """

    def __init__(self, site, clients, requests):
        self.site = site
        self._clients = clients
        self._requests = list(requests)

    def prepare(self):
        """Nothing."""

    def warm_up(self):
        self.prepare()
        warm = self._send([self._reader(each) for each in self._requests])
        # There may not have been the time for all.
        self._requests = self._requests[:len(warm.latencies)]

    def play(self):
        """
        :returns: the Outcome
        :raises BenchError: if an answer was not the right one
        """
        return self._send(self._requests)

    def _send(self, requests):
        settings = self.site.settings
        return self._clients.submit(play, Batch(
            self.site.address, settings.clients, settings.seconds,
            settings.seed, tuple(requests))).result()

    def _reader(self, request):
        raise NotImplementedError()


class ObjectRequests(Requests):
    """
    Requests for objects.

    :param op: one of METHODS
    :param objects: a sequence of Object
    """

    def __init__(self, site, clients, op, objects):
        method, statuses = METHODS[op]
        super().__init__(site, clients, [Request(
            method, '/%s/%d/%s/%s/%s' % (
                site.device_name,
                site.ring.get_part(ACCOUNT, CONTAINER, each.name), ACCOUNT,
                CONTAINER, each.name), statuses, each) for each in objects])

    def _reader(self, request):
        return replace(request, method='GET', statuses=(200, 404), obj=None)


class Listing(Requests):
    """
    REPLICATE requests for partitions whose hashes are not known.

    :param partitions: their numbers
    """

    def __init__(self, site, clients, partitions):
        super().__init__(site, clients, [Request(
            'REPLICATE', '/%s/%d' % (site.device_name, each), (200,))
            for each in partitions])
        self._partitions = partitions

    def prepare(self):
        for partition in self._partitions:
            self.site.forget_hashes(partition)

    def _reader(self, request):
        return request


class Walk:
    """
    The auditor's walk.

    :param site: the Site
    :param limit: of the objects; infinite: all
    :param seconds: after which no new object is begun
    :param seed: of the order of the partitions
    """

    def __init__(self, site, limit, seconds, seed):
        self.site = site
        self.argv = [sys.executable, '-m', walk.__name__,
                     site.cluster.layout.etc, site.conf, str(limit),
                     str(seconds), str(seed)]

    def prepare(self):
        """Nothing."""

    def warm_up(self):
        self.play()

    def play(self):
        """
        :returns: the Outcome
        :raises BenchError: if the walk failed
        """
        with subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, cwd=REPO,
                env=self.site.cluster.environment()) as process:
            self.site.confine([process.pid])
            output, errors = process.communicate()
        if process.returncode:
            raise BenchError('the walk failed: %s' % errors.decode(
                'utf8', 'backslashreplace').strip())
        return Outcome(**json.loads(output))
