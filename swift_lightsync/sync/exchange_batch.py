# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
Exchanges of many partitions with one neighbour, done together.

What stock Swift does for a partition in one REPLICATE, one rsync and one more
REPLICATE, this does for a batch of them. It only makes things faster: what it
does not bring to an end, for whatever reason, is left to be exchanged one by
one. PROTOCOL.md, "Exchanges in batches".
"""

import os
import time
from collections import defaultdict

from swift.common.concurrency import GreenPool, Timeout, \
    green_http_client, tpool
from swift.common.utils import node_to_string
from swift.obj.diskfile import valid_suffix

from swift_lightsync.sync.neighbours import device_key
from swift_lightsync.sync.sync_client import ConnectFailure, Refusal
from swift_lightsync.sync.sync_message import SyncMessageError
from swift_lightsync.sync.sync_round import Exchange

#: Most partitions, and suffixes of theirs, that are exchanged at once.
PARTITIONS = 64
SUFFIXES = 8192


def _batches(rounds):
    """Cut rounds into lists of what is exchanged at once."""
    batch, suffixes = [], 0
    for each in rounds:
        if batch and (len(batch) == PARTITIONS
                      or suffixes + each.fingerprint.suffixes > SUFFIXES):
            yield batch
            batch, suffixes = [], 0
        batch.append(each)
        suffixes += each.fingerprint.suffixes
    if batch:
        yield batch


class ExchangeBatch:
    """
    :param daemon: the :class:`LightSyncReplicator`
    :param rounds: :class:`PartitionRound` objects; those that want an
        exchange with one device are dealt with
    """

    def __init__(self, daemon, rounds):
        self.daemon = daemon
        self.groups = defaultdict(list)
        for each in rounds:
            if not isinstance(each.pending, Exchange) \
                    or len(each.pending.devices) != 1:
                continue
            node, = each.pending.devices
            if daemon.neighbours.has_verb(node):
                self.groups[each.job['device'], each.policy,
                            device_key(node)].append(each)

    def run(self):
        """Exchange what can be exchanged; the rounds go on by themselves."""
        pool = GreenPool(self.daemon.concurrency)
        for group in self.groups.values():
            pool.spawn_n(self._exchange_group, group)
        pool.waitall()

    def _exchange_group(self, group):
        for batch in _batches(group):
            node, = batch[0].pending.devices
            if not self.daemon.check_ring(batch[0].policy.object_ring):
                # So that the pass finds out for itself, and ends.
                self.daemon.next_check = 0
                return
            try:
                done = self._exchange(node, batch)
            except (ConnectFailure, Refusal, SyncMessageError, OSError,
                    green_http_client.HTTPException, Timeout) as err:
                self.daemon.logger.error(
                    'Unable to exchange %d partitions of %s with %s at '
                    'once; they are exchanged one by one: %s: %s',
                    len(batch), batch[0].job['device'], node_to_string(
                        node, replication=True), type(err).__name__, err)
                return
            for each, suffixes, local in done:
                each.exchanged(suffixes, local)

    def _exchange(self, node, batch):
        """
        :returns: a list of (round, number of suffixes pushed, number of
            suffixes) of those that the node is in sync with now
        """
        begin = time.time()
        policy = batch[0].policy
        neighbours = self.daemon.neighbours
        sender = neighbours.own_endpoint(policy, batch[0].job['device'])
        theirs = neighbours.call(
            sender, node, neighbours.client.suffix_hashes, node, policy,
            [each.partition for each in batch])
        ours = tpool.execute(
            self._differing, [each for each in batch
                              if each.partition in theirs], theirs)
        to_push = {each: suffixes for each, (suffixes, _) in ours.items()
                   if suffixes}
        pushed = self._push(node, to_push)
        if pushed and self.daemon.sync_method == self.daemon.rsync:
            neighbours.call(
                sender, node, neighbours.client.rehash, node, policy,
                {each.partition: to_push[each] for each in pushed})
        self.daemon.logger.timing_since('partition.exchange.timing', begin)
        return [(each, len(suffixes), local)
                for each, (suffixes, local) in ours.items()
                if not suffixes or each in pushed]

    def _differing(self, batch, theirs):
        """
        :returns: a dict, round to (suffixes that differ, number of suffixes)
        """
        found = {}
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
                    self.daemon.count_hashed(each.job['device'], hashed)
                    suffixes = differing(local)
                if all(map(valid_suffix, suffixes)):
                    found[each] = suffixes, len(local)
            except (Exception, Timeout) as err:
                # Locked, or on a bad sector: no matter of the others.
                self.daemon.logger.error(
                    'Unable to hash partition %s on %s: %s: %s',
                    place[1], place[0], type(err).__name__, err)
        return found

    def _push(self, node, to_push):
        """:returns: the rounds of which all suffixes were pushed"""
        if self.daemon.sync_method == self.daemon.rsync:
            return self._push_by_rsync(node, to_push)
        return [each for each, suffixes in to_push.items()
                if self.daemon.sync(node, each.job, suffixes)[0]]

    def _push_by_rsync(self, node, to_push):
        argv, paths = None, []
        for each, suffixes in to_push.items():
            argv = self.daemon.rsync_argv(node, each.job, suffixes) or argv
            paths += [os.path.join(each.job['obj_path'], '.',
                                   each.job['partition'], suffix)
                      for suffix in suffixes]
        paths = [path for path in paths if os.path.exists(path)]
        if not paths or not argv:
            return []
        flags = [each for each in argv[:-1]
                 if each == 'rsync' or each.startswith('--')]
        objects = os.path.dirname(argv[-1]) + '/'
        # Below /./ in a path is what --relative makes on the other side.
        if self.daemon._rsync(flags + ['--relative'] + paths + [objects]):
            return []
        return list(to_push)
