# SPDX-License-Identifier: Apache-2.0
"""The object replicator: Swift's own, with a sync round before each exchange.

Stock Swift compares each partition with all its replicas, suffix by suffix.
Here :meth:`LightSyncReplicator.update` first goes round the replica ring
(LightSync §5.3) and calls the stock method only for the devices that differ.
Hand-offs, rsync and ssync, statistics and options are Swift's.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from logging import Logger
from optparse import OptionParser
from typing import Any, NoReturn

from swift.common.concurrency import Timeout, sleep, spawn, tpool
from swift.common.daemon import run_daemon
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import parse_options

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.core.engine.grouping import TOGETHER, in_turns
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_queue import SyncQueue
from swift_lightsync.sync.driving import log_trouble
from swift_lightsync.sync.fingerprint_memory import give_memory_back
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.full_exchange import FullExchanges
from swift_lightsync.sync.hand_offs import HandOffReplicator
from swift_lightsync.sync.journal import Writers
from swift_lightsync.sync.journaling import Journaling
from swift_lightsync.sync.keys import (
    Job,
    JobKey,
    device_key,
    endpoint,
    job_key,
)
from swift_lightsync.sync.partition_round import PartitionRound
from swift_lightsync.sync.pass_recon import PassRecorder
from swift_lightsync.sync.replicator_options import (
    ReplicatorOptions,
    StockOptions,
)
from swift_lightsync.sync.rsync_push import remove_lists
from swift_lightsync.sync.standing import StandingSets
from swift_lightsync.sync.sync_batch import SyncBatch

#: Seconds between two looks for devices that have come back.
WATCH = 1


class LightSyncReplicator(HandOffReplicator):
    """
    Replicates objects as Swift does, but finds the differences by LightSync.

    :param conf: the ``[object-replicator]`` section
    :param logger: a logger, or None for one made from conf
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf: Mapping[str, Any],
                 logger: Logger | None = None) -> None:
        StockOptions.from_conf(conf)
        super().__init__(conf, logger=logger)
        options = ReplicatorOptions.from_conf(conf)
        self.full_exchange_interval = options.full_exchange_interval
        self.full_exchange_partitions_per_second = (
            options.full_exchange_partitions_per_second)
        self.sync_batch_partitions = options.sync_batch_partitions
        self.recon = PassRecorder(conf, self)
        self.queue: SyncQueue[Job] = SyncQueue()
        #: The jobs of the pass whose partitions belong here.
        self._primary: list[Job] = []
        #: Returns the fingerprints of a policy's partitions here.
        self.fingerprints = Fingerprints.by_policy(
            self._df_router, self.logger)
        self.full_exchanges = FullExchanges(self)
        remove_lists(self.recon_cache_path)
        writers = Writers(conf, self.logger)
        Journaling(self._df_router, writers, self.logger)
        self.standing = StandingSets(self, writers)
        #: Rounds that were begun together and have something left to do.
        self._rounds: dict[JobKey, PartitionRound | None] = {}

    def run_forever(self, *args: Any, **kwargs: Any) -> None:
        """Run passes, each of which looks at what changed since the last."""
        # A worker that this one stands in for may have lost entries.
        self.standing.writers.touch()
        self.standing.enabled = True
        super().run_forever(*args, **kwargs)

    def replicate(self, *args: Any, **kwargs: Any) -> None:
        """Run a replication pass."""
        begin = time.time()
        requests = self.neighbours.client.connections.requests
        watch = spawn(self._watch_for_rejoining)
        try:
            super().replicate(*args, **kwargs)
            messages = (self.neighbours.client.connections.requests
                        - requests)
            self.recon.end_pass(begin, messages)
            self._log_pass(begin, messages)
            self._forget_jobs()
        finally:
            watch.kill()
            self.neighbours.end_pass()

    def _forget_jobs(self) -> None:
        many = len(self._primary) > TOGETHER
        self._primary, self._rounds, self.queue = [], {}, SyncQueue()
        if many:
            give_memory_back()

    def _log_pass(self, begin: float, messages: int) -> None:
        tally, now = self.neighbours.tally, time.time()
        self.logger.info(
            'The pass took %.3f s and %d messages: %d partitions were equal '
            'as a whole, %d asked about, of which %d differed and %d were '
            'put off; %d were pushed something, %d listed anew, and all of '
            'them within %d s; %d hand-offs are left; rings were closed over '
            '%d nodes and devices', now - begin, messages,
            self.standing.settled.total(), tally.asked, tally.differing,
            tally.busy, tally.pushed, tally.scrubbed, max((
                self.full_exchanges.age(device, now)
                for device in self.get_local_devices()), default=0.0),
            self.hand_offs.left.total(), tally.closed)

    def collect_jobs(self, override_devices: Sequence[str] | None = None,
                     override_partitions: Sequence[int] | None = None,
                     override_policies: Sequence[int] | None = None
                     ) -> SyncQueue[Job]:
        """Return the jobs of a pass that have something to do.

        They are made as Swift does it; then all partitions that belong here
        are checked with their neighbours, and those that agree are left out.
        """
        partial = bool(override_partitions or override_policies)
        unknown = self.standing.begin(override_devices, partial)
        looked_at = [] if unknown == set() else super().collect_jobs(
            unknown or override_devices, override_partitions,
            override_policies)
        jobs = looked_at + list(self.standing.known.hand_offs())
        self._primary = [job for job in jobs if not job['delete']]
        self.neighbours.begin_pass(
            self._primary + self.standing.known.shared(), partial)
        self.retry_pushes()
        self.recon.begin_pass(override_devices, partial)
        self.full_exchanges.begin_pass()
        differing = self.standing.ask()
        self._primary, jobs = self._primary + differing, jobs + differing
        self.job_count = len(jobs) + self.standing.settled.total()
        together = self.sync_batch_partitions > 1 and not (
            self.handoffs_first and len(self._primary) < len(jobs))
        self.full_exchanges.take_turns(together and not partial
                                       and self.standing.enabled)
        self._rounds = {}
        if together:
            for jobs_together in in_turns(self._primary, self._first_node):
                self._rounds.update(SyncBatch(self, jobs_together).run())
            self.full_exchanges.end_turns(self.standing.beginning, looked_at)
            self.standing.keep(looked_at)
            jobs = [job for job in jobs
                    if job['delete'] or job_key(job) in self._rounds]
        self.hand_offs.begin([job for job in jobs if job['delete']])
        self.queue = SyncQueue(jobs)
        return self.queue

    def build_replication_jobs(self, policy: StoragePolicy, *args: Any,
                               **kwargs: Any) -> list[Job]:
        """Return the jobs of a policy; they share what they can."""
        jobs: list[Job] = super().build_replication_jobs(policy, *args,
                                                         **kwargs)
        for job in jobs:
            job['nodes'] = self.neighbours.local.shared(policy, job['nodes'])
        give_memory_back()
        return jobs

    def _first_node(self, job: Job) -> NodeTuple | None:
        """Return the node of a partition's clockwise neighbour."""
        others = self.neighbours.local.clockwise(job)
        return endpoint(others[0]) if others else None

    def has_failed(self, node: RingDevice) -> bool:
        """Return whether to skip a device for now."""
        return self.neighbours.has_failed(node)

    def has_verb(self, node: RingDevice) -> bool:
        """Return False if a node answered like stock Swift in this pass."""
        return self.neighbours.has_verb(node)

    def _watch_for_rejoining(self) -> NoReturn:
        """
        Prefer partitions whose clockwise neighbour comes back during a pass.

        LightSync §5.4.3, Fig. 24.
        """
        while True:
            sleep(WATCH)
            try:
                self._see_to_rejoined()
            except (Exception, Timeout):
                self.logger.exception('Error while looking for rejoining '
                                      'devices; their turn comes later')

    def _see_to_rejoined(self) -> None:
        rejoined = [device_key(node) for node in
                    self.neighbours.newly_rejoined(
                        self.neighbours.sharing.values())]
        if not rejoined:
            return
        # Who is first in the whole ring, even if it has failed.
        jobs = [job for job in self._primary for first in (
            self.neighbours.local.clockwise(job) or ())[:1]
            if device_key(first) in rejoined]
        rounds = SyncBatch(self, jobs, counted=False).run()
        self._rounds.update(rounds)
        self.queue.move_to_head([job for job in jobs
                                 if job_key(job) in rounds])
        self.logger.info('%d partitions of rejoining devices go first',
                         len(rounds))

    def count_hashed(self, device: str, hashed: int) -> None:
        """Count suffixes that had to be hashed on a device."""
        self.stats_for_dev[device].suffix_hash += hashed
        self.logger.update_stats('suffix.hashes', hashed)

    def update(self, job: Job) -> None:
        """Replicate a partition that belongs here.

        This takes a sync round, or an exchange with all replicas if its turn
        has come.

        :param job: the job of the partition
        """
        partition_round = self._rounds.pop(job_key(job), None)
        try:
            if partition_round is None:
                hashed, fingerprint = tpool.execute(
                    self.fingerprints(job['policy']).get, job['device'],
                    job['partition'])
                self.count_hashed(job['device'], hashed)
                partition_round = PartitionRound(self, job, fingerprint)
            partition_round.run()
        except (Exception, Timeout) as err:
            log_trouble(
                self.logger, err, 'Error in the sync round of partition %s '
                'of policy %d on %s; comparing it with all replicas',
                job['partition'], int(job['policy']), job['device'])
            if self.can_be_read(job):
                super().update(job)

    def exchange(self, job: Job, nodes: Iterable[RingDevice]) -> bool:
        """Compare a partition suffix by suffix with devices, and push what
        differs.

        This is what stock Swift does with all devices in each pass.

        :param job: the job of the partition
        :param nodes: the devices
        :returns: True if no failure was counted for any of them
        """
        nodes = list(nodes)
        failures = self.stats_for_dev[job['device']].failure_nodes

        def count() -> list[int]:
            return [failures.get(node['replication_ip'], {}).get(
                node['device'], 0) for node in nodes]

        before = count()
        super().update(dict(job, nodes=nodes))
        done = count() == before
        self.recon.note_exchange(job, nodes, done)
        return done


def main() -> None:
    """Run ``swift-object-lightsync``: the daemon without a patched Swift."""
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
