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
A storage node that replicates by LightSync.

Rounds, rings, failure table, comparisons, messages, notices and the sync
queue are the product's; here is what its daemons do around them.
"""

from collections import defaultdict

from swift_lightsync.sync import notice, sync_message
from swift_lightsync.sync.comparison import compare, differing_slices
from swift_lightsync.sync.failure_table import FailureTable
from swift_lightsync.sync.known_sets import KnownSets
from swift_lightsync.sync.neighbours import MAX_NOTIFIED, device_key, \
    endpoint
from swift_lightsync.sync.notice import Notice
from swift_lightsync.sync.replicator import WATCH
from swift_lightsync.sync.sync_batch import MESSAGES
from swift_lightsync.sync.sync_message import Verdict
from swift_lightsync.sync.sync_queue import SyncQueue
from swift_lightsync.sync.sync_round import Answer, Check
from swift_lightsync.sync.verb import PATIENCE
from tools.simulation.costs import LIGHTSYNC_HEADS, NOTICE_HEADS, on_wire
from tools.simulation.events import Together
from tools.simulation.network import Reach
from tools.simulation.node import Node
from tools.simulation.partition_round import FullExchange, PartitionRound
from tools.simulation.placement import Sample

#: What an attempt without answer is, which key it is charged to, and for how
#: many exceptions it counts, given ESL: PROTOCOL.md, "Failed neighbours".
CHARGES = {
    Reach.REFUSED: (Answer.REFUSED, endpoint, lambda limit: 1),
    Reach.SILENT: (Answer.TIMEOUT, endpoint, lambda limit: (limit + 1) // 2),
    Reach.LOST: (Answer.TIMEOUT, endpoint, lambda limit: (limit + 1) // 2),
    Reach.UNANSWERED: (Answer.TIMEOUT, device_key, lambda limit: limit),
}


class Job:
    """A partition's place in the sync queue."""

    def __init__(self, partition):
        self.partition = partition
        self.round = None


class LightSyncNode(Node):
    """
    :param topology: a function of ``topology``
    :param batch: partitions in one sync message
    """

    def __init__(self, world, number, topology, batch):
        super().__init__(world, number)
        self.topology = topology
        self.batch = batch
        self.endpoint = endpoint(self.device)
        self.table = FailureTable()
        self.known_sets = KnownSets()
        self.queue = SyncQueue()
        self._jobs = []
        self._connected = set()
        self._rejoined = {}
        self._looked = 0.0

    def has_failed(self, device):
        return (self.table.has_failed(endpoint(device), self.now)
                or self.table.has_failed(device_key(device), self.now))

    def cannot_reach(self, device, other):
        return any(self.table.is_reported(endpoint(device), key, self.now)
                   for key in (endpoint(other), device_key(other)))

    def run_pass(self):
        self._connected.clear()
        self._rejoined = dict(self.table.rejoined)
        self._looked = self.now
        self._jobs = [Job(partition) for partition in self.shuffled()]
        jobs = self._jobs
        if self.batch > 1:
            jobs = yield from self._check_together(jobs)
        self.queue = SyncQueue(jobs)
        for job in self.queue:
            yield from self._see_to_rejoined()
            if job.round is None:
                yield self.hash(job.partition)
                job.round = PartitionRound(self, job.partition)
            yield from self._play(job.round)
            job.round = None

    def _play(self, each):
        while each.pending:
            if isinstance(each.pending, Check):
                device = each.pending.device
                answer, _ = yield from self._ask(device, [each.partition])
                each.go_on(answer)
            elif isinstance(each.pending, FullExchange):
                begin = self.now
                yield from self._exchange_all(each.partition, [
                    device for device in each.others
                    if not self.has_failed(device)])
                self.world.disks.replica(
                    self.number, each.partition).exchanged = begin
                each.go_on(True)
            else:
                each.go_on((yield from self._exchange_all(
                    each.partition, each.pending.devices)))

    def _exchange_all(self, partition, devices):
        well = True
        for device in devices:
            well = (yield from self.exchange(partition, device['id'])) and well
        return well

    def _check_together(self, jobs):
        """
        A process: play rounds up to their first exchange.

        :returns: the jobs that have something left to do
        """
        for job in jobs:
            yield (self.hash(job.partition)
                   + self.world.costs.fingerprint * self.world.weight)
            job.round = PartitionRound(self, job.partition)
        waiting = [job.round for job in jobs]
        while waiting:
            groups = defaultdict(list)
            for each in waiting:
                if isinstance(each.pending, Check):
                    groups[each.pending.device['id']].append(each)
            limit = max(1, int(self.batch * self.world.placement.pairs
                               / self.world.weight))
            yield Together([self._ask_group(group[start:start + limit])
                            for group in groups.values()
                            for start in range(0, len(group), limit)],
                           MESSAGES)
            waiting = [each for group in groups.values() for each in group
                       if isinstance(each.pending, Check)]
        return [job for job in jobs if job.round.pending]

    def _ask_group(self, group):
        device = group[0].pending.device
        answer, differing = Answer.REFUSED, ()
        # It may have failed since its turn was chosen.
        if not self.has_failed(device):
            answer, differing = yield from self._ask(
                device, [each.partition for each in group])
        for each in group:
            each.go_on(Answer.MATCH if answer is Answer.DIFFER
                       and each.partition not in differing else answer)

    def _ask(self, device, partitions):
        """
        A process: send the roots of partitions to a neighbour.

        :returns: an Answer, and the partitions that differ
        """
        replica = self.world.disks.replica
        comparison = compare({
            partition: replica(self.number, partition).root
            for partition in partitions})
        sample = (Sample(self.world.weight, self.world.placement.pairs,
                         MESSAGES) if self.batch > 1 else
                  Sample(self.world.weight, self.world.weight))
        outcome = None
        while True:
            try:
                asked = comparison.send(outcome)
            except StopIteration as end:
                self.table.contact(endpoint(device), self.now)
                self.table.contact(device_key(device), self.now)
                return (Answer.DIFFER if end.value else Answer.MATCH,
                        end.value)
            outcome = yield from self._differing(device, asked, sample)
            if isinstance(outcome, Answer):
                return outcome, set()

    def _differing(self, device, asked, sample):
        partitions = asked.partitions
        is_short = len(partitions.encoded) <= sync_message.DIGEST_BYTES
        for with_list in ((True,) if is_short else (False, True)):
            data = sync_message.encode_roots(partitions, asked.roots,
                                             with_list=with_list)
            reach, seconds = self.attempt(
                device['id'], self.world.costs.conn_timeout)
            if reach in (Reach.ANSWERED, Reach.UNANSWERED):
                reply, work = self.world.nodes[device['id']].take_roots(
                    self.endpoint, data, sample.messages)
                verdict, differing = sync_message.decode_reply(
                    reply, len(asked.roots))
                self._count(device['id'], sample, *sample.root_bytes(
                    asked, with_list, len(data), len(differing)))
            if reach is not Reach.ANSWERED:
                # One that was lost by chance is one of many alike.
                yield seconds * (sample.turns if reach in (
                    Reach.LOST, Reach.UNANSWERED) else 1)
                return self._charge(device, reach)
            yield (seconds + work + self.world.network.latency) * sample.turns
            if verdict is Verdict.COMPARED:
                return differing
        raise AssertionError('the set is unknown where it was just sent')

    def _count(self, other, sample, request, answer):
        answer += len(sync_message.encode_reply(Verdict.COMPARED))
        new = 0.0
        if other not in self._connected:
            self._connected.add(other)
            new = min(self.world.placement.pairs, sample.messages)
        for kept, number in ((False, new), (True, sample.messages - new)):
            if number:
                self.world.network.count(
                    'LIGHTSYNC', self.number, other, on_wire(
                        LIGHTSYNC_HEADS, request, answer, kept), number)

    def take_roots(self, sender, data, messages):
        """
        The object-server's part of a sync message.

        :param sender: the endpoint of the node that sent it
        :param messages: how many messages this one stands for
        :returns: the reply, and the seconds that it takes
        """
        world = self.world
        if self.table.has_failed(sender, self.now):
            self.table.hint(sender, self.now)
        message = sync_message.decode_roots(data)
        partitions = self.known_sets.find(message)
        if partitions is None:
            return (sync_message.encode_reply(Verdict.UNKNOWN_SET),
                    world.costs.message)
        roots, seconds = {}, 0.0
        for partition in partitions:
            if seconds > PATIENCE:
                break
            roots[partition] = world.disks.replica(
                self.number, partition).root
            seconds += self.hash(partition) / messages
            if self.batch > 1:
                seconds += world.costs.fingerprint * world.weight / messages
        differing = differing_slices(partitions, message.roots, roots)
        return (sync_message.encode_reply(Verdict.COMPARED, differing),
                world.costs.message + seconds)

    def _charge(self, device, reach):
        answer, key_of, weight_of = CHARGES[reach]
        key = key_of(device)
        if self.table.record(key, self.now, weight_of(self.table.limit)):
            self._notify(Notice(self.endpoint, key))
        return answer

    def _notify(self, message):
        """Tell the nodes of the closed rings (§5.4.2)."""
        others = [number for number in self.world.sharing(self.number)
                  if not self.has_failed(self.world.placement.devices[number])
                  and self.world.nodes[number].endpoint not in (
                      message.reporter, message.failed[:2])]
        for number in self.world.rng.sample(
                others, min(len(others), MAX_NOTIFIED)):
            self.world.events.spawn(self._notify_one(number,
                                                     message.encode()))

    def _notify_one(self, number, data):
        reach, seconds = self.attempt(number, self.world.costs.conn_timeout)
        yield seconds
        if reach in (Reach.ANSWERED, Reach.UNANSWERED):
            self.world.network.count('notice', self.number, number, on_wire(
                NOTICE_HEADS, len(data), 0, kept=False))
            self.world.nodes[number].take_notice(data)

    def take_notice(self, data):
        taken = notice.decode(data)
        self.table.report(taken.reporter, taken.failed, self.now)

    def _see_to_rejoined(self):
        """
        A process: the partitions whose neighbour has come back go first
        (§5.4.3).
        """
        if self.now < self._looked + WATCH:
            return
        self._looked = self.now
        new = self.table.rejoined.items() - self._rejoined.items()
        self._rejoined = dict(self.table.rejoined)
        keys = {key for key, _ in new}
        if not keys:
            return
        jobs = [job for job in self._jobs
                if keys & self._neighbour_keys(job.partition)]
        self.queue.move_to_head((yield from self._check_together(jobs)))

    def _neighbour_keys(self, partition):
        ways = self.topology(self.world.placement.part_nodes(partition),
                             partition, self.number, lambda device: False)
        return {key for way in ways
                for key in (endpoint(way[0]), device_key(way[0]))}
