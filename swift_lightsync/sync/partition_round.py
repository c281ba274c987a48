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
One partition in a replication pass: the shell around ``sync_round``.

It knows the replica ring, the fingerprint and the statistics of its
partition; the daemon knows the other nodes. What it wants next is in
``pending``: a Check may be answered alone or together with those of others.
"""

import time
from dataclasses import dataclass, replace

from swift.common.concurrency import tpool

from swift_lightsync.sync import replica_ring
from swift_lightsync.sync.sync_round import NEXT, Answer, Check, Exchange, \
    Next, full_exchange_due, sync_round


@dataclass(frozen=True)
class FullExchange:
    """List the suffixes anew and compare them with all replicas."""


def _stats_key(node):
    return node['replication_ip'], node['device']


class PartitionRound:
    """
    One partition's part in a replication pass.

    :param daemon: the :class:`LightSyncReplicator`
    :param job: a dict, as from ``collect_jobs``
    :param fingerprint: the partition's :class:`Fingerprint`
    """

    def __init__(self, daemon, job, fingerprint):
        self.daemon = daemon
        self.job = job
        self.policy = job['policy']
        self.partition = int(job['partition'])
        self.fingerprint = fingerprint
        self.begin = time.time()
        self.exchanges = 0
        self.matched = 0
        self.passed_over = set()
        self.pending = None
        self._actions = self._plan()
        self._go_on(None)

    @property
    def stats(self):
        return self.daemon.stats_for_dev[self.job['device']]

    def _plan(self):
        if full_exchange_due(self.partition, self.fingerprint.exchanged,
                             self.begin, self.daemon.full_exchange_interval):
            yield FullExchange()
            return
        clockwise = self.clockwise(self.job)
        if clockwise is None:
            yield Exchange(tuple(self.job['nodes']))
            return
        yield from sync_round(clockwise, self._has_failed,
                              self.daemon.neighbours.cannot_reach,
                              self._hand_offs(len(clockwise)))

    @staticmethod
    def clockwise(job):
        """
        The other devices of a job's replica ring, nearest first, or None if
        the object ring has changed since the job was made. (A device that was
        replaced by one other meanwhile plays that one's part.)
        """
        partition = int(job['partition'])
        part_nodes = job['policy'].object_ring.get_part_nodes(partition)
        others = {node['id'] for node in job['nodes']}
        here = [node['id'] for node in part_nodes if node['id'] not in others]
        if len(here) != 1:
            return None
        return replica_ring.clockwise(part_nodes, partition, here[0])

    def _hand_offs(self, mounted):
        """
        Those that replace a device that is not mounted; none, if the operator
        is content with fewer replicas (handoff_delete).
        """
        if 0 < self.daemon.handoff_delete <= mounted:
            return
        yield from self.policy.object_ring.get_more_nodes(self.partition)

    def _has_failed(self, node):
        failed = self.daemon.neighbours.has_failed(node)
        if failed:
            self.passed_over.add(_stats_key(node))
        return failed

    def _go_on(self, outcome):
        try:
            self.pending = self._actions.send(outcome)
        except StopIteration:
            self.pending = None

    def answer(self, answer):
        """
        Take the answer to the pending Check.

        :param answer: an :class:`Answer`
        """
        if answer is Answer.MATCH:
            self.matched += 1
        elif NEXT[answer] in (Next.PASS_OVER, Next.REPLACE):
            self.passed_over.add(_stats_key(self.pending.device))
        self._go_on(answer)

    def exchanged(self, pushed, suffixes):
        """
        Take the success of the pending Exchange, done together with others.

        :param pushed: how many suffixes were pushed
        :param suffixes: how many there are
        """
        self.fingerprint = replace(self.fingerprint, suffixes=suffixes)
        stats = self.stats
        stats.success += 1
        stats.rsync += bool(pushed)
        stats.hashmatch += not pushed
        stats.suffix_sync += pushed
        self.daemon.logger.update_stats('suffix.syncs', pushed)
        self.daemon.recon.note_exchange(self.job, self.pending.devices, True)
        self._go_on(True)

    def run(self):
        """Go on to the end, and count what came of it."""
        while self.pending:
            if isinstance(self.pending, Check):
                answer, _ = self.daemon.neighbours.ask(
                    self.job['device'], self.pending.device, self.policy,
                    {self.partition: self.fingerprint.root})
                self.answer(answer)
            elif isinstance(self.pending, FullExchange):
                self._go_on(self._full_exchange())
            else:
                devices = [node for node in self.pending.devices
                           if not self._has_failed(node)]
                self._go_on(bool(devices) and self._exchange(devices))
        if self.exchanges:
            self._count_devices()
            return
        # No exchange has counted the partition.
        self.count_matched()
        self.daemon.logger.increment('partition.update.count.%s'
                                     % self.job['device'])
        self.daemon.partition_times.append(time.time() - self.begin)
        self.daemon.logger.timing_since('partition.update.timing',
                                        self.begin)

    def _full_exchange(self):
        self.daemon.recon.note_full_exchange(self.job)
        fingerprints = self.daemon.fingerprints(self.policy)
        place = self.job['device'], self.job['partition']
        self.daemon.count_hashed(self.job['device'], tpool.execute(
            fingerprints.relist, *place))
        done = self._exchange([node for node in self.job['nodes']
                               if not self._has_failed(node)])
        tpool.execute(fingerprints.note_exchange, *place, self.begin)
        return done

    def _exchange(self, nodes):
        if self.exchanges:
            # Each exchange counts the partition; it is but one.
            self.stats.attempted -= 1
        self.exchanges += 1
        return self.daemon.exchange(self.job, nodes)

    def count_matched(self):
        """Count a partition that needed no exchange."""
        self.stats.attempted += 1
        self.stats.suffix_count += self.fingerprint.suffixes
        self._count_devices()

    def _count_devices(self):
        stats = self.stats
        stats.hashmatch += self.matched
        stats.success += self.matched
        stats.add_failure_stats(self.passed_over)
