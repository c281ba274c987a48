# SPDX-License-Identifier: Apache-2.0
"""What the peers of a device lack of one storage policy, and its pushes."""

import os
import time
from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache

from swift.common.concurrency import tpool
from swift.common.utils import get_partition_for_hash
from swift.obj.diskfile import get_part_path

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.proar.converger.object_state import (
    Source,
    UnreadableError,
)
from swift_lightsync.proar.converger.pusher import Outcome, Result
from swift_lightsync.proar.core.follower import Follower, Mark
from swift_lightsync.proar.core.oplog import Op, State
from swift_lightsync.proar.core.push_message import MAX_BODY, batch_of
from swift_lightsync.proar.lag import DeviceLag
from swift_lightsync.proar.vouching.places import version_of

#: Objects that a device pushes to a peer before another one has its turn.
TURN = 100
#: Bytes of objects that are kept, so that they are read once for all peers.
REMEMBERED = 16 << 20


class FollowedPolicy:
    """The objects of one device and storage policy that some peer lacks.

    :param node: the device, a dict of the policy's ring
    :param policy: a StoragePolicy
    :param manager: its DiskFileManager
    :param log: the FollowedLog of the device
    :param options: ConvergerOptions
    :param logger: a QuietLogger
    """

    def __init__(self, node, policy, manager, log, options, logger):
        self.node = node
        self.policy = policy
        self.ring = policy.object_ring
        self.source = Source(manager, node['device'], policy)
        self.log = log
        self.options = options
        self.logger = logger
        # As long as it is followed, its ring is the same.
        self._peers = lru_cache(None)(self._peers_of_partition)
        self.follower = self._new_follower()
        #: what was read, so that all peers are sent the same: a Push has
        #: what its entries named
        self._sent = OrderedDict()
        self._sent_bytes = 0
        #: (peer, key) -> how long to leave that object alone
        self._put_off = {}
        #: eversion -> a Mark that could not be noted yet
        self._unnoted = {}
        #: (peer, key) of what is pushed just now
        self._under_way = set()

    def __str__(self):
        return 'policy %d on %s' % (self.policy, self.node['device'])

    def _new_follower(self):
        return Follower(lambda path_hash: self._peers(
            self.partition_of(path_hash)), version_of(self.ring, self.policy))

    def partition_of(self, path_hash):
        """Return the partition that an object is in now."""
        return get_partition_for_hash(path_hash.hex(), self.ring.part_power)

    def _peers_of_partition(self, partition):
        return frozenset(node['id'] for node
                         in self.ring.get_part_nodes(partition)
                         ) - {self.node['id']}

    def clear(self):
        """Forget all that was read."""
        self._unnoted.clear()
        self.follower = self._new_follower()

    # Entries

    def add(self, entries):
        """Take in new entries of the log."""
        self._note([mark for entry in entries
                    for mark in self.follower.add(entry)])

    def decide(self):
        """Take in what became of the intents, of those that have ended."""
        intents = self.follower.intents()
        if not intents:
            return
        for intent, entry in zip(intents, tpool.execute(
                self.log.present, intents)):
            if entry is None:
                # What it named is left to the object-replicator.
                entry = replace(intent, state=State.ABORTED)
            elif entry.state is State.INTENT:
                continue
            elif entry.state is State.UNDECIDED:
                entry = self._told_by_the_disk(entry)
                self._note([Mark(entry.eversion, entry.state, frozenset())])
            self._note(self.follower.decide(entry))

    def _told_by_the_disk(self, entry):
        if entry.op is Op.ROW:
            # If nothing is kept, nothing will be pushed.
            return replace(entry, state=State.COMMITTED)
        try:
            with self.source.opened(self.partition_of(entry.path_hash),
                                    entry.path_hash) as state:
                newest = state.newest
        except UnreadableError as err:
            self.logger.warning_of(
                'decide', 'Unable to tell whether entry %d of %s is '
                'committed: %s', entry.eversion, self, err)
            # If there is nothing, nothing will be pushed.
            return replace(entry, state=State.ASIDE)
        return entry.decided(newest is not None and entry.is_on_disk(
            newest.raw, newest.offset))

    def _note(self, marks):
        self._unnoted.update((mark.eversion, mark) for mark in marks)
        self.note_again()

    def note_again(self):
        """Note what could not be noted before: until then it counts."""
        if not self._unnoted:
            return
        try:
            self.log.note(self._unnoted.values())
        except OSError as err:
            self.logger.warning_of(
                'note', 'Unable to note in the log of %s what others hold: '
                '%s', self, err)
        else:
            self._unnoted.clear()

    def invalidate(self, entries):
        """Have the suffixes of all objects of some entries hashed anew.

        A power cut may have taken the note that invalidated their hashes.
        """
        for suffix_path in {os.path.join(
                get_part_path(os.path.dirname(self.log.directory),
                              self.policy,
                              self.partition_of(entry.path_hash)),
                entry.path_hash.hex()[-3:]) for entry in entries}:
            if os.path.isdir(os.path.dirname(suffix_path)):
                self.source.manager.invalidate_hash(suffix_path)

    # Pushing

    def lacking(self):
        """Return the ring's nodes of the peers that lack something."""
        return [node for node in map(self.ring.devs.__getitem__,
                                     self.follower.lacking()) if node]

    def push(self, peer, pusher, go_on):
        """Push some of what a peer lacks, and return why it takes nothing.

        :param peer: its id
        :param pusher: a Pusher to it
        :param go_on: called if there is more that another one can push
        :returns: a text, '' if it takes objects
        """
        pushes = self._next(peer, TURN)
        if len(pushes) == TURN:
            go_on()
        keys = {(peer, each.key) for each in pushes}
        self._under_way |= keys
        try:
            for each, result in self._pushed(pushes, pusher):
                self.logger.increment('converger.push.%s.%s' % (
                    result.outcome.value, self.source.device))
                if result.outcome is Outcome.UNAVAILABLE:
                    return result.reason
                self._take_in(peer, each, result)
        finally:
            self._under_way -= keys
        if self._next(peer, 1):
            go_on()
        return ''

    def _next(self, peer, most):
        """Return what to push to a peer now that nobody pushes."""
        now = time.monotonic()
        busy = {key for (of, key), backoff in self._put_off.items()
                if of == peer and not backoff.may_try(now)}
        busy.update(key for of, key in self._under_way if of == peer)
        return self.follower.pushes(peer, most, busy)

    def _pushed(self, pushes, pusher):
        """Yield (Push, Result), the small ones with one request."""
        small, large = [], []
        for push in pushes:
            try:
                sent = self._read(push)
            except UnreadableError as err:
                yield push, Result(Outcome.FAILED, str(err))
                continue
            if sent is None:
                large.append(push)
            elif sent.changes:
                small.append((push, sent))
            else:
                yield push, Result(Outcome.GONE)
        while small:
            count = batch_of([sent for _, sent in small])
            batch, small = small[:count], small[count:]
            results = self._timed(
                pusher.push_many, self.policy, [sent for _, sent in batch],
                self.ring.next_part_power)
            if results is None:
                large += [push for push, _ in batch]
                continue
            if isinstance(results, Result):
                results = [results] * len(batch)
            yield from zip((push for push, _ in batch), results)
        for push in large:
            if push.is_row:
                # Its own object-updater goes on with them.
                yield push, Result(Outcome.FAILED, 'it takes no rows')
                continue
            yield push, self._timed(
                pusher.push, self.source, self.partition_of(push.path_hash),
                push.path_hash, self.ring.next_part_power)

    def _read(self, push):
        """Return a SentObject, None if it is large."""
        if push not in self._sent:
            read = self.source.read_row if push.is_row else self.source.read
            self._sent[push] = read(self.partition_of(push.path_hash),
                                    push.path_hash, MAX_BODY)
            self._sent_bytes += _weight(self._sent[push])
            while self._sent_bytes > REMEMBERED:
                self._forget_sent(next(iter(self._sent)))
        return self._sent[push]

    def _forget_sent(self, push):
        if push in self._sent:
            self._sent_bytes -= _weight(self._sent.pop(push))

    def _timed(self, push, *args):
        began = time.time()
        result = push(*args)
        self.logger.timing_since('converger.push.timing', began)
        return result

    def _take_in(self, peer, push, result):
        if result.is_applied:
            self._put_off.pop((peer, push.key), None)
            self._note(self.follower.applied(peer, push))
            self.logger.timing('converger.lag.timing',
                               time.time() * 1e3 - push.logged / 1e3)
            return
        self._forget_sent(push)
        self._put_off.setdefault((peer, push.key), Backoff(
            self.options.retry_delay, self.options.max_retry_delay)).failed(
                time.monotonic())
        self._note(self.follower.refused(peer, push))
        if result.outcome is Outcome.DAMAGED:
            self.source.check(self.partition_of(push.path_hash),
                              push.path_hash)
        self.logger.warning_of(
            'push to %d' % peer, 'Unable to push object %s of %s to device '
            '%d: %s', push.path_hash.hex(), self, peer, result.reason)

    def lag(self, now, damaged):
        """Return how far the peers are behind, as a DeviceLag.

        :param now: Unix time in seconds
        :param damaged: how many segments of the log are damaged
        """
        follower = self.follower
        oldest = follower.oldest
        return DeviceLag(
            self.node['device'], int(self.policy), follower.entries,
            follower.exposed,
            max(0, now - oldest.logged / 1e6) if oldest else 0,
            follower.behind, damaged, follower.aside)


def _weight(sent):
    """Return how many bytes a SentObject takes, or the lack of one."""
    return 1000 + (len(sent.encoded) if sent else 0)
