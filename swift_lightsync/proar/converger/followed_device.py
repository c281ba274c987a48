# SPDX-License-Identifier: Apache-2.0
"""
The logs of one device and storage policy, followed by one greenthread.

Each device has a greenthread, so that a slow disk delays no other device.
"""

import os
import time
from typing import Any, Dict, Set

from swift.common.concurrency import Empty, LightQueue, Timeout, spawn

from swift_lightsync.proar.converger.followed_log import (
    FollowedLog,
    LogPlace,
)
from swift_lightsync.proar.converger.log_watch import CONTENT, NAMES
from swift_lightsync.proar.converger.object_state import Source
from swift_lightsync.proar.lag import lag_of
from swift_lightsync.proar.names import LOG_SUFFIX, logs_path

#: seconds between two rounds of upkeep
TEND = 1.0


class FollowedDevice:
    """
    The logs of one device and storage policy.

    :param node: the device, a dict of the ring
    :param policy: a StoragePolicy
    :param manager: the DiskFileManager of the policy
    :param watch: a LogWatch
    :param peer_queues: PeerQueues, which push what the logs name
    :param options: ConvergerOptions
    :param logger: Swift's
    :param rings_agree: whether all devices of the policy have this ring
    """

    def __init__(self, node, policy, manager, watch, peer_queues, options,
                 logger, rings_agree=lambda: True):
        self._rings_agree = rings_agree
        self.node = node
        self.policy = policy
        self.source = Source(manager, node['device'], policy)
        self.watch = watch
        self.peer_queues = peer_queues
        self.options = options
        self.logger = logger
        self.path = os.path.join(manager.devices, node['device'])
        self.logs_path = logs_path(self.path, policy)
        #: by partition
        self.logs: Dict[int, FollowedLog] = {}
        #: partitions whose logs cannot be read
        self.unreadable: Set[int] = set()
        self._is_new = True
        self._next_scan = 0.0
        #: partitions whose logs have to be looked at
        self._changed: Set[int] = set()
        #: the same, in their order; None ends the greenthread
        self._to_refresh = LightQueue()
        self._thread: Any = None

    def __str__(self):
        return 'policy %d on %s' % (self.policy, self.node['device'])

    # Events

    def notice(self, path, name):
        """
        Note that something has changed on the device.

        :param path: of the directory in which it has; None: it is not known
        :param name: of what has changed in it
        """
        if path is None or (path, name) == os.path.split(self.logs_path):
            self._next_scan = 0
        elif path == self.logs_path:
            self._note_change(name)

    def _note_change(self, name):
        """Have a file looked at soon, if it is a log."""
        partition, suffix = os.path.splitext(name)
        if suffix == LOG_SUFFIX and partition.isdigit() and \
                int(partition) not in self._changed:
            self._changed.add(int(partition))
            self._to_refresh.put(int(partition))

    # Following

    def start(self):
        """Follow the logs from now on."""
        self._thread = spawn(self._follow)

    def stop(self):
        """End the following; return when it has ended."""
        self._to_refresh.put(None)
        self._thread.wait()

    def _follow(self):
        tend_at = 0.0
        while True:
            try:
                partition = self._to_refresh.get(
                    timeout=max(tend_at - time.monotonic(), 0))
                if partition is None:
                    break
                self._guarded(self, self._refresh, partition)
            except Empty:
                pass
            if time.monotonic() >= tend_at:
                self._guarded(self, self.tend)
                tend_at = time.monotonic() + TEND
        for log in self.logs.values():
            self._guarded(log, log.save)

    def follow_once(self):
        """Look at all logs once, and have pushed what they name."""
        self._guarded(self, self.scan)
        while self._changed:
            self._guarded(self, self._refresh, self._to_refresh.get())

    def is_mounted(self):
        """Return whether the device can be used."""
        return bool(self.source.manager.get_dev_path(self.node['device']))

    def scan(self):
        """Look for logs, and watch for new ones."""
        self._next_scan = time.monotonic() + self.options.rescan_interval
        if not self.is_mounted():
            self.logs.clear()
            self.unreadable.clear()
            self._is_new = True
            return
        try:
            self.watch.watch(self.path, NAMES)
            self.watch.watch(self.logs_path, CONTENT)
        except FileNotFoundError:
            pass
        except OSError as err:
            self.logger.warning(
                'Unable to watch %s, which is looked at each %g seconds '
                'only: %s', self.logs_path, self.options.rescan_interval, err)
        try:
            names = os.listdir(self.logs_path)
        except FileNotFoundError:
            names = []
        for name in names:
            self._note_change(name)
        if self._is_new:
            self._is_new = False
            for partition in sorted(self._changed):
                log = self._log(partition)
                self._guarded(log, log.invalidate)

    def _log(self, partition):
        return self.logs.get(partition) or FollowedLog(
            LogPlace(self.path, self.source, self.policy.object_ring,
                     self.node['id'], partition, self._rings_agree),
            self.options, self.logger)

    def _refresh(self, partition):
        self._changed.discard(partition)
        log = self._log(partition)
        if self._guarded(log, log.refresh):
            self.unreadable.discard(partition)
        else:
            self.unreadable.add(partition)
        if log.follower.records or log.is_empty():
            self.logs[partition] = log
            self._have_pushed(log)

    def _have_pushed(self, log):
        for peer in log.lacking():
            node = self.policy.object_ring.devs[peer]
            if node:
                self.peer_queues.add(log, node)

    def _guarded(self, what, method, *args):
        """
        Do something with a log, or with all, and log a failure.

        A failure loses nothing: it is done again with the next round of
        upkeep or the next look.
        """
        try:
            return method(*args)
        except (Exception, Timeout):
            self.logger.exception('Unable to follow %s', what)

    # Upkeep

    def tend(self, at_once=False):
        """
        Save cursors, shorten logs, and look again at open work.

        Open are intents whose outcome is not known, and what was not pushed.

        :param at_once: as of FollowedLog.shorten
        """
        if time.monotonic() >= self._next_scan or not self.is_mounted():
            self.scan()
        for partition, log in list(self.logs.items()):
            if log.follower.intents():
                self._refresh(partition)
            if self._guarded(log, log.shorten, at_once):
                # If anything has come since, it is a log of its own.
                del self.logs[partition]
                self._note_change('%d%s' % (partition, LOG_SUFFIX))
            elif not at_once:
                self._have_pushed(log)

    def lag(self, now):
        """
        Return how far the peers are behind, as a DeviceLag.

        :param now: Unix time in seconds
        """
        return lag_of(self.node['device'], int(self.policy), [
            log.follower for log in self.logs.values()],
            len(self.unreadable), now)
