# SPDX-License-Identifier: Apache-2.0
"""The keys by which nodes and their devices are told apart."""

from swift_lightsync.common.address import DeviceTuple, NodeTuple
from swift_lightsync.sync.core.replica_ring import RingDevice


def endpoint(node: RingDevice) -> NodeTuple:
    """Return the key of the node that a device is in."""
    return node['replication_ip'], node['replication_port']


def device_key(node: RingDevice) -> DeviceTuple:
    """Return the key of a device alone."""
    return (*endpoint(node), node['device'])
