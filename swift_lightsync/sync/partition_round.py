# SPDX-License-Identifier: Apache-2.0
"""
One partition in a replication pass: the shell around ``sync_round``.

It knows the replica ring, the fingerprint and the statistics of its
partition; the daemon knows the other nodes. What it wants next is in
``pending``: a Check may be answered, and an Exchange done, alone or together
with those of others.
"""

import time
from dataclasses import dataclass, replace
from functools import partial

from swift.common.concurrency import Timeout, tpool

from swift_lightsync.sync.core.sync_round import (
    NEXT,
    Answer,
    Check,
    Exchange,
    Next,
    full_exchange_due,
    sync_round,
)
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.neighbours import device_key


@dataclass(frozen=True)
class Relist:
    """List the suffixes of the partition anew."""
    __slots__ = ()


def _stats_key(node):
    return node['replication_ip'], node['device']


class PartitionRound:
    """
    One partition's part in a replication pass.

    There is one for each partition of a device at once: they are kept small.

    :param daemon: the :class:`LightSyncReplicator`
    :param job: a dict, as from ``collect_jobs``
    :param fingerprint: the partition's :class:`Fingerprint`
    """

    __slots__ = ('daemon', 'job', 'partition', 'root', 'suffixes', 'begin',
                 'pending', 'exchanges', 'matched', 'passed_over', '_tried',
                 '_done', '_actions')

    def __init__(self, daemon, job, fingerprint):
        self.daemon = daemon
        self.job = job
        self.partition = int(job['partition'])
        self.root = fingerprint.root
        self.suffixes = fingerprint.suffixes
        self.begin = time.time()
        self.exchanges = 0
        self.matched = 0
        self.passed_over = frozenset()
        self.pending = None
        daemon.neighbours.idleness.playing(job['device'])
        self._actions = self._plan(fingerprint)
        self._go_on(None)

    @property
    def policy(self):
        return self.job['policy']

    @property
    def stats(self):
        return self.daemon.stats_for_dev[self.job['device']]

    def _plan(self, fingerprint):
        """:returns: a generator of actions, as ``sync_round``"""
        if full_exchange_due(self.partition, fingerprint.exchanged,
                             self.begin, self.daemon.full_exchange_interval):
            return self._full_exchange()
        clockwise = self.daemon.neighbours.clockwise(self.job)
        if clockwise is None:
            return self._exchange_with_all()
        return sync_round(
            clockwise, self._has_failed,
            partial(self.daemon.neighbours.is_cut, self.job['device']),
            self._hand_offs(len(clockwise)))

    def _exchange_with_all(self):
        nodes = tuple(node for node in self.job['nodes']
                      if not self._has_failed(node))
        if nodes:
            yield Exchange(nodes)

    def _full_exchange(self):
        self.daemon.recon.note_full_exchange(self.job)
        yield Relist()
        yield from self._exchange_with_all()
        try:
            tpool.execute(
                self.daemon.fingerprints(self.policy).note_exchange,
                self.job['device'], self.job['partition'], self.begin)
        except (Exception, Timeout):
            self.daemon.logger.exception(
                'Unable to note that partition %s on %s was compared with '
                'all replicas; it will be again', self.job['partition'],
                self.job['device'])

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
            self._pass_over(node)
        return failed

    def _pass_over(self, node):
        self.passed_over |= {_stats_key(node)}

    def _go_on(self, outcome):
        self._tried = self._done = ()
        try:
            self.pending = self._actions.send(outcome)
        except StopIteration:
            self.pending = self._actions = None

    def answer(self, answer):
        """
        Take the answer to the pending Check.

        :param answer: an :class:`Answer`
        """
        if answer is Answer.MATCH:
            self.matched += 1
        elif NEXT[answer] in (Next.PASS_OVER, Next.REPLACE):
            self._pass_over(self.pending.device)
        self._go_on(answer)

    def relisted(self):
        """Take the success of the pending Relist."""
        self._go_on(True)

    def exchangeable(self):
        """
        :returns: the devices of the pending Exchange that it can be tried
            with now, together with other partitions; of another region one
            at a time, so that data is brought there once
        """
        if not isinstance(self.pending, Exchange):
            return []
        neighbours, found, regions = self.daemon.neighbours, [], set()
        for node in self.pending.devices:
            region = node['region']
            if device_key(node) in self._tried or region in regions \
                    or not neighbours.has_verb(node) \
                    or neighbours.has_failed(node):
                continue
            found.append(node)
            if region != self.job['region']:
                regions.add(region)
        return found

    def trying(self, key):
        """
        Note that the pending Exchange is being tried with a device.

        :param key: its ``device_key``
        """
        self._tried += (key,)

    def exchanged(self, key, pushed, suffixes):
        """
        Take the success of the pending Exchange with one of its devices.

        :param key: the device's ``device_key``
        :param pushed: to how many suffixes something was pushed
        :param suffixes: how many there are
        """
        self.suffixes = suffixes
        node, = (each for each in self.pending.devices
                 if device_key(each) == key)
        left = [each for each in self.pending.devices if each is not node]
        stats = self.stats
        stats.success += 1
        stats.rsync += bool(pushed)
        stats.hashmatch += not pushed
        stats.suffix_sync += pushed
        self.daemon.logger.update_stats('suffix.syncs', pushed)
        if pushed and node['region'] != self.job['region']:
            # As stock Swift: the others there get it from this one.
            spared = [each for each in left
                      if each['region'] == node['region']]
            stats.success += len(spared)
            left = [each for each in left if each not in spared]
        self._done += (node,)
        if left:
            self.pending = replace(self.pending, devices=tuple(left))
            return
        self.daemon.recon.note_exchange(self.job, self._done, True)
        self._go_on(True)

    def run(self):
        """Go on to the end, and count what came of it."""
        while self.pending:
            if isinstance(self.pending, Check):
                answer, _ = self.daemon.neighbours.ask(
                    self.job['device'], self.pending.device, self.policy,
                    {self.partition: self.root})
                self.answer(answer)
            elif isinstance(self.pending, Relist):
                self.daemon.count_hashed(self.job['device'], tpool.execute(
                    self.daemon.fingerprints(self.policy).relist,
                    self.job['device'], self.job['partition']))
                self.relisted()
            else:
                before = self.pending
                ExchangeBatch(self.daemon, [self]).run()
                if self.pending is before:
                    self._go_on(self._exchange_alone())
        if self.exchanges:
            self._count_devices()
            return
        # No exchange of stock Swift has counted the partition.
        self.count_matched()
        self.daemon.logger.increment('partition.update.count.%s'
                                     % self.job['device'])
        self.daemon.partition_times.append(time.time() - self.begin)
        self.daemon.logger.timing_since('partition.update.timing',
                                        self.begin)

    def _exchange_alone(self):
        """Have stock Swift exchange with the devices that are left."""
        if self._done:
            self.daemon.recon.note_exchange(self.job, self._done, True)
        nodes = [node for node in self.pending.devices
                 if not self._has_failed(node)]
        if not nodes:
            return False
        if self.exchanges:
            # Each exchange counts the partition; it is but one.
            self.stats.attempted -= 1
        self.exchanges += 1
        return self.daemon.exchange(self.job, nodes)

    def count_matched(self):
        """Count a partition that stock Swift has not counted."""
        self.stats.attempted += 1
        self.stats.suffix_count += self.suffixes
        self._count_devices()

    def _count_devices(self):
        stats = self.stats
        stats.hashmatch += self.matched
        stats.success += self.matched
        stats.add_failure_stats(self.passed_over)
