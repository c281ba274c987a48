# SPDX-License-Identifier: Apache-2.0
"""
The other nodes, as a replicator knows them and talks to them.

It sends sync messages and notices, and records their outcome in the failure
table (LightSync §5.4). PROTOCOL.md, "Failed neighbours", "Notices".
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    sleep,
    socket,
)
from swift.common.http import HTTP_BAD_REQUEST
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import node_to_string

from swift_lightsync.common.address import (
    NodeTuple,
    PlaceTuple,
)
from swift_lightsync.sync.activity import Activity, Idleness
from swift_lightsync.sync.charged_calls import MAX_NOTIFIED, ChargedCalls
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.conversation import Condition, SharedTold
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.shared_set import SharedItem
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.keys import Job, device_key, endpoint
from swift_lightsync.sync.local_devices import LocalDevices
from swift_lightsync.sync.standing_sets import Pair, Standing
from swift_lightsync.sync.sync_client import Refusal, SyncClient, Told
from swift_lightsync.sync.wire.sync_message import SyncMessageError

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator


_Result = TypeVar('_Result')


class Neighbours(ChargedCalls):
    """
    The nodes and devices that share partitions with the local ones.

    :param conf: the ``[object-replicator]`` section
    :param daemon: the replicator
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf: Mapping[str, Any],
                 daemon: 'LightSyncReplicator') -> None:
        self.daemon = daemon
        super().__init__(
            FailureStore(conf, daemon.logger),
            SyncClient(daemon.conn_timeout, daemon.http_timeout),
            daemon.logger)
        self.local = LocalDevices(daemon.ring_ip, daemon.port)
        self.idleness = Idleness(Activity(conf, daemon.logger))
        #: Nodes that are asked device by device in this pass.
        self.without_shared: set[NodeTuple] = set()
        #: Nodes that answered like stock Swift in this pass.
        self.without_verb: set[NodeTuple] = set()
        #: When keys came back, as this was last looked up.
        self._rejoined: dict[PlaceTuple, float] = {}

    def begin_pass(self, jobs: Iterable[Job], partial: bool = False) -> None:
        """
        Forget what holds for one pass only, and look who has come back.

        :param jobs: the jobs of the pass whose partitions belong here
        :param partial: whether it leaves out some partitions of its devices
        """
        self.idleness.begin_pass(partial)
        self.postponed.begin_pass()
        self.without_verb.clear()
        self.without_shared.clear()
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

    def converses(self, where: NodeTuple) -> bool:
        """Return whether to ask a node about all its devices at once."""
        return where not in self.without_shared \
            and where not in self.without_verb \
            and self.daemon.sync_batch_partitions > 1

    def is_cut(self, device: str, node: RingDevice,
               other: RingDevice) -> bool:
        """
        Return whether what a device holds does not reach another through it.

        That is so if it is idle, or has put us off for as long, or if its node
        has said that it cannot reach the other.

        :param device: name of the local device that asked the first
        :param node: the first
        :param other: the other
        """
        reporter, now = endpoint(node), time.monotonic()
        return (self.idleness.is_idle(device, device_key(node))
                or any(self.postponed.since(key, now)
                       > self.idleness.patience(device)
                       for key in (reporter, device_key(node)))
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
            roots: Mapping[int, str]) -> Told:
        """
        Send the roots of partitions to a neighbour.

        :param device: name of the local device that holds them
        :param node: the neighbour
        :param policy: the StoragePolicy of the partitions
        :param roots: the root of each partition, by its number
        :returns: what it says
        """
        told = self._ask(device, node, policy, roots)
        self.note(device, node, policy, roots, told)
        return told

    def note(self, device: str, node: RingDevice, policy: StoragePolicy,
             partitions: Collection[int], told: Told) -> None:
        """
        Note what a neighbour said about partitions.

        :param device: name of the local device that holds them
        :param node: the neighbour
        :param policy: the StoragePolicy of the partitions
        :param partitions: their numbers
        :param told: what it said
        """
        counts = {told.answer: len(partitions)}
        if told.answer in (Answer.DIFFER, Answer.MATCH):
            left = len(told.differing) + len(told.unread)
            counts = {Answer.DIFFER: len(told.differing),
                      Answer.NOT_YET: len(told.unread),
                      Answer.MATCH: len(partitions) - left}
        for each, count in counts.items():
            if count:
                self.logger.update_stats('partition.check.%s.%s' % (
                    each.value, device), count)
        self.daemon.recon.note_answer(policy, device, node, partitions, told)
        if told.answer is Answer.UNSUPPORTED:
            self.without_verb.add(endpoint(node))
        if self.idleness.note_answer(device, device_key(node), told.idle):
            self.logger.warning(
                'The rounds of %s were not played for %d s: going on to the '
                'devices after it', node_to_string(node, replication=True),
                told.idle)

    def _ask(self, device: str, node: RingDevice, policy: StoragePolicy,
             roots: Mapping[int, str]) -> Told:
        if not self.has_verb(node):
            return Told(Answer.UNSUPPORTED)
        own = self.local.find(policy, device)
        return self._told(
            endpoint(own) if own else None, node, self.client.ask,
            device_key(own) if own else None, node, policy, roots)

    def ask_node(self, sender: Optional[NodeTuple], node: RingDevice,
                 roots: Mapping[SharedItem, str]
                 ) -> Union[SharedTold, Told]:
        """
        Send the roots of partitions to a node that shares many with us.

        Devices that have not read theirs are asked again, as far as the pass
        has time.

        :param sender: the local node, if the ring names it
        :param node: any device of the node
        :param roots: the root of each partition
        :returns: what it says, or a Told that holds for all devices
        """
        told, where = SharedTold(), endpoint(node)
        # Those that have put us off for longer are left out of the set.
        resting = {device for device in {item[1] for item in roots}
                   if self.postponed.turn((*where, device),
                                          time.monotonic()) is None}
        left = {item: root for item, root in roots.items()
                if item[1] not in resting}
        while left:
            found = self._told(sender, node, self.client.ask_shared, sender,
                               node, left, whole_node=True)
            if isinstance(found, Told):
                return told if told.states else found
            told.add(found)
            left = self._await_devices(where, found, left)
        return told

    def ask_standing(self, pair: Pair,
                     standing: Standing) -> Union[SharedTold, Told]:
        """
        Compare a standing set; as :meth:`ask_node`.

        :param pair: any of its pairs
        :param standing: the set
        """
        policy, device = pair.local
        sender = self.local.endpoint(policy, device)
        return self._told(sender, pair.node, self.client.ask_standing,
                          sender, pair.node, standing.items, standing.tree,
                          whole_node=True)

    def _await_devices(self, where: NodeTuple, found: SharedTold,
                       roots: Mapping[SharedItem, str]
                       ) -> dict[SharedItem, str]:
        """Wait for devices that put us off; return what to ask again."""
        again: set[str] = set()
        waits = [0.0]
        for device, state in found.states.items():
            key = (*where, device)
            if state.condition is not Condition.NOT_YET:
                self.postponed.answered(key)
                continue
            now = time.monotonic()
            self.postponed.put_off(key, now, state.seconds)
            wait = self.postponed.turn(key, now)
            if wait is not None:
                again.add(device)
                waits.append(wait)
        sleep(max(waits))
        return {item: root for item, root in roots.items()
                if item[1] in again}

    def _told(self, sender: Optional[NodeTuple], node: RingDevice,
              method: Callable[..., _Result], *args: Any,
              whole_node: bool = False) -> Union[_Result, Told]:
        """Call a method of the client; make a Told of what goes wrong."""
        try:
            return self.call(sender, node, method, *args,
                             whole_node=whole_node)
        except ConnectFailure as err:
            return Told(err.answer)
        except Refusal as refusal:
            if refusal.status == HTTP_BAD_REQUEST and whole_node:
                self.without_shared.add(endpoint(node))
            return Told(refusal.answer)
        except Timeout:
            return Told(Answer.TIMEOUT)
        except SyncMessageError as err:
            self.logger.error('%s: %s', node_to_string(
                node, replication=True), err)
            return Told(Answer.INVALID)
        except (OSError, green_http_client.HTTPException):
            return Told(Answer.REFUSED)
