# SPDX-License-Identifier: Apache-2.0
"""Brings a write that cannot be logged to the other devices at once.

The body has been taken when the log fails, and no other device has it: so the
primary role makes a quorum itself. PROTOCOL.md, "Writes".
"""

from dataclasses import dataclass
from typing import Any

from swift.common.concurrency import GreenPile, Timeout
from swift.common.utils import quorum_size

from swift_lightsync.proar.converger.object_state import Source
from swift_lightsync.proar.converger.pusher import Pusher, PushOptions
from swift_lightsync.proar.vouching.places import rows_of


@dataclass(frozen=True)
class WriteThrough:
    """A write of a primary role that other devices have to hold at once.

    :param source: where the object is read when it is durable here
    :param ring: the Ring of its policy
    :param slot: of the object: the row of this device
    :param partition: of the object
    :param path_hash: of the object, 16 bytes
    :param conn_timeout: seconds in which a device has taken a connection
    :param node_timeout: seconds in which it has taken each part of a request
    :param logger: a QuietLogger
    """
    source: Source
    ring: Any
    slot: int
    partition: int
    path_hash: bytes
    conn_timeout: float
    node_timeout: float
    logger: Any

    def make_quorum(self):
        """Push the object, and return whether a quorum of its devices has it.
        """
        ids = rows_of(self.ring, self.source.policy, self.partition).ids
        others = [self.ring.devs[each] for each in
                  set(ids) - set(ids[self.slot:self.slot + 1])]
        pile = GreenPile(len(others) or 1)
        for node in filter(None, others):
            pile.spawn(self._push, node)
        return 1 + sum(pile) >= quorum_size(len(ids))

    def _push(self, node):
        pusher = Pusher(node, PushOptions(
            self.conn_timeout, self.node_timeout, lambda size: None))
        try:
            result = pusher.push(self.source, self.partition, self.path_hash,
                                 self.ring.next_part_power)
        except (Exception, Timeout):
            self.logger.exception_of(
                ('write through', node['id']), 'Unable to bring a write that '
                'cannot be logged to %s', node['device'])
            return False
        finally:
            pusher.close()
        return result.is_applied
