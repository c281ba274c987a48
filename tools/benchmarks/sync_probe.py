# SPDX-License-Identifier: Apache-2.0
"""A replicator that runs a pass on demand and tells what the pass took.

``python -m tools.benchmarks.sync_probe REPLICATOR CONF SWIFT_DIR FD`` runs the
replicator's own class in a process that stays: neither its start nor state
that a pass leaves for the next one spoils a measurement. FD is one end of a
SOCK_SEQPACKET pair. The probe sends ``ready``, and for each packet that it
receives a Usage as JSON; it ends when the other end is closed. A packet asks
for a pass by itself, as of --once, or for one that follows those before it
after so many seconds, which its clock, but nobody, has passed.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from swift.common.concurrency import spawn

from tools import ToolError
from tools.benchmarks.measure import forget_peak, memory_mib, own_cpu_seconds

#: The end of the names of what runs with erasure coding.
EC = '-ec'
CLASSES = {
    'stock': ('swift.obj.replicator', 'ObjectReplicator'),
    'stock' + EC: ('swift.obj.reconstructor', 'ObjectReconstructor'),
    'lightsync': ('swift_lightsync.sync.replicator', 'LightSyncReplicator'),
    'lightsync' + EC: ('swift_lightsync.sync.reconstructor',
                       'LightSyncReconstructor'),
}
READY, GO, PACKET = b'ready', b'go', 4096
#: seconds that a probe may take to start, and to end
START_TIMEOUT, STOP_TIMEOUT = 60, 30


@dataclass(frozen=True)
class Usage:
    """The resources that a pass took on its node.

    :param seconds: of wall-clock time
    :param cpu_seconds: of the replicator and the children that it waited for
    :param max_rss_mib: the most memory that the replicator held during it
    """

    seconds: float
    cpu_seconds: float
    max_rss_mib: float


def _go_ahead(seconds: int) -> None:
    """Set the clock of this process ahead."""
    if seconds:
        clock = time.time
        time.time = lambda: clock() + seconds


@contextmanager
def _measured_pass(probe: Any) -> Iterator[None]:
    """Tell a probe the Usage of the pass that is made meanwhile."""
    forget_peak()
    begin, cpu = time.perf_counter(), own_cpu_seconds()
    try:
        yield
    finally:
        probe.usage = Usage(time.perf_counter() - begin,
                            own_cpu_seconds() - cpu, memory_mib('VmHWM'))


def measured(base: Any, fd: int) -> Any:
    """Return a replicator's class with its passes measured."""
    class Probe(base):
        usage: Usage | None = None
        reaping: Any = None

        def run_forever(self, *args: Any, **kwargs: Any) -> None:
            os.write(fd, READY)
            while packet := os.read(fd, PACKET):
                if packet == GO:
                    self.run_once()
                else:
                    _go_ahead(int(packet))
                    self._follow()
                assert self.usage, 'run_once() did not replicate'
                os.write(fd, json.dumps(asdict(self.usage)).encode('ascii'))

        def _follow(self) -> None:
            """Make a pass as run_forever does."""
            if hasattr(self, 'reconstruct_fa'):
                self.reconstruct()
                return
            if hasattr(self, 'standing'):
                self.standing.enabled = True
            if not self.reaping:
                self.reaping = spawn(self._child_process_reaper)
            self._zero_stats()
            self.replicate()

        def replicate(self, *args: Any, **kwargs: Any) -> Any:
            with _measured_pass(self):
                return super().replicate(*args, **kwargs)

        def reconstruct(self, *args: Any, **kwargs: Any) -> Any:
            with _measured_pass(self):
                return super().reconstruct(*args, **kwargs)
    return Probe


class Probes:
    """The probes of a cluster, as the benchmark sees them.

    :param cluster: the Cluster
    """

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        #: of each node the process, and our end of its pair
        self._probes: dict[int, tuple[subprocess.Popen, socket.socket]] = {}

    def start(self, nodes: Sequence[int]) -> None:
        """Start the replicators of nodes, and wait until they are ready."""
        deadline = time.monotonic() + START_TIMEOUT
        for node in nodes:
            self._probes[node] = self._begin(node)
        for node in nodes:
            self._receive(node, deadline, 'its start')

    def _log(self, node: int) -> str:
        return self.cluster.layout.log('probe.%d' % node)

    def _begin(self, node: int) -> tuple[subprocess.Popen, socket.socket]:
        cluster = self.cluster
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        with theirs, open(self._log(node), 'ab') as log:
            return subprocess.Popen(cluster.network.command(node, [
                sys.executable, '-m', __name__, cluster.spec.replicator
                + EC * bool(cluster.spec.policies[0].parity),
                cluster.conf_path('object-server', node), cluster.layout.etc,
                str(theirs.fileno())]), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=cluster.environment(),
                pass_fds=[theirs.fileno()], start_new_session=True), ours

    def _receive(self, node: int, deadline: float, what: str) -> bytes:
        ours = self._probes[node][1]
        ours.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            packet = ours.recv(PACKET)
        except TimeoutError as err:
            raise ToolError('node %d: %s did not come in time; give it '
                            'longer (--timeout) or less to do (--objects)'
                            % (node, what)) from err
        if not packet:
            raise ToolError('node %d: the replicator ended before %s; see '
                            '%s and the other logs beside it (--keep keeps '
                            'them)' % (node, what, self._log(node)))
        return packet

    def stop(self, nodes: Iterable[int] | None = None) -> None:
        """End the replicators of nodes, or all; kill those that do not."""
        found = [self._probes.pop(node) for node in (
            list(self._probes) if nodes is None else nodes)]
        for _, ours in found:
            ours.close()
        deadline = time.monotonic() + STOP_TIMEOUT
        for process, _ in found:
            try:
                process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def pids(self) -> list[int]:
        """Return the processes of the probes."""
        return [process.pid for process, _ in self._probes.values()]

    def run(self, timeout: float, follows: bool = False,
            seconds: int = 0) -> list[Usage]:
        """Run a pass on all nodes at the same time.

        :param timeout: seconds that it may take
        :param follows: whether it may know what the passes before it found
        :param seconds: that passed since those, for the replicators
        :raises ToolError: if it takes longer
        """
        deadline = time.monotonic() + timeout
        for _, ours in self._probes.values():
            ours.send(b'%d' % seconds if follows else GO)
        return [Usage(**json.loads(self._receive(
            node, deadline, 'the end of a pass (%g seconds)' % timeout)))
            for node in self._probes]


def main() -> None:
    replicator, conf, swift_dir, fd = sys.argv[1:]
    from swift.common import utils
    utils.set_swift_dir(swift_dir)
    # These read swift.conf when they are imported.
    from swift.common.daemon import run_daemon
    module, name = CLASSES[replicator]
    run_daemon(measured(getattr(import_module(module), name), int(fd)), conf,
               section_name='object-reconstructor'
               if replicator.endswith(EC) else 'object-replicator')


if __name__ == '__main__':
    main()
