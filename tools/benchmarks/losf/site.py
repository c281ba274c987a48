# SPDX-License-Identifier: Apache-2.0
"""A backend's node: its servers, its device, and what it takes to be cold."""

import os
import time
from http.client import HTTPConnection

from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.index.index_client import IndexClient
from tools.benchmarks.losf import rpc_count
from tools.benchmarks.losf.device import Device, drop_caches
from tools.benchmarks.losf.settings import BACKENDS, POLICY
from tools.benchmarks.losf.storage import Target
from tools.cluster import Cluster, processes

FILTER = 'rpc_count'
#: The servers count calls of index servers; all else is as a cluster has it.
OPTIONS = {
    'object-server': {
        'pipeline:main': {
            'pipeline': FILTER + ' healthcheck recon object-server'},
        'filter:' + FILTER: {
            'paste.filter_factory': '%s:filter_factory'
                                    % rpc_count.__name__}}}
NODE = 1
SERVERS = ('object-server', 'index-server', 'object-losf')
#: seconds within which an index server has recovered, and for which it is
#: waited for to give space back
RECOVERY, SWEEP = 120, 30
HASHES = 'hashes.pkl'
#: of the filesystem, bytes
BLOCK = 4096


class Site:
    """
    One node with one device.

    :param settings: the Settings
    :param root: a directory
    :param backend: one of BACKENDS
    :param throttle: what limits the device, or None
    """

    def __init__(self, settings, root, backend, throttle):
        self.settings = settings
        self.backend = backend
        self._throttle = throttle
        self.cluster = Cluster(settings.cluster_spec(root, backend, OPTIONS))

    def __enter__(self):
        """Start it; :returns: self"""
        self.cluster.up()
        try:
            self._look()
        except BaseException:
            self.cluster.down()
            raise
        return self

    def _look(self):
        self.device_name, = self.cluster.devices(NODE)
        self.address = (self.cluster.node_ip(NODE),
                        self.cluster.spec.port('object-server', NODE))
        self.ring = self.cluster.ring(POLICY)
        self.device = Device(self.cluster.device_path(NODE, self.device_name))
        self.layout = Layout(self.device.path, 0)
        self.direct_io = self.device.be_a_disk()
        self._empty_bytes = self.device.used_bytes()

    def __exit__(self, *exc_info):
        self.limit(0)
        self.device.close()
        self.cluster.down()

    def target(self):
        """:returns: the Target of the data set"""
        return Target(self.cluster.layout.etc,
                      self.cluster.layout.node_dir(NODE), self.device_name,
                      self.settings.seed, self.settings.epoch)

    @property
    def conf(self):
        """The path of the object-server's conf."""
        return self.cluster.conf_path('object-server', NODE)

    def pids(self):
        """:returns: the pids of all servers whose resources are measured"""
        return [pid for name in SERVERS
                for pid in self.cluster.pids(NODE, name)]

    def limit(self, iops):
        """:param iops: a second, of the device; 0: as many as it can"""
        if self._throttle:
            self._throttle.limit(self.device.number, iops)

    def settle(self):
        """Wait until nothing is put off any more, and all is written."""
        if BACKENDS[self.backend]:
            self._wait(lambda statistics: not statistics.dead_bytes, SWEEP)
        self.device.write_back()

    def _wait(self, condition, seconds):
        """:returns: whether the index's statistics were so in time"""
        index = IndexClient(self.layout.socket, RECOVERY)
        deadline = time.monotonic() + seconds
        while True:
            try:
                if condition(index.statistics()):
                    return True
            except IndexUnavailable:
                # It recovers.
                pass
            if time.monotonic() > deadline:
                return False
            time.sleep(processes.POLL_INTERVAL)

    def chill(self):
        """Start all servers anew, with nothing of the device in memory."""
        self.settle()
        self.limit(0)
        daemons = self.cluster.daemons
        processes.end(lambda: daemons.of_node(NODE))
        self.device.write_back()
        drop_caches()
        self.cluster.start(NODE)
        if BACKENDS[self.backend]:
            self._wait(lambda statistics: True, RECOVERY)
        processes.wait_until(self._answers, RECOVERY, 'the object-server '
                             'answers')
        # What their start has read, too.
        drop_caches()
        self.throttle()

    def throttle(self):
        """Hold the servers to what the settings allow the device."""
        self.confine(self.pids())
        self.limit(self.settings.iops)

    def confine(self, pids):
        """:param pids: processes that the device's limit is for, too"""
        if self._throttle:
            self._throttle.add(pids)

    def _ask(self, path):
        connection = HTTPConnection(*self.address, timeout=RECOVERY)
        try:
            connection.request('GET', path)
            return connection.getresponse().read()
        finally:
            connection.close()

    def _answers(self):
        try:
            return self._ask('/healthcheck') == b'OK'
        except ConnectionError:
            return False

    def rpcs(self):
        """:returns: how often the object-server has asked the index server"""
        return int(self._ask(rpc_count.PATH))

    def partitions(self):
        """:returns: the partitions that there are, sorted"""
        return sorted(int(name) for name in os.listdir(self.layout.objects)
                      if name.isdigit())

    def forget_hashes(self, partition):
        """Have all suffixes of a partition hashed when next asked for."""
        path = os.path.join(self.layout.partition(partition), HASHES)
        if os.path.exists(path):
            os.unlink(path)

    def weigh_index(self, objects):
        """
        Set ``index_bytes_per_object``: of fs, what the inodes and directories
        take of the device; of kv, the index.

        :param objects: that have been written, to an empty device
        """
        if BACKENDS[self.backend]:
            with os.scandir(self.layout.index) as entries:
                size = sum(each.stat().st_blocks * 512 for each in entries)
        else:
            size = self.device.used_bytes() - self._empty_bytes - sum(
                -(-each.size // BLOCK) * BLOCK for each in objects)
        self.index_bytes_per_object = size / len(objects)
