# SPDX-License-Identifier: Apache-2.0
"""The arguments of commands that ask a cluster's nodes."""

import argparse
import configparser
import os
import struct
import zlib

from swift.common.exceptions import RingLoadError
from swift.common.ring import Ring
from swift.common.storage_policy import (
    POLICIES,
    REPL_POLICY,
    StoragePolicy,
    reload_storage_policies,
)
from swift.common.utils import set_swift_dir

from swift_lightsync.common.address import parse_host
from swift_lightsync.common.command import UsageError, add_json, argument
from swift_lightsync.common.options import positive_seconds

#: What Swift raises when it reads a ring that is damaged or missing.
RING_ERRORS = (OSError, EOFError, LookupError, ValueError, struct.error,
               zlib.error, RingLoadError)


def add_swift_dir(parser: argparse.ArgumentParser) -> None:
    """Add the argument that says where the cluster's confs are."""
    parser.add_argument('--swift-dir', metavar='DIR',
                        default=os.environ.get('SWIFT_DIR', '/etc/swift'),
                        help='where swift.conf and rings are (%(default)s: '
                        '$SWIFT_DIR or /etc/swift)')


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which nodes to ask, and about what."""
    add_swift_dir(parser)
    parser.add_argument('--policy', '-p', metavar='P',
                        help='only this one, by name or index')
    parser.add_argument('--timeout', '-t', type=argument(positive_seconds),
                        default=5, metavar='S',
                        help='seconds that a node has to answer '
                        '(%(default)s)')
    add_json(parser)
    parser.add_argument('hosts', nargs='*', type=argument(parse_host),
                        metavar='IP:port',
                        help='ask these object-servers only')


def all_policies(swift_dir: str) -> list[StoragePolicy]:
    """Return the policies of a cluster.

    :param swift_dir: the directory of swift.conf
    :raises UsageError: if it cannot be read
    """
    try:
        if set_swift_dir(swift_dir):
            reload_storage_policies()
    except (OSError, LookupError, ValueError, configparser.Error,
            SystemExit) as err:
        raise UsageError('--swift-dir %s: %s' % (swift_dir, err))
    return list(POLICIES)


def policies(swift_dir: str, wanted: str | None) -> list[StoragePolicy]:
    """Return the replicated policies of a cluster.

    :param swift_dir: the directory of swift.conf
    :param wanted: a policy's name or index; None: all
    :raises UsageError: if there are none
    """
    known = all_policies(swift_dir)
    found = [policy for policy in known
             if policy.policy_type == REPL_POLICY and (
                 wanted is None or wanted == str(int(policy))
                 or wanted in policy.alias_list)]
    if not found:
        raise UsageError('--policy %s: no replicated policy; there are %s' % (
            wanted, ', '.join('%s (%d)' % (policy.name, policy)
                              for policy in known
                              if policy.policy_type == REPL_POLICY)))
    return found


def load_ring(swift_dir: str, policy: StoragePolicy) -> Ring:
    """Return the object ring of a policy.

    :param swift_dir: the directory of the rings
    :param policy: the policy
    :raises UsageError: if the ring cannot be read
    """
    return read_ring(swift_dir, policy.ring_name,
                     'the ring of policy %s' % policy.name)


def read_ring(swift_dir: str, name: str, what: str = 'the ring') -> Ring:
    """Return a ring.

    :param swift_dir: the directory of the rings
    :param name: the ring's, such as ``container``
    :param what: what errors call it
    :raises UsageError: if the ring cannot be read
    """
    try:
        return Ring(swift_dir, ring_name=name)
    except RING_ERRORS as err:
        raise UsageError('%s, %s in %s: %s: %s' % (
            what, name, swift_dir, type(err).__name__, err))
