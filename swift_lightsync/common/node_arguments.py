# SPDX-License-Identifier: Apache-2.0
"""What the commands that ask a cluster's nodes have in common."""

import argparse
import configparser
import math
import os
import struct
import sys
import zlib

from swift.common.exceptions import RingLoadError
from swift.common.ring import Ring
from swift.common.storage_policy import (
    POLICIES,
    REPL_POLICY,
    reload_storage_policies,
)
from swift.common.utils import set_swift_dir

from swift_lightsync.common.command import UsageError
from swift_lightsync.common.places import parse_endpoint

#: What Swift raises when it reads a ring that is damaged or missing.
RING_ERRORS = (OSError, EOFError, LookupError, ValueError, struct.error,
               zlib.error, RingLoadError)


def seconds(value):
    """:returns: an argument as a number of seconds above 0"""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(
            '%r must be a number of seconds above 0' % value)
    return number


def host(value):
    """:returns: an argument as (IP, port)"""
    found = parse_endpoint(value)
    if found is None or not 0 < found[1] < 65536:
        raise argparse.ArgumentTypeError('%r must be IP:port' % value)
    return found[0].strip('[]'), found[1]


def add_cluster(parser):
    """Add the arguments that say which nodes to ask, and about what."""
    parser.add_argument('--swift-dir', metavar='DIR',
                        default=os.environ.get('SWIFT_DIR', '/etc/swift'),
                        help='where swift.conf and rings are (%(default)s: '
                        '$SWIFT_DIR or /etc/swift)')
    parser.add_argument('--policy', '-p', metavar='P',
                        help='only this one, by name or index')
    parser.add_argument('--timeout', '-t', type=seconds, default=5,
                        metavar='S', help='seconds that a node has to '
                        'answer (%(default)s)')
    parser.add_argument('--json', action='store_true',
                        help='print JSON instead of text')
    parser.add_argument('hosts', nargs='*', type=host, metavar='IP:port',
                        help='ask these object-servers only')


def policies(swift_dir, wanted):
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


def run(parser, report, argv):
    """
    Run a command.

    :param parser: of its arguments
    :param report: a function of the arguments that does what it is for
    :param argv: the arguments; those of the process if None
    :returns: the exit status: what the function returns; 2 for a wrong call
    """
    args = parser.parse_args(argv)
    try:
        return report(args)
    except UsageError as err:
        print('%s: %s' % (parser.prog, err), file=sys.stderr)
        return 2


def load_ring(swift_dir, policy):
    """
    :returns: the ring of a policy
    :raises UsageError: if there is none
    """
    try:
        return Ring(swift_dir, ring_name=policy.ring_name)
    except RING_ERRORS as err:
        raise UsageError('the ring of policy %s, %s in %s: %s: %s' % (
            policy.name, policy.ring_name, swift_dir, type(err).__name__,
            err))
