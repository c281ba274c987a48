# SPDX-License-Identifier: Apache-2.0
"""``bench losf``: objects in volumes (kv) against stock diskfiles (fs)."""

import os
import time
from typing import Any

from tools import ToolError
from tools.arguments import names, number
from tools.benchmarks import request_log, workload
from tools.benchmarks.bench import Bench
from tools.benchmarks.losf_node import (
    BACKENDS,
    CONTAINER,
    NODE,
    Node,
    descriptors,
    filled,
    is_compact,
)
from tools.benchmarks.measure import cpu_seconds, rss_mib
from tools.benchmarks.record import Metric, percentile
from tools.benchmarks.throttle import Throttle
from tools.benchmarks.workload import SMALL_SIZES, Stage
from tools.cluster import commands

#: op -> the sizes of what is written
CHURN = {'churn-2k': 'u(100,2048)B', 'churn-64k': 'u(100,65536)B',
         'churn-mixed': 'h(100|2048|80,2049|65536|19,65537|4194304|1)B'}
#: how often each object is overwritten; then half of them are deleted
TURNS = 3
#: seconds for which compaction is waited for
PATIENCE = 120
#: op -> (COSBench's operation, which of the PARTS of the objects it takes);
#: those without an operation are asked for, walked or churned here
OPS: dict[str, tuple[str, int]] = {
    'get': ('read', 0), 'get-warm': ('read', 0), 'head': ('head', 0),
    'head-warm': ('head', 0), 'put': ('write', 3), 'put-over': ('write', 1),
    'delete': ('delete', 2), 'list': ('', 0), 'audit': ('', 0),
    **{op: ('', 0) for op in CHURN},
    'get-churned': ('read', 0), 'head-churned': ('head', 0)}
#: what such an op ends with reads what an op of CHURN before it has left
CHURNED = '-churned'
#: what the objects are -> their sizes; those of fragments have 4 to 64 KiB
SIZES = {'replicated': SMALL_SIZES, 'ec': 'u(4096,65536)B'}
#: of the objects that are there; the part after them is of new ones
PARTS = 3


def stages(op: str, objects: int, workers: int) -> list[Stage]:
    """Return what clients do to objects of their own.

    :param op: one of CHURN
    :param objects: how many there are
    :param workers: requests at the same time
    """
    def write(name: str) -> Stage:
        return Stage(name, 'write', (1, objects), CHURN[op], workers, objects)
    turns = [write('turn %d' % turn) for turn in range(1, TURNS)]
    half = objects // 2
    return [write('fill'), *turns, write(op), Stage(
        'delete', 'delete', (1, half), workers=workers, total=half)]


def operations(result: Any) -> int:
    """Return how many operations have succeeded, whose CPU was measured."""
    return sum(work.metrics(each).op_count for stage in result.stages
               for work in stage.works for each in work.operations)


class Losf(Bench):
    """All runs of one invocation."""

    name = 'losf'
    options = {
        'objects': (number(100), 20000, None, 'in the device of each backend'),
        'policy': (lambda text: names(SIZES)(text)[0], 'replicated', None,
                   'replicated; or ec: fragments of 4+2, the first of whose '
                   'devices is measured'),
        'ops': (names(OPS), ','.join(op for op in OPS if 'churn' not in op),
                'NAME,…', 'what is measured, in this order; get-churned and '
                'head-churned after one that churns'),
        'operations': (number(1), None, None, 'of each measurement; None: '
                       '2000, less for few objects'),
        'seconds': (number(1), 60, None,
                    'after which a measurement has enough operations'),
        'iops': (number(10), None, 'LIMIT', 'reads, and writes, a second of '
                 'a device, such as 120 of a hard disk'),
        'full': (number(1, 95), None, 'PERCENT',
                 'of the device in use while objects are churned'),
        'compact-garbage': (number(1, 100), 20, None, '100: never compact'),
        'metadata': (number(0), 0, 'BYTES', 'of metadata up to which the '
                     'index has them; 0: it has none'),
        'clients': (number(1, 64), 4, None, 'requests at the same time')}
    references = ('fs',)
    metrics = (
        Metric('reads', 'reads', 2), Metric('writes', 'writes', 2),
        Metric('flushes', 'flushes', 2), Metric('sectors', 'sectors', 1),
        Metric('rpcs', 'RPCs', 2), Metric('cpu_ms', 'CPU ms', 2),
        *workload.METRICS, Metric('rss_mib', 'RSS, MiB', 1),
        Metric('descriptors', 'open files', 0),
        Metric('index_bytes', 'index, bytes/object', 1),
        Metric('allocated_per_live', 'allocated / live', 3),
        Metric('extents_per_volume', 'extents/volume', 1))

    def measure(self, stack: Any) -> None:
        commands.need_root('bench losf')
        args = self.args
        self.churned = next((op for op in args.ops if op in CHURN), None)
        if self.churned is None and any(CHURNED in op for op in args.ops):
            raise ToolError('--ops: one that ends with %s must be behind '
                            'one of %s' % (CHURNED, ', '.join(CHURN)))
        args.operations = min(args.operations or 2000, max(
            1, args.objects // (PARTS * args.runs)))
        limits = None
        if args.iops:
            limits = Throttle.find()
            stack.callback(limits.close)
        nodes = self.start(stack, BACKENDS, lambda backend: Node(
            args, self.root, backend, limits))
        for backend in BACKENDS:
            self.say('%s: writing %d objects' % (backend, args.objects))
            self.attempt(backend, 'data set', 1,
                         lambda: self._write(nodes[backend]))
        for run, op, backend in self.turns(args.ops, BACKENDS):
            with filled(nodes[backend].device.path,
                        args.full if op in CHURN else None):
                self.attempt(backend, op, run, lambda: self._measure(
                    nodes[backend], op, run))

    def _write(self, node: Node) -> dict[str, Any]:
        result = self.play(node.name, 'data set', 0, workload.document(
            node.auth, CONTAINER, [Stage(
                'data set', 'write', (1, self.args.objects),
                SIZES[self.args.policy],
                2 * self.args.clients, self.args.objects)]))
        node.chill()
        return {'state': 'fresh', **node.space(),
                'index_bytes': node.index_bytes() / self.args.objects,
                'direct_io': node.direct_io,
                **workload.figures(result, 'data set')}

    def _measure(self, node: Node, op: str, run: int) -> dict[str, Any]:
        """Return the mean of the operations, I/Os put off included."""
        args, warm = self.args, op.endswith('-warm')
        if warm:
            self._play(node, op, run)
            node.settle()
        else:
            node.chill()
        node.limit(args.iops or 0)
        pids, logged = node.pids(), request_log.Since(node.logs)
        cpu, stats = cpu_seconds(pids), node.device.stats()
        try:
            found = self._play(node, op, run)
            done = node.device.stats() - stats
            cpu = cpu_seconds(pids) - cpu
        finally:
            # As fast as it can: only the I/Os are counted from here on.
            node.limit(0)
        rss, files = rss_mib(pids), descriptors(pids)
        node.settle()
        if op in CHURN and BACKENDS[node.name]:
            node.wait(is_compact, PATIENCE * (args.compact_garbage < 100))
        late, count = node.device.stats() - stats, found['operations']
        return {**found, **node.space(), 'cache': 'warm' if warm else 'cold',
                'state': 'churned' if 'churn' in op else 'fresh',
                'metadata': args.metadata if BACKENDS[node.name] else 0,
                'reads': done.reads / count, 'writes': late.writes / count,
                'flushes': done.flushes / count,
                'sectors': (done.sectors_read + late.sectors_written) / count,
                'rpcs': logged.methods()['RPC'] / count,
                'cpu_ms': (cpu + found.pop('cpu_seconds', 0)) * 1000 / count,
                'rss_mib': rss, 'descriptors': files}

    def _play(self, node: Node, op: str, run: int) -> dict[str, Any]:
        """Do the operations of a run; return the client's figures."""
        args, count = self.args, self.args.operations
        operation, part = OPS[op]
        if op == 'audit':
            return self._audit(node)
        if op in CHURN:
            result = self.play(node.name, op, run, workload.document(
                node.auth, op, stages(op, args.objects, args.clients)))
            return workload.figures(result, op) | {
                'operations': operations(result)}
        if op == 'list':
            millis = [1000 * wait for wait in node.list_partitions(count)]
            return {'operations': len(millis), 'ops_per_second':
                    1000 * len(millis) / sum(millis), 'p50_ms': percentile(
                        millis, 50), 'p99_ms': percentile(millis, 99)}
        first = args.objects * part // PARTS + (run - 1) * count + 1
        container = CONTAINER
        if op.endswith(CHURNED):
            container, first = str(self.churned), first + args.objects // 2
        return workload.figures(self.play(
            node.name, op, run, workload.document(node.auth, container, [
                Stage(op, operation, (first, first + count - 1),
                      SIZES[args.policy], args.clients, count,
                      args.seconds)])), op)

    def _audit(self, node: Node) -> dict[str, Any]:
        """Have the auditor for files of zero bytes walk over all objects."""
        begin, cpu = time.perf_counter(), sum(os.times()[2:4])
        node.cluster.run_on(NODE, [
            node.cluster.layout.launcher('swift-object-auditor'),
            node.cluster.conf_path('object-server', NODE), 'once', '-z',
            '1000000000'])
        seconds = time.perf_counter() - begin
        return {'operations': self.args.objects,
                'cpu_seconds': sum(os.times()[2:4]) - cpu,
                'ops_per_second': self.args.objects / seconds}
