# SPDX-License-Identifier: Apache-2.0
"""
The pushes to one device: several partitions at a time, each by one worker, so
that its entries keep their order. A device that takes nothing is left alone
for longer and longer, and nobody but its own lane waits for it.
"""

import time
from collections import OrderedDict

from swift.common.concurrency import Timeout, sleep, spawn_n

from swift_lightsync.proar.converger.pusher import Pusher


class Lane:
    """
    :param node: the device, a dict of the ring
    :param options: ConvergerOptions
    :param push_options: PushOptions
    :param logger: Swift's
    :param once: whether a device that takes nothing is given up
    """

    def __init__(self, node, options, push_options, logger, once=False):
        self.node = node
        self.options = options
        self.push_options = push_options
        self.logger = logger
        self.once = once
        self._queue = OrderedDict()
        #: (log, peer) -> whether it was added again meanwhile
        self._busy = {}
        self._workers = 0
        self._delay = 0
        self._until = 0
        self._someone_waits = False

    @property
    def is_idle(self):
        return not self._workers

    def add(self, log, peer):
        """
        Push what the device lacks of a log, now or as soon as it is possible.

        :param log: a FollowedLog
        :param peer: the id that the device has for it
        """
        if (log, peer) in self._busy:
            self._busy[log, peer] = True
            return
        self._queue[log, peer] = None
        if self._workers < self.options.concurrency and \
                not self._someone_waits:
            self._workers += 1
            spawn_n(self._work)

    def clear(self):
        """Forget the logs that wait."""
        self._queue.clear()
        self._busy = dict.fromkeys(self._busy, False)

    def _work(self):
        pusher = Pusher(self.node, self.push_options)
        try:
            while self._may_ask() and self._queue:
                each, _ = self._queue.popitem(last=False)
                self._busy[each] = False
                has_more = self._push(*each, pusher)
                if self._busy.pop(each) or has_more:
                    self.add(*each)
        finally:
            self._workers -= 1
            pusher.close()

    def _may_ask(self):
        """
        Wait until the device may be asked.

        :returns: False if another worker waits for that already
        """
        pause = self._until - time.monotonic()
        if pause > 0:
            if self._someone_waits:
                return False
            self._someone_waits = True
            try:
                sleep(pause)
            finally:
                self._someone_waits = False
        return True

    def _push(self, log, peer, pusher):
        """Push some of a log; :returns: whether to go on with it"""
        began = time.monotonic()
        try:
            turn = log.push(peer, pusher)
        except (Exception, Timeout):
            # Nothing is lost: what was not applied is pushed again.
            self.logger.exception('Unable to push %s', log)
            return False
        if not turn.problem:
            self._delay = 0
            return turn.has_more
        if self.once:
            self.logger.error('Giving up %s: %s', self, turn.problem)
            self.clear()
            return False
        if began >= self._until:
            self._back_off(turn.problem)
        return True

    def _back_off(self, problem):
        if not self._delay:
            self.logger.warning('Unable to push to %s: %s', self, problem)
        self._delay = min(max(2 * self._delay, self.options.retry_delay),
                          self.options.max_retry_delay)
        self._until = time.monotonic() + self._delay

    def __str__(self):
        return '%(replication_ip)s:%(replication_port)s/%(device)s' % self.node


class Lanes:
    """The lanes to all devices, each made when it is needed first."""

    def __init__(self, *args, **kwargs):
        self._args = args
        self._kwargs = kwargs
        self._lanes = {}

    def add(self, log, node):
        """Push what a device, a dict of the ring, lacks of a log."""
        key = node['replication_ip'], node['replication_port'], node['device']
        if key not in self._lanes:
            self._lanes[key] = Lane(node, *self._args, **self._kwargs)
        self._lanes[key].add(log, node['id'])

    def clear(self):
        """Forget the logs that wait."""
        for lane in self._lanes.values():
            lane.clear()

    @property
    def are_idle(self):
        return all(lane.is_idle for lane in self._lanes.values())
