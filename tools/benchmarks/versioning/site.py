# SPDX-License-Identifier: Apache-2.0
"""A cluster of the benchmark: its containers, its delay, its disks."""

import os
import shutil
from glob import glob

from tools.benchmarks.versioning.client import ask
from tools.benchmarks.versioning.delay import set_delay
from tools.benchmarks.versioning.settings import CONTAINERS, DELAYED, MODES
from tools.cluster import Cluster


class Site:
    """
    :param settings: the Settings
    :param root: a directory
    :param name: of one of MODES
    """

    def __init__(self, settings, root, name):
        self.name = name
        self._delay = settings.delay_ms / 1000
        self._delay_files = {server: settings.delay_file(root, name, server)
                             for server in DELAYED}
        self.cluster = Cluster(settings.cluster_spec(root, name))

    def __enter__(self):
        """Start it; :returns: self"""
        for path in self._delay_files.values():
            set_delay(path, self._delay)
        self.cluster.up()
        try:
            self._log_in()
        except BaseException:
            self.cluster.down()
            raise
        return self

    def __exit__(self, *exc_info):
        self.cluster.down()

    def _log_in(self):
        env = self.cluster.environment()
        headers = ask('GET', env['ST_AUTH'], {
            'X-Auth-User': env['ST_USER'], 'X-Auth-Key': env['ST_KEY']})
        self.url, self.token = (headers['X-Storage-Url'],
                                headers['X-Auth-Token'])

    def make(self, mode, container):
        """
        :param mode: one of MODES that this site is for
        :param container: the name of a new container
        :returns: its URL
        """
        url = '%s/%s' % (self.url, container)
        headers = {'X-Auth-Token': self.token}
        ask('PUT', url, headers)
        if MODES[mode].versioned:
            ask('POST', url, dict(headers, **{'X-Versions-Enabled': 'true'}))
        return url

    def delay(self, seconds):
        """:param seconds: more that container servers let requests wait"""
        set_delay(self._delay_files[CONTAINERS], self._delay + seconds)

    def forget(self):
        """Remove the files of all objects, to have the space."""
        for node in self.cluster.spec.node_numbers():
            for device in self.cluster.devices(node):
                for path in glob(os.path.join(self.cluster.device_path(
                        node, device), 'objects*')):
                    shutil.rmtree(path, ignore_errors=True)
