# SPDX-License-Identifier: Apache-2.0
"""``bench versioning``: its options, and the order of what is done."""

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
from tools.benchmarks.sizes import MIB, size_text
from tools.benchmarks.versioning import plots
from tools.benchmarks.versioning import settings as settings_module
from tools.benchmarks.versioning.measure import Trial
from tools.benchmarks.versioning.record import Record, table
from tools.benchmarks.versioning.settings import (
    BATCHES,
    MODES,
    SIZES,
    Settings,
)
from tools.benchmarks.versioning.site import Site

HELP = "versions of Write-Repair and Read-Repair against Swift's own"
WARM_UP = 20


def add_arguments(parser):
    """:param parser: the argparse parser of this benchmark"""
    add = parser.add_argument
    add('--sizes', default=SIZES, metavar='SIZE,…', help='of the objects')
    add('--requests', type=int, default=Settings.requests,
        help='of each size, one after the other, at most')
    add('--budget', type=int, default=Settings.budget // MIB, metavar='MIB',
        help='that these write, at most')
    add('--batches', default=BATCHES, metavar='NUMBER,…',
        help='concurrent requests, of objects of the least size')
    add('--clients', type=int, default=Settings.clients,
        help="a batch's requests at the same time, at most; one in %d is"
        % settings_module.BATCH_SHARE)
    add('--rounds', type=int, default=Settings.rounds,
        help='how often the delays that count round trips come')
    add('--delay', type=float, default=Settings.delay_ms, metavar='MS',
        help='that container- and object-servers let each request wait')
    add('--latest-hint-time', type=int, metavar='SECONDS',
        default=Settings.latest_hint_time,
        help="the filter's option: how long memcache keeps a hint which "
             "version is the latest")
    add('--latest-cache-time', type=int, metavar='SECONDS',
        default=Settings.latest_cache_time,
        help="the filter's option: how long memcache says what is the latest")
    add('--runs', type=int, default=Settings.runs,
        help='of each measurement')
    add('--modes', default=','.join(MODES), metavar='NAME,…',
        help='what is compared')
    add('--seed', type=int, default=Settings.seed,
        help='of the bytes that are written')
    add('--plots', metavar='DIRECTORY', help='draw figures there, as SVG')
    add_output(parser, 'images, logs')


def run(args):
    """
    :param args: what argparse made of the command line
    :returns: the exit status
    """
    settings = settings_module.from_arguments(args)
    check_json(args.json)
    if args.plots:
        plots.pyplot()
    with directory('versioning', args.keep) as root:
        bench = Bench(settings, root)
        try:
            bench.run()
        finally:
            # Also when it is interrupted: what was measured is measured.
            _report(bench.records(), args)
    return bench.status('failed')


def _report(records, args):
    if records:
        print(table(records), flush=True)
    if args.json:
        report.write_json(args.json, records)
    if args.plots and records:
        for path in plots.draw(args.plots, records):
            print('wrote %s' % path)


class Bench(Invocation):
    """
    All measurements of one invocation.

    :param settings: the Settings
    :param root: a directory for everything
    """

    def __init__(self, settings, root):
        super().__init__(settings, root)
        self._trials = {}
        self._rounds = {}
        self._runs = {}

    def run(self):
        """Measure all; ``failures`` (texts) are what went wrong."""
        settings = self.settings
        with ExitStack() as stack:
            clients = stack.enter_context(ProcessPoolExecutor(
                1, mp_context=get_context('spawn')))
            for name in settings.sites():
                self.say('starting the cluster of %s' % name)
                self._trials[name] = Trial(stack.enter_context(Site(
                    settings, self.root, name)), clients, settings)
            for mode in settings.modes:
                self._prepare(mode)
            for number in range(1, settings.runs + 1):
                # Neither side is always the one to go first.
                modes = settings.modes[::1 if number % 2 else -1]
                for size in settings.sizes:
                    for mode in modes:
                        self._measure(mode, number, size,
                                      settings.requests_of(size))
                for batch in settings.batches:
                    for mode in modes:
                        self._measure(
                            mode, number, settings.batch_size, batch,
                            settings.clients_of(batch))

    def _trial(self, mode):
        return self._trials[MODES[mode].site]

    def _prepare(self, mode):
        """Warm up, and count the round trips."""
        trial = self._trial(mode)
        try:
            trial.measure(mode, 0, 1, WARM_UP)
            if self.settings.rounds:
                self._rounds[mode] = trial.count_rounds(
                    mode, self.settings.rounds)
                self.say('%s: metadata round trips: %s' % (mode, ', '.join(
                    '%s %.2f' % each
                    for each in self._rounds[mode].items())))
        except BenchError as err:
            self._failed(mode, err)

    def _failed(self, what, why):
        self.failures.append('%s: %s' % (what, why))
        self.say(self.failures[-1])

    def _measure(self, mode, number, *work):
        try:
            found = self._trial(mode).measure(mode, number, *work)
        except BenchError as err:
            self._failed('%s, run %d' % (mode, number), err)
            return
        for what, done in found.items():
            self._runs.setdefault(what, []).append(done)
            text = '%s of %s, %s, %d requests, %d at once, run %d' % (
                what.op, mode, size_text(what.size), what.requests,
                what.concurrency, number)
            if done.failed:
                self._failed(text, '%d did not succeed' % done.failed)
            self.say('%s: p50 %.1f ms, p99 %.1f ms, %.1f/s' % (
                text, done.p50_ms, done.p99_ms, done.ops_per_second))

    def records(self):
        """:returns: a list of Record, those of the same work together"""
        found = [Record.of(
            what, runs, self._rounds.get(what.mode, {}).get(what.op),
            delay_ms=self.settings.delay_ms,
            **self.settings.memcache_of(MODES[what.mode].site))
            for what, runs in self._runs.items()]
        order = list(MODES)
        return sorted(found, key=lambda each: (
            each.concurrency > 1, each.size, each.requests,
            each.op != 'PUT', order.index(each.mode)))
