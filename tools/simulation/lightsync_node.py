# SPDX-License-Identifier: Apache-2.0
"""
A storage node that replicates by LightSync.

Rounds, rings, failure table, comparisons, messages, notices and the sync queue
are the product's; this module does what its replicator does around them.
"""

from collections import defaultdict
from operator import attrgetter

from swift_lightsync.sync.core.conversation import told_of
from swift_lightsync.sync.core.sync_queue import SyncQueue
from swift_lightsync.sync.core.sync_round import Answer, Check
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.replicator import WATCH
from swift_lightsync.sync.sync_batch import MESSAGES
from tools.simulation.events import Together
from tools.simulation.exchange_batch import ExchangeBatch
from tools.simulation.neighbours import Neighbours
from tools.simulation.node import Node
from tools.simulation.partition_round import PartitionRound


class Job:
    """A partition's place in the sync queue."""

    __slots__ = ('node', 'partition', 'round')

    def __init__(self, node, partition):
        self.node = node
        self.partition = partition
        self.round = None


class LightSyncNode(Node):
    """
    A device of a node with the product's sync queue, and its neighbours.

    :param topology: a function of ``topology``
    :param batch: partitions in one sync message
    """

    def __init__(self, world, number, topology, batch):
        super().__init__(world, number)
        self.topology = topology
        self.batch = batch
        self.neighbours = Neighbours(self)
        self.queue = SyncQueue()
        self._jobs = []
        self._looked = 0.0

    def join(self, leader):
        self.neighbours = leader.neighbours

    def run_pass(self, mates):
        self.neighbours.begin_pass()
        self._looked = self.now
        ring = self.ring
        jobs = [Job(mate, partition) for mate in mates
                for partition in mate.shuffled()]
        self._jobs = [job for job in jobs if job.node.is_ours(job.partition)]
        if self.batch > 1:
            done = yield from self._check_together(self._jobs)
            jobs = [job for job in jobs if job not in done]
        self.queue = SyncQueue(jobs)
        for job in self.queue:
            if self.ring is not ring:
                return
            yield from self._see_to_rejoined()
            if job.node.is_ours(job.partition):
                yield from self._play(job)
            else:
                yield from job.node.revert(job.partition)

    def _play(self, job):
        """A process: play a partition's round, or the rest of it."""
        if job.round is None:
            yield job.node.hash(job.partition)
            job.round = PartitionRound(job.node, job.partition)
        each = job.round
        while each.pending:
            if isinstance(each.pending, Check):
                answer, _ = yield from self.neighbours.ask(
                    job.node, each.pending.device, [each.partition])
                each.go_on(answer)
            else:
                devices = [device for device in each.wanted()
                           if not self.neighbours.has_failed(device)]
                each.go_on(bool(devices) and (yield from job.node.exchange_all(
                    each.partition, devices)))
        job.round = None

    def _check_together(self, jobs):
        """
        A process: play rounds together, as far as possible.

        :returns: the set of jobs that have nothing left to do
        """
        costs = self.world.costs
        for job in jobs:
            yield job.node.hash(job.partition) + self.world.network.work(
                job.node.number, costs.fingerprint * self.world.weight)
            job.round = PartitionRound(job.node, job.partition)
        waiting = [job.round for job in jobs]
        while waiting:
            yield from self._ask(waiting)
            for node in {each.node: None for each in waiting}:
                yield from ExchangeBatch(node, [
                    each for each in waiting if each.node is node]).run()
            waiting = [each for each in waiting
                       if isinstance(each.pending, Check)]
        return {job for job in jobs if not job.round.pending}

    def _ask(self, waiting):
        """A process: answer the Checks of rounds, until none is pending."""
        limit = max(1, int(self.batch * self.world.placement.pairs
                           / self.world.weight))
        groups = self._groups(waiting)
        while groups:
            yield Together([self._ask_group(group[start:start + limit])
                            for group in groups
                            for start in range(0, len(group), limit)],
                           MESSAGES)
            groups = self._groups(waiting)

    def _groups(self, waiting):
        groups = defaultdict(list)
        for each in waiting:
            if isinstance(each.pending, Check):
                groups[endpoint(each.pending.device)].append(each)
        # In order, so that a group is cut into the same sets in each pass.
        return [part for group in groups.values() for part in self._unique(
            sorted(group, key=attrgetter('partition')))]

    @staticmethod
    def _unique(group):
        """
        Cut a group so that no partition of a device there comes twice.
        """
        parts = []
        for each in group:
            item = each.pending.device['id'], each.partition
            part = next((part for part in parts if item not in part), None)
            if part is None:
                parts.append(part := {})
            part[item] = each
        return [list(part.values()) for part in parts]

    def _ask_group(self, group):
        asked = []
        for each in group:
            # It may have failed since its turn was chosen.
            if self.neighbours.has_failed(each.pending.device):
                each.go_on(Answer.REFUSED)
            else:
                asked.append(each)
        if not asked:
            return
        found = yield from self.neighbours.ask_node(asked)
        for each in asked:
            each.go_on(found if isinstance(found, Answer) else told_of(
                found, 0, each.pending.device['device'],
                [each.partition]).about(each.partition))

    def _see_to_rejoined(self):
        """
        A process: begin with the partitions whose neighbour has come back
        (§5.4.3).
        """
        if self.now < self._looked + WATCH:
            return
        self._looked = self.now
        keys = self.neighbours.newly_rejoined()
        if not keys:
            return
        jobs = [job for job in self._jobs
                if keys & job.node.neighbour_keys(job.partition)]
        done = yield from self._check_together(jobs)
        self.queue.move_to_head([job for job in jobs if job not in done])

    def neighbour_keys(self, partition):
        ways = self.topology(self.ring.part_nodes(partition), partition,
                             self.number, lambda device: False)
        return {key for way in ways
                for key in (endpoint(way[0]), device_key(way[0]))}
