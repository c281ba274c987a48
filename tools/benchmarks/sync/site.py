# SPDX-License-Identifier: Apache-2.0
"""A contestant's cluster, with its probes and its devices."""

import os

from tools.benchmarks.sync import request_log, storage
from tools.benchmarks.sync.measure import PassMeter
from tools.benchmarks.sync.probes import Probes
from tools.cluster import Cluster

FILTER = 'request_log'
#: The servers count requests; all else is as a cluster has it.
OPTIONS = {
    'replication-server': {
        'pipeline:main': {'pipeline': FILTER + ' recon object-server'},
        'filter:' + FILTER: {
            'paste.filter_factory': '%s:filter_factory'
                                    % request_log.__name__}}}


class Site:
    """
    :param settings: the Settings
    :param root: the directory of the cluster
    :param replicator: its name
    """

    def __init__(self, settings, root, replicator):
        self.settings = settings
        self.replicator = replicator
        self.cluster = Cluster(settings.cluster_spec(root, replicator,
                                                     OPTIONS))
        self.probes = Probes(self.cluster)
        self.meter = PassMeter(self.cluster, self.probes)

    def __enter__(self):
        self.cluster.up()
        return self

    def __exit__(self, *exc_info):
        self.probes.stop()
        self.cluster.down()

    def nodes(self):
        """:returns: the numbers of all nodes, a list"""
        return list(self.cluster.spec.node_numbers())

    def devices_dir_of(self, device):
        """:returns: the path of the directory that a device is in"""
        return self.cluster.layout.node_dir(self.cluster.node_of(device))

    def device_path(self, device):
        return os.path.join(self.devices_dir_of(device), device)

    def restore(self, master):
        """Make all devices equal to the master copies."""
        for node in self.nodes():
            for device in self.cluster.devices(node):
                storage.restore(os.path.join(master, device),
                                self.device_path(device))

    def run_pass(self, nodes):
        """:returns: the Pass of a pass of nodes, whose probes run"""
        return self.meter.measure(nodes, self.settings.timeout)
