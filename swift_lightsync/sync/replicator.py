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

from swift.common.concurrency import Timeout, green_http_client
from swift.common.daemon import run_daemon
from swift.common.utils import config_positive_int_value, node_to_string, \
    non_negative_float, parse_options
from swift.obj import replicator

from swift_lightsync.sync import failure_table
from swift_lightsync.sync.partition_round import PartitionRound
from swift_lightsync.sync.sync_client import ConnectFailure, SyncClient
from swift_lightsync.sync.sync_message import SyncMessageError
from swift_lightsync.sync.sync_round import Answer


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
        self.sync_client = SyncClient(self.conn_timeout, self.http_timeout)
        #: Endpoints that answered like stock Swift in this pass.
        self.without_verb = set()

    def replicate(self, *args, **kwargs):
        """Run a replication pass"""
        self.without_verb.clear()
        try:
            return super().replicate(*args, **kwargs)
        finally:
            self.sync_client.close()

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
            partition_round = PartitionRound(self, job)
            if partition_round.full_exchange_due():
                partition_round.full_exchange()
            else:
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

    def ask(self, node, policy, partition, root):
        """
        Send a root to a device, and keep the failure table.

        :param node: the device, a dict as in the ring
        :param policy: the StoragePolicy of the partition
        :param partition: its number
        :param root: its root
        :returns: an :class:`Answer`
        """
        endpoint = _endpoint(node)
        if endpoint in self.without_verb:
            return Answer.UNSUPPORTED
        device = endpoint + (node['device'],)
        try:
            answer, _ = self.sync_client.ask(node, policy, {partition: root})
        except ConnectFailure as err:
            return self._failed(node, endpoint, err.answer, err)
        except Timeout as err:
            # It has held up the pass for http_timeout: once is enough.
            return self._failed(node, device, Answer.TIMEOUT, err,
                                self.failure_table.limit)
        except SyncMessageError as err:
            self.logger.error('%s: %s', node_to_string(
                node, replication=True), err)
            answer = Answer.INVALID
        except (OSError, green_http_client.HTTPException) as err:
            return self._failed(node, device, Answer.REFUSED, err)
        self.failure_table.contact(endpoint)
        self.failure_table.contact(device)
        if answer is Answer.UNSUPPORTED:
            self.without_verb.add(endpoint)
        return answer

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
