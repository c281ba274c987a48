# SPDX-License-Identifier: Apache-2.0
"""
When the replicas of objects came to be: by the disks.

The inode of a data file changes last when it gets its name, which is when the
object-server has it. Each object is written once.
"""

import os
import time

from swift.common.utils import hash_path, storage_directory
from swift.obj.diskfile import DATADIR_BASE

#: seconds between two looks
INTERVAL = 0.2


def arrival(directory):
    """
    :param directory: of an object on a device
    :returns: when its data file got its name, Unix time; None if it has none
    """
    try:
        with os.scandir(directory) as entries:
            return max((each.stat().st_ctime for each in entries
                        if each.name.endswith('.data')), default=None)
    except FileNotFoundError:
        return None


def completed(directories):
    """
    :param directories: of all replicas of an object
    :returns: when the last of them came to be, or None if one is missing
    """
    arrivals = [arrival(each) for each in directories]
    return None if None in arrivals else max(arrivals)


def wait(places, seconds, interval=INTERVAL):
    """
    Wait until objects have all their replicas.

    :param places: a dict of object -> the directories of its replicas
    :param seconds: for which they are waited for
    :param interval: seconds between two looks
    :returns: a dict of object -> Unix time of its last replica, of those
        that have all
    """
    deadline = time.monotonic() + seconds
    found, missing = {}, dict(places)
    while True:
        for name in list(missing):
            last = completed(missing[name])
            if last is None:
                continue
            found[name] = last
            del missing[name]
        if not missing or time.monotonic() > deadline:
            return found
        time.sleep(interval)


class Places:
    """
    Where the objects of a container are.

    :param cluster: the Cluster
    :param policy: of the container, by name
    :param account: by name
    :param container: by name
    """

    def __init__(self, cluster, policy, account, container):
        self._cluster = cluster
        self._ring = cluster.ring(policy)
        # Swift in this process need not know the policy.
        index = cluster.spec.policy(policy).index
        self._data_dir = '%s-%d' % (DATADIR_BASE, index) if index \
            else DATADIR_BASE
        self._names = account, container

    def of(self, name):
        """:returns: the directories of an object's replicas"""
        part, nodes = self._ring.get_nodes(*self._names, name)
        place = storage_directory(self._data_dir, part,
                                  hash_path(*self._names, name))
        return [os.path.join(self._cluster.device_path(
            self._cluster.node_of(node['device']), node['device']), place)
            for node in nodes]

    def data_dirs(self):
        """:returns: the directories of all objects, one a device"""
        cluster = self._cluster
        return [os.path.join(cluster.device_path(node, device),
                             self._data_dir)
                for node in cluster.spec.node_numbers()
                for device in cluster.devices(node)]
