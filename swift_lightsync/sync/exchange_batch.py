# SPDX-License-Identifier: Apache-2.0
"""
Exchanges of many partitions with one neighbour, done together.

Stock Swift exchanges a partition by one REPLICATE, one rsync and one more
REPLICATE. This does the same for a batch of partitions, and pushes only the
objects that the neighbour lacks. Partitions that it does not complete, for
whatever reason, are left to be exchanged one by one. PROTOCOL.md, "An
exchange".
"""

import os
import time
from collections import defaultdict
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    tpool,
)
from swift.common.utils import node_to_string
from swift.obj.diskfile import valid_suffix

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.missing import Offers
from swift_lightsync.sync.rsync_push import push
from swift_lightsync.sync.sync_client import Refusal
from swift_lightsync.sync.wire.sync_message import SyncMessageError

if TYPE_CHECKING:
    from swift_lightsync.sync.partition_round import PartitionRound
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: Most partitions, and most suffixes of theirs, that are exchanged at once.
PARTITIONS = 64
SUFFIXES = 8192


@dataclass(frozen=True)
class Difference:
    """
    How a partition differs between a neighbour and here.

    :param suffixes: the suffixes that differ
    :param absent: those of them of which the neighbour has nothing
    :param count: how many suffixes the partition has here
    """
    suffixes: list[str]
    absent: frozenset[str]
    count: int


def _batches(rounds: Iterable['PartitionRound']
             ) -> Iterator[list['PartitionRound']]:
    """Cut rounds into lists that are exchanged at once."""
    batch: list[PartitionRound] = []
    suffixes = 0
    for each in rounds:
        if batch and (len(batch) == PARTITIONS
                      or suffixes + each.suffixes > SUFFIXES):
            yield batch
            batch, suffixes = [], 0
        batch.append(each)
        suffixes += each.suffixes
    if batch:
        yield batch


class ExchangeBatch:
    """
    The exchanges that some rounds want, done in batches.

    :param daemon: the replicator
    :param rounds: rounds of one or several devices; those that want no
        exchange are passed over
    """

    def __init__(self, daemon: 'LightSyncReplicator',
                 rounds: Iterable['PartitionRound']) -> None:
        self.daemon = daemon
        self.rounds = rounds
        #: Nodes that have the verb, but not ``missing``.
        self._without_missing: set[tuple[str, int]] = set()

    def run(self) -> None:
        """Exchange what can be exchanged, and tell the rounds."""
        groups = self._groups()
        while groups:
            pool = GreenPool(self.daemon.concurrency)
            for node, group in groups:
                pool.spawn_n(self._exchange_group, node, group)
            pool.waitall()
            groups = self._groups()

    def _groups(self) -> list[tuple[RingDevice, list['PartitionRound']]]:
        """Return devices with the rounds that want an exchange with them."""
        nodes: dict[DeviceTuple, RingDevice] = {}
        groups: dict[Any, list[PartitionRound]] = defaultdict(list)
        for each in self.rounds:
            for node in each.exchangeable():
                key = device_key(node)
                nodes[key] = node
                groups[each.job['device'], each.policy, key].append(each)
                each.trying(key)
        return [(nodes[key], group)
                for (_, _, key), group in groups.items()]

    def _exchange_group(self, node: RingDevice,
                        group: list['PartitionRound']) -> None:
        batches = list(_batches(group))
        for batch in batches:
            if not self.daemon.check_ring(batch[0].policy.object_ring):
                # The ring has changed: let the pass notice, and end.
                self.daemon.next_check = 0
                return
            if self.daemon.cannot_push(node):
                # It has failed since the group was made.
                return
            try:
                done = self._exchange(node, batch)
            except (ConnectFailure, Refusal, SyncMessageError, OSError,
                    green_http_client.HTTPException, Timeout) as err:
                if isinstance(err, Refusal) and err.is_postponement:
                    for each in chain(*batches[batches.index(batch):]):
                        each.put_off(device_key(node))
                else:
                    self._give_up(node, batch, err)
                return
            for each, pushed, count in done:
                each.exchanged(device_key(node), pushed, count)

    def _give_up(self, node: RingDevice, batch: list['PartitionRound'],
                 err: BaseException) -> None:
        level = self.daemon.logger.error
        if isinstance(err, Refusal) and err.answer is Answer.UNSUPPORTED:
            # Stock Swift: treat it like one that refused a sync message.
            self.daemon.neighbours.without_verb.add(endpoint(node))
            level = self.daemon.logger.debug
        level('Unable to exchange %d partitions of %s with %s at once; they '
              'are exchanged one by one: %s: %s', len(batch),
              batch[0].job['device'], node_to_string(node, replication=True),
              type(err).__name__, err)

    def _exchange(self, node: RingDevice, batch: list['PartitionRound']
                  ) -> list[tuple['PartitionRound', int, int]]:
        """
        Exchange a batch, and return the rounds of which the node now holds
        everything.

        :returns: each such round, the number of suffixes pushed to, and the
            number of its suffixes
        """
        begin = time.time()
        theirs = self._suffix_hashes(node, batch)
        hashed, found = tpool.execute(
            self._differing, [each for each in batch
                              if each.partition in theirs], theirs)
        self.daemon.count_hashed(batch[0].job['device'], hashed)
        differing = {each: difference for each, difference in found.items()
                     if difference.suffixes}
        pushed = self._push(node, batch, differing)
        self.daemon.logger.timing_since('partition.exchange.timing', begin)
        return [(each, pushed.get(each, 0), difference.count)
                for each, difference in found.items()
                if each in pushed or each not in differing]

    def _suffix_hashes(self, node: RingDevice, batch: list['PartitionRound']
                       ) -> dict[int, dict[str, str]]:
        """
        Return the suffix hashes that a node has of partitions.

        It is asked again about those that it had no time for, as long as it
        gets on; those that it cannot read are left out.
        """
        found: dict[int, dict[str, str]] = {}
        left = [each.partition for each in batch]
        while left:
            more = self._call(node, batch, 'suffix_hashes', left)
            if not more:
                break
            found.update(more)
            left = [partition for partition in left if partition not in more]
        return found

    def _call(self, node: RingDevice, batch: list['PartitionRound'],
              method: str, *args: Any) -> Any:
        """Call a method of the client about the partitions of a batch."""
        policy, neighbours = batch[0].policy, self.daemon.neighbours
        return neighbours.call(
            neighbours.local.endpoint(policy, batch[0].job['device']), node,
            getattr(neighbours.client, method), node, policy, *args)

    def _differing(self, batch: list['PartitionRound'],
                   theirs: Mapping[int, Mapping[str, str]]
                   ) -> tuple[int, dict['PartitionRound', Difference]]:
        """
        Compare partitions with a neighbour's suffix hashes.

        :returns: how many suffixes were hashed here, and the difference of
            each partition that could be read
        """
        found: dict[PartitionRound, Difference] = {}
        total = 0
        for each in batch:
            remote = theirs[each.partition]
            where = each.job['device'], each.job['partition'], each.policy
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

    def _push(self, node: RingDevice, batch: list['PartitionRound'],
              differing: Mapping['PartitionRound', Difference]
              ) -> dict['PartitionRound', int]:
        """
        Push what the node lacks.

        :returns: for each round of which nothing is left to push, the number
            of suffixes that were pushed to
        """
        if not differing:
            return {}
        if self.daemon.sync_method == self.daemon.rsync:
            return self._push_by_rsync(node, batch, differing)
        return {each: len(difference.suffixes)
                for each, difference in differing.items()
                if self.daemon.sync(node, each.job, difference.suffixes)[0]}

    def _push_by_rsync(self, node: RingDevice,
                       batch: list['PartitionRound'],
                       differing: Mapping['PartitionRound', Difference]
                       ) -> dict['PartitionRound', int]:
        paths = self._missing(node, batch, differing)
        known: dict[PartitionRound, Sequence[str]] = {
            each: paths[each.partition] for each in differing
            if each.partition in paths}
        to_push = {each: found for each, found in known.items() if found}
        if to_push and not push(
                self.daemon, node,
                [(each.job, differing[each].suffixes) for each in to_push],
                [path for found in to_push.values() for path in found]):
            known = {each: () for each in known if each not in to_push}
        if known:
            self._call(node, batch, 'rehash', {
                each.partition: differing[each].suffixes for each in known})
        return {each: len({path.split(os.sep)[1] for path in found})
                for each, found in known.items()}

    def _missing(self, node: RingDevice, batch: list['PartitionRound'],
                 differing: Mapping['PartitionRound', Difference]
                 ) -> dict[int, list[str]]:
        """
        Return the paths that a node lacks, relative to the objects directory.

        :returns: the paths by partition number; a partition that could not be
            read here or there is left out
        """
        if endpoint(node) in self._without_missing:
            return {each.partition: _paths(each, difference.suffixes)
                    for each, difference in differing.items()}
        first = batch[0]
        offers = Offers(
            self.daemon._df_router[first.policy], first.policy, first.job,
            {each.partition: [suffix for suffix in difference.suffixes
                              if suffix not in difference.absent]
             for each, difference in differing.items()}, self.daemon.logger)
        try:
            found = offers.find(lambda offer: self._call(
                node, batch, 'missing', offer))
        except Refusal as refusal:
            if refusal.answer is not Answer.UNSUPPORTED:
                raise
            self._without_missing.add(endpoint(node))
            return self._missing(node, batch, differing)
        return {each.partition: found[each.partition]
                + _paths(each, difference.absent)
                for each, difference in differing.items()
                if each.partition in found}


def _paths(each: 'PartitionRound', suffixes: Collection[str]) -> list[str]:
    return [os.path.join(each.job['partition'], suffix)
            for suffix in sorted(suffixes)]
