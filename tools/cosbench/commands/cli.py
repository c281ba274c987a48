# SPDX-License-Identifier: Apache-2.0
"""The command line of the benchmark: ``cosbench COMMAND``."""

import argparse
import sys

from cosbench.commands import compare, controller, driver, ramp, remote, run
from cosbench.commands.output import until_unread
from cosbench.controller.run_store import ArchiveError
from cosbench.document.validate import validate
from cosbench.errors import ConfigError, WorkloadError


def _validate(args):
    return validate(args.files, args.json, sys.stdout)


def _parser():
    parser = argparse.ArgumentParser(
        prog='cosbench', description='Benchmark object storage with '
        'COSBench workloads.')
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    command = commands.add_parser(
        'validate', help='check workload files',
        description='Check workload files. Prints file:line: reason for '
        'each thing that a file is refused for, and what is in each file '
        'that is accepted. Exit status 0: all are accepted, 1: some are '
        'not.')
    command.add_argument('files', nargs='+', metavar='FILE')
    command.add_argument('--json', action='store_true',
                         help='print a JSON list, one finding a file')
    command.set_defaults(run=_validate)
    for each in (run, ramp, compare, driver, controller, remote):
        each.add(commands)
    return parser


def main(argv=None):
    """
    :param argv: the arguments; default: the process's
    :returns: exit status; 2 for bad arguments
    """
    with until_unread():
        return _run(_parser().parse_args(argv))


def _run(args):
    try:
        return args.run(args)
    except BrokenPipeError:
        raise
    except (ArchiveError, ConfigError, WorkloadError) as err:
        print('cosbench: %s' % err, file=sys.stderr)
        return 2
    except OSError as err:
        # A port that is taken, a full disk: the message has it all.
        print('cosbench: %s' % err, file=sys.stderr)
        return 1
