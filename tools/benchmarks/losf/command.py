# SPDX-License-Identifier: Apache-2.0
"""``bench losf``: its options, and the order in which things are done."""

from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context

from tools.benchmarks import report
from tools.benchmarks.errors import BenchError
from tools.benchmarks.invocation import (
    Invocation,
    add_output,
    check_json,
    directory,
)
from tools.benchmarks.losf import settings as settings_module
from tools.benchmarks.losf import storage, throttle
from tools.benchmarks.losf.dataset import DataSet
from tools.benchmarks.losf.record import Record, Run, table
from tools.benchmarks.losf.settings import (
    BACKENDS,
    CACHES,
    DEFAULT_OPS,
    OPS,
    Settings,
)
from tools.benchmarks.losf.site import Site
from tools.benchmarks.losf.trial import Trial
from tools.cluster import commands

HELP = 'objects in volumes against stock diskfiles (root)'
#: objects between two lines of progress
STEP = 20000


def add_arguments(parser):
    """:param parser: the argparse parser of this benchmark"""
    add = parser.add_argument
    add('--objects', type=int, default=Settings.objects,
        help='in the device of each backend')
    add('--runs', type=int, default=Settings.runs, help='of each operation')
    add('--iops', type=int, metavar='LIMIT', help='reads, and writes, a '
        'second of a device, such as 120 of a hard disk')
    add('--ops', default=','.join(DEFAULT_OPS), metavar='NAME,…',
        help='what is measured: those, or walk, an audit of all objects')
    add('--operations', type=int, metavar='N', help='of each measurement; '
        'None: 2000, less for few objects')
    add('--seconds', type=float, default=Settings.seconds,
        help='after which a measurement has enough operations')
    add('--clients', type=int, default=Settings.clients,
        help='requests at the same time')
    add('--seed', type=int, default=Settings.seed,
        help='of all random choices')
    add_output(parser, 'images, logs')


def run(args):
    """
    :param args: what argparse made of the command line
    :returns: the exit status
    """
    settings = settings_module.from_arguments(args)
    check_json(args.json)
    commands.need_root('bench losf')
    with ExitStack() as stack:
        root = stack.enter_context(directory('losf', args.keep))
        bench = Bench(settings, root)
        # Also when it is interrupted: what was measured is measured.
        stack.callback(_report, bench, args.json)
        bench.run()
    return bench.status('not measured')


def _report(bench, json_file):
    records = bench.records()
    if records:
        print(table(records), flush=True)
    if json_file:
        report.write_json(json_file, records)


class Bench(Invocation):
    """
    All runs of one invocation.

    :param settings: the Settings
    :param root: a directory for everything
    """

    def __init__(self, settings, root):
        super().__init__(settings, root)
        self.data_set = DataSet(settings.seed, settings.objects)
        self.sites = []
        self._runs = {}

    def run(self):
        """Measure all; ``failures`` (texts) are what could not be."""
        with ExitStack() as stack:
            limits = None
            if self.settings.iops:
                limits = throttle.find()
                stack.callback(limits.close)
            for backend in BACKENDS:
                self.say('starting a node for %s' % backend)
                self.sites.append(stack.enter_context(Site(
                    self.settings, self.root, backend, limits)))
            for site in self.sites:
                self._write(site)
            clients = stack.enter_context(ProcessPoolExecutor(
                1, mp_context=get_context('spawn')))
            for number in range(1, self.settings.runs + 1):
                # Neither side is always the one to go first.
                for site in self.sites[::1 if number % 2 else -1]:
                    self._play(Trial(site, clients, self.data_set, number))

    def _write(self, site):
        objects = self.data_set.objects
        storage.write(site.target(), objects, lambda count: self.say(
            '%s: %d of %d objects written' % (
                site.backend, count, len(objects)))
            if count % STEP == 0 or count == len(objects) else None)
        site.chill()
        site.weigh_index(objects)

    def _play(self, trial):
        for op in self.settings.ops:
            limit = self.settings.operations
            for cache in CACHES:
                what = '%s, %s %s, run %d' % (trial.site.backend, op, cache,
                                              trial.run)
                try:
                    found = trial.measure(op, cache, limit)
                except BenchError as err:
                    self.failures.append('%s: %s' % (what, err))
                    self.say(self.failures[-1])
                    break
                # Warm is no more than what was done cold in the same time.
                limit = found.operations
                self._runs.setdefault((op, cache, trial.site), []).append(
                    Run(run=trial.run, **vars(found)))
                self.say('%s: %d operations; each %.2f reads, %.2f writes, '
                         '%.2f flushes, %.2f RPCs, %.2f CPU ms; %.0f/s' % (
                             what, found.operations, found.reads,
                             found.writes, found.flushes, found.rpcs,
                             found.cpu_ms, found.ops_per_second))

    def records(self):
        """:returns: a list of Record, those of one backend together"""
        return [Record.of(site, op, cache, self._runs[op, cache, site])
                for site in self.sites for op in OPS for cache in CACHES
                if (op, cache, site) in self._runs]
