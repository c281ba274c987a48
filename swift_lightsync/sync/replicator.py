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
The object replicator: Swift's own, with a sync round before each exchange.

Stock Swift compares each partition with all its replicas, suffix by suffix.
Here :meth:`LightSyncReplicator.update` first goes round the replica ring
(LightSync §5.3) and calls the stock method only for the devices that differ.
Hand-offs, rsync and ssync, statistics and options are Swift's.
"""

import math
import time
from optparse import OptionParser

from swift.common.concurrency import Timeout, green_http_client, tpool
from swift.common.daemon import run_daemon
from swift.common.utils import config_positive_int_value, node_to_string, \
    non_negative_float, parse_options
from swift.obj import replicator

from swift_lightsync.sync import failure_table
from swift_lightsync.sync.fingerprint import Fingerprints
from swift_lightsync.sync.partition_round import PartitionRound
from swift_lightsync.sync.partition_set import MAX_PARTITIONS
from swift_lightsync.sync.sync_batch import SyncBatch
from swift_lightsync.sync.sync_client import ConnectFailure, SyncClient
from swift_lightsync.sync.sync_message import SyncMessageError
from swift_lightsync.sync.sync_round import Answer

#: Partitions in one sync message.
DEFAULT_BATCH = 1 << 16


def _option(conf, name, default, parse):
    value = conf.get(name, default)
    try:
        parsed = parse(value)
        if not math.isfinite(parsed):
            raise ValueError('must be finite')
        return parsed
    except (TypeError, ValueError) as err:
        raise ValueError('[object-replicator] %s = %s: %s'
                         % (name, value, err))


def _batch_size(value):
    size = config_positive_int_value(value)
    if size > MAX_PARTITIONS:
        raise ValueError('must be 1 to %d' % MAX_PARTITIONS)
    return size


def _place(job):
    return job['device'], int(job['policy']), job['partition']


def _endpoint(node):
    return node['replication_ip'], node['replication_port']


class LightSyncReplicator(replicator.ObjectReplicator):
    """
    Replicate objects as Swift does, but find the differences by LightSync.

    :param conf: the ``[object-replicator]`` section, a dict
    :param logger: a logger, or None for one made from conf
    :raises ValueError: if an option has a value that is not allowed
    """

    def __init__(self, conf, logger=None):
        super().__init__(conf, logger=logger)
        self.full_exchange_interval = _option(
            conf, 'full_exchange_interval', 3600, non_negative_float)
        self.failure_table = failure_table.FailureTable(
            _option(conf, 'error_suppression_limit',
                    failure_table.ERROR_SUPPRESSION_LIMIT,
                    config_positive_int_value),
            _option(conf, 'error_suppression_interval',
                    failure_table.ERROR_SUPPRESSION_INTERVAL,
                    non_negative_float))
        self.sync_batch_partitions = _option(
            conf, 'sync_batch_partitions', DEFAULT_BATCH, _batch_size)
        self.sync_client = SyncClient(self.conn_timeout, self.http_timeout)
        #: Endpoints that answered like stock Swift in this pass.
        self.without_verb = set()
        self._fingerprints = {}
        self._rounds = {}

    def replicate(self, *args, **kwargs):
        """Run a replication pass"""
        self.without_verb.clear()
        self._rounds.clear()
        try:
            return super().replicate(*args, **kwargs)
        finally:
            self.sync_client.close()

    def collect_jobs(self, *args, **kwargs):
        """
        Make the jobs of a pass as Swift does, check them all with their
        neighbours, and leave out those that need nothing done.

        :returns: a list of jobs, dicts
        """
        jobs = super().collect_jobs(*args, **kwargs)
        primary = [job for job in jobs if not job['delete']]
        if self.sync_batch_partitions == 1 or (
                self.handoffs_first and len(primary) < len(jobs)):
            return jobs
        self._rounds = {_place(job): partition_round for job, partition_round
                        in SyncBatch(self, primary).run()}
        return [job for job in jobs
                if job['delete'] or _place(job) in self._rounds]

    def fingerprints(self, policy):
        """
        :param policy: a StoragePolicy
        :returns: the :class:`Fingerprints` of its partitions here
        """
        if policy not in self._fingerprints:
            self._fingerprints[policy] = Fingerprints(
                self._df_router[policy], policy, self.logger)
        return self._fingerprints[policy]

    def count_hashed(self, device, hashed):
        """Count suffixes that had to be hashed on a device."""
        self.stats_for_dev[device].suffix_hash += hashed
        self.logger.update_stats('suffix.hashes', hashed)

    def has_failed(self, node):
        """Whether a device is to be left alone for now (§5.4.1)."""
        now = time.time()
        return (self.failure_table.has_failed(_endpoint(node), now)
                or self.failure_table.has_failed(
                    _endpoint(node) + (node['device'],), now))

    def update(self, job):
        """
        Replicate a partition that belongs here: by a sync round, or by the
        exchange with all replicas where its turn has come.

        :param job: a dict, as from ``collect_jobs``
        """
        try:
            partition_round = self._rounds.pop(_place(job), None)
            if partition_round is None:
                hashed, fingerprint = tpool.execute(
                    self.fingerprints(job['policy']).get, job['device'],
                    job['partition'])
                self.count_hashed(job['device'], hashed)
                partition_round = PartitionRound(self, job, fingerprint)
            partition_round.run()
        except (Exception, Timeout):
            self.logger.exception(
                'Error in the sync round of partition %s of policy %d on '
                '%s; comparing it with all replicas', job['partition'],
                int(job['policy']), job['device'])
            super().update(job)

    def exchange(self, job, nodes):
        """
        Compare a partition suffix by suffix with devices and push what
        differs: what stock Swift does with all of them in each pass.

        :param job: a dict, as from ``collect_jobs``
        :param nodes: the devices
        :returns: True if no failure was counted for any of them
        """
        failures = self.stats_for_dev[job['device']].failure_nodes

        def count():
            return [failures.get(node['replication_ip'], {}).get(
                node['device'], 0) for node in nodes]

        before = count()
        super().update(dict(job, nodes=list(nodes)))
        return count() == before

    def ask(self, device, node, policy, roots):
        """
        Send the roots of partitions to a neighbour, and keep the failure
        table.

        :param device: name of the local device that holds them
        :param node: the neighbour, a dict as in the ring
        :param policy: the StoragePolicy of the partitions
        :param roots: a dict, partition number to root
        :returns: a tuple of an :class:`Answer` and, if that is DIFFER, the
            set of partitions that differ
        """
        answer, differing = self._ask(node, policy, roots)
        counts = {answer: len(roots)}
        if answer is Answer.DIFFER:
            counts = {Answer.DIFFER: len(differing),
                      Answer.MATCH: len(roots) - len(differing)}
        for each, count in counts.items():
            self.logger.update_stats('partition.check.%s.%s' % (
                each.value, device), count)
        return answer, differing

    def _ask(self, node, policy, roots):
        endpoint = _endpoint(node)
        if endpoint in self.without_verb:
            return Answer.UNSUPPORTED, set()
        device = endpoint + (node['device'],)
        differing = set()
        try:
            answer, differing = self.sync_client.ask(node, policy, roots)
        except ConnectFailure as err:
            return self._failed(node, endpoint, err.answer, err), differing
        except Timeout as err:
            # It has held up the pass for http_timeout: once is enough.
            return self._failed(node, device, Answer.TIMEOUT, err,
                                self.failure_table.limit), differing
        except SyncMessageError as err:
            self.logger.error('%s: %s', node_to_string(
                node, replication=True), err)
            answer = Answer.INVALID
        except (OSError, green_http_client.HTTPException) as err:
            return self._failed(node, device, Answer.REFUSED, err), differing
        self.failure_table.contact(endpoint)
        self.failure_table.contact(device)
        if answer is Answer.UNSUPPORTED:
            self.without_verb.add(endpoint)
        return answer, differing

    def _failed(self, node, key, answer, err, weight=None):
        if weight is None:
            # A refusal costs next to nothing, a time-out holds up the pass.
            weight = (1 if answer is Answer.REFUSED
                      else (self.failure_table.limit + 1) // 2)
        node_str = node_to_string(node, replication=True)
        self.logger.error('No answer to the sync message to %s: %s',
                          node_str, err)
        if self.failure_table.record(key, time.time(), weight):
            self.logger.warning(
                'Closing the replica rings over %s for %s seconds',
                node_str if len(key) == 3 else '%s:%s' % key,
                self.failure_table.interval)
        return answer


def main():
    """``swift-object-lightsync``: the daemon without a patched Swift."""
    parser = OptionParser('%prog CONFIG [options]')
    for flag, name in (('-d', 'devices'), ('-p', 'partitions'),
                       ('-i', 'policies')):
        parser.add_option(flag, '--' + name,
                          help='Replicate only the given %s, a '
                               'comma-separated list. Needs --once.' % name)
    conf_file, options = parse_options(parser=parser, once=True)
    run_daemon(LightSyncReplicator, conf_file,
               section_name='object-replicator', **options)


if __name__ == '__main__':
    main()
