# SPDX-License-Identifier: Apache-2.0
"""The headers and memcache keys of PROAR. PROTOCOL.md."""

#: of a write: the slot of its primary role
SLOT_HEADER = 'X-Backend-Proar-Slot'
#: of a write that does not go to the primary role: it is never refused for lag
FAILOVER_HEADER = 'X-Backend-Proar-Failover'
#: of an answer: why the primary role refuses a write
REFUSED_HEADER = 'X-Backend-Proar-Refused'
LAG = 'lag'


def failover_marker_key(policy, partition, slot):
    """Return memcache's key of a slot that was failed over."""
    return 'proar/%d/%d/%d' % (int(policy), int(partition), slot)
