# SPDX-License-Identifier: Apache-2.0
"""A cluster for benchmarks whose clients go through its proxy-server."""

import http.client
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cached_property
from glob import glob
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from swift_losf.format.layout import Layout
from tools import ToolError
from tools.benchmarks import request_log
from tools.benchmarks.measure import Device
from tools.benchmarks.throttle import Throttle
from tools.cluster import Cluster, ClusterSpec

#: seconds that an answer may take on a throttled device
PATIENCE = 120


def apart(root: str) -> dict[str, Any]:
    """Return options that keep databases off the disks of the objects."""
    path = {'DEFAULT': {'devices': os.path.join(root, 'databases'),
                        'mount_check': False}}
    return {'account-server': path, 'container-server': path}


def ask(address: str, method: str, paths: Iterable[str],
        headers: Mapping[str, str] = {}) -> list[float]:
    """Make requests one after the other, on one connection.

    :param address: HOST:PORT
    :returns: the seconds that each took
    :raises ToolError: if an answer is no success
    """
    waits = []
    with closing(http.client.HTTPConnection(
            address, timeout=PATIENCE)) as connection:
        for path in paths:
            begin = time.perf_counter()
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            response.read()
            waits.append(time.perf_counter() - begin)
            if response.status // 100 != 2:
                raise ToolError('%s %s: status %d' % (
                    method, path, response.status))
    return waits


class Login(NamedTuple):
    """A token of the test account.

    :param address: HOST:PORT of the proxy-server
    :param path: of the account
    """

    address: str
    path: str
    token: str

    @classmethod
    def of(cls, cluster: Cluster) -> 'Login':
        """Get a token of a cluster."""
        url, token = cluster.client().get_auth()
        return cls(urlsplit(url).netloc, urlsplit(url).path, token)

    def request(self, method: str, paths: Iterable[str],
                headers: Mapping[str, str] = {}) -> list[float]:
        """Make requests to the account, as ``ask`` does."""
        return ask(self.address, method, [
            '%s/%s' % (self.path, each) for each in paths],
            {'X-Auth-Token': self.token, **headers})


def auth_of(cluster: Cluster) -> str:
    """Return the config of COSBench's swauth for a cluster's test account."""
    env = cluster.environment()
    return 'username=%s;password=%s;auth_url=%s' % (
        env['ST_USER'], env['ST_KEY'], env['ST_AUTH'])


class Site:
    """A running cluster, from ``with`` on.

    :param name: of the contestants that it serves
    :param spec: its ClusterSpec
    :param throttle: limits the first device; None: it does what it can
    """

    def __init__(self, name: str, spec: ClusterSpec,
                 throttle: Throttle | None = None) -> None:
        self.name, self._throttle = name, throttle
        self.cluster = Cluster(spec)
        #: paths of the request logs of the object-servers
        self.logs = [request_log.path(self.cluster.layout.cache_dir(node))
                     for node in spec.node_numbers()]

    def __enter__(self) -> Any:
        for device in self.cluster.device_paths():
            os.makedirs(os.path.join(self.cluster.spec.root, 'databases',
                                     device))
        self.cluster.up()
        try:
            self._log_in()
            self.begin()
        except BaseException:
            self.cluster.down()
            raise
        return self

    def __exit__(self, *exc_info: Any) -> None:
        try:
            self.limit(0)
        finally:
            self.cluster.down()

    def begin(self) -> None:
        """Inspect the cluster, which has just come up."""

    @cached_property
    def device(self) -> Device:
        """The device that can be limited: the first one of node 1."""
        return Device(next(iter(self.cluster.device_paths().values())))

    def limit(self, iops: int) -> None:
        """Hold the device to so many reads, and writes, a second.

        :param iops: 0: as many as it can
        """
        if self._throttle:
            self._throttle.add(each.pid for each in self.cluster.daemons.all())
            self._throttle.limit(self.device.number, iops)

    def _log_in(self) -> None:
        self.auth = auth_of(self.cluster)
        self.request = Login.of(self.cluster).request

    def object_dirs(self, index: int = 0) -> list[str]:
        """Return the directories of a policy's objects, one a device."""
        return [Layout(path, index).objects
                for path in self.cluster.device_paths().values()]

    def forget(self) -> None:
        """Remove the files of all objects, to regain the space."""
        for path in self.object_dirs():
            for directory in glob(path + '*'):
                shutil.rmtree(directory, ignore_errors=True)
