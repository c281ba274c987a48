# SPDX-License-Identifier: Apache-2.0
"""
The pushes that wait for each device.

Several partitions are pushed to a device at the same time, each by one
worker, so that its entries keep their order. A device that takes nothing is
left alone for longer and longer; only what waits for that device is delayed.
"""

import time
from collections import OrderedDict
from typing import Any, Dict, Tuple

from swift.common.concurrency import Timeout, sleep, spawn_n

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.proar.converger.pusher import Pusher


class PeerQueue:
    """
    The logs that wait to be pushed to one device, and their workers.

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
        #: (log, peer); the values say nothing
        self._waiting: 'OrderedDict[Tuple[Any, int], None]' = OrderedDict()
        #: (log, peer) -> whether it was added again meanwhile
        self._busy: Dict[Tuple[Any, int], bool] = {}
        self._workers = 0
        self._backoff = Backoff(options.retry_delay, options.max_retry_delay)
        self._is_awaited = False

    @property
    def is_idle(self):
        """Whether nothing is pushed or waits."""
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
        self._waiting[log, peer] = None
        if self._workers < self.options.concurrency and \
                not self._is_awaited:
            self._workers += 1
            spawn_n(self._work)

    def clear(self):
        """Forget the logs that wait."""
        self._waiting.clear()
        self._busy = dict.fromkeys(self._busy, False)

    def _work(self):
        pusher = Pusher(self.node, self.push_options)
        try:
            while self._may_ask() and self._waiting:
                (log, peer), _ = self._waiting.popitem(last=False)
                self._busy[log, peer] = False
                has_more = self._push(log, peer, pusher)
                if self._busy.pop((log, peer)) or has_more:
                    self.add(log, peer)
        finally:
            self._workers -= 1
            pusher.close()

    def _may_ask(self):
        """
        Wait until the device may be asked.

        :returns: False if another worker waits for that already
        """
        pause = self._backoff.until - time.monotonic()
        if pause > 0:
            if self._is_awaited:
                return False
            self._is_awaited = True
            try:
                sleep(pause)
            finally:
                self._is_awaited = False
        return True

    def _push(self, log, peer, pusher):
        """Push some of a log, and return whether to go on with it."""
        began = time.monotonic()
        try:
            turn = log.push(peer, pusher)
        except (Exception, Timeout):
            # Nothing is lost: what was not applied is pushed again.
            self.logger.exception('Unable to push %s', log)
            return False
        if not turn.problem:
            self._backoff.succeeded()
            return turn.has_more
        if self.once:
            self.logger.error('Giving up %s: %s', self, turn.problem)
            self.clear()
            return False
        if self._backoff.may_try(began):
            if not self._backoff.failures:
                self.logger.warning('Unable to push to %s: %s', self,
                                    turn.problem)
            self._backoff.failed(time.monotonic())
        return True

    def __str__(self):
        return '%(replication_ip)s:%(replication_port)s/%(device)s' % self.node


class PeerQueues:
    """The queues of all devices, each made when it is needed first."""

    def __init__(self, *args, **kwargs):
        self._args = args
        self._kwargs = kwargs
        self._queues: Dict[Tuple[str, int, str], PeerQueue] = {}

    def add(self, log, node):
        """Push what a device, a dict of the ring, lacks of a log."""
        key = node['replication_ip'], node['replication_port'], node['device']
        if key not in self._queues:
            self._queues[key] = PeerQueue(node, *self._args, **self._kwargs)
        self._queues[key].add(log, node['id'])

    def clear(self):
        """Forget the logs that wait."""
        for queue in self._queues.values():
            queue.clear()

    @property
    def are_idle(self):
        """Whether nothing is pushed or waits."""
        return all(queue.is_idle for queue in self._queues.values())
