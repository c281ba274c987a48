# SPDX-License-Identifier: Apache-2.0
"""``cosbench validate``: is this a workload, and what is in it?"""

import json

from cosbench.commands import common_arguments
from cosbench.document.validate import check


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
    """Check the files; return exit status 0 if each is a workload."""
    findings = [check(path, args.strict) for path in args.files]
    if args.json:
        print(json.dumps(findings, indent=2))
    else:
        for finding in findings:
            for line in _lines(finding):
                print(line)
    return 0 if all(finding['ok'] for finding in findings) else 1


def _lines(finding):
    for problem in finding['problems']:
        place = '%s:%d' % (finding['file'], problem['line']) \
            if problem['line'] else finding['file']
        warning = 'warning: ' if problem['kind'] == 'warning' else ''
        yield '%s: %s%s' % (place, warning, problem['reason'])
    if finding['ok']:
        found = finding['summary']
        yield '%s: ok: %s: %d stages, %d works, at most %d workers, ' \
            'operations %s; auth %s, storage %s' % (
                finding['file'], found['name'], found['stages'],
                found['works'], found['most_workers'],
                ', '.join('%d %s' % (number, kind) for kind, number
                          in found['operations'].items()),
                ', '.join(found['auth']), ', '.join(found['storage']))
