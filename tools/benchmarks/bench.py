# SPDX-License-Identifier: Apache-2.0
"""
The common part of all benchmarks in one invocation: order, progress, results.
"""

import os
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from cosbench.measure.result import Result
from swift_lightsync.common.progress import Progress
from tools.benchmarks import record, workload
from tools.benchmarks.record import Metric, Record, Spread
from tools.benchmarks.settings import BenchError, number, require


def add_common(parser: Any, runs: int = 3) -> None:
    """Add the options that every benchmark has."""
    add = parser.add_argument
    add('--runs', type=number(1, 1000), default=runs,
        help='of each measurement')
    add('--seed', type=int, default=1, help='of all random choices')
    add('--json', metavar='FILE', help='write all records there')
    add('--output', metavar='DIR', help='keep there what COSBench wrote: '
        'workloads, results, reports, comparisons')
    add('--keep', action='store_true',
        help='keep the directory of the clusters: data, logs')


class Bench:
    """
    One invocation of one benchmark; a subclass has ``measure``.

    :param args: the command line as argparse parsed it
    """

    #: of the command line, and of the directory
    name = ''
    metrics: Sequence[Metric] = ()
    #: the contestants that the others are compared with
    references: Sequence[str] = ()

    def __init__(self, args: Any) -> None:
        self.args = args
        self.records: List[Record] = []
        self.failures: List[str] = []
        self.root = ''
        self._progress = Progress()
        self._begin = time.monotonic()
        self._results: Dict[Tuple[str, str, int], Result] = {}

    def measure(self, stack: ExitStack) -> None:
        """
        Measure everything.

        :param stack: ends what was started, in any case
        """
        raise NotImplementedError

    def tables(self) -> Iterator[str]:
        """Yield what is printed at the end."""
        yield record.table(self.records, self.metrics, self.references,
                           self._intervals())

    def run(self) -> int:
        """
        Measure, report and clean up.

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
            self._measure_and_report()
        finally:
            if self.args.keep:
                self.say('kept: %s' % self.root)
            else:
                shutil.rmtree(self.root)
        for failure in self.failures:
            print('failed: %s' % failure, file=sys.stderr)
        return 1 if self.failures else 0

    def _measure_and_report(self) -> None:
        try:
            with ExitStack() as stack:
                self.measure(stack)
        finally:
            # Also when it is interrupted: what was measured is measured.
            self._report()

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

    def attempt(self, contestant: str, case: str, run: int,
                measure: Any) -> None:
        """
        Measure once, and note figures or failure.

        :param measure: a function that returns the figures
        """
        what = '%s, %s, run %d' % (contestant, case, run)
        try:
            figures = measure()
        except BenchError as err:
            self.failures.append('%s: %s' % (what, err))
            self.say(self.failures[-1])
            return
        if figures.get('failed'):
            self.failures.append('%s: %d did not succeed' % (
                what, figures['failed']))
        self.records.append(Record(contestant, case, run, figures))
        self.say('%s: %s' % (what, ', '.join(
            '%s %.4g' % (each.title, figures[each.field])
            for each in self.metrics
            if figures.get(each.field) is not None)))

    def play(self, contestant: str, case: str, run: int,
             text: bytes) -> Result:
        """Have COSBench run a workload; its result is compared later."""
        result = self.client.run(text, '%s-%s-%d' % (
            case.replace(' ', ''), contestant, run))
        self._results[case, contestant, run] = result
        return result

    def _intervals(self) -> Dict[tuple, Spread]:
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
                        found[(*place, name, reference)] = spread
        return found
