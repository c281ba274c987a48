# SPDX-License-Identifier: Apache-2.0
"""
A replicator that runs a pass on demand and tells what the pass took.

``python -m tools.benchmarks.sync.probe REPLICATOR CONF SWIFT_DIR FD`` is the
replicator's own class, in a process that stays: neither its start, nor what
a pass leaves it for the next one, spoils a measurement. FD is one end of a
SOCK_SEQPACKET pair. The probe sends ``ready``, and for each packet that it
receives a Usage as JSON; it ends when the other end is closed.
"""

import json
import os
import resource
import sys
import time
from dataclasses import asdict, dataclass
from importlib import import_module

CLASSES = {
    'stock': ('swift.obj.replicator', 'ObjectReplicator'),
    'lightsync': ('swift_lightsync.sync.replicator', 'LightSyncReplicator'),
}
READY = b'ready'
GO = b'go'
PACKET = 4096


@dataclass(frozen=True)
class Usage:
    """
    What a pass took on its node.

    :param seconds: of wall-clock time
    :param cpu_seconds: of the replicator and the children that it waited for
    :param max_rss_kib: the most memory that the replicator held during it
    """
    seconds: float
    cpu_seconds: float
    max_rss_kib: int


def _cpu_seconds():
    return sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage,
        (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def _forget_max_rss():
    with open('/proc/self/clear_refs', 'w') as clear_refs:
        clear_refs.write('5')


def _max_rss_kib():
    # getrusage would also count what the parent held when it forked.
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) for line in status
                    if line.startswith('VmHWM:'))


def _probe(base, fd):
    class Probe(base):
        """The replicator, with its passes measured."""

        usage = None

        def run_forever(self, *args, **kwargs):
            os.write(fd, READY)
            while os.read(fd, PACKET) == GO:
                self.run_once()
                os.write(fd, json.dumps(asdict(self.usage)).encode('ascii'))

        def replicate(self, *args, **kwargs):
            _forget_max_rss()
            begin, cpu = time.perf_counter(), _cpu_seconds()
            try:
                return super().replicate(*args, **kwargs)
            finally:
                self.usage = Usage(time.perf_counter() - begin,
                                   _cpu_seconds() - cpu, _max_rss_kib())
    return Probe


def main():
    replicator, conf, swift_dir, fd = sys.argv[1:]
    from swift.common import utils
    utils.set_swift_dir(swift_dir)
    # These read swift.conf when they are imported.
    from swift.common.daemon import run_daemon
    module, name = CLASSES[replicator]
    base = getattr(import_module(module), name)
    run_daemon(_probe(base, int(fd)), conf, section_name='object-replicator')


if __name__ == '__main__':
    main()
