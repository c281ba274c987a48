# SPDX-License-Identifier: Apache-2.0
"""The other nodes, as a replicator talks to them.

What is asked, and what is charged for it, is the engine's
(``core/engine/peers``); this performs its actions.
"""

import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    socket,
)
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import node_to_string

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.connections import ConnectFailure, Refusal
from swift_lightsync.sync.core.conversation import SharedTold, Told
from swift_lightsync.sync.core.engine.actions import (
    Failed,
    Knock,
    Outcome,
    Process,
    Reply,
)
from swift_lightsync.sync.core.engine.charging import MAX_NOTIFIED
from swift_lightsync.sync.core.engine.peers import AskNode, Peers
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.driving import drive
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.keys import Job, device_key, endpoint
from swift_lightsync.sync.local_devices import LocalDevices
from swift_lightsync.sync.standing_sets import Pair, Standing
from swift_lightsync.sync.sync_client import SyncClient
from swift_lightsync.sync.wire.notice import Notice
from swift_lightsync.sync.wire.sync_message import SyncMessageError

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator


class _Send:
    """Calls a method of the client; the value is what it returns."""

    def __init__(self, method: Callable[..., Any], *args: Any) -> None:
        self.method = method
        self.args = args


class Neighbours(Peers):
    """The nodes and devices that share partitions with the local ones.

    :param conf: the ``[object-replicator]`` section
    :param daemon: the replicator
    :raises OptionError: if an option has a value that is not allowed
    """

    failures: FailureStore

    def __init__(self, conf: Mapping[str, Any],
                 daemon: 'LightSyncReplicator') -> None:
        self.daemon = daemon
        self.logger: Any = daemon.logger
        super().__init__(FailureStore(conf, daemon.logger),
                         lambda: time.monotonic(), random,
                         Activity(conf, daemon.logger))
        self.client = SyncClient(daemon.conn_timeout, daemon.http_timeout)
        self.local = LocalDevices(daemon.ring_ip, daemon.port)

    def begin_pass(self, jobs: Iterable[Job], partial: bool = False) -> None:
        """Forget what holds for one pass only, and look who has come back.

        :param jobs: the jobs of the pass whose partitions belong here
        :param partial: whether it leaves out some partitions of its devices
        """
        self.local.forget()
        self.drive(self.beginning(
            {device_key(node): node for job in jobs for node in job['nodes']},
            self.daemon.sync_batch_partitions > 1, partial))

    def end_pass(self) -> None:
        """Close the connections that the pass has kept."""
        self.client.close()

    def newly_rejoined(self, nodes: Iterable[RingDevice]) -> list[RingDevice]:
        """Return which devices have come back.

        :param nodes: the devices in question
        :returns: those that have come back since the pass began, or since
            this was last called
        """
        return self.drive(self.looking_for_rejoined(nodes))

    def ask_standing(self, pair: Pair,
                     standing: Standing) -> SharedTold | None:
        """Compare a standing set with a node.

        :param pair: any of its pairs
        :param standing: the set
        :returns: what the node says, or None if it cannot be asked so now
        """
        sender = self.local.endpoint(*pair.local)
        reply = self.drive(self.calling(sender, pair.node, _Send(
            self.client.ask_standing, sender, pair.node, standing.items,
            standing.tree), whole_node=True))
        if reply.answer is Answer.UNSUPPORTED:
            self.without_verb.add(endpoint(pair.node))
        found: SharedTold | None = reply.value
        return found

    def own(self, policy: StoragePolicy,
            device: str) -> RingDevice | None:
        """Return a local device as :meth:`LocalDevices.find`."""
        return self.local.find(policy, device)

    def note(self, device: str, node: RingDevice, policy: StoragePolicy,
             partitions: Collection[int], told: Told) -> bool:
        """Note what a neighbour said, for the statistics as well."""
        for each, count in told.counts(len(partitions)).items():
            self.logger.update_stats('partition.check.%s.%s' % (
                each.value, device), count)
        self.daemon.recon.note_answer(policy, device, node, partitions, told)
        is_idle = super().note(device, node, policy, partitions, told)
        if is_idle:
            self.logger.warning(
                'The rounds of %s were not played for %d s: going on to the '
                'devices after it', node_to_string(node, replication=True),
                told.idle)
        return is_idle

    def call(self, sender: NodeTuple | None, node: RingDevice,
             method: Callable[..., Any], *args: Any) -> Any:
        """Call a method of the client, as :meth:`calling` sends a request.

        :param sender: the local node, if the ring names it
        :param node: the device to talk to
        :param method: the method
        :param args: its arguments
        :returns: what the method returns
        :raises: what it raises
        """
        reply = self.drive(self.calling(sender, node,
                                         _Send(method, *args)))
        if reply.error:
            raise reply.error
        if reply.answer:
            raise Refusal(reply.answer)
        return reply.value

    def drive(self, process: Process[Any]) -> Any:
        """Run a process of the engine."""
        return drive(process, self.perform, self.logger)

    def perform(self, action: object) -> Reply | None:
        """Perform an action of the engine.

        :param action: the action
        :returns: its result
        """
        if isinstance(action, Failed):
            self._tell_of(action)
            return None
        if isinstance(action, Knock):
            return self.outcome(self._knock_at_door, action.node)
        if isinstance(action, _Send):
            return self.outcome(action.method, *action.args)
        if isinstance(action, AskNode):
            return self._asked(action)
        raise TypeError('%r is no action of peers' % action)

    def _asked(self, asked: AskNode) -> Reply:
        """Compare roots; whatever goes wrong is no reason to end a pass."""
        try:
            reply = self.outcome(self.client.ask_shared, asked.sender,
                                 asked.node, asked.roots, asked.hand_offs)
        except (Exception, Timeout):
            self.logger.exception(
                'Error in a sync message about %d partitions to %s; comparing '
                'them by suffixes', len(asked.roots),
                node_to_string(asked.node, replication=True))
            return Reply(Outcome.ANSWERED, refusal=Answer.INVALID)
        if isinstance(reply.error, SyncMessageError):
            self.logger.error('%s: %s', node_to_string(
                asked.node, replication=True), reply.error)
        return reply

    @staticmethod
    def outcome(method: Callable[..., Any], *args: Any) -> Reply:
        """Call a method, and make a Reply of it, or of what goes wrong.

        :param method: the method
        :param args: its arguments
        """
        try:
            return Reply(Outcome.ANSWERED, method(*args))
        except ConnectFailure as err:
            return Reply(Outcome.REFUSED if err.answer is Answer.REFUSED
                         else Outcome.SILENT, error=err)
        except Timeout as err:
            return Reply(Outcome.HANGING, error=err)
        except Refusal as err:
            return Reply(Outcome.ANSWERED, refusal=err.answer, error=err)
        except SyncMessageError as err:
            return Reply(Outcome.ANSWERED, refusal=Answer.INVALID, error=err)
        except (OSError, green_http_client.HTTPException) as err:
            return Reply(Outcome.BROKEN, error=err)

    def _knock_at_door(self, node: RingDevice) -> None:
        try:
            with Timeout(self.client.connections.conn_timeout):
                socket.create_connection(endpoint(node)).close()
        except Timeout as err:
            raise ConnectFailure(Answer.TIMEOUT, err)

    def _tell_of(self, failed: Failed) -> None:
        node_str = node_to_string(failed.node, replication=True)
        self.logger.error('No answer to the sync message to %s: %s',
                          node_str, failed.error)
        if failed.closes:
            self.logger.warning(
                'Closing the replica rings over %s for %s seconds',
                node_str if len(failed.key) == 3 else '%s:%s' % failed.key,
                self.failures.interval)
        if failed.notice:
            pool = GreenPool(MAX_NOTIFIED)
            for node in failed.others:
                pool.spawn_n(self._notify, node, failed.notice)

    def _notify(self, node: RingDevice, notice: Notice) -> None:
        try:
            self.client.notify(node, notice.encode())
        except (ConnectFailure, Timeout, OSError,
                green_http_client.HTTPException) as err:
            self.logger.debug('Notice to %s not delivered: %s',
                              node_to_string(node, replication=True), err)
