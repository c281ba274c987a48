# SPDX-License-Identifier: Apache-2.0
"""``cosbench compare``: did the second run do better than the first?"""

from cosbench.errors import ConfigError
from cosbench.reports import read_result
from cosbench.reports.compare import compare
from cosbench.reports.compare_views import as_json, as_page, as_text
from swift_lightsync.common.command import json_text
from swift_lightsync.common.records import RecordError


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Compare the operations that runs of two ' \
        'configurations have in common: two runs, or several --with ' \
        'several, whose intervals are then across runs.'
    command.add_argument(
        'runs', nargs='+', metavar='RUN', help='a result document, or the '
        'directory of an archived run; the first is the base')
    command.add_argument(
        '--with', nargs='+', metavar='RUN', dest='others', default=[],
        help='runs of the second configuration; those before are all of the '
        'first')
    command.add_argument('--confidence', type=float, default=0.95,
                         help='of the intervals; default: %(default)s')
    form = command.add_mutually_exclusive_group()
    form.add_argument('--json', action='store_true', help='print JSON')
    form.add_argument('--html', action='store_true', help='print a page')
    command.set_defaults(run=main)


def _read(path):
    try:
        return read_result(path)
    except OSError as err:
        raise ConfigError('%s: %s' % (path, err.strerror)) from None
    except RecordError as err:
        raise ConfigError('%s: %s' % (path, err)) from None


def main(args):
    """Run the command, and return its exit status."""
    first, second = (args.runs, args.others) if args.others \
        else (args.runs[:1], args.runs[1:])
    if not second or not args.others and len(second) > 1:
        raise ConfigError('%d runs: must be two, or some --with others'
                          % len(args.runs))
    found = compare([_read(each) for each in first],
                    [_read(each) for each in second], args.confidence)
    print(json_text(as_json(found)) if args.json else
          as_page(found) if args.html else as_text(found))
    return 0
