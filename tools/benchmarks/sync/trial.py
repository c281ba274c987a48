# SPDX-License-Identifier: Apache-2.0
"""One scenario, played once on one site."""

from tools.benchmarks.errors import BenchError
from tools.benchmarks.sync import record
from tools.benchmarks.sync.dataset import Changes
from tools.benchmarks.sync.scenarios import SCENARIOS

#: Passes after which replicas that still differ count as not converged.
MAX_ROUNDS = 10


class Trial:
    """
    :param site: the Site
    :param storage: the Storage
    :param data_set: the DataSet, which the master copy holds
    :param master: the directory of the master copy
    :param scenario: its name
    :param run: the number of the run
    """

    def __init__(self, site, storage, data_set, master, scenario, run):
        self.site = site
        self.storage = storage
        self.data_set = data_set
        self.master = master
        self.scenario = scenario
        self.run = run
        self.live = site.nodes()
        self.versions = {each.name: each for each in data_set.objects}
        self._lost = None

    def play(self, shape):
        """
        :param shape: the Shape of the data set
        :returns: the Record
        :raises BenchError: if a pass took too long, or the cluster is not
            what it should be
        """
        self.site.restore(self.master)
        try:
            self.site.probes.start(self.live)
            self.replicate()
            self._check_start()
            for step in SCENARIOS[self.scenario]:
                step(self)
            passes, stale = self._converge()
        finally:
            self.site.probes.stop()
            self._recover()
        return record.make(shape, self.site.replicator, self.scenario,
                           self.run, passes, len(self.live), stale)

    def _check_start(self):
        stale = self._stale()
        if stale:
            raise BenchError('%d replicas are not as they were written, '
                             'before anything was changed' % stale)

    def _converge(self):
        passes = []
        while True:
            passes.append(self.replicate())
            stale = self._stale()
            if not stale or len(passes) == MAX_ROUNDS:
                return passes, stale

    def _stale(self):
        live = {device for node in self.live
                for device in self.site.cluster.devices(node)}
        return self.storage.stale(
            self.versions.values(),
            lambda device: device in live and self.site.device_path(device))

    def replicate(self):
        """:returns: the Pass of a pass of the live nodes"""
        return self.site.run_pass(self.live)

    def change(self, method):
        """
        Write to the devices of the live nodes.

        :param method: a method of Changes: what to write
        """
        live = [device for node in self.live
                for device in self.site.cluster.devices(node)]
        writes = method(Changes(
            self.data_set, self.storage.devices_of, live,
            '%s/%d' % (self.scenario, self.run)))
        self.storage.write(writes, self.site.devices_dir_of)
        for write in writes:
            self.versions[write.version.name] = write.version

    def lose_node(self, lose, find):
        """
        Take the last node, and its replicator, from the cluster.

        :param lose: a function of the cluster and the node that does it
        :param find: a function of them that undoes it
        """
        node = self.live.pop()
        self.site.probes.stop([node])
        lose(self.site.cluster, node)
        self._lost = (node, find)

    def find_node(self):
        """Bring the lost node, and its replicator, back."""
        node = self._recover()
        self.site.probes.start([node])
        self.live.append(node)

    def _recover(self):
        if self._lost is None:
            return None
        node, find = self._lost
        find(self.site.cluster, node)
        self._lost = None
        return node
