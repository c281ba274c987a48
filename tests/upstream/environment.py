# SPDX-License-Identifier: Apache-2.0
"""The surroundings that Swift's suites need.

As root a run gets a mount and a network namespace of its own: there the
loopback interface is all there is, /etc/hosts has the names that tests
expect, and temporary files lie on a file system that takes large extended
attributes. All of it is gone when the run ends. Without root, or without
the right to make namespaces, the run says what that limits.

As a program this is the inner half: it prepares the namespaces it runs in
and then becomes pytest.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.upstream import stock_peer

UNSHARE = ('unshare', '--mount', '--net')
HOSTS = '127.0.0.1 access.com example.com\n'
XFS_BYTES = 8 << 30  # sparse: only what is written takes space


class EnvironmentLacks(Exception):
    """Something that the tests need cannot be had here."""


def may_isolate():
    """Whether a namespace of its own can be given to a run."""
    if os.geteuid() != 0:
        return False
    try:
        return subprocess.call(UNSHARE + ('true',),
                               stderr=subprocess.DEVNULL) == 0
    except FileNotFoundError:
        return False


def command(work, source):
    """
    Return the command that runs pytest, short of pytest's arguments.

    :param work: an empty directory, for this run only
    :param source: path of Swift's source tree
    """
    isolated = may_isolate()
    return [*(UNSHARE if isolated else ()),
            sys.executable, '-m', 'tests.upstream.environment',
            '--work', str(work), '--source', str(source),
            *(['--isolated'] if isolated else []), '--']


def takes_large_xattrs(directory):
    """
    Check whether files there take an extended attribute above 4 KiB.

    Swift's tests ask the same before they skip.
    """
    with tempfile.NamedTemporaryFile(dir=directory) as probe:
        try:
            os.setxattr(probe.fileno(), 'user.probe', b'x' * 4097)
        except OSError:
            return False
    return True


def _run(*argv):
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def _mount_tmpfs(work, target):
    _run('mount', '-t', 'tmpfs', 'tmpfs', str(target))


def _mount_xfs(work, target):
    image = work / 'xfs.img'
    with open(image, 'wb') as out:
        out.truncate(XFS_BYTES)
    _run('mkfs.xfs', '-q', str(image))
    _run('mount', '-o', 'loop', str(image), str(target))


#: The first that serves is taken.
MOUNTS = {'tmpfs': _mount_tmpfs, 'xfs': _mount_xfs}


def _mounted(kind, work, target):
    """Mount one kind of file system; False if it does not serve."""
    try:
        MOUNTS[kind](work, target)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return False
    if takes_large_xattrs(target):
        return True
    _run('umount', str(target))
    return False


def prepare_scratch(work, isolated):
    """
    Make the directory for temporary files.

    :param work: the run's directory
    :param isolated: whether mounting is allowed
    :returns: (path, kind)
    """
    target = work / 'tmp'
    target.mkdir()
    for kind in MOUNTS if isolated else ():
        if _mounted(kind, work, target):
            return target, kind
    return target, 'directory'


def isolate_network(work):
    """Bring up the loopback interface and the names that tests look up."""
    _run('ip', 'link', 'set', 'lo', 'up')
    hosts = work / 'hosts'
    hosts.write_text(Path('/etc/hosts').read_text().rstrip('\n') + '\n' +
                     HOSTS)
    _run('mount', '--bind', str(hosts), '/etc/hosts')


@contextlib.contextmanager
def running_stock_peer(work):
    """A node of stock Swift where the rings of the tests expect nodes."""
    devices = work / 'peer'
    devices.mkdir()
    peer = subprocess.Popen(
        [sys.executable, '-m', 'tests.upstream.stock_peer', str(devices)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    try:
        if peer.stdout.readline().strip() != stock_peer.READY:
            raise EnvironmentLacks('No stock object-server could be started '
                                   'on port %d' % stock_peer.PORT)
        yield
    finally:
        peer.kill()
        peer.wait()


def describe(isolated, kind, scratch):
    """Return lines that say where the run takes place and what it lacks."""
    lines = ['upstream: TMPDIR is %s (%s)' % (scratch, kind)]
    if not isolated:
        lines.append('upstream: no namespace of its own: tests that need '
                     'names in /etc/hosts, no route to 10.0.0.0/8 or a stock '
                     'object-server on port %d may fail' % stock_peer.PORT)
    if not takes_large_xattrs(scratch):
        lines.append('upstream: no large extended attributes in TMPDIR: '
                     'many tests will skip, and the gate will fail')
    return lines


def main(argv=None):
    """Prepare the surroundings, then run pytest in this process."""
    parser = argparse.ArgumentParser(prog='tests.upstream.environment')
    parser.add_argument('--work', type=Path, required=True)
    parser.add_argument('--source', type=Path, required=True)
    parser.add_argument('--isolated', action='store_true')
    parser.add_argument('pytest', nargs='*')
    args = parser.parse_args(argv)
    try:
        if args.isolated:
            isolate_network(args.work)
        scratch, kind = prepare_scratch(args.work, args.isolated)
    except (FileNotFoundError, subprocess.CalledProcessError) as err:
        sys.exit('upstream: %s' % err)
    print('\n'.join(describe(args.isolated, kind, scratch)), flush=True)
    os.environ['TMPDIR'] = str(scratch)
    tempfile.tempdir = None
    peer = running_stock_peer(args.work) if args.isolated else \
        contextlib.nullcontext()
    try:
        with peer:
            os.chdir(args.source)
            return pytest.main(['--rootdir', str(args.source),
                                *args.pytest])
    except EnvironmentLacks as err:
        sys.exit('upstream: %s' % err)


if __name__ == '__main__':
    sys.exit(main())
