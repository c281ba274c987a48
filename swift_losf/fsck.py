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
swift-losf-fsck: checks, repairs, rebuilds and shows what one device holds for
one storage policy that keeps its objects in volumes. OPERATING.md.

Exit status: 0 all is sound, or put right; 1 something was found, and not put
right; 2 it could not run.

The index server must not run on that index, except for dump.
"""

import argparse
import contextlib
import logging
import os
import sys

import plyvel

from swift_losf.errors import IndexUnavailable
from swift_losf.fsck_commands import CannotRun, Fsck
from swift_losf.fsck_dump import NoEntries
from swift_losf.index_db import VersionError
from swift_losf.index_server import ServerError, locked
from swift_losf.layout import Layout, policies_in
from swift_losf.mounts import Devices
from swift_losf.space import FilesystemError

FAILED = 2


@contextlib.contextmanager
def _usable(layout):
    """
    Hold index.lock.

    :raises CannotRun: if the index server runs
    """
    try:
        with locked(layout):
            yield
    except ServerError as err:
        raise CannotRun(
            '%s. It has to be stopped for this: "swift-init object-losf '
            'stop" stops those of all devices, whose object-servers answer '
            '507 until it is started again' % err)
    except FilesystemError as err:
        raise CannotRun(str(err))


def require_device(device_path, mount_check):
    """:raises CannotRun: unless it is the directory of a device"""
    root, device = os.path.split(device_path)
    devices = Devices(root, mount_check)
    devices.refresh()
    if devices.presence(device) is None:
        raise CannotRun(
            '%s: is no directory' % device_path if not mount_check else
            '%s: nothing is mounted there. Give the directory of a device, '
            'not one in it; --no-mount-check is for devices that are plain '
            'directories' % device_path)


def choose_policy(device_path, wanted):
    """
    :param wanted: index of a storage policy, or None: the only one there is
    :returns: the index
    :raises CannotRun: if the device has no volumes of it
    """
    there = policies_in(os.listdir(device_path))
    if wanted in there or wanted is None and len(there) == 1:
        return there[0] if wanted is None else wanted
    if not there:
        raise CannotRun('%s: has no volumes of any policy' % device_path)
    raise CannotRun('%s: has volumes of policy %s, %s' % (
        device_path, ' and '.join(map(str, there)),
        'of which --policy has to name one' if wanted is None
        else 'not of policy %d' % wanted))


def _hash(text):
    value = bytes.fromhex(text)
    if len(value) != 16:
        raise ValueError
    return value


_hash.__name__ = 'hash of 32 hex digits'


def _parse(argv):
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument('device_path', help='where the device is mounted')
    common.add_argument('--policy', type=int,
                        help='index of the storage policy, if the device has '
                        'volumes of several')
    common.add_argument('--index-path', help='losf_index_path, if it is set')
    common.add_argument('--no-mount-check', action='store_true',
                        help='the device need not be mounted')
    common.add_argument('--json', action='store_true',
                        help='a JSON object on each line')
    deep = argparse.ArgumentParser(add_help=False)
    deep.add_argument('--data', action='store_true',
                      help='verify all data, too')
    deep.add_argument('--temp-dir', help='where to sort the entries, some '
                      '70 bytes a file (TMPDIR)')
    dry = argparse.ArgumentParser(add_help=False)
    dry.add_argument('--dry-run', action='store_true',
                     help='change nothing')
    parser = argparse.ArgumentParser(
        prog='swift-losf-fsck', description='Check, repair, rebuild or show '
        'what a device holds in volumes for a storage policy.',
        epilog='Exit status: 0 sound or put right, 1 something was found, '
        '2 it could not run.')
    commands = parser.add_subparsers(dest='command', required=True)
    for name, parents, text in (
            ('check', [common, deep], 'compare the index with the volumes'),
            ('repair', [common, deep, dry], 'put right what check finds'),
            ('rebuild', [common, dry], 'make the index anew')):
        commands.add_parser(name, parents=parents, help=text)
    dump = commands.add_parser('dump', parents=[common],
                               help='show volumes, records and entries')
    which = dump.add_mutually_exclusive_group()
    which.add_argument('--volume', type=int, metavar='N',
                       help='the records of a volume')
    which.add_argument('--hash', type=_hash, metavar='H',
                       help='the files of an object, by its hash')
    which.add_argument('--quarantined', action='store_true',
                       help='the files in quarantine')
    return parser.parse_args(argv)


def run(args):
    """
    :param args: of the command line
    :returns: the exit status
    :raises CannotRun: if nothing could be looked at
    """
    device_path = os.path.abspath(args.device_path)
    require_device(device_path, not args.no_mount_check)
    layout = Layout(device_path, choose_policy(device_path, args.policy),
                    args.index_path)
    fsck = Fsck(layout, args)
    try:
        if args.command == 'dump':
            return fsck.dump()
        with _usable(layout):
            return getattr(fsck, args.command)()
    finally:
        fsck.progress.clear()


def main(argv=None):
    """The console script swift-losf-fsck."""
    args = _parse(argv)
    logging.basicConfig(level=logging.WARNING,
                        format='%(levelname)s %(message)s')
    try:
        return run(args)
    except (CannotRun, NoEntries, VersionError, IndexUnavailable, OSError,
            plyvel.Error) as err:
        print('swift-losf-fsck: %s' % err, file=sys.stderr)
        return FAILED


if __name__ == '__main__':
    sys.exit(main())
