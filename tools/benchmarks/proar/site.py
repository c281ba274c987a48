# SPDX-License-Identifier: Apache-2.0
"""A cluster of the benchmark: its containers, its processes, its slow disk."""

import http.client
import os
import shutil
from collections import Counter
from urllib.parse import urlsplit

from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf.device import Device
from tools.benchmarks.proar.replicas import Places
from tools.benchmarks.proar.request_log import RequestLog
from tools.benchmarks.proar.settings import SITES
from tools.benchmarks.sync.measure import cpu_seconds
from tools.cluster import Cluster

#: The disk of this node is the slow one.
SLOW_NODE = 1


class Site:
    """
    :param settings: the Settings
    :param root: a directory
    :param name: one of SITES
    :param limits: what can limit a device
    """

    def __init__(self, settings, root, name, limits):
        self.settings = settings
        self.root = root
        self.name = name
        self._limits = limits
        self.cluster = Cluster(settings.cluster_spec(root, name))

    def __enter__(self):
        """Start it; :returns: self"""
        for node in self.cluster.spec.node_numbers():
            for device in self.cluster.devices(node):
                os.makedirs(os.path.join(self.settings.databases(
                    self.root, self.name), device))
        self.cluster.up()
        try:
            self._log_in()
            device, = self.cluster.devices(SLOW_NODE)
            self._slow = Device(self.cluster.device_path(SLOW_NODE, device))
            self._limits.add(self._processes())
        except BaseException:
            self.cluster.down()
            raise
        return self

    def __exit__(self, *exc_info):
        self.slow_down(False)
        self.cluster.down()

    def _log_in(self):
        env = self.cluster.environment()
        headers = self._ask('GET', env['ST_AUTH'], {
            'X-Auth-User': env['ST_USER'], 'X-Auth-Key': env['ST_KEY']})
        self.url, self.token = (headers['X-Storage-Url'],
                                headers['X-Auth-Token'])
        self.account = self.url.rpartition('/')[2]
        for policy in SITES[self.name]:
            self._ask('PUT', self.container_url(policy.name), {
                'X-Auth-Token': self.token,
                'X-Storage-Policy': policy.name})

    @staticmethod
    def _ask(method, url, headers):
        url = urlsplit(url)
        connection = http.client.HTTPConnection(url.netloc)
        try:
            connection.request(method, url.path, headers=headers)
            response = connection.getresponse()
            response.read()
        finally:
            connection.close()
        if response.status // 100 != 2:
            raise BenchError('%s %s: status %d' % (method, url.path,
                                                   response.status))
        return response.headers

    def container_url(self, policy):
        """:returns: the URL of the container of a policy"""
        return '%s/%s' % (self.url, policy)

    def places(self, policy):
        """:returns: the Places of the objects of a policy"""
        return Places(self.cluster, policy, self.account, policy)

    def request_log(self):
        """:returns: a RequestLog, from now on"""
        return RequestLog([self.cluster.layout.log('object-server.%d' % node)
                           for node in self.cluster.spec.node_numbers()],
                          self.account)

    def _processes(self):
        return [each.pid for each in self.cluster.daemons.all()]

    def cpu(self):
        """:returns: CPU seconds of all processes, a Counter of daemons"""
        used = Counter()
        for each in self.cluster.daemons.all():
            used[self.cluster.daemons.name(each)] += cpu_seconds([each.pid])
        return used

    def slow_down(self, is_slow):
        """:param is_slow: whether the slow disk is slow from now on"""
        self._limits.limit(self._slow.number,
                           self.settings.slow_iops if is_slow else 0)

    def forget(self, policy):
        """Remove the files of all objects of a policy, to have the space."""
        for directory in self.places(policy).data_dirs():
            shutil.rmtree(directory, ignore_errors=True)
