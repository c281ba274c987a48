# SPDX-License-Identifier: Apache-2.0
"""``bench versioning``: Write-Repair, Read-Repair, and Swift's own versions.

Metadata round trips are counted apart from COSBench: a delay of the container
servers alone makes a request longer by as many delays as there are round trips
that it waits for, one after the other, so their number is the slope of its
latency over the delay. Whatever else happens on the machine makes requests
longer, and none shorter: the least latency of several counts.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from swift_lightsync.versioning.sites.options import FilterOptions
from tools.arguments import GIB, MIB, names, number, several, size_text, sizes
from tools.benchmarks import propagation, request_log, workload
from tools.benchmarks.bench import Bench
from tools.benchmarks.measure import cpu_of
from tools.benchmarks.record import Metric
from tools.benchmarks.request_log import set_delay
from tools.benchmarks.site import Site
from tools.benchmarks.workload import Stage
from tools.cluster import ClusterSpec, Policy, free_base_port

NODES = REPLICAS = 3
#: of a batch, one of so many requests is under way at any time
BATCH_SHARE = 100
#: of each object, where there are requests enough
VERSIONS = 10
STOCK, HERE = 'stock', 'here'
CONTAINERS = 'container-server'
#: seconds; none is near the 1 s that an object-server waits for a container
DELAYS = (0.2, 0.4, 0.6)
#: with a delay, before the next one comes
ROUND_REQUESTS = 3
#: Writers that make an object's versions before it is measured.
FILLERS = 8
_NUMBERS = several(number(1, 9999999))
#: Requests to container servers that read or write rows.
ROW_METHODS = ('VERSION', 'PUT', 'DELETE', 'GET')


class Mode(NamedTuple):
    """A way to keep objects: the cluster that does so, and whether they have
    versions.
    """

    site: str
    versioned: bool = True


MODES = {
    'write-repair': Mode('write-repair'),
    'read-repair': Mode('read-repair'),
    'object_versioning': Mode(STOCK),
    'none': Mode(STOCK, versioned=False),
}


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the line with the least squares."""
    mean_x, mean_y = (fmean(each) for each in zip(*points))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum(
        (x - mean_x) ** 2 for x, _ in points)


def count_rounds(delay: Callable[[float], None],
                 play: Callable[[], Iterable[float]], cycles: int = 1,
                 delays: Sequence[float] = DELAYS) -> float:
    """Count the metadata round trips of a request.

    :param delay: lets requests to container servers wait so many seconds
    :param play: makes requests and returns the seconds that each waited
    :param cycles: how often each delay comes round, so that whatever else
        happens on the machine meanwhile befalls all of them
    :returns: the number, not rounded
    """
    waits: dict[float, list[float]] = {seconds: [] for seconds in delays}
    try:
        for seconds in tuple(delays) * cycles:
            delay(seconds)
            waits[seconds] += play()
    finally:
        delay(0)
    return slope([(seconds, min(found)) for seconds, found in waits.items()])


def _options(server: str, path: str, waits: bool) -> dict[str, Any]:
    """Return the options of a server that may wait, and logs what it gets.

    :param waits: whether it ever does; to look whether it has to costs each
        request some 30 us
    """
    return request_log.options(
        server, 'healthcheck recon ' + server,
        **{} if server == CONTAINERS else {'log': os.devnull},
        **{'delay_file': path} if waits else {})[server]


class Work(NamedTuple):
    """Requests to measure.

    :param size: of the objects, bytes
    :param clients: requests at the same time
    :param versions: of each object before they begin
    """

    size: int
    requests: int
    clients: int = 1
    versions: int = 1

    @property
    def text(self) -> str:
        return '%s, %d, %d at once%s' % (
            size_text(self.size), self.requests, self.clients,
            ', of %d versions' % self.versions if self.versions > 1 else '')


class Keeper(Site):
    """A cluster that keeps versions in one way, with servers that can wait.

    :param args: ``delay`` and what memcache says; of the command line
    """

    def __init__(self, args: Any, root: str, name: str) -> None:
        root = os.path.join(root, name)
        self._delay = args.delay / 1000
        self._delay_files = {
            server: '%s.%s.delay' % (root, server)
            for server in (CONTAINERS, 'object-server')}
        for path in self._delay_files.values():
            set_delay(path, self._delay)
        super().__init__(name, ClusterSpec(
            root=root, nodes=NODES, base_port=free_base_port(NODES),
            policies=(Policy('gold', 0, REPLICAS),), replicator='stock',
            replication_ports=False, disk_size=8 * GIB,
            versioning={} if name == STOCK else {
                'site': HERE, 'site_preference': HERE, 'mode': name,
                'latest_hint_time': args.latest_hint_time,
                'latest_cache_time': args.latest_cache_time},
            options={server: _options(server, path, bool(
                args.delay or args.rounds)) for server, path
                     in self._delay_files.items()}))

    def using(self) -> Callable[[int], dict[str, Any]]:
        """Return what tells, of so many operations, what each of them made
        the servers do from now on; daemons do not count.
        """
        logged, before = request_log.Since(self.logs), cpu_of(self.cluster)

        def used(count: int) -> dict[str, Any]:
            cpu = {name: seconds * 1000 / count for name, seconds in cpu_of(
                self.cluster, before).items() if name.endswith('-server')}
            methods = logged.methods()
            return {'cpu_ms': sum(cpu.values()), 'cpu_of': cpu,
                    'row_requests': sum(methods[each] for each in ROW_METHODS)
                    / count}
        return used

    def delay(self, seconds: float) -> None:
        """Let requests to container servers wait so much longer."""
        set_delay(self._delay_files[CONTAINERS], self._delay + seconds)

    def count_rounds(self, mode: str, cycles: int) -> dict[str, float]:
        """Count the metadata round trips of a mode's requests.

        :param cycles: how often each delay comes round
        :returns: PUT and GET -> round trips of one request
        :raises ToolError: if a request did not succeed
        """
        container = mode + '-rounds'
        self.request('PUT', [container], {
            'X-Versions-Enabled': 'true'} if MODES[mode].versioned else {})
        paths = [container + '/o'] * ROUND_REQUESTS
        found = {}
        for method in ('PUT', 'GET'):
            # What servers and proxies remember, they know from here on.
            self.request(method, paths)
            found[method] = count_rounds(
                self.delay, lambda: self.request(method, paths), cycles)
        return found


class Versioning(Bench):
    """All measurements of one invocation."""

    name = 'versioning'
    options = {
        'sizes': (sizes, '4K,1M,16M', 'SIZE,…', 'of the objects'),
        'modes': (names(MODES), ','.join(MODES), 'NAME,…',
                  'what is compared'),
        'requests': (number(1), 1000, None,
                     'of each size, one after the other, at most'),
        'budget': (number(1, 2048), 1024, 'MIB',
                   'that these write, at most, but four objects'),
        'versions': (_NUMBERS, '1', 'NUMBER,…', 'of an object of the least '
                     'size, before it is measured'),
        'batches': (_NUMBERS, '1000,10000', 'NUMBER,…',
                    'concurrent requests, of objects of the least size'),
        'clients': (number(2, 256), 32, None, "a batch's requests at the "
                    'same time, at most; one in %d is' % BATCH_SHARE),
        'rounds': (number(0, 1000), 3, None,
                   'how often the delays that count round trips come'),
        'delay': (number(0, 1000, float), 0.0, 'MS', 'that container- and '
                  'object-servers let each request wait'),
        'latest-hint-time': (
            number(0, 86400), FilterOptions.latest_hint_time, 'SECONDS',
            "the filter's option: how long memcache keeps a hint which "
            'version is the latest'),
        'latest-cache-time': (
            number(0, 3600), FilterOptions.latest_cache_time, 'SECONDS',
            "the filter's option: how long memcache says what is the "
            'latest'),
        **propagation.OPTIONS}
    references = ('object_versioning', 'none')
    metrics = (*workload.METRICS,
               Metric('cpu_ms', 'CPU, ms', 1),
               Metric('row_requests', 'row requests', 1, has_ratio=False),
               Metric('round_trips', 'round trips', 2, has_ratio=False),
               Metric('seconds', 'seconds', 1))

    def measure(self, stack: Any) -> None:
        args = self.args
        if args.sites:
            propagation.measure(self, stack)
            return
        keepers = self.start(stack, (MODES[each].site for each in args.modes),
                             lambda name: Keeper(args, self.root, name))
        for mode in args.modes:
            keeper = keepers[MODES[mode].site]
            self._play(keeper, mode, 0, Work(1, 20))
            if args.rounds:
                self._count_rounds(keeper, mode)
        for run, work, mode in self.turns(self._works(), args.modes):
            # Without versions there is one of each object.
            if MODES[mode].versioned or work.versions == 1:
                self._play(keepers[MODES[mode].site], mode, run, work)

    def _works(self) -> list[Work]:
        args, least = self.args, min(self.args.sizes)
        works = [Work(size, min(args.requests, max(
            4, args.budget * MIB // size))) for size in args.sizes]
        works += [Work(least, args.requests, versions=each)
                  for each in args.versions if each > 1]
        return works + [Work(least, batch, min(args.clients, max(
            2, batch // BATCH_SHARE))) for batch in args.batches]

    def _count_rounds(self, keeper: Keeper, mode: str) -> None:
        with self.noted(mode + ', round trips'):
            for method, count in keeper.count_rounds(
                    mode, self.args.rounds).items():
                self.attempt(mode, method, 1, lambda: {
                    'mode': mode, 'op': method.lower(), 'round_trips': count})

    def _play(self, keeper: Keeper, mode: str, run: int, work: Work) -> None:
        """PUT objects into a container of their own, and GET them."""
        container = '%s-%d-%d-%d-%d-%d-' % (mode, run, *work)
        # Of many versions there is one object, of few several.
        objects = (1, 1 if work.versions > 1 else
                   max(1, work.requests // VERSIONS))
        with self.noted('%s, %s, run %d' % (mode, work.text, run)):
            if work.versions > 1:
                self._run(keeper, mode, run, container, Stage(
                    'fill ' + work.text, 'write', objects, 'c(1)B', FILLERS,
                    work.versions))
            for op, operation in (('put', 'write'), ('get', 'read')):
                stage = Stage('%s %s' % (op.upper(), work.text), operation,
                              objects, 'c(%d)B' % work.size, work.clients,
                              work.requests)
                used = keeper.using()
                result = self._run(keeper, mode, run, container, stage)
                # Run 0 warms up.
                if run:
                    self.attempt(mode, stage.name, run, lambda: {
                        'mode': mode, 'op': op, 'size': work.size,
                        'versions': work.versions,
                        **(figures := workload.figures(result, stage.name)),
                        **used(figures['operations'])})
        keeper.forget()

    def _run(self, keeper: Keeper, mode: str, run: int, container: str,
             stage: Stage) -> Any:
        return self.play(mode, stage.name, run, workload.document(
            keeper.auth, container, [stage],
            versioned=MODES[mode].versioned))
