# SPDX-License-Identifier: Apache-2.0
"""The processors of a control group, where a node is a container.

It counts as one processor that can do what the group may use: all of the
host's, or its quota. Version 1 and 2 of cgroups are read.
"""

import os
import time

from cosbench.errors import ConfigError
from swift_lightsync.common.openmetrics import Family

_ROOT = '/sys/fs/cgroup'


class ControlGroup:
    """
    A group of processes.

    :param name: its path below the hierarchies, such as ``swift/node1``
    :param root: where they are mounted
    :raises ConfigError: if there is no such group
    """

    def __init__(self, name, root=_ROOT):
        self._v2 = os.path.join(root, name)
        self._v1 = os.path.join(root, 'cpuacct', name)
        self._quota = os.path.join(root, 'cpu', name)
        self._begun = time.monotonic()
        if self._used() is None:
            raise ConfigError.of('--cgroup', name, 'a control group of %s '
                                 'with a processor controller' % root)

    def _used(self):
        """Return seconds of processors that its processes have used."""
        text = _read(self._v1, 'cpuacct.usage')
        if text:
            return int(text) / 1e9
        for line in _read(self._v2, 'cpu.stat').splitlines():
            name, _, value = line.partition(' ')
            if name == 'usage_usec':
                return int(value) / 1e6
        return None

    def _cores(self):
        """Return how many processors it may use at the same time."""
        quota, _, period = _read(self._v2, 'cpu.max').partition(' ')
        if not quota:
            quota = _read(self._quota, 'cpu.cfs_quota_us')
            period = _read(self._quota, 'cpu.cfs_period_us')
        if quota.isdigit() and period.isdigit() and int(period):
            return int(quota) / int(period)
        return float(os.cpu_count() or 1)

    def processors(self):
        """Return the metric of its processors."""
        used = (self._used() or 0.0) / self._cores()
        passed = time.monotonic() - self._begun
        return Family('node_cpu_seconds', 'counter', 'Seconds of all that '
                      'the group may use, in each mode.').add(
            used, cpu='all', mode='user').add(
                passed - used, cpu='all', mode='idle')


def _read(*path):
    try:
        with open(os.path.join(*path), encoding='ascii') as source:
            return source.read().strip()
    except OSError:
        return ''
