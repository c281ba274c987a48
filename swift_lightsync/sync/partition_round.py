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
partition; the daemon knows the other nodes.
"""

import time

from swift.common.concurrency import tpool

from swift_lightsync.sync import replica_ring
from swift_lightsync.sync.fingerprint import Fingerprints
from swift_lightsync.sync.sync_round import NEXT, Answer, Check, Next, \
    full_exchange_due, sync_round


def _stats_key(node):
    return node['replication_ip'], node['device']


class PartitionRound:
    """
    One partition's part in a replication pass.

    :param daemon: the :class:`LightSyncReplicator`
    :param job: a dict, as from ``collect_jobs``
    """

    def __init__(self, daemon, job):
        self.daemon = daemon
        self.job = job
        self.policy = job['policy']
        self.partition = int(job['partition'])
        self.begin = time.time()
        self.fingerprints = Fingerprints(daemon._df_router[self.policy],
                                         self.policy, daemon.logger)
        hashed, self.fingerprint = self._in_thread(self.fingerprints.get)
        self._count_hashed(hashed)
        self.exchanges = 0
        self.matched = 0
        self.passed_over = set()

    @property
    def stats(self):
        return self.daemon.stats_for_dev[self.job['device']]

    def _in_thread(self, method, *args):
        return tpool.execute(method, self.job['device'],
                             self.job['partition'], *args)

    def _count_hashed(self, hashed):
        self.stats.suffix_hash += hashed
        self.daemon.logger.update_stats('suffix.hashes', hashed)

    def full_exchange_due(self):
        """Whether its turn to be compared with all replicas has come."""
        return full_exchange_due(
            self.partition, self.fingerprint.exchanged, self.begin,
            self.daemon.full_exchange_interval)

    def _clockwise(self):
        """
        The other devices of the replica ring, nearest first, or None if the
        object ring has changed since the job was made. (A device that was
        replaced by one other meanwhile plays that one's part.)
        """
        part_nodes = self.policy.object_ring.get_part_nodes(self.partition)
        others = {node['id'] for node in self.job['nodes']}
        here = [node['id'] for node in part_nodes if node['id'] not in others]
        if len(here) != 1:
            return None
        return replica_ring.clockwise(part_nodes, here[0])

    def full_exchange(self):
        """List the suffixes anew and compare them with all replicas."""
        self._count_hashed(self._in_thread(self.fingerprints.relist))
        self.daemon.exchange(self.job, [
            node for node in self.job['nodes'] if not self._has_failed(node)])
        self.stats.add_failure_stats(self.passed_over)
        self._in_thread(self.fingerprints.note_exchange, self.begin)

    def run(self):
        """Go round the replica ring."""
        clockwise = self._clockwise()
        if clockwise is None:
            self._exchange(self.job['nodes'])
            return
        actions = sync_round(clockwise, self._has_failed)
        outcome = None
        try:
            while True:
                action = actions.send(outcome)
                if isinstance(action, Check):
                    outcome = self._check(action.device)
                else:
                    outcome = self._exchange(action.devices)
        except StopIteration:
            self._count()

    def _has_failed(self, node):
        failed = self.daemon.has_failed(node)
        if failed:
            self.passed_over.add(_stats_key(node))
        return failed

    def _check(self, node):
        answer = self.daemon.ask(node, self.policy, self.partition,
                                 self.fingerprint.root)
        self.daemon.logger.increment('partition.check.%s.%s' % (
            answer.value, self.job['device']))
        if answer is Answer.MATCH:
            self.matched += 1
        elif NEXT[answer] is Next.PASS_OVER:
            self.passed_over.add(_stats_key(node))
        return answer

    def _exchange(self, nodes):
        if self.exchanges:
            # Each exchange counts the partition; it is but one.
            self.stats.attempted -= 1
        self.exchanges += 1
        return self.daemon.exchange(self.job, nodes)

    def _count(self):
        stats = self.stats
        stats.hashmatch += self.matched
        stats.success += self.matched
        stats.add_failure_stats(self.passed_over)
        if self.exchanges:
            return
        # No exchange has counted the partition.
        stats.attempted += 1
        stats.suffix_count += self.fingerprint.suffixes
        self.daemon.logger.increment('partition.update.count.%s'
                                     % self.job['device'])
        self.daemon.partition_times.append(time.time() - self.begin)
        self.daemon.logger.timing_since('partition.update.timing',
                                        self.begin)
