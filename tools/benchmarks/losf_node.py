# SPDX-License-Identifier: Apache-2.0
"""The nodes of ``bench losf``, and what objects take of their devices."""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.fsck.stats import summary, volume_uses
from swift_losf.index.index_client import IndexClient
from tools import ToolError
from tools.arguments import GIB, KIB
from tools.benchmarks import request_log
from tools.benchmarks.measure import drop_caches
from tools.benchmarks.site import Site, apart, ask
from tools.benchmarks.throttle import Throttle
from tools.cluster import ClusterSpec, Policy, free_base_port, processes

#: contestant -> whether its objects are in volumes
BACKENDS = {'fs': False, 'kv': True}
#: data and parity fragments, each on a device of its own
DATA, PARITY = 4, 2
CONTAINER = 'bench'
OBJECTS_PER_PARTITION = 200
NODE = 1
SERVERS = ('object-server', 'index-server', 'object-losf')
#: seconds within which an index server has recovered, and for which it is
#: waited for to give space back
RECOVERY, SWEEP = 120, 30
#: bytes of a device besides its objects: a tenth takes all that is churned
SPARE = 8 * GIB
#: bytes that stock Swift's data files take are a multiple of it
BLOCK = 4096


def _spec(root: str, backend: str, args: Any) -> ClusterSpec:
    objects = args.objects
    root = os.path.join(root, backend)
    servers = request_log.options(
        'object-server', 'healthcheck recon object-server', count_rpcs='true')
    servers['object-server']['object-losf'] = {
        'compact_garbage': args.compact_garbage,
        'index_metadata': args.metadata}
    power = max(1, round(math.log2(objects / OBJECTS_PER_PARTITION)))
    rows = {'replicated': (1, 0), 'ec': (DATA + PARITY, PARITY)}[args.policy]
    return ClusterSpec(
        root=root, nodes=1, devices=rows[0], base_port=free_base_port(),
        replication_ports=False, replicator='stock', sync_method='ssync',
        disks='xfs', disk_size=SPARE + 2 * objects * 32 * KIB,
        options={**apart(root), **servers},
        policies=(Policy(CONTAINER, 0, rows[0], power, rows[1],
                         kv=BACKENDS[backend]),))


class Node(Site):
    """One node with one device, or with one for each fragment.

    :param args: of the command line
    :param throttle: limits the device; None: it is not limited
    """

    def __init__(self, args: Any, root: str, backend: str,
                 throttle: Throttle | None) -> None:
        super().__init__(backend, _spec(root, backend, args),
                         throttle)

    def begin(self) -> None:
        self.layout = Layout(self.device.path, 0)
        self.direct_io = self.device.be_a_disk()
        self._empty_bytes = self.device.used_bytes()

    def pids(self) -> list:
        """Return the pids of the servers whose resources are measured."""
        return [pid for name in SERVERS
                for pid in self.cluster.pids(NODE, name)]

    def settle(self) -> None:
        """Wait until no work is put off any more, and all is written."""
        if BACKENDS[self.name]:
            self.wait(lambda found: not found.dead_bytes, SWEEP)
        self.device.write_back()

    def wait(self, condition: Any, seconds: float) -> None:
        """Wait until the index's statistics are so, or the time is up."""
        index = IndexClient(self.layout.socket, RECOVERY)

        def holds() -> bool:
            # While it recovers, it is not there.
            with suppress(IndexUnavailable):
                return condition(index.statistics())
            return False
        with suppress(ToolError):
            processes.wait_until(holds, seconds, 'the index is so')

    def chill(self) -> None:
        """Restart the servers, with nothing of the device in memory."""
        self.settle()
        daemons = self.cluster.daemons
        processes.end(lambda: daemons.of_node(NODE))
        self.device.write_back()
        drop_caches()
        self.cluster.start(NODE)
        if BACKENDS[self.name]:
            self.wait(lambda found: True, RECOVERY)
        # The proxy's connections to the servers before are closed now, and
        # what their start has read is forgotten, too.
        processes.wait_until(self._answers, RECOVERY, 'the servers answer')
        drop_caches()

    def _answers(self) -> bool:
        try:
            return bool(self.request('HEAD', [CONTAINER + '1']))
        except (ToolError, ConnectionError):
            return False

    def list_partitions(self, count: int) -> list:
        """Have partitions listed whose hashes are not known."""
        found = sorted(int(each) for each in os.listdir(self.layout.objects)
                       if each.isdigit())[:max(1, count // 100)]
        for each in found:
            path = os.path.join(self.layout.partition(each), 'hashes.pkl')
            if os.path.exists(path):
                os.unlink(path)
        return ask('%s:%d' % (
            self.cluster.node_ip(NODE),
            self.cluster.spec.port('object-server', NODE)), 'REPLICATE', [
                '/%s/%d' % (os.path.basename(self.device.path), each)
                for each in found], {})

    def space(self) -> dict[str, Any]:
        """Return what volumes take for what lives in them."""
        if not BACKENDS[self.name]:
            return {}
        found = summary(volume_uses(self.layout))
        return {name: found[name] for name in (
            'allocated_per_live', 'extents_per_volume')}

    def index_bytes(self) -> float:
        """Return the bytes of the device that serve to find the objects.

        Of fs, what the blocks of data files do not take.
        """
        if BACKENDS[self.name]:
            return sum(each.stat().st_blocks * 512
                       for each in os.scandir(self.layout.index))
        return self.device.used_bytes() - self._empty_bytes - BLOCK * sum(
            -(-os.path.getsize(os.path.join(path, each)) // BLOCK)
            for path, _, files in os.walk(self.layout.objects)
            for each in files if each.endswith('.data'))


@contextmanager
def filled(directory: str, percent: int | None) -> Iterator[None]:
    """Take space for a while, so that so much of a filesystem is in use.

    :param directory: on it
    :param percent: of its bytes; None: as much as is
    """
    if percent is None:
        yield
        return
    disk = os.statvfs(directory)
    missing = disk.f_frsize * (
        disk.f_blocks * percent // 100 - disk.f_blocks + disk.f_bfree)
    path = os.path.join(directory, 'filler')
    with open(path, 'wb') as file:
        if missing > 0:
            os.posix_fallocate(file.fileno(), 0, missing)
    try:
        yield
    finally:
        os.unlink(path)


def descriptors(pids: Iterable[int]) -> int:
    """Return how many files processes have open."""
    return sum(psutil.Process(each).num_fds() for each in pids)


def is_compact(found: Any) -> bool:
    """Return whether nothing calls for compaction any more.

    :param found: Statistics of an index server
    """
    return (not found.dead_bytes
            and found.garbage_bytes <= 0.23 * found.allocated_bytes)
