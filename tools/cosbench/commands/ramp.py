# SPDX-License-Identifier: Apache-2.0
"""``cosbench ramp``: how much more does the storage do with more workers?"""

import argparse

from cosbench.commands import common_arguments
from cosbench.commands.run import run_fully
from cosbench.controller.result_document import operations_of
from cosbench.document.reader import file_bytes, parse, text
from cosbench.driver.process import run as run_loop
from cosbench.measure.result import Result
from cosbench.measure.summary import Metrics
from cosbench.reports.ramp import WORKERS, past_peak, ramps
from cosbench.reports.ramp_views import as_json, as_text
from cosbench.workload.stepping import stepped
from swift_lightsync.common.command import add_json, json_text


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Run the stages before the main one, then the ' \
        'main one with ever more workers until more are of no use, then ' \
        'those after it; say where the peak is.'
    command.add_argument('file', metavar='WORKLOAD')
    command.add_argument('--stage', metavar='NAME', help='the main stage; '
                         'default: the only one with a normal work')
    command.add_argument(
        '--workers', type=_counts, default=WORKERS, metavar='N,N,...',
        help='the steps; default: %s' % ','.join(map(str, WORKERS)))
    command.add_argument(
        '--p95', type=float, metavar='MS', help='the 95%% response time '
        'that is accepted; default: any')
    add_json(command)
    common_arguments.local_run(command)
    command.set_defaults(run=main)


def _counts(text):
    counts = [common_arguments.positive(each.strip())
              for each in text.split(',')]
    if sorted(set(counts)) != counts:
        raise argparse.ArgumentTypeError('%r: must ascend' % text)
    return counts


def main(args):
    """Run the command, and return its exit status."""
    root, names = stepped(parse(file_bytes(args.file)), args.workers,
                          args.stage)
    document, _ = run_loop(run_fully(text(root).encode('utf8'), args,
                                     _Enough(names)))
    found = ramps([Result.from_json(document, 'result')], args.p95)
    print(json_text(as_json(found)) if args.json else as_text(found))
    return 0 if document['state'] == 'finished' else 1


class _Enough:
    """Says which steps are left out, since those before were past it."""

    def __init__(self, names):
        self._names = set(names)

    def __call__(self, run, stage):
        """See ``WorkloadRun``."""
        if stage.stage.name not in self._names:
            return False
        return past_peak([
            _throughput(each) for each in run.stages
            if each.stage.name in self._names and each.stopped])


def _throughput(stage):
    """Operations a second of all works of a ``StageRun``."""
    return sum(
        Metrics.of(work.measured.tally(each['id']), work.work.workers,
                   work.counted or work.work.runtime).throughput
        for work in stage.works for each in operations_of(work.work))
