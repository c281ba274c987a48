# SPDX-License-Identifier: Apache-2.0
"""Exchanges of many partitions with one neighbour: the shell of the engine's.

Stock Swift exchanges a partition by one REPLICATE, one rsync and one more
REPLICATE. This does the same for a batch of partitions, and pushes only the
objects that the neighbour lacks. PROTOCOL.md, "An exchange".
"""

import os
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import Timeout, tpool
from swift.common.utils import node_to_string
from swift.obj.diskfile import valid_suffix

from swift_lightsync.sync.core.engine.actions import Outcome, Reply
from swift_lightsync.sync.core.engine.exchange_actions import (
    AskMissing,
    AskRehash,
    AskSuffixes,
    Batch,
    Compare,
    Difference,
    GaveUp,
    MayGoOn,
    PushPaths,
    PushSuffixes,
)
from swift_lightsync.sync.core.engine.exchanging import (
    PARTITIONS,
    SUFFIXES,
    Exchanging,
)
from swift_lightsync.sync.core.engine.rounds import Round
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.missing import Offers
from swift_lightsync.sync.rsync_push import push

if TYPE_CHECKING:
    from swift_lightsync.sync.partition_round import PartitionRound
    from swift_lightsync.sync.replicator import LightSyncReplicator


class ExchangeBatch:
    """The exchanges that some rounds want, done in batches.

    :param daemon: the replicator
    """

    def __init__(self, daemon: 'LightSyncReplicator') -> None:
        self.daemon = daemon
        self.exchanging = Exchanging(
            daemon.neighbours, daemon.concurrency,
            daemon.sync_method == daemon.rsync, PARTITIONS, SUFFIXES)
        self._perform: dict[type, Callable[[Any], Any]] = {
            MayGoOn: self._may_go_on, AskSuffixes: self._suffix_hashes,
            Compare: self._compare, AskMissing: self._missing,
            PushPaths: self._push_paths, PushSuffixes: self._push_suffixes,
            AskRehash: self._rehash, GaveUp: self._give_up}

    def perform(self, action: object) -> Any:
        """Perform an action of the engine.

        :param action: the action
        :returns: its result
        """
        perform = self._perform.get(type(action),
                                    self.daemon.neighbours.perform)
        return perform(action)

    def _may_go_on(self, action: MayGoOn) -> bool:
        if self.daemon.check_ring(action.batch.policy.object_ring):
            return True
        # The ring has changed: let the pass notice, and end.
        self.daemon.next_check = 0
        return False

    def _give_up(self, action: GaveUp) -> None:
        batch, reply = action.batch, action.reply
        level = (self.daemon.logger.debug
                 if reply.answer is Answer.UNSUPPORTED
                 else self.daemon.logger.error)
        level('Unable to exchange %d partitions of %s with %s at once; they '
              'are exchanged one by one: %s: %s', len(batch.rounds),
              batch.device, node_to_string(batch.node, replication=True),
              type(reply.error).__name__, reply.error)

    def _suffix_hashes(self, action: AskSuffixes) -> Reply:
        return self._sent(action.batch, 'suffix_hashes', action.partitions,
                          action.batch.rounds[0].is_hand_off)

    def _rehash(self, action: AskRehash) -> Reply:
        return self._sent(action.batch, 'rehash', action.suffixes)

    def _sent(self, batch: Batch, method: str, *args: Any) -> Reply:
        """Call a method of the client about the partitions of a batch."""
        neighbours = self.daemon.neighbours
        return neighbours.outcome(getattr(neighbours.client, method),
                                  batch.node, batch.policy, *args)

    def _compare(self, action: Compare) -> dict[Round, Difference]:
        begin = time.time()
        hashed, found = tpool.execute(self._differing, [
            each for each in action.batch.rounds
            if each.partition in action.theirs], action.theirs)
        self.daemon.count_hashed(action.batch.device, hashed)
        self.daemon.logger.timing_since('partition.exchange.timing', begin)
        return found

    def _differing(self, batch: Collection['PartitionRound'],
                   theirs: Mapping[int, Mapping[str, str]]
                   ) -> tuple[int, dict[Round, Difference]]:
        """Compare partitions with a neighbour's suffix hashes.

        :returns: how many suffixes were hashed here, and the difference of
            each partition that could be read
        """
        found: dict[Round, Difference] = {}
        total = 0
        for each in batch:
            remote = theirs[each.partition]
            where = each.device, each.job['partition'], each.policy
            df_mgr = self.daemon._df_router[each.policy]

            def differing(local: Mapping[str, str]) -> list[str]:
                return [suffix for suffix, digest in local.items()
                        if digest != remote.get(suffix)]

            try:
                _, local = df_mgr._get_hashes(*where)
                suffixes = differing(local)
                if suffixes:
                    hashed, local = df_mgr._get_hashes(
                        *where, recalculate=suffixes)
                    total += hashed
                    suffixes = differing(local)
                if all(valid_suffix(suffix) and local[suffix]
                       for suffix in suffixes):
                    found[each] = Difference(
                        suffixes, frozenset(suffixes) - remote.keys(),
                        len(local))
            except (Exception, Timeout) as err:
                # Locked, or on a bad sector: the others are not concerned.
                self.daemon.logger.error(
                    'Unable to hash partition %s on %s: %s: %s',
                    where[1], where[0], type(err).__name__, err)
        return total, found

    def _push_suffixes(self, action: PushSuffixes) -> bool:
        return self._pushed(action.batch, lambda: self.daemon.sync(
            action.batch.node, self._job(action.round), action.suffixes)[0])

    def _push_paths(self, action: PushPaths) -> bool:
        return self._pushed(action.batch, lambda: push(
            self.daemon, action.batch.node,
            [(self._job(each), difference.suffixes)
             for each, difference in action.differing.items()],
            [path for found in action.paths.values() for path in found]))

    def _pushed(self, batch: Batch, push_it: Callable[[], Any]) -> bool:
        try:
            return bool(push_it())
        except (OSError, Timeout) as err:
            self._give_up(GaveUp(batch, Reply(Outcome.BROKEN, error=err)))
            return False

    @staticmethod
    def _job(each: Round) -> Any:
        job: Any = getattr(each, 'job')
        return job

    def _missing(self, action: AskMissing) -> Reply:
        """Find out the paths that a device lacks, relative to the objects
        directory.
        """
        batch, differing = action.batch, action.differing
        if action.all_of_it:
            return Reply(Outcome.ANSWERED, {
                each.partition: _paths(each, difference.suffixes)
                for each, difference in differing.items()})
        neighbours = self.daemon.neighbours
        sender = neighbours.local.endpoint(batch.policy, batch.device)
        offers = Offers(
            self.daemon._df_router[batch.policy], batch.policy,
            self._job(batch.rounds[0]),
            {each.partition: [suffix for suffix in difference.suffixes
                              if suffix not in difference.absent]
             for each, difference in differing.items()}, self.daemon.logger)
        # What it asks has been charged when it ends.
        reply = neighbours.outcome(offers.find, lambda offer: neighbours.call(
            sender, batch.node, neighbours.client.missing, batch.node,
            batch.policy, offer))
        if reply.answer is not None:
            return reply
        found: Mapping[int, list[str]] = reply.value
        return Reply(Outcome.ANSWERED, {
            each.partition: found[each.partition]
            + _paths(each, difference.absent)
            for each, difference in differing.items()
            if each.partition in found})


def _paths(each: Round, suffixes: Collection[str]) -> list[str]:
    return [os.path.join(str(each.partition), suffix)
            for suffix in sorted(suffixes)]
