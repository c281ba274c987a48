# SPDX-License-Identifier: Apache-2.0
"""Objects on the devices of a development cluster, without its servers."""

import os
import random
import time
from hashlib import md5
from itertools import count

from swift.common.exceptions import DiskFileDeleted, DiskFileNotExist
from swift.common.storage_policy import POLICIES, reload_storage_policies
from swift.common.utils import Timestamp, hash_path, set_swift_dir
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
        self._managers = {}
        self.reload_ring()

    def reload_ring(self):
        """Go by the object ring as it is now."""
        self.ring = self.cluster.ring(int(self.policy))

    def nodes(self, name):
        """:returns: the partition of an object, and its devices, by row"""
        return self.ring.get_nodes('a', 'c', name)

    def hash_name(self, name):
        """:returns: the name of an object's directory"""
        return hash_path('a', 'c', name)

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
        node = self.cluster.node_of(device['device'])
        if node not in self._managers:
            conf = {'devices': self.cluster.layout.node_dir(node),
                    'mount_check': 'false'}
            self._managers[node] = DiskFileRouter(conf, _SILENT)[self.policy]
        return self._managers[node].get_diskfile(
            device['device'], partition, 'a', 'c', name, self.policy,
            next_part_power=self.ring.next_part_power)

    def seen(self, name, device):
        """
        :param name: of the object
        :param device: the device's name
        :returns: what a client sees of an object on a device: a tuple of
            timestamp and body, which is None for a deleted one; None if
            there is nothing
        """
        partition, _ = self.nodes(name)
        diskfile = self._diskfile({'device': device}, partition, name)
        try:
            with diskfile.open():
                return (diskfile.timestamp.internal,
                        b''.join(diskfile.reader()))
        except DiskFileDeleted as err:
            return err.timestamp.internal, None
        except DiskFileNotExist:
            return None

    def devices(self):
        """:returns: the names of all devices of the cluster"""
        return [device for node in self.cluster.spec.node_numbers()
                for device in self.cluster.devices(node)]

    def objects_path(self, device):
        """:returns: the directory of a device's partitions"""
        return os.path.join(
            self.cluster.device_path(self.cluster.node_of(device), device),
            get_data_dir(self.policy))

    def partitions(self, device):
        """:returns: the partitions that a device has a directory of"""
        path = self.objects_path(device)
        return {int(name) for name in os.listdir(path)
                if name.isdigit()} if os.path.isdir(path) else set()

    def strays(self):
        """:returns: (device, partition) of what the ring places elsewhere"""
        return [(device, partition) for device in self.devices()
                for partition in sorted(self.partitions(device))
                if partition >= self.ring.partition_count or device not in {
                    node['device']
                    for node in self.ring.get_part_nodes(partition)}]

    def on_device(self, device):
        """
        :param device: the device's name
        :returns: all that a device holds of the policy: a dict of path below
            the objects directory -> (contents, metadata)
        """
        objects = self.objects_path(device)
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
        held = {device: self.on_device(device) for device in self.devices()}
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


class Acknowledged:
    """
    What a client was told is stored, and whether the devices have it.

    :param objects: a ClusterObjects, by which it is written and read
    """

    def __init__(self, objects):
        self.objects = objects
        self.random = random.Random(1)
        #: name -> (timestamp, body or None), as from ``ClusterObjects.seen``
        self.newest = {}
        self._clock = count()

    def _tick(self):
        return Timestamp(time.time() - 10000 + next(self._clock) / 100)

    def put(self, name, holders, timestamp=None):
        """
        Write an object anew on devices.

        :param holders: a list of devices, dicts as in the ring
        """
        timestamp = timestamp or self._tick()
        body = b'%s at %s' % (name.encode(), timestamp.internal.encode())
        self.objects.write(name, body, timestamp, holders)
        self.newest[name] = timestamp.internal, body

    def delete(self, name, holders, timestamp=None):
        """Delete an object on devices."""
        timestamp = timestamp or self._tick()
        self.objects.delete(name, timestamp, holders)
        self.newest[name] = timestamp.internal, None

    def quorum(self, name, without=()):
        """
        :param without: names of devices that cannot be written to
        :returns: as many devices of an object as a write needs, any of them
        """
        _, nodes = self.objects.nodes(name)
        return self.random.sample(
            [node for node in nodes if node['device'] not in without],
            len(nodes) // 2 + 1)

    def put_quorums(self, names, without=()):
        """Write objects anew, each on a quorum of its devices."""
        for name in names:
            self.put(name, self.quorum(name, without))

    def put_everywhere(self, names):
        """Write objects anew on all their devices."""
        for name in names:
            self.put(name, self.objects.nodes(name)[1])

    def wrong(self, without=()):
        """
        :param without: names of devices that do not count
        :returns: (object, device) where the ring places an object and a
            client does not see what was acknowledged
        """
        return [(name, node['device']) for name in sorted(self.newest)
                for node in self.objects.nodes(name)[1]
                if node['device'] not in without and
                self.objects.seen(name, node['device']) != self.newest[name]]

    def holders(self, name):
        """:returns: the devices, of all, that have the newest version"""
        return [device for device in self.objects.devices()
                if self.objects.seen(name, device) == self.newest[name]]


class _Silent:
    """A logger for diskfile managers of which nothing is heard."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


_SILENT = _Silent()
