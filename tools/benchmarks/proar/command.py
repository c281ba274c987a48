# SPDX-License-Identifier: Apache-2.0
"""``bench proar``: its options, and the order in which things are done."""

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
from tools.benchmarks.losf import throttle
from tools.benchmarks.proar import settings as settings_module
from tools.benchmarks.proar.measure import Trial
from tools.benchmarks.proar.record import Record, balance_table, latency_table
from tools.benchmarks.proar.settings import MODES, SIZES, Settings
from tools.benchmarks.proar.site import Site
from tools.benchmarks.sizes import MIB, size_text
from tools.cluster import commands

HELP = 'primary-role writes against writes to a quorum (root)'
#: small objects that are written before all measurements
WARM_UP = 60


def add_arguments(parser):
    """:param parser: the argparse parser of this benchmark"""
    add = parser.add_argument
    add('--sizes', default=SIZES, metavar='SIZE,…', help='of the objects')
    add('--requests', type=int, default=Settings.requests,
        help='of each half of a measurement, at most')
    add('--budget', type=int, default=Settings.budget // MIB, metavar='MIB',
        help='that each half writes, at most')
    add('--seconds', type=float, default=Settings.seconds,
        help='after which each half of a measurement has enough '
        'requests')
    add('--runs', type=int, default=Settings.runs,
        help='of each measurement')
    add('--clients', type=int, default=Settings.clients,
        help='requests at the same time, in the half that loads')
    add('--modes', default=','.join(MODES), metavar='NAME,…',
        help='what is compared')
    add('--slow-iops', type=int, default=Settings.slow_iops, metavar='LIMIT',
        help='reads, and writes, a second of the slow disk')
    add('--patience', type=float, default=Settings.patience,
        metavar='SECONDS', help='that convergence may take')
    add('--seed', type=int, default=Settings.seed,
        help='of the bytes that are written')
    add_output(parser, 'images, logs')


def run(args):
    """
    :param args: what argparse made of the command line
    :returns: the exit status
    """
    settings = settings_module.from_arguments(args)
    check_json(args.json)
    commands.need_root('bench proar')
    with directory('proar', args.keep) as root:
        bench = Bench(settings, root)
        try:
            bench.run()
        finally:
            # Also when it is interrupted: what was measured is measured.
            _report(bench.records(), args.json)
    return bench.status('failed')


def _report(records, json_file):
    if records:
        print(latency_table(records))
        print()
        print(balance_table(records), flush=True)
    if json_file:
        report.write_json(json_file, records)


class Bench(Invocation):
    """
    All measurements of one invocation.

    :param settings: the Settings
    :param root: a directory for everything
    """

    def __init__(self, settings, root):
        super().__init__(settings, root)
        self._trials = {}
        self._runs = {}

    def run(self):
        """Measure all; ``failures`` (texts) are what went wrong."""
        settings = self.settings
        with ExitStack() as stack:
            limits = throttle.find()
            stack.callback(limits.close)
            clients = stack.enter_context(ProcessPoolExecutor(
                1, mp_context=get_context('spawn')))
            for name in settings.sites():
                self.say('starting the cluster of %s' % name)
                site = stack.enter_context(Site(
                    settings, self.root, name, limits))
                self._trials[name] = Trial(site, clients, settings)
                self._trials[name].warm_up(WARM_UP)
            for number in range(1, settings.runs + 1):
                for size in settings.sizes:
                    # Neither side is always the one to go first.
                    for mode in settings.modes[::1 if number % 2 else -1]:
                        self._measure(mode, size, number)

    def _measure(self, mode, size, number):
        what = '%s, %s, run %d' % (mode, size_text(size), number)
        try:
            found = self._trials[MODES[mode].site].measure(mode, size, number)
        except BenchError as err:
            self.failures.append('%s: %s' % (what, err))
            self.say(self.failures[-1])
            return
        self._runs.setdefault((mode, size), []).append(found)
        if found.failed:
            self.failures.append('%s: %d of %d writes were not acknowledged'
                                 % (what, found.failed, found.requests))
        if found.incomplete:
            self.failures.append(
                '%s: %d of %d objects lacked a replica after %g s' % (
                    what, found.incomplete, found.requests,
                    self.settings.patience))
        single, loaded = found.single, found.loaded
        self.say('%s: %d single writes, p50 %.1f ms; %d under load, p50 %.1f '
                 'ms, %.1f/s, lag p99 %.2f s; %.1f CPU ms a write' % (
                     what, single.requests, single.p50_ms, loaded.requests,
                     loaded.p50_ms, loaded.ops_per_second, loaded.lag_p99_s,
                     found.cpu_ms))

    def records(self):
        """:returns: a list of Record, those of one size together"""
        return [Record.of(self.settings, mode, size, self._runs[mode, size])
                for size in self.settings.sizes for mode in MODES
                if (mode, size) in self._runs]
