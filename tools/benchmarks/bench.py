# SPDX-License-Identifier: Apache-2.0
"""
The common part of all benchmarks in one invocation: order, progress, results.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from cosbench.measure.result import Result
from swift_lightsync.common.progress import Progress
from tools import ToolError
from tools.arguments import number, require
from tools.benchmarks import record, workload
from tools.benchmarks.record import Metric, Record, Spread, in_turn

#: option -> (type, default, placeholder, what --help says); a tuple has all
#: values, bool is a flag
Options = dict[str, tuple[Any, Any, str | None, str]]
#: those that every benchmark has
COMMON: Options = {
    'runs': (number(1, 1000), 3, None, 'of each measurement'),
    'seed': (int, 1, None, 'of all random choices'),
    'json': (str, None, 'FILE', 'write all records there'),
    'output': (str, None, 'DIR', 'keep there what COSBench wrote: '
               'workloads, results, reports, comparisons'),
    'keep': (bool, False, None,
             'keep the directory of the clusters: data, logs')}


class Bench:
    """One invocation of one benchmark; a subclass has ``measure``.

    :param args: the command line as argparse parsed it
    """

    #: of the command line, and of the directory
    name = ''
    options: Options = {}
    metrics: Sequence[Metric] = ()
    #: the contestants that the others are compared with
    references: Sequence[str] = ()

    def __init__(self, args: Any) -> None:
        self.args = args
        self.records: list[Record] = []
        self.failures: list[str] = []
        self.root = ''
        self._progress = Progress()
        self._begin = time.monotonic()
        self._results: dict[tuple[str, str, int], Result] = {}

    @classmethod
    def add_options(cls, parser: Any) -> None:
        for name, (kind, default, metavar, text) in {
                **cls.options, **COMMON}.items():
            parser.add_argument('--' + name, default=default, help=text, **(
                {'action': 'store_true'} if kind is bool else
                {'choices': kind} if isinstance(kind, tuple) else
                {'type': kind, 'metavar': metavar}))

    def start(self, stack: ExitStack, sites: Iterable[str],
              make: Callable[[str], Any]) -> dict[str, Any]:
        """Start clusters, which the stack ends.

        :param make: returns a context of the name of one
        :returns: name -> what its context gave
        """
        started = {}
        for name in dict.fromkeys(sites):
            self.say('starting the cluster of %s' % name)
            started[name] = stack.enter_context(make(name))
        return started

    def turns(self, cases: Iterable[Any], contestants: Iterable[str]
              ) -> Iterator[tuple[int, Any, str]]:
        """Yield the run, the case and the contestant of each measurement."""
        cases = list(cases)
        for run in range(1, self.args.runs + 1):
            for case in cases:
                for name in in_turn(contestants, run):
                    yield run, case, name

    def measure(self, stack: ExitStack) -> None:
        """Measure everything.

        :param stack: ends what was started, in any case
        """
        raise NotImplementedError

    def tables(self) -> Iterator[str]:
        """Yield what is printed at the end."""
        yield record.table(self.records, self.metrics, self.references,
                           self._intervals())

    def run(self) -> int:
        """Measure, report and clean up.

        :returns: the exit status: 1 if something was not measured
        """
        if self.args.json:
            require('--json', self.args.json,
                    'a file in a directory that exists',
                    os.path.isdir(os.path.dirname(self.args.json) or '.'))
        self.root = tempfile.mkdtemp(prefix='bench-%s-' % self.name)
        output = self.args.output or os.path.join(self.root, 'cosbench')
        os.makedirs(output, exist_ok=True)
        self.client = workload.Client(os.path.abspath(output),
                                      self.args.seed)
        try:
            try:
                with ExitStack() as stack:
                    self.measure(stack)
            finally:
                # Also when it is interrupted: what was measured is measured.
                self._report()
        finally:
            if self.args.keep:
                self.say('kept: %s' % self.root)
            else:
                shutil.rmtree(self.root)
        for failure in self.failures:
            print('failed: %s' % failure, file=sys.stderr)
        return 1 if self.failures else 0

    def _report(self) -> None:
        if self.records:
            for text in self.tables():
                print(text + '\n', flush=True)
        if self.args.json:
            record.write_json(self.args.json, self.name, vars(self.args),
                              self.records)

    def say(self, text: str) -> None:
        """Write a line of progress."""
        self._progress.say('%6.1f s  %s' % (
            time.monotonic() - self._begin, text))

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        """Note a failure of what is done in the context, and go on."""
        try:
            yield
        except ToolError as err:
            self.failures.append('%s: %s' % (what, err))
            self.say(self.failures[-1])

    def attempt(self, contestant: str, case: str, run: int,
                measure: Any) -> None:
        """Measure once, and note figures or failure.

        :param measure: a function that returns the figures
        """
        what = '%s, %s, run %d' % (contestant, case, run)
        figures = None
        with self.noted(what):
            figures = measure()
        if figures is None:
            return
        if figures.get('failed'):
            self.failures.append('%s: %d did not succeed' % (
                what, figures['failed']))
        self.records.append(Record(contestant, case, run, figures))
        self.say('%s: %s' % (what, ', '.join(
            '%s %.4g' % (each.title, figures[each.field])
            for each in self.metrics
            if figures.get(each.field) is not None)))

    def play(self, contestant: str, case: str, run: int, text: bytes,
             before: Sequence[str] = ()) -> Result:
        """Have COSBench run a workload; its result is compared later.

        :param before: a command that takes COSBench's as its last arguments
        """
        result = self.client.run(text, '%s-%s-%d' % (
            case.replace(' ', ''), contestant, run), before)
        self._results[case, contestant, run] = result
        return result

    def _intervals(self) -> dict[tuple, Spread]:
        """Compare COSBench's results with those of the references."""
        found = {}
        for (case, name, run), result in self._results.items():
            for reference in self.references:
                base = self._results.get((case, reference, run))
                if base and name != reference:
                    for place, spread in workload.intervals(
                            base, result, os.path.join(
                                self.client.directory, '%s-%s-to-%s-%d.html'
                                % (case.replace(' ', ''), name, reference,
                                   run))).items():
                        found[place + (name, reference)] = spread
        return found
