# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck: checks, repairs, rebuilds, and shows index and volumes.

It works on one device and one storage policy, and empties the quarantine too.
OPERATING.md.

Exit status: 0 all is sound, or put right; 1 something was found, and not put
right; 2 it could not run.

The index server must not run on that index, except for what only shows. Run as
root, it goes on as the user whom the volumes belong to.
"""

import contextlib
import logging
import os
import sys

import plyvel

from swift_lightsync.common import command
from swift_lightsync.common.command import UsageError
from swift_lightsync.common.owner import become_owner
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout, policies_in
from swift_losf.fsck.commands import Fsck
from swift_losf.fsck.fsck_arguments import make_parser, only_shows
from swift_losf.index.db import VersionError
from swift_losf.index.index_lock import ServerError, locked
from swift_losf.mounts import Devices
from swift_losf.volumes.space import FilesystemError


@contextlib.contextmanager
def _usable(layout):
    """Hold index.lock.

    :raises UsageError: if the index server runs
    """
    try:
        with locked(layout):
            yield
    except ServerError as err:
        raise UsageError(
            '%s. It has to be stopped for this: "swift-init object-losf '
            'stop" stops those of all devices, whose object-servers answer '
            '507 until it is started again' % err)
    except FilesystemError as err:
        raise UsageError(str(err))


def require_device(device_path, mount_check):
    """Check that a path is the directory of a device.

    :raises UsageError: if it is not
    """
    root, device = os.path.split(device_path)
    devices = Devices(root, mount_check)
    devices.refresh()
    if devices.presence(device) is None:
        raise UsageError(
            '%s: is no directory' % device_path if not mount_check else
            '%s: nothing is mounted there. Give the directory of a device, '
            'not one in it; --no-mount-check is for devices that are plain '
            'directories' % device_path)


def choose_policy(device_path, wanted):
    """Return the index of the policy that is meant.

    :param wanted: index of a storage policy, or None: the only one there is
    :raises UsageError: if the device has no volumes of it
    """
    there = policies_in(os.listdir(device_path))
    if wanted in there or wanted is None and len(there) == 1:
        return there[0] if wanted is None else wanted
    if not there:
        raise UsageError('%s: has no volumes of any policy' % device_path)
    raise UsageError('%s: has volumes of policy %s, %s' % (
        device_path, ' and '.join(map(str, there)),
        'of which --policy has to name one' if wanted is None
        else 'not of policy %d' % wanted))


def run(args):
    """Run a command, and return the exit status.

    :param args: of the command line
    :raises UsageError: if nothing could be looked at
    """
    device_path = os.path.abspath(args.device_path)
    require_device(device_path, not args.no_mount_check)
    layout = Layout(device_path, choose_policy(device_path, args.policy),
                    args.index_path)
    # What it makes is for the daemons.
    become_owner(layout.root)
    fsck = Fsck(layout, args)
    try:
        work = getattr(fsck, args.command)
        if only_shows(args):
            return work()
        with _usable(layout):
            return work()
    finally:
        fsck.progress.clear()


def main(argv=None):
    """Run the console script swift-losf-fsck.

    :returns: the exit status
    """
    logging.basicConfig(level=logging.WARNING,
                        format='%(levelname)s %(message)s')
    return command.run(make_parser(), run, argv, (
        VersionError, IndexUnavailable, OSError, plyvel.Error))


if __name__ == '__main__':
    sys.exit(main())
