# SPDX-License-Identifier: Apache-2.0
"""
A replicator that runs a pass on demand and tells what the pass took.

``python -m tools.benchmarks.sync_probe REPLICATOR CONF SWIFT_DIR FD`` is the
replicator's own class, in a process that stays: neither its start, nor what
a pass leaves it for the next one, spoils a measurement. FD is one end of a
SOCK_SEQPACKET pair. The probe sends ``ready``, and for each packet that it
receives a Usage as JSON; it ends when the other end is closed.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Dict, Iterable, List, Optional

from tools.benchmarks.settings import BenchError

CLASSES = {
    'stock': ('swift.obj.replicator', 'ObjectReplicator'),
    'lightsync': ('swift_lightsync.sync.replicator', 'LightSyncReplicator'),
}
READY, GO, PACKET = b'ready', b'go', 4096
#: seconds that a probe may take to start, and to end
START_TIMEOUT, STOP_TIMEOUT = 60, 30


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


def _cpu_seconds() -> float:
    return sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage,
        (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def _max_rss_kib() -> int:
    # getrusage would also count what the parent held when it forked.
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) for line in status
                    if line.startswith('VmHWM:'))


def measured(base: Any, fd: int) -> Any:
    """Return a replicator's class with its passes measured."""
    class Probe(base):
        usage: Optional[Usage] = None

        def run_forever(self, *args: Any, **kwargs: Any) -> None:
            os.write(fd, READY)
            while os.read(fd, PACKET) == GO:
                self.run_once()
                assert self.usage, 'run_once() did not replicate'
                os.write(fd, json.dumps(asdict(self.usage)).encode('ascii'))

        def replicate(self, *args: Any, **kwargs: Any) -> Any:
            with open('/proc/self/clear_refs', 'w') as clear_refs:
                clear_refs.write('5')
            begin, cpu = time.perf_counter(), _cpu_seconds()
            try:
                return super().replicate(*args, **kwargs)
            finally:
                self.usage = Usage(time.perf_counter() - begin,
                                   _cpu_seconds() - cpu, _max_rss_kib())
    return Probe


class _Process:
    """The probe of one node."""

    def __init__(self, cluster: Any, node: int) -> None:
        self.node = node
        self.is_idle = True
        self.log = cluster.layout.log('probe.%d' % node)
        self.socket, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(self.log, 'ab') as log:
            self.process = subprocess.Popen(cluster.network.command(node, [
                sys.executable, '-m', __name__, cluster.spec.replicator,
                cluster.conf_path('object-server', node), cluster.layout.etc,
                str(theirs.fileno())]), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=cluster.environment(),
                pass_fds=[theirs.fileno()], start_new_session=True)

    def receive(self, deadline: float, what: str) -> bytes:
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            packet = self.socket.recv(PACKET)
        except TimeoutError as err:
            raise BenchError('node %d: %s did not come in time; give it '
                             'longer (--timeout) or less to do (--objects)'
                             % (self.node, what)) from err
        if not packet:
            raise BenchError('node %d: the replicator ended before %s; see '
                             '%s and the other logs beside it (--keep keeps '
                             'them)' % (self.node, what, self.log))
        return packet

    def stop(self) -> None:
        """End the probe, by force if it is busy."""
        self.socket.close()
        try:
            self.process.wait(STOP_TIMEOUT if self.is_idle else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Probes:
    """
    The probes of a cluster, as the benchmark sees them.

    :param cluster: the Cluster
    """

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self._probes: Dict[int, _Process] = {}

    def start(self, nodes: Iterable[int]) -> None:
        """Start the replicators of nodes, and wait until they are ready."""
        deadline = time.monotonic() + START_TIMEOUT
        new = {node: _Process(self.cluster, node) for node in nodes}
        self._probes.update(new)
        for each in new.values():
            each.receive(deadline, 'its start')

    def stop(self, nodes: Optional[Iterable[int]] = None) -> None:
        """End the replicators of nodes, or all."""
        for node in list(self._probes) if nodes is None else nodes:
            self._probes.pop(node).stop()

    def run(self, timeout: float) -> List[Usage]:
        """
        Run a pass on all nodes at the same time.

        :param timeout: seconds that it may take
        :raises BenchError: if it takes longer
        """
        deadline = time.monotonic() + timeout
        for each in self._probes.values():
            each.is_idle = False
            each.socket.send(GO)
        usages = []
        for each in self._probes.values():
            packet = each.receive(deadline, 'the end of a pass (%g seconds)'
                                  % timeout)
            each.is_idle = True
            usages.append(Usage(**json.loads(packet)))
        return usages


def main() -> None:
    replicator, conf, swift_dir, fd = sys.argv[1:]
    from swift.common import utils
    utils.set_swift_dir(swift_dir)
    # These read swift.conf when they are imported.
    from swift.common.daemon import run_daemon
    module, name = CLASSES[replicator]
    run_daemon(measured(getattr(import_module(module), name), int(fd)), conf,
               section_name='object-replicator')


if __name__ == '__main__':
    main()
