# SPDX-License-Identifier: Apache-2.0
"""The headers and memcache keys of PROAR. PROTOCOL.md."""

#: of a write: the slot of its primary role
SLOT_HEADER = 'X-Backend-Proar-Slot'
#: of a write that does not go to the primary role: one of the two below
FAILOVER_HEADER = 'X-Backend-Proar-Failover'
#: ... it goes to the next role, which may hold it alone, within the bounds
ALONE = 'alone'
#: ... it is acknowledged at a quorum: it is never refused for the lag
QUORUM = 'true'
#: of an answer: why the primary role refuses a write
REFUSED_HEADER = 'X-Backend-Proar-Refused'
#: ... the device holds too much alone
LAG = 'lag'
#: ... the write cannot be logged
LOG = 'log'


def failover_marker_key(policy, partition, slot):
    """Return memcache's key of a slot that was failed over."""
    return 'proar/%d/%d/%d' % (int(policy), int(partition), slot)
