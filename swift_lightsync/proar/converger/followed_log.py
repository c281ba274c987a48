# SPDX-License-Identifier: Apache-2.0
"""
The log of one partition of a device, as the converger follows it.

A FollowedLog reads the log into a Follower, pushes to the peers what that
tells, and writes the peers' cursors back to the disk.
"""

import os
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Callable, Dict, Optional, Tuple

from swift.common.concurrency import tpool
from swift.common.ring import Ring
from swift.common.utils import get_partition_for_hash
from swift.obj.diskfile import get_part_path

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.proar.converger.object_state import (
    Source,
    UnreadableError,
)
from swift_lightsync.proar.converger.pusher import Outcome
from swift_lightsync.proar.core.follower import Follower
from swift_lightsync.proar.core.oplog import RECORD
from swift_lightsync.proar.log.cursor_file import read_cursors, write_cursors
from swift_lightsync.proar.log.log_file import LostError, Mark
from swift_lightsync.proar.log.oplog_file import LogView, Oplog
from swift_lightsync.proar.names import cursors_path, log_path

#: Objects that a log pushes to a device before another log has its turn.
TURN = 100
#: of the most that a log may hold, what stays of it when it is cut
KEPT = 0.75


@dataclass(frozen=True)
class Turn:
    """
    The outcome of some pushes to a peer.

    :param problem: why the peer takes nothing, '' if it does
    :param has_more: whether it lacks more that can be pushed
    """
    problem: str = ''
    has_more: bool = False


@dataclass(frozen=True)
class LogPlace:
    """
    The device and the partition of a log.

    :param path: of the device
    :param source: of its objects
    :param ring: the object ring of the policy
    :param own_id: the id of the device in that ring
    :param partition: of the log
    :param rings_agree: whether all devices are known to have one ring: what
        those of another ring lack is pushed when that ring is here
    """
    path: str
    source: Source
    ring: Ring
    own_id: int
    partition: int
    rings_agree: Callable[[], bool] = lambda: True

    def part_of(self, path_hash):
        """Return the partition that an object is in now."""
        return get_partition_for_hash(path_hash.hex(), self.ring.part_power)

    def peers(self, partition):
        """Return the ids of the other devices of a partition."""
        return frozenset(
            node['id'] for node in self.ring.get_part_nodes(partition)
        ) - {self.own_id}

    def __str__(self):
        return 'partition %d of policy %d on %s' % (
            self.partition, self.source.policy, self.source.device)


class FollowedLog:
    """
    The log of one partition of a device, and what its peers lack.

    :param place: a LogPlace
    :param options: ConvergerOptions
    :param logger: Swift's
    """

    def __init__(self, place, options, logger):
        self.place = place
        self.options = options
        self.logger = logger
        self._cursors_path = cursors_path(
            place.path, place.source.policy, place.partition)
        self.oplog = Oplog(log_path(
            place.path, place.source.policy, place.partition),
            self._cursors_path, logger)
        #: of an empty log, until this one has been read
        self.follower = Follower(LogView(1, 0, [], []), (), {}, place.peers)
        self._was_read = False
        #: of the log that is followed; another one in its place is begun anew
        self._mark: Optional[Mark] = None
        self._saved: Dict[int, int] = {}
        self._changed = time.monotonic()
        #: (peer, path hash) -> how long to leave that object alone
        self._put_off: Dict[Tuple[int, bytes], Backoff] = {}

    def __str__(self):
        return str(self.place)

    def refresh(self):
        """
        Read what is new in the log.

        :returns: True: it has been read
        :raises OSError: if it cannot be read
        :raises FormatError: if it is damaged as a whole
        """
        if not (self._was_read and self._go_on()):
            self._begin()
        self._decide()
        return True

    def _go_on(self):
        """Read on; return False if it is not the same log any more."""
        follower = self.follower
        try:
            view = tpool.execute(self.oplog.read, follower.after, self._mark)
        except LostError:
            self.logger.warning('The log of %s was lost', self)
            return False
        if view.last_update > follower.last_update:
            self._changed = time.monotonic()
            self._tell_of_damage(view, follower.last_update)
        follower.see(view)
        self._mark = view.mark
        return True

    def _begin(self):
        # In this order: cursors of eversions that a power cut took are gone
        # before the log has those anew.
        view = tpool.execute(self.oplog.read)
        self._saved = {} if self._was_read else tpool.execute(
            read_cursors, self._cursors_path, self.logger)
        self._tell_of_damage(view)
        self._mark = view.mark
        place = self.place
        # As long as it is followed, its ring is the same.
        peers = lru_cache(place.peers)
        self.follower = Follower(
            view, peers(place.partition), self._saved,
            lambda path_hash: peers(place.part_of(path_hash)))
        self._was_read = True

    def _tell_of_damage(self, view, seen=0):
        for eversion in view.damaged:
            if eversion > seen:
                self.logger.error(
                    'Entry %d of %s is damaged; what it named is left to the '
                    'object-replicator', eversion, self)

    def _decide(self):
        """Decide the intents whose writers have ended."""
        for intent in self.follower.intents():
            if tpool.execute(self.oplog.in_progress, intent.eversion):
                continue
            try:
                with self._opened(intent.path_hash) as state:
                    newest = state.newest
            except UnreadableError as err:
                self.logger.warning('Unable to tell whether entry %d of %s '
                                    'is committed: %s', intent.eversion,
                                    self, err)
                continue
            self.follower.decide(intent.decided(
                newest is not None and (newest.raw, newest.offset) >= (
                    intent.timestamp, intent.offset)))

    def _opened(self, path_hash):
        return self.place.source.opened(self.place.part_of(path_hash),
                                        path_hash)

    def invalidate(self):
        """
        Have the suffixes of all objects of the log hashed anew.

        A power cut may have taken the note that invalidated their hashes.
        """
        source = self.place.source
        for suffix_path in {os.path.join(
                get_part_path(self.place.path, source.policy,
                              self.place.part_of(entry.path_hash)),
                entry.path_hash.hex()[-3:])
                for entry in tpool.execute(self.oplog.read).entries}:
            if os.path.isdir(os.path.dirname(suffix_path)):
                source.manager.invalidate_hash(suffix_path)

    # Pushing

    def lacking(self):
        """Return the ids of the peers that lack something."""
        return [peer for peer in self.follower.cursors()
                if self.follower.lacks(peer)]

    def push(self, peer, pusher):
        """
        Push some of what a peer lacks, and return the Turn.

        :param peer: its id
        :param pusher: a Pusher to it
        """
        follower = self.follower
        pushes = follower.pushes(peer, TURN, self._put_off_for(peer))
        for each in pushes:
            result = self._push(each, pusher)
            if result.is_applied:
                self._put_off.pop((peer, each.path_hash), None)
                follower.applied(peer, each.eversions)
                self.logger.timing('converger.lag.timing',
                                   time.time() * 1e3 - each.logged / 1e3)
            elif result.outcome is Outcome.UNAVAILABLE:
                return Turn(result.reason)
            else:
                self._leave_alone(peer, each.path_hash, result.reason)
        return Turn(has_more=len(pushes) == TURN)

    def _push(self, push, pusher):
        began = time.time()
        source = self.place.source
        result = pusher.push(source, self.place.part_of(push.path_hash),
                             push.path_hash, self.place.ring.next_part_power)
        self.logger.timing_since('converger.push.timing', began)
        self.logger.increment('converger.push.%s.%s' % (
            result.outcome.value, source.device))
        return result

    def _put_off_for(self, peer):
        """Return the path hashes of the objects not to be tried yet."""
        now = time.monotonic()
        return {path_hash for (of, path_hash), backoff
                in self._put_off.items()
                if of == peer and not backoff.may_try(now)}

    def _leave_alone(self, peer, path_hash, reason):
        self._put_off.setdefault((peer, path_hash), Backoff(
            self.options.retry_delay, self.options.max_retry_delay)).failed(
                time.monotonic())
        self.logger.warning('Unable to push object %s of %s to device %d: %s',
                            path_hash.hex(), self, peer, reason)

    # Upkeep

    def is_empty(self):
        """Return whether there is a log without any entry."""
        return not self.follower.records and os.path.exists(self.oplog.path)

    def save(self):
        """
        Write how far the peers are, if that has changed.

        :raises OSError: if it cannot be written
        """
        cursors = self.follower.cursors()
        if cursors != self._saved and self.follower.records:
            tpool.execute(write_cursors, self._cursors_path, cursors)
            self._saved = cursors

    def shorten(self, at_once=False):
        """
        Save, and drop what is not needed from the log, if it is worth it.

        :param at_once: do not wait until nothing has come for some time
        :returns: whether nothing is left of what was read of the log
        :raises OSError: if the log or its cursors cannot be written
        """
        self.save()
        follower = self.follower
        committed = follower.last_commit
        done = self._superfluous(committed, at_once)
        if done is None or not tpool.execute(
                self.oplog.compact, done, self._mark):
            return False
        self._tell_of_cut(done - committed)
        if done < follower.last_update:
            self.refresh()
        return done >= follower.last_update

    def _superfluous(self, committed, at_once):
        """Return the eversion up to which to shorten the log now, or None."""
        follower = self.follower
        most = self.options.max_log_entries
        if follower.records > most:
            return max(committed, follower.last_update - int(KEPT * most))
        if not self.place.rings_agree():
            return None
        idle = time.monotonic() - self._changed
        if committed == follower.last_update and (
                at_once or idle >= max(self.options.log_idle,
                                       self.options.vouch_seconds)):
            return committed
        held = committed - follower.base + 1
        return committed if held * RECORD > self.options.log_size else None

    def _tell_of_cut(self, entries):
        if entries > 0:
            self.logger.error(
                'The log of %s is cut: %d entries that a device lacks are '
                'left to the object-replicator', self, entries)
            self.logger.update_stats(
                'converger.cut.%s' % self.place.source.device, entries)
