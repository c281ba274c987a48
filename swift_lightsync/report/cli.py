# SPDX-License-Identifier: Apache-2.0
"""``swift-lightsync-report``: how far the replicas of a cluster agree.

It exits with 0 if all is well, with 1 if something is not, and with 2 if it
was called wrongly.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from swift_lightsync.common.command import UsageError, argument, run
from swift_lightsync.common.node_arguments import add_cluster
from swift_lightsync.common.nodes import ask_all
from swift_lightsync.common.options import positive_seconds
from swift_lightsync.report import as_json, page, text
from swift_lightsync.report.answer import QUESTION
from swift_lightsync.report.health import assess
from swift_lightsync.report.watched import object_rings

#: Seconds without agreement after which a pair is stale.
STALE_AFTER = 3600


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='swift-lightsync-report',
        description='Ask the object-servers how far the replicas agree.',
        epilog='Exits with 0: all is well; 1: something is not; 2: usage.')
    add_cluster(parser)
    parser.add_argument('--stale', type=argument(positive_seconds),
                        default=STALE_AFTER, metavar='S',
                        help='seconds without agreement after which a pair '
                        'is stale (%(default)s)')
    parser.add_argument('--html', metavar='FILE',
                        help='write an HTML page as well')
    return parser


def _report(args: argparse.Namespace) -> int:
    rings = object_rings(args.swift_dir, args.policy)
    hosts = set(args.hosts) or {host for ring in rings
                                for host in ring.devices.values()}
    health = assess(rings, ask_all(hosts, args.timeout, QUESTION), args.stale,
                    time.time())
    if args.html:
        try:
            with open(args.html, 'w', encoding='utf8') as out:
                out.write(page.render(health))
        except OSError as err:
            raise UsageError('--html %s: %s' % (args.html, err.strerror))
    sys.stdout.write(as_json.render(health) if args.json
                     else text.render(health))
    return 1 if health.complaints else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``swift-lightsync-report``.

    :param argv: the arguments; None: those of the process
    :returns: the exit status
    """
    return run(_parser(), _report, argv)
