# SPDX-License-Identifier: Apache-2.0
"""Jobs and devices as Swift describes them, and the keys made of them."""

from typing import Any

from swift_lightsync.common.address import DeviceTuple, NodeTuple
from swift_lightsync.sync.core.replica_ring import RingDevice

#: A partition to replicate, as from Swift's ``collect_jobs``: ``device``,
#: ``partition``, ``policy``, ``nodes``, ``obj_path``...
Job = dict[str, Any]
#: The device, the policy's index and the partition of a job.
JobKey = tuple[str, int, str]


def endpoint(node: RingDevice) -> NodeTuple:
    """Return the key of the node that a device is in."""
    return node['replication_ip'], node['replication_port']


def device_key(node: RingDevice) -> DeviceTuple:
    """Return the key of a device alone."""
    return (*endpoint(node), node['device'])


def job_key(job: Job) -> JobKey:
    """Return what tells a job from the others of a pass."""
    return job['device'], int(job['policy']), job['partition']
