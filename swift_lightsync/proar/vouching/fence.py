# SPDX-License-Identifier: Apache-2.0
"""What a device does before a fail-over write becomes visible on it.

PROTOCOL.md, "Vouching", "Fencing".
"""

from dataclasses import dataclass
from typing import Any

from swift.common.concurrency import Timeout, sleep
from swift.common.http import is_success

from swift_lightsync.proar.names import MISSED_PATH, PROMISES, roles_path
from swift_lightsync.proar.vouching.clock import now_ns
from swift_lightsync.proar.vouching.places import rows_of, version_of
from swift_lightsync.proar.vouching.promises import NS, Promises
from swift_lightsync.proar.vouching.questions import send_message
from swift_lightsync.proar.wire.messages import Missed

#: seconds that a primary role may take to note that it misses a write
PATIENCE = 1.0


@dataclass(frozen=True)
class Fence:
    """Keeps the primary role of an object from answering for it alone.

    :param device_path: of the device that takes the write
    :param policy: the storage policy
    :param ring: its Ring; None if this server has none
    :param partition: of the object
    :param path_hash: of the object, 16 bytes
    :param logger: Swift's
    """
    device_path: str
    policy: Any
    ring: Any
    partition: int
    path_hash: bytes
    logger: Any

    def pass_through(self):
        """Return when no promise stands that the write would break.

        :raises OSError: if that cannot be told
        """
        slot, primary = self._primary()
        told, waited = Promises(roles_path(
            self.device_path, self.policy, PROMISES)).stand_until(
                primary, version_of(self.ring, self.policy)
                if self.ring else 0)
        if told > now_ns() and not self._tell(primary, slot):
            waited = max(told, waited)
        while now_ns() < waited:
            self.logger.increment('proar.fence.waits')
            sleep((waited - now_ns()) / NS)

    def _primary(self):
        """Return the slot of the object, and the id of its primary role."""
        rows = rows_of(self.ring, self.policy, self.partition) \
            if self.ring else None
        if not rows or not rows.ids:
            return 0, None
        slot = rows.slot(self.path_hash)
        return slot, rows.ids[slot]

    def _tell(self, primary, slot):
        """Tell a primary role that it misses a write, and return if it is."""
        node: dict | None = self.ring.devs[primary]
        if not node:
            return False
        try:
            status, _ = send_message(
                (node['replication_ip'], node['replication_port']),
                MISSED_PATH, Missed(int(self.policy), node['device'],
                                    self.partition, slot), PATIENCE)
        except (Exception, Timeout) as err:
            self.logger.debug('Unable to tell %s of a write: %s',
                              node['device'], err)
            return False
        return is_success(status)
