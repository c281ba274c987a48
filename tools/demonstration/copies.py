# SPDX-License-Identifier: Apache-2.0
"""
Where the copies of one object are at this moment, and who is to have it.

Quick enough to be asked again and again, while devices take writes; what the
copies contain, a survey tells.
"""

import os

from swift.common.utils import hash_path, storage_directory
from swift.obj.diskfile import DATADIR_BASE

from swift_lightsync.proar.proxy.role_nodes import Roles


class Copies:
    """
    The copies of objects in files, of a cluster.

    :param cluster: a Cluster, whose containers have their policies' names
    :param account: the name of the account
    """

    def __init__(self, cluster, account):
        self.cluster = cluster
        self.account = account
        self.rings = {policy.name: cluster.ring(policy)
                      for policy in cluster.spec.policies}

    def primary_role(self, where):
        """:returns: the device that takes the writes of an ObjectName"""
        roles = Roles.of(self.rings[where.container], self.account,
                         where.container, where.name)
        return roles.nodes[0]['device']

    def holders(self, where):
        """
        :param where: an ObjectName
        :returns: the devices that hold its newest file, a set
        """
        names = dict(self._newest_names(where))
        newest = max(names.values(), default=None)
        return {device for device, name in names.items() if name == newest}

    def _newest_names(self, where):
        name = self.account, where.container, where.name
        partition, nodes = self.rings[where.container].get_nodes(*name)
        index = self.cluster.spec.policy(where.container).index
        below = storage_directory(
            DATADIR_BASE + ('-%d' % index if index else ''), partition,
            hash_path(*name))
        for device in (node['device'] for node in nodes):
            path = self.cluster.device_path(self.cluster.node_of(device),
                                            device)
            try:
                names = os.listdir(os.path.join(path, below))
            except FileNotFoundError:
                continue
            if names:
                yield device, max(names)
