# SPDX-License-Identifier: Apache-2.0
"""The headers, file names and paths of PROAR. PROTOCOL.md."""

import os

from swift.common.storage_policy import get_policy_string

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

#: ... another device may hold a write that it misses
BEHIND = 'behind'
#: of a request and an answer: the version of the object ring
RING_HEADER = 'X-Backend-Proar-Ring'

STANDING = 'standing'
MISSED = 'missed'
PROMISES = 'promises'

#: of the verb PROAR: what is asked, and what is told
ASK_PATH = 'ask'
MISSED_PATH = 'missed'


def roles_path(device_path, policy, name):
    """
    Return the path of a file by which a device's processes know its standing.

    :param name: STANDING, MISSED or PROMISES
    """
    return os.path.join(device_path, get_policy_string('proar_roles', policy),
                        name)
