# SPDX-License-Identifier: Apache-2.0
"""``cosbench validate``: is this a workload, and what is in it?"""

import sys

from cosbench.commands import common_arguments
from cosbench.document.validate import validate


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Check workload files. Prints file:line: reason ' \
        'for each thing that a file is refused for, and what is in each ' \
        'file that is accepted. Exit status 0: all are accepted, 1: some ' \
        'are not.'
    command.add_argument('files', nargs='+', metavar='FILE')
    command.add_argument('--json', action='store_true',
                         help='print a JSON list, one finding a file')
    common_arguments.strict(command)
    command.set_defaults(run=main)


def main(args):
    """
    Check the files.

    :returns: exit status
    """
    return validate(args.files, args.json, sys.stdout,
                    args.strict)
