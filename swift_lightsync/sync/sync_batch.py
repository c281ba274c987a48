# SPDX-License-Identifier: Apache-2.0
"""
The rounds of many partitions, played together.

All partitions of a local device whose next message goes to the same neighbour
go into one. PROTOCOL.md, "Batches".
"""

import time
from collections import defaultdict
from operator import attrgetter

from swift.common.concurrency import GreenPool, Timeout, sleep, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable

from swift_lightsync.sync.changed_file import ABSENT
from swift_lightsync.sync.core.sync_round import Answer, Check
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.fingerprints import in_portions
from swift_lightsync.sync.neighbours import device_key
from swift_lightsync.sync.partition_round import PartitionRound, Relist

#: Messages under way at once.
MESSAGES = 16


class SyncBatch:
    """
    Plays the rounds of partitions, as far as they can be played together.

    :param daemon: the :class:`LightSyncReplicator`
    :param jobs: jobs, as from ``collect_jobs``, none of them for a hand-off
    :param counted: whether partitions that need nothing more done go into
        the statistics
    """

    def __init__(self, daemon, jobs, counted=True):
        self.daemon = daemon
        self.jobs = jobs
        self.counted = counted

    def run(self):
        """
        Check all partitions with their neighbours, and exchange those that
        differ, as far as that can be done together.

        :returns: a dict, (device, policy index, partition) of each that has
            something left to do to its :class:`PartitionRound`, or to None if
            its fingerprint could not be had
        """
        begin = time.time()
        groups = defaultdict(list)
        for job in self.jobs:
            groups[job['policy'], job['device']].append(job)
        left = {}
        # One after the other, and only what is left of each is kept.
        for (policy, device), jobs in groups.items():
            left.update(self._play(policy, device, jobs))
        if self.counted:
            self.daemon.logger.timing_since('partition.batch.timing', begin)
        return left

    def _play(self, policy, device, jobs):
        begin = time.time()
        rounds = self._start(policy, device, jobs)
        playing = waiting = [each for each in rounds.values() if each]
        while waiting:
            self._ask(waiting)
            self._relist(policy, device, waiting)
            ExchangeBatch(self.daemon, waiting).run()
            waiting = [each for each in waiting
                       if isinstance(each.pending, Check)]
        if self.counted:
            self._count(device, [each for each in playing
                                 if not each.pending], begin)
        return {(device, int(policy), partition): each
                for partition, each in rounds.items()
                if not each or each.pending}

    def _start(self, policy, device, jobs):
        """:returns: a dict, partition to its round, or None"""
        rounds = {}
        for portion in in_portions(jobs):
            found = self._fingerprints(policy, device, portion)
            for job in portion:
                rounds[job['partition']] = self._round(
                    job, found.get(job['partition'], ABSENT))
            sleep()
        return rounds

    def _round(self, job, fingerprint):
        if fingerprint is ABSENT:
            return None
        try:
            return PartitionRound(self.daemon, job, fingerprint)
        except Exception:
            self.daemon.logger.exception(
                'Error in the sync round of partition %s on %s',
                job['partition'], job['device'])
            return None

    def _fingerprints(self, policy, device, jobs):
        try:
            hashed, found = tpool.execute(
                self.daemon.fingerprints(policy).get_many, device,
                [job['partition'] for job in jobs])
        except (OSError, DiskFileDeviceUnavailable) as err:
            self.daemon.logger.error(
                'Unable to take fingerprints on %s: %s', device, err)
            return {}
        self.daemon.count_hashed(device, hashed)
        return found

    def _relist(self, policy, device, waiting):
        """List anew the partitions whose full exchange is due."""
        relist = self.daemon.fingerprints(policy).relist

        def relist_all(portion):
            hashed, done = 0, []
            for each in portion:
                try:
                    hashed += relist(device, each.job['partition'])
                    done.append(each)
                except (Exception, Timeout) as err:
                    self.daemon.logger.error(
                        'Unable to list partition %s on %s: %s: %s',
                        each.partition, device, type(err).__name__, err)
            return hashed, done

        for portion in in_portions(each for each in waiting
                                   if isinstance(each.pending, Relist)):
            hashed, done = tpool.execute(relist_all, portion)
            self.daemon.count_hashed(device, hashed)
            for each in done:
                each.relisted()

    def _ask(self, waiting):
        """Answer the Checks of rounds, until none is pending."""
        groups = self._groups(waiting)
        while groups:
            limit = self.daemon.sync_batch_partitions
            pool = GreenPool(MESSAGES)
            for group in groups:
                for start in range(0, len(group), limit):
                    pool.spawn_n(self._ask_one, group[start:start + limit])
            pool.waitall()
            groups = self._groups(waiting)

    def _groups(self, waiting):
        groups = defaultdict(list)
        for each in waiting:
            if isinstance(each.pending, Check):
                groups[each.policy, each.job['device'],
                       device_key(each.pending.device)].append(each)
        # In order, so that a group is cut into the same sets in each pass.
        return [sorted(group, key=attrgetter('partition'))
                for group in groups.values()]

    def _ask_one(self, group):
        first = group[0]
        node = first.pending.device
        try:
            if self.daemon.neighbours.has_failed(node):
                # It has since its turn was chosen.
                answer, differing = Answer.REFUSED, ()
            else:
                answer, differing = self.daemon.neighbours.ask(
                    first.job['device'], node, first.policy,
                    {each.partition: each.root for each in group})
        except (Exception, Timeout):
            self.daemon.logger.exception(
                'Error in a sync message about %d partitions of %s; comparing '
                'them by suffixes', len(group), first.job['device'])
            answer, differing = Answer.INVALID, ()
        for each in group:
            if answer is Answer.DIFFER and each.partition not in differing:
                each.answer(Answer.MATCH)
            else:
                each.answer(answer)

    def _count(self, device, done, begin):
        """Count the partitions of a device that are done."""
        if not done:
            return
        share = (time.time() - begin) / len(done)
        for each in done:
            each.count_matched()
            self.daemon.partition_times.append(share)
        self.daemon.logger.update_stats(
            'partition.update.count.%s' % device, len(done))
