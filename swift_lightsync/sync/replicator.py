# SPDX-License-Identifier: Apache-2.0
"""
The object replicator: Swift's own, with a sync round before each exchange.

Stock Swift compares each partition with all its replicas, suffix by suffix.
Here :meth:`LightSyncReplicator.update` first goes round the replica ring
(LightSync §5.3) and calls the stock method only for the devices that differ.
Hand-offs, rsync and ssync, statistics and options are Swift's.
"""

import copy
import time
from optparse import OptionParser

from swift.common.concurrency import Timeout, sleep, spawn, tpool
from swift.common.daemon import run_daemon
from swift.common.utils import parse_options
from swift.obj import replicator

from swift_lightsync.common.conf_options import (
    OptionError,
    between,
    finite_float,
    option,
)
from swift_lightsync.sync.core.partition_set import MAX_PARTITIONS
from swift_lightsync.sync.core.sync_queue import SyncQueue
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.neighbours import Neighbours, device_key
from swift_lightsync.sync.partition_round import PartitionRound
from swift_lightsync.sync.pass_recon import PassRecorder
from swift_lightsync.sync.sync_batch import SyncBatch

#: Partitions in one sync message.
DEFAULT_BATCH = 1 << 16
#: Seconds between two looks for devices that have come back.
WATCH = 1


def _sync_method(value):
    # As Swift has it, nothing at all is the default.
    if value not in ('rsync', 'ssync', ''):
        raise ValueError('must be rsync or ssync')
    return value


def _interval(value):
    seconds = finite_float(value)
    if 0 < seconds < 1:
        raise ValueError('must be 0, or 1 and more')
    return seconds


#: Options of Swift's own that it takes as they are, and fails by later.
STOCK = (('conn_timeout', 0.5, between(0.001, 3600, float)),
         ('http_timeout', 60, between(1, 3600)),
         ('sync_method', 'rsync', _sync_method))


def _place(job):
    return job['device'], int(job['policy']), job['partition']


class _Argv(Exception):

    def __init__(self, argv):
        super().__init__(argv)
        self.argv = argv


class LightSyncReplicator(replicator.ObjectReplicator):
    """
    Replicate objects as Swift does, but find the differences by LightSync.

    :param conf: the ``[object-replicator]`` section, a dict
    :param logger: a logger, or None for one made from conf
    :raises ValueError: if an option has a value that is not allowed
    """

    def __init__(self, conf, logger=None):
        for name, default, parse in STOCK:
            option(conf, name, default, parse)
        super().__init__(conf, logger=logger)
        self.full_exchange_interval = option(
            conf, 'full_exchange_interval', 3600, _interval)
        self.sync_batch_partitions = option(
            conf, 'sync_batch_partitions', DEFAULT_BATCH,
            between(1, MAX_PARTITIONS))
        self._require_rsync_to_do()
        self.neighbours = Neighbours(conf, self)
        self.recon = PassRecorder(conf, self)
        self.queue = SyncQueue()
        self._primary = []
        self._fingerprints = {}
        self._rounds = {}

    def _require_rsync_to_do(self):
        if self.sync_method != self.rsync:
            return
        for policy in self.policies:
            manager = self._df_router[policy]
            if not getattr(manager, 'supports_rsync', True):
                raise OptionError(
                    '%s: sync_method = rsync: what policy %d (%s) stores by '
                    '%s cannot be pushed by rsync; must be ssync' % (
                        self.conf.get('__file__', 'configuration'),
                        int(policy), policy.name, type(manager).__name__))

    def replicate(self, *args, **kwargs):
        """Run a replication pass"""
        begin = time.time()
        watch = spawn(self._watch_for_rejoining)
        try:
            super().replicate(*args, **kwargs)
            self.recon.end_pass(begin)
        finally:
            watch.kill()
            self.neighbours.end_pass()

    def collect_jobs(self, override_devices=None, override_partitions=None,
                     override_policies=None):
        """
        Make the jobs of a pass as Swift does, check them all with their
        neighbours, and leave out those that need nothing done.

        :returns: a SyncQueue of jobs, dicts
        """
        jobs = super().collect_jobs(override_devices, override_partitions,
                                    override_policies)
        self._primary = [job for job in jobs if not job['delete']]
        self._rounds = {}
        partial = bool(override_partitions or override_policies)
        self.neighbours.begin_pass(self._primary, partial)
        self.recon.begin_pass(override_devices, partial)
        if self.sync_batch_partitions > 1 and not (
                self.handoffs_first and len(self._primary) < len(jobs)):
            self._rounds = SyncBatch(self, self._primary).run()
            jobs = [job for job in jobs
                    if job['delete'] or _place(job) in self._rounds]
        self.queue = SyncQueue(jobs)
        return self.queue

    def _watch_for_rejoining(self):
        """
        While a pass runs, see to the partitions first whose clockwise
        neighbour has come back (§5.4.3, Fig. 24).
        """
        while True:
            sleep(WATCH)
            try:
                self._see_to_rejoined()
            except (Exception, Timeout):
                self.logger.exception('Error while looking for rejoining '
                                      'devices; their turn comes later')

    def _see_to_rejoined(self):
        rejoined = [device_key(node) for node in
                    self.neighbours.newly_rejoined(
                        self.neighbours.sharing.values())]
        if not rejoined:
            return
        jobs = [job for job in self._primary
                if self._clockwise_neighbour(job) in rejoined]
        rounds = SyncBatch(self, jobs, counted=False).run()
        self._rounds.update(rounds)
        self.queue.move_to_head([job for job in jobs
                                 if _place(job) in rounds])
        self.logger.info('%d partitions of rejoining devices go first',
                         len(rounds))

    def _clockwise_neighbour(self, job):
        """The neighbour in the whole ring, whether it has failed or not."""
        others = self.neighbours.clockwise(job)
        return device_key(others[0]) if others else None

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
        done = count() == before
        self.recon.note_exchange(job, nodes, done)
        return done

    def rsync_argv(self, node, job, suffixes):
        """
        :param node: the device to push to
        :param job: a dict, as from ``collect_jobs``
        :param suffixes: the suffixes to push
        :returns: the command by which stock Swift pushes them, or None if
            there is nothing to push
        """
        def stop(argv):
            raise _Argv(argv)

        shadow = copy.copy(self)
        shadow._rsync = stop
        try:
            replicator.ObjectReplicator.rsync(shadow, node, job, suffixes)
        except _Argv as found:
            return found.argv
        return None


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
