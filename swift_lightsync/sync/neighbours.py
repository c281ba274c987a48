# SPDX-License-Identifier: Apache-2.0
"""
The other nodes, as a replicator knows them and talks to them.

It sends sync messages and notices, and records their outcome in the failure
table (LightSync §5.4). PROTOCOL.md, "Failed neighbours", "Notices".
"""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Optional, TypeVar

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    socket,
)
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import node_to_string

from swift_lightsync.common.address import (
    DeviceTuple,
    NodeTuple,
    PlaceTuple,
)
from swift_lightsync.sync.activity import Activity, Idleness
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.keys import Job, device_key, endpoint
from swift_lightsync.sync.local_devices import LocalDevices
from swift_lightsync.sync.sync_client import Refusal, SyncClient
from swift_lightsync.sync.wire.notice import Notice
from swift_lightsync.sync.wire.sync_message import SyncMessageError

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: Most nodes that one notice goes to.
MAX_NOTIFIED = 128

_Result = TypeVar('_Result')


class Neighbours:
    """
    The nodes and devices that share partitions with the local ones.

    :param conf: the ``[object-replicator]`` section
    :param daemon: the replicator
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf: Mapping[str, Any],
                 daemon: 'LightSyncReplicator') -> None:
        self.daemon = daemon
        self.logger = daemon.logger
        self.failures = FailureStore(conf, daemon.logger)
        self.client = SyncClient(daemon.conn_timeout, daemon.http_timeout)
        self.local = LocalDevices(daemon.ring_ip, daemon.port)
        self.idleness = Idleness(Activity(conf, daemon.logger))
        #: Nodes that answered like stock Swift in this pass.
        self.without_verb: set[NodeTuple] = set()
        #: The devices that share partitions with us.
        self.sharing: dict[DeviceTuple, RingDevice] = {}
        #: Keys that this pass has already sent a notice about.
        self._notified: set[PlaceTuple] = set()
        #: When keys came back, as this was last looked up.
        self._rejoined: dict[PlaceTuple, float] = {}

    def begin_pass(self, jobs: Iterable[Job], partial: bool = False) -> None:
        """
        Forget what holds for one pass only, and look who has come back.

        :param jobs: the jobs of the pass whose partitions belong here
        :param partial: whether it leaves out some partitions of its devices
        """
        self.idleness.begin_pass(partial)
        self.without_verb.clear()
        self._notified.clear()
        self.local.forget()
        self.sharing = {device_key(node): node
                        for job in jobs for node in job['nodes']}
        self._knock()
        self._rejoined = self.failures.rejoined()

    def end_pass(self) -> None:
        """Close the connections that the pass has kept."""
        self.client.close()

    def has_verb(self, node: RingDevice) -> bool:
        """Return False if a node answered like stock Swift in this pass."""
        return endpoint(node) not in self.without_verb

    def has_failed(self, node: RingDevice) -> bool:
        """Return whether to skip a device for now (§5.4.1)."""
        return (self.failures.has_failed(endpoint(node))
                or self.failures.has_failed(device_key(node)))

    def is_cut(self, device: str, node: RingDevice,
               other: RingDevice) -> bool:
        """
        Return whether what a device holds does not reach another through it.

        That is so if it is idle, or if its node has said that it cannot reach
        the other.

        :param device: name of the local device that asked the first
        :param node: the first
        :param other: the other
        """
        reporter = endpoint(node)
        return (self.idleness.is_idle(device, device_key(node))
                or self.failures.is_reported(reporter, endpoint(other))
                or self.failures.is_reported(reporter, device_key(other)))

    def newly_rejoined(self, nodes: Iterable[RingDevice]) -> list[RingDevice]:
        """
        Return which devices have come back.

        :param nodes: the devices in question
        :returns: those that have come back since the pass began, or since
            this was last called
        """
        self._knock()
        rejoined = self.failures.rejoined()
        new = rejoined.items() - self._rejoined.items()
        self._rejoined = rejoined
        keys = {key for key, _ in new}
        return [node for node in nodes
                if keys & {endpoint(node), device_key(node)}]

    def _knock(self) -> None:
        """
        See whether nodes that refused connections accept them again.

        A further refusal costs nothing, so there is no need to wait for ESI
        to pass.
        """
        refusing = self.failures.refusing()
        nodes = {endpoint(node): node for node in self.sharing.values()
                 if endpoint(node) in refusing}
        pool = GreenPool(MAX_NOTIFIED)
        for node in nodes.values():
            pool.spawn_n(self._knock_at, node)
        pool.waitall()

    def _knock_at(self, node: RingDevice) -> None:
        try:
            with Timeout(self.client.connections.conn_timeout):
                socket.create_connection(endpoint(node)).close()
        except Timeout as err:
            self._failed(None, node, endpoint(node), self._patience, err)
        except OSError:
            # It still refuses.
            pass
        else:
            self.failures.contact(endpoint(node))

    def ask(self, device: str, node: RingDevice, policy: StoragePolicy,
            roots: Mapping[int, str]) -> tuple[Answer, set[int]]:
        """
        Send the roots of partitions to a neighbour.

        :param device: name of the local device that holds them
        :param node: the neighbour
        :param policy: the StoragePolicy of the partitions
        :param roots: the root of each partition, by its number
        :returns: the answer and, if it is DIFFER, the partitions that differ
        """
        answer, differing = self._ask(device, node, policy, roots)
        counts = {answer: len(roots)}
        if answer is Answer.DIFFER:
            counts = {Answer.DIFFER: len(differing),
                      Answer.MATCH: len(roots) - len(differing)}
        for each, count in counts.items():
            self.logger.update_stats('partition.check.%s.%s' % (
                each.value, device), count)
        self.daemon.recon.note_answer(policy, device, node, roots,
                                      (answer, differing))
        return answer, differing

    def _ask(self, device: str, node: RingDevice, policy: StoragePolicy,
             roots: Mapping[int, str]) -> tuple[Answer, set[int]]:
        if not self.has_verb(node):
            return Answer.UNSUPPORTED, set()
        own = self.local.find(policy, device)
        try:
            answer, differing, idle = self.call(
                endpoint(own) if own else None, node, self.client.ask,
                device_key(own) if own else None, node, policy, roots)
        except ConnectFailure as err:
            return err.answer, set()
        except Timeout:
            return Answer.TIMEOUT, set()
        except SyncMessageError as err:
            self.logger.error('%s: %s', node_to_string(
                node, replication=True), err)
            return Answer.INVALID, set()
        except (OSError, green_http_client.HTTPException):
            return Answer.REFUSED, set()
        if answer is Answer.UNSUPPORTED:
            self.without_verb.add(endpoint(node))
        if self.idleness.note_answer(device, device_key(node), idle):
            self.logger.warning(
                'The rounds of %s were not played for %d s: going on to the '
                'devices after it', node_to_string(node, replication=True),
                idle)
        return answer, differing

    def call(self, sender: Optional[NodeTuple], node: RingDevice,
             method: Callable[..., _Result], *args: Any) -> _Result:
        """
        Call a method of the client, and record the outcome as a failure or a
        contact.

        :param sender: the endpoint of the local device, or None
        :param node: the device to talk to
        :param method: the method
        :param args: its arguments
        :returns: what the method returns
        :raises: what it raises
        """
        try:
            result = method(*args)
        except ConnectFailure as err:
            self._failed(sender, node, endpoint(node),
                         1 if err.answer is Answer.REFUSED
                         else self._patience, err)
            raise
        except Timeout as err:
            # It has held up the pass for http_timeout; once is enough.
            self._failed(sender, node, device_key(node),
                         max(self.failures.table.limit, self._patience), err)
            raise
        except (SyncMessageError, Refusal):
            self._contact(node)
            raise
        except (OSError, green_http_client.HTTPException) as err:
            self._failed(sender, node, device_key(node), 1, err)
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
