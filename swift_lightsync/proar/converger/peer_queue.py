# SPDX-License-Identifier: Apache-2.0
"""The pushes that wait for each device.

Several workers push to a device at the same time, each other objects. A device
that takes nothing is left alone for longer and longer; only what waits for
that device is delayed.
"""

import time
from collections import OrderedDict
from typing import Any

from swift.common.concurrency import Timeout, sleep, spawn_n

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.proar.converger.pusher import Pusher

#: seconds for which a connection without work is kept
KEPT = 5.0


class PeerQueue:
    """The logs that wait to be pushed to one device, and their workers.

    :param node: the device, a dict of the ring
    :param options: ConvergerOptions
    :param push_options: PushOptions
    :param logger: a QuietLogger
    :param once: whether a device that takes nothing is given up
    """

    def __init__(self, node, options, push_options, logger, once=False):
        self.node = node
        self.options = options
        self.push_options = push_options
        self.logger = logger
        self.once = once
        #: (log, peer); the values say nothing
        self._waiting: OrderedDict[tuple[Any, int], None] = OrderedDict()
        self._workers = 0
        self._backoff = Backoff(options.retry_delay, options.max_retry_delay)
        self._is_awaited = False
        #: Pushers without work, whose connections are kept, and since when
        self._idle: list[Pusher] = []
        self._idle_since = 0.0

    @property
    def is_idle(self):
        """Whether nothing is pushed or waits."""
        return not self._workers

    def add(self, log, peer):
        """
        Push what the device lacks of a log, now or as soon as it is possible.

        :param log: a FollowedPolicy
        :param peer: the id that the device has for it
        """
        self._waiting[log, peer] = None
        if self._workers < self.options.concurrency and \
                not self._is_awaited:
            self._workers += 1
            spawn_n(self._work)

    def clear(self):
        """Forget the logs that wait."""
        self._waiting.clear()

    def _work(self):
        pusher = self._idle.pop() if self._idle else Pusher(
            self.node, self.push_options)
        try:
            while self._may_ask() and self._waiting:
                (log, peer), _ = self._waiting.popitem(last=False)
                self._push(log, peer, pusher)
        finally:
            self._workers -= 1
            self._idle.append(pusher)
            self._idle_since = time.monotonic()

    def close_idle(self, seconds=KEPT):
        """Close the connections that nobody has used for some seconds."""
        if time.monotonic() - self._idle_since >= seconds:
            while self._idle:
                self._idle.pop().close()

    def _may_ask(self):
        """Wait until the device may be asked.

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
        """Push some of a log."""
        began = time.monotonic()
        try:
            problem = log.push(peer, pusher, lambda: self.add(log, peer))
        except (Exception, Timeout):
            # Nothing is lost: what was not applied is pushed again.
            self.logger.exception_of(str(log), 'Unable to push %s', log)
            return
        if not problem:
            self._backoff.succeeded()
        elif self.once:
            self.logger.warning_of(str(self), 'Giving up %s: %s', self,
                                   problem)
            self.clear()
        else:
            if self._backoff.may_try(began):
                self.logger.warning_of(
                    str(self), 'Unable to push to %s: %s', self, problem)
                self._backoff.failed(time.monotonic())
            self.add(log, peer)

    def __str__(self):
        return '%(replication_ip)s:%(replication_port)s/%(device)s' % self.node


class PeerQueues:
    """The queues of all devices, each made when it is needed first."""

    def __init__(self, *args, **kwargs):
        self._args = args
        self._kwargs = kwargs
        self._queues: dict[tuple[str, int, str], PeerQueue] = {}

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

    def close_idle(self, seconds=KEPT):
        """Close the connections that nobody has used for some seconds."""
        for queue in self._queues.values():
            queue.close_idle(seconds)

    @property
    def are_idle(self):
        """Whether nothing is pushed or waits."""
        return all(queue.is_idle for queue in self._queues.values())
