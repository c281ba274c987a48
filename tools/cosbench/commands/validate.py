# SPDX-License-Identifier: Apache-2.0
"""``cosbench validate``: is this a workload, and what is in it?"""

import json

from cosbench import adaptors
from cosbench.commands import common_arguments
from cosbench.document.reader import read_file
from cosbench.document.validate import in_words, summary
from cosbench.errors import WorkloadError


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
    findings = [_check(path, args.strict) for path in args.files]
    if args.json:
        print(json.dumps(findings, indent=2))
    else:
        for line in (line for each in findings for line in _lines(each)):
            print(line)
    return 0 if all(each['ok'] for each in findings) else 1


def _check(path, is_strict):
    """Check one file.

    :returns: the finding as a dict for JSON; each of its problems has the
        line (0: the file as a whole), the kind and the reason
    """
    found = None
    try:
        document = read_file(path, adaptors.installed())
        problems = [(each.line, 'error' if is_strict and each.is_unknown_key
                     else 'warning', each.reason)
                    for each in document.warnings]
        if all(kind == 'warning' for _, kind, _ in problems):
            found = summary(document.workload)
    except OSError as err:
        problems = [(0, 'error', err.strerror or str(err))]
    except WorkloadError as err:
        problems = [(each.line, 'error', each.reason)
                    for each in err.problems]
    return {'file': path, 'ok': found is not None, 'summary': found,
            'problems': [dict(zip(('line', 'kind', 'reason'), problem))
                         for problem in problems]}


def _lines(finding):
    for problem in finding['problems']:
        place = '%s:%d' % (finding['file'], problem['line']) \
            if problem['line'] else finding['file']
        warning = 'warning: ' if problem['kind'] == 'warning' else ''
        yield '%s: %s%s' % (place, warning, problem['reason'])
    if finding['ok']:
        yield '%s: ok: %s' % (finding['file'], in_words(finding['summary']))
