# SPDX-License-Identifier: Apache-2.0
"""swift-losf-mount: shows what a disk's volumes have as directories and files.

They are those of stock Swift, can only be read, and are there until they are
unmounted or the command is ended. OPERATING.md, "Looking at the files".

Exit status: 0 it was unmounted; 1 it cannot be mounted; 2 it was called
wrongly, or an index cannot be asked.
"""

import argparse
import contextlib
import logging
import os
import sys

import plyvel

from swift_lightsync.common import command
from swift_lightsync.common.command import Exit, UsageError, require_extra
from swift_losf.diskfile.store import Store
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout, policies_in
from swift_losf.fsck.cli import choose_policy, require_device
from swift_losf.fsck.entries import entries
from swift_losf.mount.tree import Tree
from swift_losf.options import LosfOptions

logger = logging.getLogger(__name__)


def stores(layouts, at_end):
    """Return the Stores of some layouts, by the names of what they replace.

    :param layouts: Layouts
    :param at_end: an ExitStack, which closes the indexes that no server has
    :raises UsageError: if an index cannot be asked
    """
    return {os.path.basename(layout.objects): Store(
        layout, LosfOptions(), logger, entries(layout, at_end))
        for layout in layouts}


def require_mountpoint(path):
    """Check that a path is an empty directory.

    A mount over the device itself would wait for itself for ever.

    :raises UsageError: if it is not
    """
    try:
        reason = 'it is not empty' if os.listdir(path) else None
    except OSError as err:
        reason = err.strerror
    if reason:
        raise UsageError('%s: must be an empty directory: %s' % (
            path, reason))


def run(args):
    """Mount, serve until it is unmounted, and return the exit status.

    :param args: of the command line
    :raises UsageError: if there is nothing that could be mounted
    :raises OSError: if it cannot be mounted
    """
    require_extra('swift-losf-mount', 'fuse', 'pyfuse3')
    from swift_losf.mount.operations import serve
    device = os.path.abspath(args.device_path)
    require_device(device, not args.no_mount_check)
    require_mountpoint(args.mountpoint)
    there = policies_in(os.listdir(device))
    if args.policy is not None or not there:
        there = [choose_policy(device, args.policy)]
    layouts = [Layout(device, each, args.index_path) for each in there]
    owner = os.stat(layouts[0].root)
    with contextlib.ExitStack() as at_end:
        serve(Tree(stores(layouts, at_end)), (owner.st_uid, owner.st_gid),
              args.mountpoint, args.allow_other)
    return Exit.WELL


def make_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog='swift-losf-mount', description='Shows what the volumes of a '
        'device have as the directories and files of stock Swift, read-only, '
        'until they are unmounted.')
    add = parser.add_argument
    add('device_path', help='where the device is mounted')
    add('mountpoint', help='an empty directory, in which they are shown')
    add('--policy', type=int, help='index of the one storage policy that is '
        'wanted')
    add('--index-path', help='losf_index_path, if it is set')
    add('--no-mount-check', action='store_true',
        help='the device need not be mounted')
    add('--allow-other', action='store_true', help='other users may look, as '
        'far as modes and owners let them')
    return parser


def main(argv=None):
    """Run the console script swift-losf-mount.

    :returns: the exit status
    """
    logging.basicConfig(level=logging.WARNING,
                        format='%(levelname)s %(message)s')
    return command.run(make_parser(), run, argv,
                       (IndexUnavailable, plyvel.Error))


if __name__ == '__main__':
    sys.exit(main())
