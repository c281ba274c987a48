# SPDX-License-Identifier: Apache-2.0
"""``cosbench compare``: did the second run do better than the first?"""

import json
import sys

from cosbench.errors import ConfigError
from cosbench.reports import read_result
from cosbench.reports.compare import compare
from cosbench.reports.compare_views import as_json, as_page, as_text
from swift_lightsync.common.records import RecordError


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Compare the operations that two runs have in ' \
        'common.'
    for each in ('first', 'second'):
        command.add_argument(each, metavar=each.upper(), help='a result '
                             'document, or the directory of an archived run')
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
    if not 0 < args.confidence < 1:
        raise ConfigError.of('confidence', args.confidence,
                             'more than 0 and less than 1')
    found = compare(_read(args.first), _read(args.second), args.confidence)
    if args.json:
        json.dump(as_json(found), sys.stdout, indent=2)
        print()
    else:
        print(as_page(found) if args.html else as_text(found))
    return 0
