# SPDX-License-Identifier: Apache-2.0
"""
What the replicator pushes, by rsync or ssync, and to whom it pushes nothing.

A node that does not take what is pushed has failed like one that does not
answer: PROTOCOL.md, "Failed neighbours".
"""

import copy
import time
from collections.abc import Mapping, Sequence
from functools import partial
from logging import Logger
from typing import Any, NoReturn

from swift.common.concurrency import Timeout, tpool
from swift.common.utils import node_to_string
from swift.obj import replicator

from swift_lightsync.common.address import PlaceTuple
from swift_lightsync.common.options import OptionError
from swift_lightsync.sync.core.failure_table import PUSH
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.driving import log_trouble
from swift_lightsync.sync.keys import Job, endpoint
from swift_lightsync.sync.neighbours import Neighbours


def push_keys(node: RingDevice) -> tuple[PlaceTuple, PlaceTuple]:
    """Return the keys of what is pushed to a node, and to one device."""
    return (*endpoint(node), PUSH), (*endpoint(node), node['device'] + PUSH)


class _Argv(Exception):
    """Carries a command out of Swift's method that would run it."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__(argv)
        self.argv = argv


class PushingReplicator(replicator.ObjectReplicator):
    """Pushes as Swift does, but nothing to those who failed to take it.

    :param conf: the ``[object-replicator]`` section
    :param logger: a logger, or None for one made from conf
    :raises OptionError: if an option has a value that is not allowed
    """

    def __init__(self, conf: Mapping[str, Any],
                 logger: Logger | None = None) -> None:
        super().__init__(conf, logger=logger)
        self._check_sync_method()
        self.neighbours = Neighbours(conf, self)

    def _check_sync_method(self) -> None:
        """Refuse rsync for policies whose files it cannot push."""
        if self.sync_method != self.rsync:
            return
        for policy in self.policies:
            manager = self._df_router[policy]
            if not getattr(manager, 'supports_rsync', True):
                raise OptionError(
                    '%s: sync_method = rsync: what policy %d (%s) stores by '
                    '%s cannot be pushed by rsync; must be ssync' % (
                        self.conf.get('__file__', 'configuration'),
                        int(policy), policy.name, type(manager).__name__))

    def cannot_push(self, node: RingDevice) -> bool:
        """Return whether a device has failed to take what was pushed."""
        return any(map(self.neighbours.failures.has_failed, push_keys(node)))

    def can_be_read(self, job: Job) -> bool:
        """Return whether a partition can be hashed; count it if not."""
        try:
            tpool.execute(self._df_router[job['policy']]._get_hashes,
                          job['device'], job['partition'], job['policy'])
            return True
        except (Exception, Timeout) as err:
            log_trouble(self.logger, err, 'Unable to hash partition %s on %s',
                        job['partition'], job['device'])
        stats = self.stats_for_dev[job['device']]
        stats.attempted += 1
        stats.add_failure_stats({(node['replication_ip'], node['device'])
                                 for node in job['nodes']})
        return False

    def retry_pushes(self) -> None:
        """Have one push tried to each device whose pushes fail at once.

        That costs nothing, and a disk that is back need not wait for ESI.
        """
        failures = self.neighbours.failures
        for key in failures.refusing():
            if len(key) == 3 and key[2].endswith(PUSH):
                failures.retry(key)

    def _note_push(self, node: RingDevice, done: bool, seconds: float,
                  timeout: float) -> None:
        """Note how a push to a device went, by rsync or ssync.

        The object-server's answers say nothing about that, so it has keys of
        its own.

        :param node: the device
        :param done: whether it went well
        :param seconds: how long it took
        :param timeout: the shortest of its time-outs, seconds
        """
        failures = self.neighbours.failures
        of_node, of_device = push_keys(node)
        if done:
            failures.contact(of_node)
            failures.contact(of_device)
            return
        if seconds < timeout:
            # It is the disk, perhaps, and has cost nothing.
            failed = failures.record(of_device, 1)
        else:
            failed = failures.record(of_node, self.neighbours.costly)
        if failed:
            self.logger.warning(
                'Pushing nothing to %s for %s seconds', node_to_string(
                    node, replication=True), failures.table.interval)

    def rsync(self, node: RingDevice, job: Job,
              suffixes: Sequence[str]) -> tuple[bool, dict[str, Any]]:
        """Push suffixes by rsync, and note how that went.

        Nothing is pushed to a device that has failed to take it.
        """
        if self.cannot_push(node):
            return False, {}
        shadow = copy.copy(self)
        shadow._rsync = partial(self.rsync_noted, node)
        done: tuple[bool, dict[str, Any]] = (
            super(PushingReplicator, shadow).rsync(node, job, suffixes))
        return done

    def rsync_noted(self, node: RingDevice, argv: Sequence[str]) -> int:
        """Run an rsync, and note how that went.

        :param node: the device that it pushes to
        :param argv: the command
        :returns: its exit status
        """
        begin = time.monotonic()
        status: int = self._rsync(argv)
        self._note_push(node, not status, time.monotonic() - begin,
                                  float(self.rsync_io_timeout))
        return status

    def ssync(self, node: RingDevice, job: Job, suffixes: Sequence[str],
              remote_check_objs: dict[str, Any] | None = None
              ) -> tuple[bool, dict[str, Any]]:
        """Push suffixes by ssync; otherwise as :meth:`rsync`."""
        if self.cannot_push(node):
            return False, {}
        begin = time.monotonic()
        done: tuple[bool, dict[str, Any]] = super().ssync(
            node, job, suffixes, remote_check_objs)
        self._note_push(node, done[0], time.monotonic() - begin,
                                  self.conn_timeout)
        return done

    def rsync_argv(self, node: RingDevice, job: Job,
                   suffixes: Sequence[str]) -> list[str] | None:
        """Return the command by which stock Swift would push suffixes.

        :param node: the device to push to
        :param job: the job of the partition
        :param suffixes: the suffixes to push
        :returns: the command, or None if there is nothing to push
        """
        def stop(argv: list[str]) -> NoReturn:
            raise _Argv(argv)

        shadow = copy.copy(self)
        shadow._rsync = stop
        try:
            super(PushingReplicator, shadow).rsync(node, job, suffixes)
        except _Argv as found:
            return found.argv
        return None
