# SPDX-License-Identifier: Apache-2.0
"""
Requests to other nodes, whose outcome goes into the failure table.

LightSync §5.4. PROTOCOL.md, "Failed neighbours", "Busy neighbours", "Notices".
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Optional, TypeVar

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    sleep,
)
from swift.common.utils import node_to_string

from swift_lightsync.common.address import DeviceTuple, NodeTuple, PlaceTuple
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.postponed import Postponed
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.sync_client import Refusal, SyncClient
from swift_lightsync.sync.wire.notice import Notice
from swift_lightsync.sync.wire.sync_message import SyncMessageError

#: Most nodes that one notice goes to.
MAX_NOTIFIED = 128

_Result = TypeVar('_Result')


class ChargedCalls:
    """
    Calls of the client, which are charged to nodes and devices.

    :param failures: the failure table
    :param client: sends the requests
    :param logger: where failures are logged
    """

    def __init__(self, failures: FailureStore, client: SyncClient,
                 logger: Any) -> None:
        self.failures = failures
        self.client = client
        self.logger = logger
        self.postponed = Postponed(random.random)
        #: The devices that share partitions with us.
        self.sharing: dict[DeviceTuple, RingDevice] = {}
        #: Keys that this pass has already sent a notice about.
        self._notified: set[PlaceTuple] = set()

    def has_failed(self, node: RingDevice) -> bool:
        """Return whether to skip a device for now (§5.4.1)."""
        return (self.failures.has_failed(endpoint(node))
                or self.failures.has_failed(device_key(node)))

    def call(self, sender: Optional[NodeTuple], node: RingDevice,
             method: Callable[..., _Result], *args: Any,
             whole_node: bool = False) -> _Result:
        """
        Call a method of the client, again and again while the node puts us
        off, as far as the pass has time.

        The outcome is recorded as a failure or a contact.

        :param sender: the endpoint of the local device, or None
        :param node: the device to talk to
        :param method: the method
        :param args: its arguments
        :param whole_node: whether it is about all devices of the node
        :returns: what the method returns
        :raises: what it raises
        """
        keys: dict[Answer, PlaceTuple] = {
            Answer.BUSY: endpoint(node), Answer.NOT_YET: device_key(node)}
        if whole_node:
            del keys[Answer.NOT_YET]
        about = endpoint(node) if whole_node else device_key(node)
        while True:
            self._await_turn(keys)
            try:
                result = self._call_once(sender, node, about, method, *args)
            except Refusal as refusal:
                if not refusal.is_postponement:
                    raise
                self.postponed.put_off(keys[refusal.answer],
                                       time.monotonic(), refusal.wait)
                continue
            for key in keys.values():
                self.postponed.answered(key)
            return result

    def _await_turn(self, keys: Mapping[Answer, PlaceTuple]) -> None:
        """
        Wait until a neighbour that put us off may be asked again.

        :raises Refusal: if the pass has no time for that
        """
        for answer, key in keys.items():
            wait = self.postponed.turn(key, time.monotonic())
            if wait is None:
                raise Refusal(answer)
            if wait:
                sleep(wait)

    def _call_once(self, sender: Optional[NodeTuple], node: RingDevice,
                   about: PlaceTuple, method: Callable[..., _Result],
                   *args: Any) -> _Result:
        try:
            result = method(*args)
        except ConnectFailure as err:
            self._failed(sender, node, endpoint(node),
                         1 if err.answer is Answer.REFUSED
                         else self._patience, err)
            raise
        except Timeout as err:
            self._failed(sender, node, about, self.costly, err)
            raise
        except (SyncMessageError, Refusal):
            self._contact(node)
            raise
        except (OSError, green_http_client.HTTPException) as err:
            self._failed(sender, node, about, 1, err)
            raise
        self._contact(node)
        return result

    @property
    def _patience(self) -> int:
        """
        The weight of a time-out, which holds up the pass.

        A refusal, which has weight 1, costs next to nothing.
        """
        return max(2, -(-self.failures.table.limit // 5))

    @property
    def costly(self) -> int:
        """
        The weight of what has held up the pass: once is enough.
        """
        return max(self.failures.table.limit, self._patience)

    def _contact(self, node: RingDevice) -> None:
        self.failures.contact(endpoint(node))
        self.failures.contact(device_key(node))

    def _failed(self, sender: Optional[NodeTuple], node: RingDevice,
                key: PlaceTuple, weight: int, err: BaseException) -> None:
        node_str = node_to_string(node, replication=True)
        self.logger.error('No answer to the sync message to %s: %s',
                          node_str, err)
        failed = self.failures.record(key, weight)
        if failed:
            self.logger.warning(
                'Closing the replica rings over %s for %s seconds',
                node_str if len(key) == 3 else '%s:%s' % key,
                self.failures.table.interval)
        # To find out about a refusal costs the others nothing.
        if sender and (failed or weight > 1) and key not in self._notified:
            self._notified.add(key)
            self._notify(Notice(sender, key))

    def _notify(self, notice: Notice) -> None:
        """Tell the nodes of the closed rings (§5.4.2)."""
        sharing = {endpoint(node): node for node in self.sharing.values()
                   if not self.has_failed(node)}
        others = [node for where, node in sharing.items()
                  if where not in (notice.reporter, notice.failed[:2])]
        pool = GreenPool(MAX_NOTIFIED)
        for node in random.sample(others, min(len(others), MAX_NOTIFIED)):
            pool.spawn_n(self._notify_one, node, notice.encode())

    def _notify_one(self, node: RingDevice, data: bytes) -> None:
        try:
            self.client.notify(node, data)
        except (ConnectFailure, Timeout, OSError,
                green_http_client.HTTPException) as err:
            self.logger.debug('Notice to %s not delivered: %s',
                              node_to_string(node, replication=True), err)
