# SPDX-License-Identifier: Apache-2.0
"""Which partitions the ring of an object-server gives to its devices.

Of two nodes whose rings differ, neither may remove its copy of a partition
because of the other's. PROTOCOL.md, "Hand-offs".
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from swift.common.storage_policy import POLICIES
from swift.common.swob import Request

from swift_lightsync.sync.names import HAND_OFF_HEADER

#: Of a policy's index, a device and a partition.
Owns = Callable[[int, str, int], bool]
_Value = TypeVar('_Value')


def ownership(request: Request, swift_dir: str) -> Owns | None:
    """Return what tells which partitions belong to devices of this node.

    It may read a ring: call it through a thread pool.

    :param request: what a peer asks about partitions
    :param swift_dir: the directory of the rings
    :returns: a function; None if that does not matter, for the peer keeps
        its own copies
    """
    if HAND_OFF_HEADER not in request.headers:
        return None
    # The sender's ring names us so.
    host = request.headers.get('Host', '').translate(
        {ord('['): None, ord(']'): None})

    def owns(policy: int, device: str, partition: int) -> bool:
        ring: Any = POLICIES.get_object_ring(policy, swift_dir)
        return any(node['device'] == device and '%s:%s' % (
            node['replication_ip'], node['replication_port']) == host
            for node in ring.get_part_nodes(partition))
    return owns


def owned(request: Request, swift_dir: str, policy: int, device: str,
          found: Mapping[int, _Value]) -> Mapping[int, _Value]:
    """Leave out what does not belong to a device here, if that matters.

    :param request: as for :func:`ownership`, like ``swift_dir``
    :param policy: index of the policy
    :param device: name of the device
    :param found: what was found of each of its partitions
    """
    owns = ownership(request, swift_dir)
    return found if owns is None else {
        partition: value for partition, value in found.items()
        if owns(policy, device, partition)}
