# SPDX-License-Identifier: Apache-2.0
"""Objects on the devices of a development cluster, without its servers."""

import os
import random
import time
from itertools import count

from swift.common.exceptions import DiskFileDeleted, DiskFileNotExist
from swift.common.storage_policy import POLICIES, reload_storage_policies
from swift.common.utils import Timestamp, hash_path, set_swift_dir
from swift.obj.diskfile import DiskFileRouter, read_metadata

from swift_losf.format.layout import Layout
from tools.benchmarks.sync_data import write_object


class ClusterObjects:
    """Writes and reads the replicas of objects, one by one.

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

    def change_ring(self, *changes):
        """Change and rebalance the object ring of the policy.

        :param changes: tuples of arguments of swift-ring-builder
        """
        builder = self.cluster.layout.builder(
            self.cluster.spec.policy(int(self.policy)).ring_name)
        for change in changes + (('rebalance', '--seed', '1', '--force'),):
            # Its exit status 1 is a warning.
            done = self.cluster.run(
                ['swift-ring-builder', builder, *change], check=False)
            if done.returncode not in (0, 1):
                raise AssertionError(done.stdout)
        self.reload_ring()

    def nodes(self, name):
        """Return the partition of an object, and its devices, by row."""
        return self.ring.get_nodes('a', 'c', name)

    def hash_name(self, name):
        """Return the name of an object's directory."""
        return hash_path('a', 'c', name)

    def write(self, name, body, timestamp, holders):
        """Put a version of an object on devices, as object-servers do."""
        partition, _ = self.nodes(name)
        for device in holders:
            write_object(self._diskfile(device, partition, name), body,
                         Timestamp(timestamp), 'text/plain')

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
        """Return what a client sees of an object on a device.

        :returns: a tuple of timestamp and body, which is None for a deleted
            one; None if there is nothing
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
        """Return the names of all devices of the cluster."""
        return list(self.cluster.device_paths())

    def objects_path(self, device):
        """Return the directory of a device's partitions."""
        return Layout(self.cluster.device_paths()[device],
                      int(self.policy)).objects

    def partitions(self, device):
        """Return the partitions that a device has a directory of."""
        path = self.objects_path(device)
        return {int(name) for name in os.listdir(path)
                if name.isdigit()} if os.path.isdir(path) else set()

    def strays(self):
        """Return (device, partition) of what the ring places elsewhere."""
        return [(device, partition) for device in self.devices()
                for partition in sorted(self.partitions(device))
                if partition >= self.ring.partition_count or device not in {
                    node['device']
                    for node in self.ring.get_part_nodes(partition)}]

    def on_device(self, device):
        """Return all that a device holds of the policy.

        :returns: path below the objects directory -> (contents, metadata)
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
        """Return what the devices that the ring names hold of each partition.

        :returns: partition -> device name -> as of ``on_device``
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
        """Return the partitions whose replicas differ, as a client sees them.

        :param without: the name of a device that does not count
        """
        return sorted(partition for partition, devices
                      in self.replicas().items()
                      if len({repr(sorted(_current(held).items()))
                              for device, held in devices.items()
                              if device != without}) != 1)


def _current(held):
    """What a device holds, without files that newer ones supersede: such a
    file may lie there until its suffix is next hashed, when a replicator was
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
    """What a client was told is stored, and whether the devices have it.

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
        """Write an object anew on devices.

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
        """Return as many devices of an object as a write needs, any of them.

        :param without: names of devices that cannot be written to
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
        """Return where a client does not see what was acknowledged.

        :param without: names of devices that do not count
        :returns: (object, device) of those that the ring names
        """
        return [(name, node['device']) for name in sorted(self.newest)
                for node in self.objects.nodes(name)[1]
                if node['device'] not in without and
                self.objects.seen(name, node['device']) != self.newest[name]]

    def holders(self, name):
        """Return the devices, of all, that have the newest version."""
        return [device for device in self.objects.devices()
                if self.objects.seen(name, device) == self.newest[name]]


class _Silent:
    """A logger for diskfile managers of which nothing is heard."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


_SILENT = _Silent()
