# SPDX-License-Identifier: Apache-2.0
"""``bench cosbench``: the HTTP client of COSBench's drivers, and aiohttp's."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from tools import ToolError
from tools.arguments import KIB, names, number
from tools.benchmarks import http_clients
from tools.benchmarks.bench import Bench
from tools.benchmarks.http_clients import CONTESTANTS, Scenario
from tools.benchmarks.record import Metric

_SPAWN = get_context('spawn')
#: Seconds that a process may take to begin and to end.
PATIENCE = 30
SCENARIOS = {'get-1k': Scenario('GET', KIB),
             'get-64k': Scenario('GET', 64 * KIB),
             'put-1k': Scenario('PUT', KIB),
             'put-64k': Scenario('PUT', 64 * KIB)}


@contextmanager
def _server() -> Iterator[int]:
    """Serve in a process of its own.

    :returns: a context with the port
    """
    mine, its = _SPAWN.Pipe()
    process = _SPAWN.Process(target=http_clients.serve, args=(its,),
                             daemon=True)
    process.start()
    try:
        if not mine.poll(PATIENCE):
            raise ToolError('the server did not start in %d s' % PATIENCE)
        yield mine.recv()
    finally:
        process.terminate()
        process.join(PATIENCE)


class Cosbench(Bench):
    """All measurements of one invocation."""

    name = 'cosbench'
    options = {
        'contestants': (names((*CONTESTANTS, 'h2load')),
                        ','.join(CONTESTANTS), 'NAME,…',
                        'what is compared; h2load, too, if it is installed'),
        'scenarios': (names(SCENARIOS), 'get-1k,put-64k', 'NAME,…',
                      'of ' + ', '.join(SCENARIOS)),
        'workers': (number(1, 1000), 32, None,
                    'requests at the same time'),
        'seconds': (number(0.1, 3600, float), 4.0, None,
                    'of each measurement')}
    references = ('aiohttp',)
    metrics = (Metric('per_cpu_second', 'requests/CPU s'),
               Metric('ops_per_second', 'requests/s'))

    def measure(self, stack: Any) -> None:
        port = stack.enter_context(_server())
        for run, scenario, name in self.turns(self.args.scenarios,
                                              self.args.contestants):
            self.attempt(name, scenario, run, lambda: self._measure(
                name, SCENARIOS[scenario], port))

    def _measure(self, name: str, scenario: Scenario,
                 port: int) -> dict[str, Any]:
        """Return figures; CPU is counted for the client's process only."""
        args = self.args
        with ProcessPoolExecutor(1, mp_context=_SPAWN) as pool:
            done, failed, cpu, seconds = pool.submit(
                http_clients.ask, name, port, scenario, args.workers,
                args.seconds).result(args.seconds + PATIENCE)
        return {'operations': done, 'failed': failed, 'cpu_seconds': cpu,
                'seconds': seconds, 'per_cpu_second': done / cpu,
                'ops_per_second': done / seconds}
