# SPDX-License-Identifier: Apache-2.0
"""
Limits the I/Os a second of a block device, so that it acts like a hard disk.

cgroup v1 (``blkio.throttle``) has a limit for each device in the root group:
it holds for all I/O, including that of the filesystem's own threads. The root
group of cgroup v2 has none (``io.max``): there, a group of the benchmark's own
contains the servers, and what the filesystem's threads write is not limited.
"""

import os
from collections.abc import Iterable

from tools import ToolError

GROUP = 'tools-bench'


def mounted(mounts: str) -> tuple[str | None, str | None]:
    """Find the hierarchies in the text of /proc/mounts.

    :returns: the paths of cgroup v1's blkio and of cgroup v2; None for one
        that is not mounted
    """
    v1 = v2 = None
    for line in mounts.splitlines():
        _, path, kind, options = line.split()[:4]
        if kind == 'cgroup' and 'blkio' in options.split(','):
            v1 = path
        elif kind == 'cgroup2':
            v2 = path
    return v1, v2


def _write(text: str, *path: str) -> None:
    with open(os.path.join(*path), 'w') as file:
        file.write(text)


class Throttle:
    """Limits devices through whichever cgroup hierarchy can.

    :param v1: the path of cgroup v1's blkio, or None
    :param v2: the path of cgroup v2
    :raises ToolError: if neither can limit a device
    """

    def __init__(self, v1: str | None, v2: str | None) -> None:
        self._v1, self._v2 = v1, v2
        if v1:
            return
        try:
            assert v2, 'it is not mounted'
            _write('+io', v2, 'cgroup.subtree_control')
            os.makedirs(os.path.join(v2, GROUP), exist_ok=True)
        except (AssertionError, OSError) as err:
            raise ToolError(
                "this machine cannot limit a device's I/Os, which --iops "
                "and slow disks need: cgroup v1's blkio is not mounted, and "
                "cgroup v2's io controller is not there (%s)" % err) from err

    @classmethod
    def find(cls) -> 'Throttle':
        with open('/proc/mounts') as mounts:
            return cls(*mounted(mounts.read()))

    def limit(self, number: str, iops: int) -> None:
        """Limit a device.

        :param number: its MAJOR:MINOR
        :param iops: reads, and writes, a second; 0: as many as it can
        """
        if self._v1:
            for kind in ('read', 'write'):
                _write('%s %d' % (number, iops), self._v1,
                       'blkio.throttle.%s_iops_device' % kind)
        elif self._v2:
            limit = str(iops or 'max')
            _write('%s riops=%s wiops=%s' % (number, limit, limit),
                   self._v2, GROUP, 'io.max')

    def add(self, pids: Iterable[int]) -> None:
        """Apply the limits to processes, too."""
        for pid in pids:
            _write(str(pid), *((self._v1,) if self._v1 else (
                self._v2 or '', GROUP)), 'cgroup.procs')

    def close(self) -> None:
        """Remove the group that was made; the limits have been lifted."""
        if not self._v1 and self._v2:
            with open(os.path.join(self._v2, GROUP, 'cgroup.procs')) as pids:
                for pid in pids.read().split():
                    _write(pid, self._v2, 'cgroup.procs')
            os.rmdir(os.path.join(self._v2, GROUP))
