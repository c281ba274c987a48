# SPDX-License-Identifier: Apache-2.0
"""The devices of this node, as the ring described them when a pass began."""

from collections.abc import Iterable
from typing import Any

from swift.common.ring.utils import is_local_device
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import whataremyips

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.core import replica_ring
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.keys import Job, endpoint


class LocalDevices:
    """Looks up the devices of this node.

    :param ring_ip: the replicator's ``ring_ip``
    :param port: its ``bind_port``
    """

    def __init__(self, ring_ip: str, port: int) -> None:
        self.ring_ip = ring_ip
        self.port = port
        #: By policy and name, as far as they were looked up; None for one
        #: that the ring does not name.
        self._found: dict[tuple[StoragePolicy, str],
                          RingDevice | None] = {}
        self._nodes: dict[tuple[int, int, int], dict[str, Any]] = {}

    def shared(self, policy: StoragePolicy,
               nodes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return equal nodes, of which many partitions have the same dicts.

        A ring makes a dict of a kilobyte for each node of each partition.

        :param policy: the StoragePolicy
        :param nodes: nodes of a partition, from its object ring
        """
        found = []
        for node in nodes:
            key = int(policy), node['id'], node['index']
            kept = self._nodes.get(key)
            if kept != node:
                kept = self._nodes[key] = node
            found.append(kept)
        return found

    def forget(self) -> None:
        """Look the devices up again: a pass begins."""
        self._found.clear()

    def find(self, policy: StoragePolicy, device: str
             ) -> RingDevice | None:
        """Return a local device as the ring described it when the pass began.

        :param policy: the StoragePolicy
        :param device: name of the device
        :returns: the device, or None if the ring did not name it
        """
        if (policy, device) not in self._found:
            ips = whataremyips(self.ring_ip)
            self._found[policy, device] = next(
                (dev for dev in policy.object_ring.devs
                 if dev and dev['device'] == device and is_local_device(
                     ips, self.port, dev['replication_ip'],
                     dev['replication_port'])), None)
        return self._found[policy, device]

    def endpoint(self, policy: StoragePolicy,
                 device: str) -> NodeTuple | None:
        """Return the key of this node, or None as :meth:`find`."""
        own = self.find(policy, device)
        return endpoint(own) if own else None

    def clockwise(self, job: Job) -> list[RingDevice] | None:
        """Return the other devices of a job's replica ring, nearest first.

        :param job: a job
        :returns: the devices, or None if the object ring has changed while
            the job was made
        """
        own = self.find(job['policy'], job['device'])
        if own is None or own['id'] in [node['id'] for node in job['nodes']]:
            return None
        return replica_ring.clockwise(job['nodes'] + [own],
                                      int(job['partition']), own['id'])
