# SPDX-License-Identifier: Apache-2.0
"""Measures the writes of one mode, and their convergence."""

from dataclasses import dataclass
from statistics import fmean, median, quantiles

from tools.benchmarks.proar import replicas
from tools.benchmarks.proar.client import Batch, play
from tools.benchmarks.proar.settings import LEAST_REQUESTS, MODES, SITES


@dataclass(frozen=True)
class Phase:
    """
    Some writes.

    :param requests: how many
    :param failed: those of them that were not acknowledged
    :param p50_ms: half of the clients' waits were shorter, for whatever answer
    :param p95_ms: as p50_ms
    :param p99_ms: as p50_ms
    :param mean_ms: of the waits
    :param ops_per_second: acknowledged writes of all clients
    :param converged_per_second: writes in the time until all replicas had
        them; 0 if some never had
    :param lag_p50_s: from the acknowledgement to the last replica
    :param lag_p99_s: as lag_p50_s
    :param incomplete: objects that lacked a replica when patience ended
    """
    requests: int
    failed: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    mean_ms: float
    ops_per_second: float
    converged_per_second: float
    lag_p50_s: float
    lag_p99_s: float
    incomplete: int

    @classmethod
    def of(cls, outcome, last):
        """
        :param outcome: the clients' Outcome
        :param last: a dict of object -> Unix time of its last replica;
            without those that never had all
        """
        waits = [write.seconds * 1000 for write in outcome.writes]
        done = outcome.acknowledged
        lags = [max(0, last[write.name] - write.answered)
                for write in done if write.name in last] or [0]
        incomplete = len(done) - len(last)
        return cls(
            requests=len(waits), failed=len(waits) - len(done),
            p50_ms=median(waits),
            p95_ms=percentile(waits, 95), p99_ms=percentile(waits, 99),
            mean_ms=fmean(waits),
            ops_per_second=len(done) / outcome.seconds,
            converged_per_second=0 if incomplete else len(done) / max(
                outcome.seconds, max(last.values()) - outcome.begun),
            lag_p50_s=median(lags), lag_p99_s=percentile(lags, 99),
            incomplete=incomplete)


@dataclass(frozen=True)
class Run:
    """
    One measurement.

    :param run: its number, from 1
    :param single: the Phase of one write at a time
    :param loaded: the Phase of as many as clients can do
    :param per_device: PUTs that object-servers got from the proxy, a dict
    :param cpu_of: CPU seconds of all processes of the cluster, to the last
        replica, by daemon, a dict
    """
    run: int
    single: Phase
    loaded: Phase
    per_device: dict
    cpu_of: dict

    @property
    def requests(self):
        """All writes."""
        return self.single.requests + self.loaded.requests

    @property
    def failed(self):
        """All writes that were not acknowledged."""
        return self.single.failed + self.loaded.failed

    @property
    def incomplete(self):
        """All objects that lacked a replica."""
        return self.single.incomplete + self.loaded.incomplete

    @property
    def cpu_seconds(self):
        """Of all processes."""
        return sum(self.cpu_of.values())

    @property
    def cpu_ms(self):
        """Of all processes, for one write."""
        return self.cpu_seconds * 1000 / self.requests


def percentile(values, percent):
    """:returns: of one or more numbers, what so many per cent are below"""
    if len(values) == 1:
        return values[0]
    return quantiles(values, n=100, method='inclusive')[percent - 1]


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

    def _play(self, policy, size, count, label, **how):
        """Write, wait until all have all; :returns: the Phase"""
        places = self.site.places(policy)
        names = ['%s-%d' % (label, i) for i in range(count)]
        batch = Batch(
            url=self.site.container_url(policy), token=self.site.token,
            seconds=self.settings.seconds, least=LEAST_REQUESTS,
            seed=self.settings.seed, size=size,
            places={name: places.of(name) for name in names}, **how)
        outcome = self.clients.submit(play, batch).result()
        return Phase.of(outcome, replicas.wait(
            {write.name: batch.places[write.name]
             for write in outcome.acknowledged}, self.settings.patience))

    def warm_up(self, count):
        """Write a few small objects with each policy of the site."""
        for policy in SITES[self.site.name]:
            self._play(policy.name, 1, count, 'warm', clients=1)

    def measure(self, mode, size, run):
        """
        :param mode: the name of one of MODES
        :param size: of the objects, bytes
        :param run: its number, from 1
        :returns: the Run
        :raises BenchError: if no write was acknowledged
        """
        policy = MODES[mode].policy
        how = policy, size, self.settings.requests_of(size)
        label = '%s-%d-%d' % (mode, size, run)
        log, before = self.site.request_log(), self.site.cpu()
        self.site.slow_down(MODES[mode].is_slow)
        try:
            single = self._play(*how, label + '-single', clients=1,
                                patience=self.settings.patience)
            loaded = self._play(*how, label + '-loaded',
                                clients=self.settings.clients)
            cpu = self.site.cpu()
        finally:
            self.site.slow_down(False)
        self.site.forget(policy)
        return Run(run, single, loaded, dict(sorted(
            log.per_device().items())), dict(cpu - before))
