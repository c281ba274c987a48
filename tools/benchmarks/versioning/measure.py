# SPDX-License-Identifier: Apache-2.0
"""Measures one mode: single requests, batches, and their round trips."""

from dataclasses import dataclass
from statistics import fmean, median

from tools.benchmarks.proar.measure import percentile
from tools.benchmarks.versioning import rounds
from tools.benchmarks.versioning.client import Load, Op, play
from tools.benchmarks.versioning.settings import VERSIONS

#: with a delay, before the next one comes
ROUND_REQUESTS = 3


@dataclass(frozen=True)
class What:
    """
    What is measured.

    :param mode: one of MODES
    :param op: the name of an Op
    :param size: of the objects, bytes
    :param requests: how many
    :param concurrency: how many at the same time
    """
    mode: str
    op: str
    size: int
    requests: int
    concurrency: int = 1


@dataclass(frozen=True)
class Run:
    """
    One measurement. Times are of the requests that succeeded.

    :param run: its number, from 1
    :param failed: requests that did not succeed
    :param p50_ms: half of the waits were shorter
    :param p99_ms: as p50_ms
    :param mean_ms: of the waits
    :param ops_per_second: those that succeeded, of all clients
    """
    run: int
    failed: int
    p50_ms: float
    p99_ms: float
    mean_ms: float
    ops_per_second: float

    @classmethod
    def of(cls, run, outcome):
        """
        :param run: its number
        :param outcome: the clients' Outcome
        """
        waits = [wait * 1000 for wait in outcome.waits]
        return cls(run, len(outcome.failures), median(waits),
                   percentile(waits, 99), fmean(waits),
                   len(waits) / outcome.seconds)


def object_names(requests):
    """:returns: for each request the name of its object, a tuple"""
    objects = max(1, requests // VERSIONS)
    return tuple('o-%d' % (number % objects) for number in range(requests))


class Trial:
    """
    :param site: the Site
    :param clients: an executor, in whose process the clients are
    :param settings: the Settings
    """

    def __init__(self, site, clients, settings):
        self.site = site
        self.clients = clients
        self.settings = settings

    def _play(self, url, op, what):
        return self.clients.submit(play, Load(
            url, self.site.token, op, object_names(what.requests),
            what.size, what.concurrency, self.settings.seed)).result()

    def measure(self, mode, run, size, requests, concurrency=1):
        """
        PUT objects into a container of their own, and GET them.

        :param run: its number, from 1
        :returns: a dict of What -> Run
        :raises BenchError: if no request succeeded
        """
        url = self.site.make(mode, '%s-%d-%d-%d-%d' % (
            mode, run, size, requests, concurrency))
        self._play(url, Op.PUT, What(mode, 'PUT', size, 1))
        found = {}
        try:
            for op in Op:
                what = What(mode, op.name, size, requests, concurrency)
                found[what] = Run.of(run, self._play(url, op, what))
        finally:
            self.site.forget()
        return found

    def count_rounds(self, mode, cycles):
        """
        :param cycles: how often each delay comes round
        :returns: a dict of an Op's name -> metadata round trips of one
            request
        :raises BenchError: if no request succeeded
        """
        url = self.site.make(mode, mode + '-rounds')
        found = {}
        for op in Op:
            what = What(mode, op.name, 1, ROUND_REQUESTS)
            # What servers and proxies remember, they know from here on.
            self._play(url, op, what)
            found[op.name] = rounds.count(
                self.site.delay, lambda: self._play(url, op, what).waits,
                cycles)
        return found
