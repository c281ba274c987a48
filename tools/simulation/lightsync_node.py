# SPDX-License-Identifier: Apache-2.0
"""A storage node that replicates by LightSync.

The pass is the product's engine; this module gives it partitions, and lets
its actions take their time.
"""

from functools import partial

from swift_lightsync.sync.core.engine.grouping import TOGETHER, in_turns
from swift_lightsync.sync.core.engine.hand_offs import HandOff, bringing_home
from swift_lightsync.sync.core.engine.playing import (
    ExchangeAlone,
    ListAnew,
    playing_alone,
    playing_together,
)
from swift_lightsync.sync.core.engine.rounds import Round, full_comparison
from swift_lightsync.sync.core.sync_queue import SyncQueue
from swift_lightsync.sync.core.sync_round import full_exchange_due, sync_round
from swift_lightsync.sync.hand_offs import CHUNK
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.replicator import WATCH
from tools.simulation.exchanges import Exchanges
from tools.simulation.neighbours import Neighbours
from tools.simulation.node import Node


class PartitionRound(Round):
    """The rounds of one partition.

    :param node: the :class:`LightSyncNode`
    :param partition: the partition
    """

    __slots__ = ('node',)

    def __init__(self, node, partition):
        device, disks = node.device, node.world.disks
        super().__init__(node.neighbours, 0, device['device'],
                         device['region'], partition,
                         disks.root(node.number, partition),
                         disks.suffixes(node.number, partition))
        self.node = node
        node.neighbours.idleness.note_round(self.device)
        self.begin(self._plan())

    @property
    def number(self):
        """The number of the device that holds the partition."""
        return self.node.number

    def _plan(self):
        node, ring = self.node, self.node.ring
        replica = node.world.disks.replica(node.number, self.partition)
        interval = node.world.settings.full_exchange
        if interval is not None and full_exchange_due(
                self.partition, replica.exchanged, node.now, interval):
            now = node.now
            skipped = yield from full_comparison(
                node.others(self.partition), self.has_failed)
            if self.complete and not skipped:
                replica.exchanged = now
            return
        for devices in node.topology(
                ring.part_nodes(self.partition), self.partition, node.number,
                self.has_failed):
            yield from sync_round(
                devices, self.has_failed,
                partial(node.neighbours.is_cut, self.device),
                ring.more_nodes(self.partition), self.region)


class HandOffRound(HandOff):
    """The round of a partition that belongs elsewhere.

    :param node: the :class:`LightSyncNode`
    :param partition: the partition
    """

    __slots__ = ('node', 'number')

    def __init__(self, node, partition):
        device, disks = node.device, node.world.disks
        self.node, self.number = node, node.number
        super().__init__(node.neighbours, 0, device['device'],
                         device['region'], partition,
                         disks.root(node.number, partition),
                         disks.suffixes(node.number, partition))
        self.bring_home(node.others(partition))


class Job:
    """A partition's place in the sync queue."""

    __slots__ = ('node', 'partition', 'round')

    def __init__(self, node, partition):
        self.node = node
        self.partition = partition
        self.round = None


class LightSyncNode(Node):
    """A device of a node with the product's sync queue, and its neighbours.

    :param topology: ``ring``, ``star`` or ``chain`` of ``placement``
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
        neighbours = self.neighbours
        yield from neighbours.play(neighbours.beginning_pass())
        self._looked = self.now
        exchanges = Exchanges(neighbours)
        jobs = [Job(mate, partition) for mate in mates
                for partition in mate.shuffled()]
        self._jobs = [job for job in jobs if job.node.is_ours(job.partition)]
        if self.batch > 1:
            done = set()
            for together in in_turns(
                    self._jobs, lambda job: job.node.first(job.partition),
                    max(1, int(TOGETHER / self.world.weight))):
                done |= yield from self._check_together(together, exchanges)
            jobs = [job for job in jobs if job not in done]
        self.queue = SyncQueue(jobs)
        away = [job for job in jobs if self.batch > 1
                and not job.node.is_ours(job.partition)]
        for job in self.queue:
            if not neighbours.keeps_ring:
                return
            yield from self._see_to_rejoined(exchanges)
            if job.node.is_ours(job.partition):
                yield from self._play(job, exchanges)
                continue
            if away and not job.round:
                chunk = max(1, int(CHUNK / self.world.weight))
                yield from self._bring_home(away[:chunk], exchanges)
                del away[:chunk]
            yield from job.node.revert(
                job.partition, job.round.held if job.round else ())

    def _bring_home(self, jobs, exchanges):
        """A process: give devices what hand-offs hold that is theirs."""
        for job in jobs:
            yield job.node.hash(job.partition)
            job.round = HandOffRound(job.node, job.partition)
        yield from self.neighbours.play(bringing_home(
            self.neighbours, [job.round for job in jobs], self._limit,
            exchanges.exchanging), partial(self._perform, exchanges))

    @property
    def _limit(self):
        """Partitions of the sample in one message, at most."""
        return max(1, int(self.batch * self.world.placement.pairs
                          / self.world.weight))

    def _play(self, job, exchanges):
        """A process: play a partition's round, or the rest of it."""
        if job.round is None:
            yield job.node.hash(job.partition)
            job.round = PartitionRound(job.node, job.partition)
        yield from self.neighbours.play(playing_alone(
            self.neighbours, job.round, exchanges.exchanging),
            partial(self._perform, exchanges))
        job.round = None

    def _perform(self, exchanges, action):
        """A process: perform an action of the engine."""
        if isinstance(action, ListAnew):
            yield from ()
            for each in action.rounds:
                each.relisted(
                    self.world.disks.root(each.number, each.partition),
                    each.suffixes)
            return None
        if isinstance(action, ExchangeAlone):
            return (yield from action.round.node.exchange_all(
                action.round.partition, action.nodes))
        return (yield from exchanges.perform(action))

    def _check_together(self, jobs, exchanges):
        """A process: play rounds together, as far as possible.

        :returns: the set of jobs that have nothing left to do
        """
        costs = self.world.costs
        for job in jobs:
            yield job.node.hash(job.partition) + self.world.network.work(
                job.node.number, costs.fingerprint * self.world.weight)
            job.round = PartitionRound(job.node, job.partition)
        yield from self.neighbours.play(playing_together(
            self.neighbours, [job.round for job in jobs], self._limit,
            exchanges.exchanging), partial(self._perform, exchanges))
        return {job for job in jobs if not job.round.pending}

    def _see_to_rejoined(self, exchanges):
        """A process: begin with the partitions whose neighbour has come back
        (§5.4.3).
        """
        if self.now < self._looked + WATCH:
            return
        self._looked = self.now
        neighbours = self.neighbours
        back = yield from neighbours.play(neighbours.looking_for_rejoined(
            neighbours.sharing.values()))
        if not back:
            return
        keys = {key for node in back
                for key in (endpoint(node), device_key(node))}
        jobs = [job for job in self._jobs
                if keys & job.node.neighbour_keys(job.partition)]
        done = yield from self._check_together(jobs, exchanges)
        self.queue.move_to_head([job for job in jobs if job not in done])

    def first(self, partition):
        """Return the node that is asked about a partition first."""
        return endpoint(self.topology(
            self.ring.part_nodes(partition), partition, self.number,
            lambda device: False)[0][0])

    def neighbour_keys(self, partition):
        ways = self.topology(self.ring.part_nodes(partition), partition,
                             self.number, lambda device: False)
        return {key for way in ways
                for key in (endpoint(way[0]), device_key(way[0]))}
