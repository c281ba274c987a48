# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck: checks, repairs, rebuilds, and shows index and volumes.

It works on one device and one storage policy, and empties the quarantine too.
OPERATING.md.

Exit status: 0 all is sound, or put right; 1 something was found, and not put
right; 2 it could not run.

The index server must not run on that index, except for what only shows. Run as
root, it goes on as the user whom the volumes belong to.
"""

import argparse
import contextlib
import logging
import math
import os
import sys

import plyvel

from swift_lightsync.common import command
from swift_lightsync.common.command import UsageError, argument
from swift_lightsync.common.owner import become_owner
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import HASH_LENGTH
from swift_losf.format.layout import Layout, policies_in
from swift_losf.fsck.commands import Fsck
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


def _hash(text):
    try:
        value = bytes.fromhex(text)
    except ValueError:
        value = b''
    if len(value) != HASH_LENGTH:
        raise ValueError('must be a hash of 32 hex digits')
    return value


def _days(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError('must be a number of days, 0 or more')
    return value


def device_arguments():
    """Return a parent of parsers: which device and policy, and how to tell."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('device_path', help='where the device is mounted')
    parser.add_argument('--policy', type=int,
                        help='index of the storage policy, if the device has '
                        'volumes of several')
    parser.add_argument('--no-mount-check', action='store_true',
                        help='the device need not be mounted')
    parser.add_argument('--json', action='store_true',
                        help='a JSON object on each line')
    return parser


def _common():
    parser = argparse.ArgumentParser(
        add_help=False, parents=[device_arguments()])
    parser.add_argument('--index-path', help='losf_index_path, if it is set')
    parser.add_argument('--swift-dir', default='/etc/swift', help='where the '
                        'ring of the policy is: it tells the partitions of '
                        'records (%(default)s)')
    parser.add_argument('--part-power', type=int, help='of the ring, if that '
                        'is not there')
    return parser


def _deep():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('--data', action='store_true',
                        help='read and verify all data, too')
    parser.add_argument('--temp-dir', help='where to sort the entries, some '
                        '70 bytes a file (TMPDIR)')
    return parser


def _dry():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('--dry-run', action='store_true',
                        help='change nothing')
    return parser


def _add_dump(commands, common):
    parser = commands.add_parser(
        'dump', parents=[common], help='show volumes, records and entries',
        description='Show volumes, records and entries. Of a volume, "size" '
        'is the length of its file, and "used" what it takes on the disk: '
        'less than its size after space was given back as holes, more if the '
        'filesystem rounds up, or has blocks allocated beyond its end.')
    which = parser.add_mutually_exclusive_group()
    which.add_argument('--volume', type=int, metavar='N',
                       help='the records of a volume')
    which.add_argument('--hash', type=argument(_hash), metavar='H',
                       help='the files of an object, by its hash')


def _add_quarantine(commands, *parents):
    parser = commands.add_parser(
        'quarantine', parents=parents,
        help='list the files in quarantine, or empty it')
    parser.add_argument('--purge', action='store_true',
                        help='give up the files that are listed; the index '
                        'server then gives their space back')
    parser.add_argument('--hash', type=argument(_hash), metavar='H',
                        help='only those of an object, by its hash')
    parser.add_argument('--older-than', type=argument(_days), metavar='DAYS',
                        help='only those whose timestamp, as in their names, '
                        'is older; when a file was put into quarantine is '
                        'not recorded')


def make_parser():
    """Return the parser of the command line, an argparse.ArgumentParser."""
    parser = argparse.ArgumentParser(
        prog='swift-losf-fsck', description='Check, repair, rebuild or show '
        'what a device holds in volumes for a storage policy.',
        epilog='Exit status: 0 sound or put right, 1 something was found, '
        '2 it could not run.')
    commands = parser.add_subparsers(dest='command', required=True)
    common, deep, dry = _common(), _deep(), _dry()
    for name, parents, text in (
            ('check', [common, deep], 'compare the index with the volumes'),
            ('repair', [common, deep, dry], 'put right what check finds'),
            ('rebuild', [common, dry], 'make the index anew')):
        commands.add_parser(name, parents=parents, help=text)
    for name, parents, text, place in (
            ('backup', [common], 'copy the index, while its server runs or '
             'not', 'where the copy is put; must not be there yet'),
            ('restore', [common, deep], 'let a backup be the index, and '
             'bring it up to date', 'where the backup is')):
        commands.add_parser(name, parents=parents, help=text).add_argument(
            'directory', help=place)
    _add_dump(commands, common)
    _add_quarantine(commands, common, dry)
    return parser


def only_shows(args):
    """
    Return whether a command changes nothing, so that an index server may run.

    :param args: as the parser returns them
    """
    return args.command in ('backup', 'dump') or (
        args.command == 'quarantine' and (args.dry_run or not args.purge))


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
