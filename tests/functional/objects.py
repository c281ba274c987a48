# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Objects on the devices of a development cluster, without its servers."""

import os
from hashlib import md5

from swift.common.storage_policy import POLICIES, reload_storage_policies
from swift.common.utils import Timestamp, set_swift_dir
from swift.obj.diskfile import DiskFileRouter, get_data_dir, read_metadata


class ClusterObjects:
    """
    Writes and reads the replicas of objects, one by one.

    :param cluster: a Cluster that is up
    :param policy: index of the policy of the objects
    """

    def __init__(self, cluster, policy):
        set_swift_dir(cluster.layout.etc)
        reload_storage_policies()
        self.cluster = cluster
        self.policy = POLICIES.get_by_index(policy)
        self.ring = cluster.ring(policy)

    def nodes(self, name):
        """:returns: the partition of an object, and its devices, by row"""
        return self.ring.get_nodes('a', 'c', name)

    def write(self, name, body, timestamp, holders):
        """Put a version of an object on devices, as object-servers do."""
        partition, _ = self.nodes(name)
        for device in holders:
            diskfile = self._diskfile(device, partition, name)
            with diskfile.create(size=len(body)) as writer:
                writer.write(body)
                writer.put({'X-Timestamp': Timestamp(timestamp).internal,
                            'Content-Type': 'text/plain',
                            'Content-Length': str(len(body)),
                            'ETag': md5(body).hexdigest()})
                writer.commit(Timestamp(timestamp))

    def post(self, name, meta, timestamp, holders):
        """Change the metadata of an object on devices."""
        partition, _ = self.nodes(name)
        for device in holders:
            self._diskfile(device, partition, name).write_metadata(
                {'X-Timestamp': Timestamp(timestamp).internal,
                 'X-Object-Meta-Color': meta})

    def delete(self, name, timestamp, holders):
        """Put an object's tombstone on devices."""
        partition, _ = self.nodes(name)
        for device in holders:
            self._diskfile(device, partition, name).delete(
                Timestamp(timestamp))

    def _diskfile(self, device, partition, name):
        conf = {'devices': self.cluster.layout.node_dir(
            self.cluster.node_of(device['device'])), 'mount_check': 'false'}
        manager = DiskFileRouter(conf, _SILENT)[self.policy]
        return manager.get_diskfile(device['device'], partition, 'a', 'c',
                                    name, self.policy)

    def on_device(self, device):
        """
        :param device: the device's name
        :returns: all that a device holds of the policy: a dict of path below
            the objects directory -> (contents, metadata)
        """
        objects = os.path.join(
            self.cluster.device_path(self.cluster.node_of(device), device),
            get_data_dir(self.policy))
        found = {}
        for top, _, files in os.walk(objects):
            for name in files:
                path = os.path.join(top, name)
                if name.endswith(('.data', '.meta', '.ts')):
                    with open(path, 'rb') as replica:
                        found[os.path.relpath(path, objects)] = (
                            replica.read(), read_metadata(path))
        return found

    def replicas(self):
        """
        :returns: a dict of partition -> a dict of device name -> what it
            holds of the partition, for the devices that the ring names
        """
        held = {device: self.on_device(device)
                for node in self.cluster.spec.node_numbers()
                for device in self.cluster.devices(node)}
        partitions = {path.split(os.sep)[0]
                      for files in held.values() for path in files}
        return {partition: {
            node['device']: {
                path: contents for path, contents
                in held[node['device']].items()
                if path.startswith(partition + os.sep)}
            for node in self.ring.get_part_nodes(int(partition))}
            for partition in partitions}

    def unequal(self, without=None):
        """
        :param without: the name of a device that does not count
        :returns: the partitions whose replicas are not all the same, as a
            client sees them
        """
        return sorted(partition for partition, devices
                      in self.replicas().items()
                      if len({repr(sorted(_current(held).items()))
                              for device, held in devices.items()
                              if device != without}) != 1)


def _current(held):
    """
    What a device holds, without files that newer ones supersede: such a file
    may lie there until its suffix is next hashed, when a replicator was
    killed between an rsync and what follows it.
    """
    current = {}
    for path in sorted(held, key=os.path.basename):
        directory, name = os.path.split(path)
        kind = 'meta' if name.endswith('.meta') else 'data'
        if kind == 'data':
            current.pop((directory, 'meta'), None)
        current[directory, kind] = name
    return {os.path.join(directory, name): held[os.path.join(directory, name)]
            for (directory, _), name in current.items()}


class _Silent:
    """A logger for diskfile managers of which nothing is heard."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


_SILENT = _Silent()
