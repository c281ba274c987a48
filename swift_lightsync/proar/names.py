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
#: ... another ring is about, whose roles have to take it, too
RING = 'ring'
#: of a 404 to DELETE: the object was deleted before, the primary role knows
DELETED_HEADER = 'X-Backend-Proar-Deleted'
#: of the primary role's 404: the devices that may know of a write to the
#: object which it misses
DOUBTERS_HEADER = 'X-Backend-Proar-Doubters'
#: of a request: the versions of the object rings whose roles it is sent to
RING_HEADER = 'X-Backend-Proar-Ring'
#: of an answer: the object's roles in rings that the request does not name
ROLES_HEADER = 'X-Backend-Proar-Roles'

STANDING = 'standing'
MISSED = 'missed'
PROMISES = 'promises'
USES = 'uses'
LOGS = 'logs'

#: of the verb PROAR: what is asked, and what is told
ASK_PATH = 'ask'
MISSED_PATH = 'missed'


def roles_path(device_path, policy, name):
    """
    Return the path of a file by which a device's processes know its standing.

    :param name: STANDING, MISSED, PROMISES, USES or LOGS
    """
    return os.path.join(device_path, get_policy_string('proar_roles', policy),
                        name)
