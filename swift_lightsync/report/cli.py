# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
``swift-lightsync-report``: how far the replicas of a cluster agree.

It exits with 0 if all is well, with 1 if something is not, and with 2 if it
was called wrongly.
"""

import argparse
import configparser
import os
import math
import struct
import sys
import time
import zlib

from swift.common.exceptions import RingLoadError
from swift.common.ring import Ring as SwiftRing
from swift.common.storage_policy import POLICIES, REPL_POLICY, \
    reload_storage_policies
from swift.common.utils import set_swift_dir

from swift_lightsync.report import as_json, page, text
from swift_lightsync.report.health import Ring, assess
from swift_lightsync.report.nodes import ask_all
from swift_lightsync.sync.notice import parse_endpoint

STALE_AFTER = 3600
#: What Swift raises when it reads a ring that is damaged or missing.
RING_ERRORS = (OSError, EOFError, LookupError, ValueError, struct.error,
               zlib.error, RingLoadError)


class UsageError(Exception):
    """What was asked for cannot be had, with the reason."""


def _seconds(value):
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(
            '%r must be a number of seconds above 0' % value)
    return seconds


def _host(value):
    host = parse_endpoint(value)
    if host is None or not 0 < host[1] < 65536:
        raise argparse.ArgumentTypeError('%r must be IP:port' % value)
    return host[0].strip('[]'), host[1]


def _parser():
    parser = argparse.ArgumentParser(
        prog='swift-lightsync-report',
        description='Ask the object-servers how far the replicas agree.',
        epilog='Exits with 0: all is well; 1: something is not; 2: usage.')
    parser.add_argument('--swift-dir', metavar='DIR',
                        default=os.environ.get('SWIFT_DIR', '/etc/swift'),
                        help='where swift.conf and rings are (%(default)s: '
                        '$SWIFT_DIR or /etc/swift)')
    parser.add_argument('--policy', '-p', metavar='P',
                        help='only this one, by name or index')
    parser.add_argument('--timeout', '-t', type=_seconds, default=5,
                        metavar='S', help='seconds that a node has to '
                        'answer (%(default)s)')
    parser.add_argument('--stale', type=_seconds, default=STALE_AFTER,
                        metavar='S', help='seconds without agreement after '
                        'which a pair is stale (%(default)s)')
    parser.add_argument('--json', action='store_true',
                        help='print JSON instead of text')
    parser.add_argument('--html', metavar='FILE',
                        help='write an HTML page as well')
    parser.add_argument('hosts', nargs='*', type=_host, metavar='IP:port',
                        help='ask these object-servers only')
    return parser


def _policies(swift_dir, wanted):
    """
    :param swift_dir: a directory
    :param wanted: a policy's name or index; None: all
    :returns: a list of StoragePolicies
    :raises UsageError: if there are none
    """
    try:
        if set_swift_dir(swift_dir):
            reload_storage_policies()
    except (OSError, LookupError, ValueError, configparser.Error,
            SystemExit) as err:
        raise UsageError('--swift-dir %s: %s' % (swift_dir, err))
    found = [policy for policy in POLICIES
             if policy.policy_type == REPL_POLICY and (
                 wanted is None or wanted == str(int(policy))
                 or wanted in policy.alias_list)]
    if not found:
        raise UsageError('--policy %s: no replicated policy; there are %s' % (
            wanted, ', '.join('%s (%d)' % (policy.name, policy)
                              for policy in POLICIES
                              if policy.policy_type == REPL_POLICY)))
    return found


def _ring(swift_dir, policy):
    try:
        ring = SwiftRing(swift_dir, ring_name=policy.ring_name)
    except RING_ERRORS as err:
        raise UsageError('the ring of policy %s, %s in %s: %s: %s' % (
            policy.name, policy.ring_name, swift_dir, type(err).__name__,
            err))
    return Ring(int(policy), policy.name, {
        (dev['replication_ip'], dev['replication_port'], dev['device']):
        (dev['ip'], dev['port']) for dev in ring.devs if dev})


def _report(args):
    rings = [_ring(args.swift_dir, policy) for policy
             in _policies(args.swift_dir, args.policy)]
    hosts = set(args.hosts) or {host for ring in rings
                                for host in ring.devices.values()}
    health = assess(rings, ask_all(hosts, args.timeout), args.stale,
                    time.time())
    if args.html:
        try:
            with open(args.html, 'w', encoding='utf8') as out:
                out.write(page.render(health))
        except OSError as err:
            raise UsageError('--html %s: %s' % (args.html, err.strerror))
    sys.stdout.write((as_json if args.json else text).render(health))
    return 1 if health.complaints else 0


def main(argv=None):
    """
    :param argv: the arguments; those of the process by default
    :returns: the exit status
    """
    args = _parser().parse_args(argv)
    try:
        return _report(args)
    except UsageError as err:
        print('swift-lightsync-report: %s' % err, file=sys.stderr)
        return 2
