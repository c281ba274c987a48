# SPDX-License-Identifier: Apache-2.0
"""
swift-losf-convert: moves what a device has of a policy into volumes, or back.

It works on one device and one storage policy, and sends nothing to other
nodes. Which way it goes follows from swift.conf. OPERATING.md, "Conversion".

Exit status: 0 all is converted; 1 some files could not be, or a disk is full
or fails; 2 it could not run.
"""

import argparse
import logging
import os
import subprocess
import sys
import time
from contextlib import contextmanager

from swift.common.storage_policy import POLICIES

from swift_lightsync.common import command
from swift_lightsync.common.command import Exit, UsageError
from swift_lightsync.common.node_arguments import all_policies
from swift_lightsync.common.owner import become_owner
from swift_losf.convert.converter import Converter
from swift_losf.convert.files import Files
from swift_losf.convert.sides import Volumes
from swift_losf.daemon import supervisor
from swift_losf.daemon.manager import kv_policies
from swift_losf.diskfile.store import Store
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.fsck.cli import require_device
from swift_losf.index.index_client import IndexClient
from swift_losf.options import CompactOptions, LosfOptions, ManagerOptions

#: seconds that an index server which was started here has to come up
START_TIMEOUT = 600
#: seconds that it has to end by itself
STOP_TIMEOUT = 60
MIB = 2 ** 20
logger = logging.getLogger(__name__)


def _is_served(layout):
    try:
        return bool(IndexClient(layout.socket).statistics())
    except IndexUnavailable:
        return False


@contextmanager
def index_server(layout, options, part_power):
    """Have an index server for a device and policy: the one that runs, or one.

    :param layout: a Layout
    :param options: LosfOptions
    :param part_power: of the policy's ring
    :raises UsageError: if there is none and it cannot be started
    """
    if _is_served(layout):
        yield
        return
    server = subprocess.Popen(supervisor.command(
        layout, ManagerOptions(), CompactOptions(), options.max_volume_size,
        False, part_power))
    try:
        deadline = time.monotonic() + START_TIMEOUT
        while not _is_served(layout):
            if server.poll() is not None or time.monotonic() > deadline:
                raise UsageError('%s: its index server does not start'
                                 % layout.root)
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        try:
            server.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _policy(index, swift_dir):
    all_policies(swift_dir)
    policy = POLICIES.get_by_index(index)
    if policy is None:
        raise UsageError('--policy %d: swift.conf has no such policy' % index)
    return policy


def _part_power(policy, swift_dir):
    try:
        policy.load_ring(swift_dir)
        return policy.object_ring.part_power
    except (OSError, ValueError) as err:
        raise UsageError('%s: the ring of policy %d cannot be read: %s' % (
            swift_dir, int(policy), err)) from err


def _become_owner(layout):
    """Go on as the user to whom all belongs that the daemons use."""
    for path in (layout.objects, layout.root, layout.device_path):
        if os.path.exists(path):
            return become_owner(path)


def run(args):
    """Convert, and return the exit status.

    :param args: of the command line
    :raises UsageError: if it cannot be done
    :raises OSError: if it cannot go on: the disk is full, or the index ended
    """
    device_path = os.path.abspath(args.device_path)
    require_device(device_path, not args.no_mount_check)
    layout = Layout(device_path, args.policy, args.index_path)
    _become_owner(layout)
    policy = _policy(args.policy, args.swift_dir)
    in_volumes = policy in kv_policies(POLICIES)
    options = LosfOptions(index_path=args.index_path or '')
    os.makedirs(layout.objects, exist_ok=True)
    with index_server(layout, options, _part_power(policy, args.swift_dir)):
        sides = Files(layout), Volumes(Store(layout, options, logger))
        # What the daemons use is copied from at first, and to in the end.
        copies = args.command == 'copy'
        source, target = sides if in_volumes != copies else sides[::-1]
        converter = Converter(source, target, args.bandwidth and
                              args.bandwidth * MIB)
        try:
            tally = getattr(converter, args.command)()
        except IndexUnavailable as err:
            # It was there: the disk is full, or it was ended. What is copied
            # is safe, and the next run goes on.
            raise OSError('not all is converted: %s' % err) from err
    for line in tally.failed:
        print('not converted: %s' % line, file=sys.stderr)
    print('%s to %s: %d files, %d bytes copied, %d there already, %d '
          'removed, %d not converted' % (
              args.command, type(target).__name__.lower(), tally.copied,
              tally.bytes, tally.present, tally.removed, len(tally.failed)))
    return Exit.NOT_WELL if tally.failed else Exit.WELL


def make_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog='swift-losf-convert', description='Moves what a device has of a '
        'policy from files into volumes, or back. swift.conf says which of '
        'them the daemons use.')
    commands = parser.add_subparsers(dest='command', required=True)
    for name, text in (
            ('copy', 'make the other side equal to the one that the daemons '
             'use; repeat it, the last time while they are stopped'),
            ('finish', 'move what the side that the daemons have given up '
             'still has, and empty it')):
        one = commands.add_parser(name, help=text, description=text)
        add = one.add_argument
        add('device_path', help='where the device is mounted')
        add('--policy', type=int, required=True,
            help='index of the storage policy')
        add('--index-path', help='losf_index_path, if it is set')
        add('--swift-dir', default=os.environ.get('SWIFT_DIR', '/etc/swift'),
            help='where swift.conf and the rings are')
        add('--bandwidth', type=float, metavar='MIB',
            help='MiB a second at most')
        add('--no-mount-check', action='store_true',
            help='the device need not be mounted')
    return parser


def main(argv=None):
    """Run the console script swift-losf-convert.

    :returns: the exit status
    """
    logging.basicConfig(level=logging.WARNING,
                        format='%(levelname)s %(message)s')
    return command.run(make_parser(), run, argv, (IndexUnavailable,))


if __name__ == '__main__':
    sys.exit(main())
