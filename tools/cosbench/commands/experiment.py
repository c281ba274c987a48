# SPDX-License-Identifier: Apache-2.0
"""``cosbench experiment``: several workloads, several times, compared."""

import os
import re
import sys
from contextlib import suppress

from cosbench.commands import common_arguments, remote, remote_runs
from cosbench.commands.run import run_fully
from cosbench.controller.driver_client import DriverLost
from cosbench.document.reader import file_bytes
from cosbench.document.validate import refuse_unknown_keys
from cosbench.driver.process import run as run_loop
from cosbench.errors import ConfigError
from cosbench.experiment.book import (
    MOST_ROUNDS,
    PAGE,
    Book,
    new_plan,
    read_plan,
)
from cosbench.experiment.conduct import RunFailed, conduct
from cosbench.experiment.core.expression import parse
from cosbench.experiment.core.judgement import Answer
from cosbench.experiment.findings import Aims
from cosbench.experiment.views import as_text
from cosbench.measure.result import Result
from swift_lightsync.common.command import Exit, argument
from swift_lightsync.common.options import integer

#: The exit status of an experiment that leaves a condition open.
UNDECIDED = 3
_NAMED = re.compile(r'([A-Za-z0-9_.-]{1,40})=(.+)')
_DEFAULT = Aims()


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Run workloads several times each, in random ' \
        'order, until the differences between them are known well enough. ' \
        'The first is the base. What has finished is kept: the same ' \
        'command goes on where it was stopped or killed. Exit status 0: no ' \
        'condition holds, 1: one does, or a run failed, 2: refused, 3: a ' \
        'condition is not decided, for the runs differ too much or a driver ' \
        'was the limit.'
    command.add_argument('files', nargs='+', metavar='[NAME=]WORKLOAD',
                         help='a configuration; its name is that of the '
                         'file, without its ending')
    command.add_argument('--directory', metavar='DIRECTORY',
                         default='experiment', help='where all of it goes; '
                         'default: %(default)s')
    command.add_argument(
        '--fail-if', action='append', default=[], metavar='CONDITION',
        help="such as 'p99(read) > 1.05 * base' or 'mean(write) > 20ms'; "
        'may be repeated')
    _rounds(command)
    common_arguments.local_run(command, archive=False)
    remote.controller(command, None, 'does the runs, with its drivers; '
                      'default: drivers of this host do')
    command.set_defaults(run=main)


def _rounds(command):
    """Add the arguments that say how many rounds there are."""
    command.add_argument(
        '--repeats', type=common_arguments.positive, default=_DEFAULT.least,
        metavar='N', help='rounds, at least; default: %(default)s')
    command.add_argument(
        '--most-repeats', type=common_arguments.positive,
        default=_DEFAULT.most, metavar='N',
        help='rounds, at most; default: %(default)s')
    command.add_argument(
        '--precision', type=common_arguments.percent,
        default=_DEFAULT.precision, metavar='PERCENT',
        help='no more rounds once throughput, mean and what '
        'conditions name are known to so many percent; default: 2')
    command.add_argument(
        '--confidence', type=common_arguments.percent,
        default=_DEFAULT.confidence, metavar='PERCENT',
        help='of the intervals; default: 95')
    command.add_argument(
        '--warm-up', type=argument(integer(0, MOST_ROUNDS - 1)),
        default=1, metavar='N',
        help='rounds before those that count; default: %(default)s')


def main(args):
    """Run the command, and return its exit status."""
    aims = Aims(tuple(map(parse, args.fail_if)), args.repeats,
                args.most_repeats, args.precision, args.confidence)
    if args.strict:
        for each in args.files:
            refuse_unknown_keys(file_bytes(_named(each)[1]))
    if args.controller is not None:
        args.drivers = remote_runs.check(args)
    book = Book(args.directory, _plan(args))
    try:
        book.recover()
        print('%s: %s; the seed is %d' % (
            book.directory, ', '.join(book.plan.names), book.plan.seed),
            file=sys.stderr)
        args.archive = book.archive
        run = _runner if args.controller is None else remote_runs.runner
        found = conduct(book, aims, run(args), lambda line: print(
            line, file=sys.stderr, flush=True))
    except (RunFailed, DriverLost) as err:
        print('cosbench: %s' % err, file=sys.stderr)
        return int(Exit.NOT_WELL)
    finally:
        book.close()
    print(as_text(found), end='')
    print('the report is %s' % os.path.join(book.directory, PAGE),
          file=sys.stderr)
    return _status(found)


def _status(found):
    if any(each.answer is Answer.HOLDS for each in found.outcomes):
        return int(Exit.NOT_WELL)
    undecided = any(map(found.is_open, found.outcomes))
    return UNDECIDED if undecided else int(Exit.WELL)


def _plan(args):
    seed = args.seed
    if seed is None:
        with suppress(ConfigError):
            # It goes on as it began.
            seed = read_plan(args.directory).seed
    return new_plan([(name, file_bytes(path)) for name, path in map(
        _named, args.files)], args.drivers, args.warm_up, seed)


def _named(text):
    """Return the name of a configuration, and the path of its file."""
    match = _NAMED.fullmatch(text)
    if match:
        return match.groups()
    return os.path.splitext(os.path.basename(text))[0], text


def _runner(args):
    def run(data, seed, begun):
        args.seed = seed
        document, _ = run_loop(run_fully(data, args, begun=begun))
        return Result.from_json(document, 'result')
    return run
