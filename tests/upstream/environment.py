# SPDX-License-Identifier: Apache-2.0
"""The surroundings that Swift's suites need.

As root a run gets a mount and a network namespace of its own: there the
loopback interface is all there is, /etc/hosts has the names that tests
expect, and temporary files lie on a file system that takes large extended
attributes. All of it is gone when the run ends. Without root, or without
the right to make namespaces, the run says what that limits.

As a program this is the inner half: it prepares the namespaces it runs in
and then becomes pytest.

Swift's replicator tests put a mock where the replicator opens its HTTP
connections, and the mock knows REPLICATE only. A message of ours goes out by
a connection of its own, past the mock. So there is a peer, which is what
those tests stand for: a real object-server of stock Swift on the port that
the tests' rings name, which answers an unknown verb with 405.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from swift.common.concurrency import eventlet, wsgi
from swift.common.utils import NullLogger
from swift.obj.server import ObjectController

from tools import ToolError

PROGRAM = (sys.executable, '-m', 'tests.upstream.environment')
UNSHARE = ('unshare', '--mount', '--net')
HOSTS = '127.0.0.1 access.com example.com\n'
XFS_BYTES = 8 << 30  # sparse: only what is written takes space
PEER_PORT = 6200
READY = 'ready'


def may_isolate():
    """Return whether a namespace of its own can be given to a run."""
    try:
        return os.geteuid() == 0 and not subprocess.call(
            UNSHARE + ('true',), stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        return False


def command(work, source):
    """Return the command that runs pytest, short of pytest's arguments.

    :param work: an empty directory, for this run only
    :param source: path of Swift's source tree
    """
    isolated = may_isolate()
    return [*(UNSHARE if isolated else ()), *PROGRAM,
            '--work', str(work), '--source', str(source),
            *(['--isolated'] if isolated else []), '--']


def takes_large_xattrs(directory):
    """Check whether files there take an extended attribute above 4 KiB.

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


def _mount(kind, work, target):
    """Mount one kind of file system; return whether it serves."""
    try:
        if kind == 'tmpfs':
            _run('mount', '-t', 'tmpfs', 'tmpfs', str(target))
        else:
            image = work / 'xfs.img'
            image.touch()
            os.truncate(image, XFS_BYTES)
            _run('mkfs.xfs', '-q', str(image))
            _run('mount', '-o', 'loop', str(image), str(target))
    except (FileNotFoundError, subprocess.CalledProcessError):
        return False
    if takes_large_xattrs(target):
        return True
    _run('umount', str(target))
    return False


def prepare_scratch(work, isolated):
    """Make the directory for temporary files.

    :param work: the run's directory
    :param isolated: whether mounting is allowed
    :returns: (path, kind)
    """
    target = work / 'tmp'
    target.mkdir()
    kinds = ('tmpfs', 'xfs') if isolated else ()
    return target, next((kind for kind in kinds
                         if _mount(kind, work, target)), 'directory')


def isolate_network(work):
    """Bring up the loopback interface and the names that tests look up."""
    _run('ip', 'link', 'set', 'lo', 'up')
    hosts = work / 'hosts'
    hosts.write_text(Path('/etc/hosts').read_text().rstrip('\n') + '\n' +
                     HOSTS)
    _run('mount', '--bind', str(hosts), '/etc/hosts')


@contextlib.contextmanager
def running_peer(work):
    """Run a node of stock Swift where the rings of the tests expect nodes."""
    devices = work / 'peer'
    devices.mkdir()
    peer = subprocess.Popen(
        [*PROGRAM, '--peer', str(devices)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if peer.stdout.readline().strip() != READY:
            raise ToolError('No stock object-server could be started '
                            'on port %d' % PEER_PORT)
        yield
    finally:
        peer.kill()
        peer.wait()


def serve_as_peer(devices):
    """Serve until stdin is closed, which the parent's end does at the latest.

    :param devices: a directory that takes the place of /srv/node
    """
    def end_with_parent():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    listener = eventlet.listen(('0.0.0.0', PEER_PORT))
    app = ObjectController({'devices': devices, 'mount_check': 'false'})
    print(READY, flush=True)
    wsgi.server(listener, app, NullLogger())


def describe(isolated, kind, scratch):
    """Print where the run takes place and what it lacks."""
    print('upstream: TMPDIR is %s (%s)' % (scratch, kind))
    if not isolated:
        print('upstream: no namespace of its own: tests that need names in '
              '/etc/hosts, no route to 10.0.0.0/8 or a stock object-server '
              'on port %d may fail' % PEER_PORT)
    if not takes_large_xattrs(scratch):
        print('upstream: no large extended attributes in TMPDIR: many tests '
              'will skip, and the gate will fail')
    sys.stdout.flush()


def _run_pytest(args):
    if args.isolated:
        isolate_network(args.work)
    scratch, kind = prepare_scratch(args.work, args.isolated)
    describe(args.isolated, kind, scratch)
    os.environ['TMPDIR'] = str(scratch)
    tempfile.tempdir = None
    with running_peer(args.work) if args.isolated else \
            contextlib.nullcontext():
        os.chdir(args.source)
        return pytest.main(['--rootdir', str(args.source), *args.pytest])


def main(argv=None):
    """Prepare the surroundings, then run pytest in this process."""
    parser = argparse.ArgumentParser(prog=PROGRAM[-1])
    parser.add_argument('--work', type=Path)
    parser.add_argument('--source', type=Path)
    parser.add_argument('--isolated', action='store_true')
    parser.add_argument('--peer', metavar='DEVICES')
    parser.add_argument('pytest', nargs='*')
    args = parser.parse_args(argv)
    if args.peer:
        return serve_as_peer(args.peer)
    try:
        return _run_pytest(args)
    except (ToolError, FileNotFoundError,
            subprocess.CalledProcessError) as err:
        sys.exit('upstream: %s' % err)


if __name__ == '__main__':
    sys.exit(main())
