# SPDX-License-Identifier: Apache-2.0
"""
Limits the I/Os a second of a block device, to make a hard disk of it.

cgroup v1 (``blkio.throttle``) has a limit for each device in the root group:
it holds for all I/O of what is in it, also for the filesystem's own threads.
The root group of cgroup v2 has none (``io.max``): a group of the bench's own
has the servers in it, and what the filesystem's threads write for them is not
limited.
"""

import os
import tempfile

from tools.benchmarks.errors import BenchError
from tools.cluster import commands

KINDS = ('read', 'write')
GROUP = 'bench-losf'


def mounted(mounts):
    """
    :param mounts: the text of /proc/mounts
    :returns: (path of cgroup v1's blkio, path of cgroup v2); None for what
        is not mounted
    """
    v1 = v2 = None
    for line in mounts.splitlines():
        _, path, kind, options = line.split()[:4]
        if kind == 'cgroup' and 'blkio' in options.split(','):
            v1 = path
        elif kind == 'cgroup2':
            v2 = path
    return v1, v2


def _move(path, pids):
    for pid in pids:
        with open(os.path.join(path, 'cgroup.procs'), 'w') as procs:
            procs.write(str(pid))


class V1:
    """
    The root group of cgroup v1.

    :param path: of its directory
    :param mounted: whether the bench has mounted it
    """

    def __init__(self, path, mounted=False):
        self.path = path
        self._mounted = mounted

    def limit(self, number, iops):
        """
        :param number: MAJOR:MINOR of a device
        :param iops: reads, and writes, a second; 0: as many as it can
        """
        for kind in KINDS:
            with open(os.path.join(
                    self.path, 'blkio.throttle.%s_iops_device' % kind),
                    'w') as limit:
                limit.write('%s %d' % (number, iops))

    def add(self, pids):
        """:param pids: processes that are to be limited"""
        _move(self.path, pids)

    def close(self):
        """Undo what has been made; the limits have been lifted."""
        if self._mounted:
            commands.run(['umount', self.path])
            os.rmdir(self.path)


class V2:
    """
    A group of cgroup v2.

    :param root: path of the hierarchy
    """

    def __init__(self, root):
        self._root = root
        with open(os.path.join(root, 'cgroup.subtree_control'), 'w') as on:
            on.write('+io')
        self.path = os.path.join(root, GROUP)
        os.makedirs(self.path, exist_ok=True)

    def limit(self, number, iops):
        """As V1's."""
        limit = iops or 'max'
        with open(os.path.join(self.path, 'io.max'), 'w') as limits:
            limits.write('%s riops=%s wiops=%s' % (number, limit, limit))

    def add(self, pids):
        """As V1's."""
        _move(self.path, pids)

    def close(self):
        """As V1's."""
        with open(os.path.join(self.path, 'cgroup.procs')) as procs:
            pids = procs.read().split()
        _move(self._root, pids)
        os.rmdir(self.path)


def _has(path, file, word):
    try:
        with open(os.path.join(path, file)) as text:
            return word in text.read().split()
    except FileNotFoundError:
        return False


def _mount_v1():
    path = tempfile.mkdtemp(prefix='bench-blkio-')
    if commands.run(['mount', '-t', 'cgroup', '-o', 'blkio', 'cgroup', path],
                    check=False).returncode:
        os.rmdir(path)
        return None
    return path


def find():
    """
    :returns: a V1 or V2
    :raises BenchError: if this machine has neither
    """
    with open('/proc/mounts') as mounts:
        v1, v2 = mounted(mounts.read())
    if v1:
        return V1(v1)
    if v2 and _has(v2, 'cgroup.controllers', 'io'):
        return V2(v2)
    path = _mount_v1()
    if path:
        return V1(path, mounted=True)
    raise BenchError(
        '--iops: this machine cannot limit the I/Os of a device: neither '
        "cgroup v1's blkio nor cgroup v2's io controller is there; leave the "
        'option out, or use a kernel with CONFIG_BLK_DEV_THROTTLING')
