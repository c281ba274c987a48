# SPDX-License-Identifier: Apache-2.0
"""The log of one device, followed by one greenthread.

Each device has a greenthread, so that a slow disk delays no other device.
"""

import os
import time
from collections import defaultdict
from typing import Any

from swift.common.concurrency import Empty, LightQueue, Timeout, spawn, tpool

from swift_lightsync.proar.converger.followed_log import FollowedLog
from swift_lightsync.proar.converger.followed_policy import FollowedPolicy
from swift_lightsync.proar.converger.log_watch import CONTENT, NAMES
from swift_lightsync.proar.core.oplog import CAPACITY
from swift_lightsync.proar.log.segment import logs_path, number_of
from swift_lightsync.proar.vouching.clock import now_ns
from swift_lightsync.proar.vouching.rounds import Asker

#: seconds between two rounds of upkeep
TEND = 1.0
#: Of more segments, the entries of those that hold few are carried along.
CARRIED_FROM = 4
#: so few entries
FEW = CAPACITY // 16


class FollowedDevice:
    """The log of one device.

    :param name: of the device
    :param nodes: a list of (StoragePolicy, the device in the policy's ring)
    :param router: a DiskFileRouter
    :param watch: a LogWatch
    :param peer_queues: PeerQueues, which push what the log names
    :param options: ConvergerOptions
    :param logger: a QuietLogger
    :param rings_agree: whether all who were asked since a time, nanoseconds,
        have the same ring; what those of another ring lack is pushed when
        that ring is here
    """

    def __init__(self, name, nodes, router, watch, peer_queues, options,
                 logger, rings_agree):
        self._rings_agree = rings_agree
        self.name = name
        self.manager = router[nodes[0][0]]
        self.watch = watch
        self.peer_queues = peer_queues
        self.options = options
        self.logger = logger
        self.path = os.path.join(self.manager.devices, name)
        self.log = FollowedLog(logs_path(self.path), logger)
        #: by the index of the policy
        self.policies = {int(policy): FollowedPolicy(
            node, policy, router[policy], self.log, options, logger)
            for policy, node in nodes}
        self._is_new = True
        self.next_scan = 0.0
        #: number of a segment that nobody needs -> since when
        self._over = {}
        #: numbers of the segments that have to be looked at
        self._changed = set()
        #: the same, in their order; None ends the greenthread
        self._to_read = LightQueue()
        self._thread: Any = None

    def __str__(self):
        return 'device %s' % self.name

    # Events

    def notice(self, path, name):
        """Note that something has changed on the device.

        :param path: of the directory in which it has; None: it is not known
        :param name: of what has changed in it
        """
        if path is None or (path, name) == os.path.split(self.log.directory):
            self.next_scan = 0
        elif path == self.log.directory:
            self._note_change(number_of(name))

    def _note_change(self, number):
        if number is not None and number not in self._changed:
            self._changed.add(number)
            self._to_read.put(number)

    # Following

    def start(self):
        """Follow the log from now on."""
        self._thread = spawn(self._follow)

    def stop(self):
        """End the following; return when it has ended."""
        self._to_read.put(None)
        self._thread.wait()

    def _follow(self):
        tend_at = 0.0
        while True:
            try:
                number = self._to_read.get(
                    timeout=max(tend_at - time.monotonic(), 0))
                if number is None:
                    break
                self._guarded(self._read, number)
            except Empty:
                pass
            if time.monotonic() >= tend_at:
                self._guarded(self.tend)
                tend_at = time.monotonic() + TEND
        self.log.close()

    def follow_once(self):
        """Read the whole log once, and have pushed what it names."""
        self._guarded(self.scan)
        while self._changed:
            self._guarded(self._read, self._to_read.get())

    def askers(self):
        """Return the Askers of the device, one for each policy."""
        return [Asker(each.node, each.policy, each.source.manager)
                for each in self.policies.values()]

    def is_mounted(self):
        """Return whether the device can be used."""
        return bool(self.manager.get_dev_path(self.name))

    def scan(self):
        """Look for segments, and watch for new ones."""
        self.next_scan = time.monotonic() + self.options.rescan_interval
        if not self.is_mounted():
            self._clear()
            return
        try:
            self.watch.watch(self.path, NAMES)
            self.watch.watch(self.log.directory, CONTENT)
        except FileNotFoundError:
            pass
        except OSError as err:
            self.logger.warning_of(
                'watch', 'Unable to watch %s, which is looked at each %g '
                'seconds only: %s', self.log.directory,
                self.options.rescan_interval, err)
        for number in tpool.execute(self.log.numbers):
            self._note_change(number)

    def _clear(self):
        self.log.close()
        for policy in self.policies.values():
            policy.clear()
        self._is_new = True

    def _read(self, number):
        """Take in what is new in a segment."""
        self._changed.discard(number)
        by_policy = defaultdict(list)
        for entry in tpool.execute(self.log.new_entries, number):
            by_policy[entry.policy].append(entry)
        for index, entries in by_policy.items():
            policy = self.policies.get(index)
            if policy is None:
                self.logger.warning_of(
                    'policy', '%s has entries of policy %d, which is not one '
                    'of its rings: they are left alone', self, index)
                continue
            if self._is_new:
                self._guarded(policy.invalidate, entries)
            policy.add(entries)
        self._is_new = self._is_new and bool(self._changed)
        self._have_pushed()

    def _have_pushed(self):
        for policy in self.policies.values():
            policy.note_again()
            policy.decide()
            for node in policy.lacking():
                self.peer_queues.add(policy, node)

    def _guarded(self, method, *args):
        """Do something with the log, and tell of a failure.

        A failure loses nothing: it is done again with the next round of
        upkeep or the next look.
        """
        try:
            return method(*args)
        except (Exception, Timeout):
            self.logger.exception_of(str(self), 'Unable to follow %s', self)

    # Upkeep

    def tend(self, once=False):
        """Shorten the log, and look again at open work.

        Open are intents whose outcome is not known, and what was not pushed.

        :param once: whether nothing more is to be pushed
        """
        if time.monotonic() >= self.next_scan or not self.is_mounted():
            self.scan()
        for number in tpool.execute(self.log.lost):
            self._forget(number)
            # Another file may be in its place.
            self._note_change(number)
        self._shorten(once)
        if not once:
            self._have_pushed()

    def _open_in(self, number):
        return [entry for policy in self.policies.values()
                for entry in policy.follower.open_in(number)]

    def _forget(self, number):
        return sum(policy.follower.forget(number)
                   for policy in self.policies.values())

    def _shorten(self, once):
        """Remove segments of which nobody needs anything; cut the log.

        They stay until all were asked whether rings differ.
        """
        known = self.log.read_numbers()
        sizes = {number: len(self._open_in(number)) for number in known}
        is_long = sum(map(self.log.length, known)) \
            > self.options.max_log_entries
        if not is_long and not self._rings_agree(0):
            return
        excess = sum(sizes.values()) - self.options.max_log_entries
        now = now_ns()
        self._over = {number: self._over.get(number, now)
                      for number in known if not sizes[number]}
        # The last one tells the number of the next.
        for place, number in enumerate(known[:-1]):
            size = sizes[number]
            if not size:
                if is_long or self._rings_agree(
                        0 if once else self._over[number]):
                    tpool.execute(self.log.remove, number)
            elif excess > 0 and tpool.execute(self.log.cut, number):
                excess -= size
                self._tell_of_cut(self._forget(number))
            elif size <= FEW and len(known) - place > CARRIED_FROM and \
                    self.log.is_done(number):
                self._carry(number)

    def _carry(self, number):
        """Carry the few open entries of a segment along."""
        if tpool.execute(self.log.carry, number, self._open_in(number)):
            self._forget(number)

    def _tell_of_cut(self, entries):
        self.logger.error(
            'The log of %s is cut: %d entries that a device lacks are left '
            'to the object-replicator', self, entries)
        self.logger.update_stats('converger.cut.%s' % self.name, entries)

    def lags(self, now):
        """Return how far the peers are behind, a DeviceLag of each policy.

        :param now: Unix time in seconds
        """
        damaged = self.log.damaged_count()
        return [policy.lag(now, damaged) for policy in self.policies.values()]
