# SPDX-License-Identifier: Apache-2.0
"""
Exchanges of many partitions with one neighbour, done together.

What stock Swift does for a partition in one REPLICATE, one rsync and one more
REPLICATE, this does for a batch of them, and it pushes only the objects that
the neighbour lacks. What it does not bring to an end, for whatever reason, is
left to be exchanged one by one. PROTOCOL.md, "An exchange".
"""

import os
import time
from collections import defaultdict
from dataclasses import dataclass

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    tpool,
)
from swift.common.utils import node_to_string
from swift.obj.diskfile import valid_suffix

from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.missing import Offers
from swift_lightsync.sync.neighbours import device_key, endpoint
from swift_lightsync.sync.rsync_push import push
from swift_lightsync.sync.sync_client import ConnectFailure, Refusal
from swift_lightsync.sync.wire.sync_message import SyncMessageError

#: Most partitions, and suffixes of theirs, that are exchanged at once.
PARTITIONS = 64
SUFFIXES = 8192


@dataclass(frozen=True)
class Difference:
    """
    :param suffixes: those that differ between a neighbour and here
    :param absent: those of them of which the neighbour has nothing
    :param count: how many suffixes there are here
    """
    suffixes: list
    absent: frozenset
    count: int


def _batches(rounds):
    """Cut rounds into lists of what is exchanged at once."""
    batch, suffixes = [], 0
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
    :param daemon: the :class:`LightSyncReplicator`
    :param rounds: :class:`PartitionRound` objects; those that want an
        exchange are dealt with
    """

    def __init__(self, daemon, rounds):
        self.daemon = daemon
        self.rounds = rounds
        self._without_missing = set()

    def run(self):
        """Exchange what can be exchanged; the rounds go on by themselves."""
        groups = self._groups()
        while groups:
            pool = GreenPool(self.daemon.concurrency)
            for node, group in groups:
                pool.spawn_n(self._exchange_group, node, group)
            pool.waitall()
            groups = self._groups()

    def _groups(self):
        """:returns: a list of (device, rounds to be exchanged with it)"""
        nodes, groups = {}, defaultdict(list)
        for each in self.rounds:
            for node in each.exchangeable():
                key = device_key(node)
                nodes[key] = node
                groups[each.job['device'], each.policy, key].append(each)
                each.trying(key)
        return [(nodes[key], group)
                for (_, _, key), group in groups.items()]

    def _exchange_group(self, node, group):
        for batch in _batches(group):
            if not self.daemon.check_ring(batch[0].policy.object_ring):
                # So that the pass finds out for itself, and ends.
                self.daemon.next_check = 0
                return
            try:
                done = self._exchange(node, batch)
            except (ConnectFailure, Refusal, SyncMessageError, OSError,
                    green_http_client.HTTPException, Timeout) as err:
                self._give_up(node, batch, err)
                return
            for each, pushed, count in done:
                each.exchanged(device_key(node), pushed, count)

    def _give_up(self, node, batch, err):
        level = self.daemon.logger.error
        if isinstance(err, Refusal) and err.answer is Answer.UNSUPPORTED:
            # Stock Swift; as if it had been asked for a root.
            self.daemon.neighbours.without_verb.add(endpoint(node))
            level = self.daemon.logger.debug
        level('Unable to exchange %d partitions of %s with %s at once; they '
              'are exchanged one by one: %s: %s', len(batch),
              batch[0].job['device'], node_to_string(node, replication=True),
              type(err).__name__, err)

    def _exchange(self, node, batch):
        """
        :returns: a list of (round, number of suffixes pushed to, number of
            suffixes) of those of which the node holds all, now
        """
        begin = time.time()
        theirs = self._call(node, batch, 'suffix_hashes',
                            [each.partition for each in batch])
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

    def _call(self, node, batch, method, *args):
        """Call a method of the client about the partitions of a batch."""
        policy, neighbours = batch[0].policy, self.daemon.neighbours
        return neighbours.call(
            neighbours.own_endpoint(policy, batch[0].job['device']), node,
            getattr(neighbours.client, method), node, policy, *args)

    def _differing(self, batch, theirs):
        """
        :returns: a tuple of how many suffixes were hashed, and a dict, round
            to :class:`Difference`
        """
        found, total = {}, 0
        for each in batch:
            remote = theirs[each.partition]
            place = each.job['device'], each.job['partition'], each.policy
            df_mgr = self.daemon._df_router[each.policy]

            def differing(local):
                return [suffix for suffix, digest in local.items()
                        if digest != remote.get(suffix)]

            try:
                _, local = df_mgr._get_hashes(*place)
                suffixes = differing(local)
                if suffixes:
                    hashed, local = df_mgr._get_hashes(
                        *place, recalculate=suffixes)
                    total += hashed
                    suffixes = differing(local)
                if all(valid_suffix(suffix) and local[suffix]
                       for suffix in suffixes):
                    found[each] = Difference(
                        suffixes, frozenset(suffixes) - remote.keys(),
                        len(local))
            except (Exception, Timeout) as err:
                # Locked, or on a bad sector: no matter of the others.
                self.daemon.logger.error(
                    'Unable to hash partition %s on %s: %s: %s',
                    place[1], place[0], type(err).__name__, err)
        return total, found

    def _push(self, node, batch, differing):
        """
        :returns: a dict, round to the number of suffixes pushed to, of those
            of which nothing is left to push
        """
        if not differing:
            return {}
        if self.daemon.sync_method == self.daemon.rsync:
            return self._push_by_rsync(node, batch, differing)
        return {each: len(difference.suffixes)
                for each, difference in differing.items()
                if self.daemon.sync(node, each.job, difference.suffixes)[0]}

    def _push_by_rsync(self, node, batch, differing):
        paths = self._missing(node, batch, differing)
        known = {each: paths[each.partition] for each in differing
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

    def _missing(self, node, batch, differing):
        """
        :returns: a dict, partition number to a list of paths that the node
            lacks, relative to the objects directory; a partition that could
            not be read here or there is left out
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


def _paths(each, suffixes):
    return [os.path.join(each.job['partition'], suffix)
            for suffix in sorted(suffixes)]
