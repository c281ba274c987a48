# SPDX-License-Identifier: Apache-2.0
"""
What a replicator knows of the other nodes, and how it talks to them.

It sends sync messages and notices, and keeps the failure table by what comes
of them (LightSync §5.4). PROTOCOL.md, "Failed neighbours", "Notices".
"""

import random

from swift.common.concurrency import (
    GreenPool,
    Timeout,
    green_http_client,
    socket,
)
from swift.common.ring.utils import is_local_device
from swift.common.utils import node_to_string, whataremyips

from swift_lightsync.sync.activity import Activity, Idleness
from swift_lightsync.sync.core import replica_ring
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.sync_client import (
    ConnectFailure,
    Refusal,
    SyncClient,
)
from swift_lightsync.sync.wire.notice import Notice
from swift_lightsync.sync.wire.sync_message import SyncMessageError

#: Most nodes that one notice goes to.
MAX_NOTIFIED = 128


def endpoint(node):
    """The failure table's key of a node: what fails if no device answers."""
    return node['replication_ip'], node['replication_port']


def device_key(node):
    """The failure table's key of a device alone."""
    return endpoint(node) + (node['device'],)


class Neighbours:
    """
    :param conf: the ``[object-replicator]`` section, a dict
    :param daemon: the replicator, for its ``logger``, ``ring_ip``, ``port``
        and time-outs
    :raises ValueError: if an option has a value that is not allowed
    """

    def __init__(self, conf, daemon):
        self.daemon = daemon
        self.logger = daemon.logger
        self.failures = FailureStore(conf, daemon.logger)
        self.client = SyncClient(daemon.conn_timeout, daemon.http_timeout)
        self.idleness = Idleness(Activity(conf, daemon.logger))
        self.without_verb = set()
        #: Key -> device, of those that share partitions with us.
        self.sharing = {}
        #: Keys that a notice was sent of in this pass.
        self._notified = set()
        #: (policy, name) -> device, of those that were asked for.
        self._own = {}
        self._rejoined = {}

    def begin_pass(self, jobs, partial=False):
        """
        :param jobs: the jobs of the pass that belong here
        :param partial: whether it leaves out some partitions of its devices
        """
        self.idleness.begin_pass(partial)
        self.without_verb.clear()
        self._notified.clear()
        self._own.clear()
        self.sharing = {device_key(node): node
                        for job in jobs for node in job['nodes']}
        self._knock()
        self._rejoined = self.failures.rejoined()

    def end_pass(self):
        self.client.close()

    def has_verb(self, node):
        """False if a node answered like stock Swift in this pass."""
        return endpoint(node) not in self.without_verb

    def has_failed(self, node):
        """Whether a device is to be left alone for now (§5.4.1)."""
        key = endpoint(node)
        return (self.failures.has_failed(key)
                or self.failures.has_failed(key + (node['device'],)))

    def is_cut(self, device, node, other):
        """
        Whether what a device holds does not get to another by it: it is idle,
        or its node has said that it cannot reach the other.

        :param device: name of the local device that asked the first
        :param node: the first, a dict as in the ring
        :param other: the other
        """
        reporter, key = endpoint(node), endpoint(other)
        return (self.idleness.is_idle(device, device_key(node))
                or self.failures.is_reported(reporter, key)
                or self.failures.is_reported(reporter,
                                             key + (other['device'],)))

    def newly_rejoined(self, nodes):
        """
        :returns: those of the devices that have come back since the pass
            began, or since this was last asked
        """
        self._knock()
        rejoined = self.failures.rejoined()
        new = rejoined.items() - self._rejoined.items()
        self._rejoined = rejoined
        keys = {key for key, _ in new}
        return [node for node in nodes
                if keys & {endpoint(node), device_key(node)}]

    def _knock(self):
        """
        See whether nodes that refused connections accept them again.

        To be refused once more costs nothing, so nobody has to be left out
        for ESI for it.
        """
        refusing = self.failures.refusing()
        nodes = {endpoint(node): node for node in self.sharing.values()
                 if endpoint(node) in refusing}
        pool = GreenPool(MAX_NOTIFIED)
        for node in nodes.values():
            pool.spawn_n(self._knock_at, node)
        pool.waitall()

    def _knock_at(self, node):
        try:
            with Timeout(self.client.conn_timeout):
                socket.create_connection(endpoint(node)).close()
        except Timeout as err:
            self._failed(None, node, endpoint(node), self._patience, err)
        except OSError:
            # As it was.
            pass
        else:
            self.failures.contact(endpoint(node))

    def own_device(self, policy, device):
        """
        A local device as the ring had it when the pass began, or None if it
        had none.
        """
        if (policy, device) not in self._own:
            ips = whataremyips(self.daemon.ring_ip)
            self._own[policy, device] = next(
                (dev for dev in policy.object_ring.devs
                 if dev and dev['device'] == device and is_local_device(
                     ips, self.daemon.port, dev['replication_ip'],
                     dev['replication_port'])), None)
        return self._own[policy, device]

    def clockwise(self, job):
        """
        The other devices of a job's replica ring, nearest first, or None if
        the ring has changed while the job was made.
        """
        own = self.own_device(job['policy'], job['device'])
        if own is None or own['id'] in [node['id'] for node in job['nodes']]:
            return None
        return replica_ring.clockwise(job['nodes'] + [own],
                                      int(job['partition']), own['id'])

    def own_endpoint(self, policy, device):
        """The endpoint of a local device, or None if the ring has none."""
        own = self.own_device(policy, device)
        return own and endpoint(own)

    def ask(self, device, node, policy, roots):
        """
        Send the roots of partitions to a neighbour.

        :param device: name of the local device that holds them
        :param node: the neighbour, a dict as in the ring
        :param policy: the StoragePolicy of the partitions
        :param roots: a dict, partition number to root
        :returns: a tuple of an :class:`Answer` and, if that is DIFFER, the
            set of partitions that differ
        """
        answer, differing = self._ask(device, node, policy, roots)
        counts = {answer: len(roots)}
        if answer is Answer.DIFFER:
            counts = {Answer.DIFFER: len(differing),
                      Answer.MATCH: len(roots) - len(differing)}
        for each, count in counts.items():
            self.logger.update_stats('partition.check.%s.%s' % (
                each.value, device), count)
        self.daemon.recon.note_answer(policy, device, node, roots,
                                      (answer, differing))
        return answer, differing

    def _ask(self, device, node, policy, roots):
        if not self.has_verb(node):
            return Answer.UNSUPPORTED, set()
        own = self.own_device(policy, device)
        try:
            answer, differing, idle = self.call(
                own and endpoint(own), node, self.client.ask,
                own and device_key(own), node, policy, roots)
        except ConnectFailure as err:
            return err.answer, set()
        except Timeout:
            return Answer.TIMEOUT, set()
        except SyncMessageError as err:
            self.logger.error('%s: %s', node_to_string(
                node, replication=True), err)
            return Answer.INVALID, set()
        except (OSError, green_http_client.HTTPException):
            return Answer.REFUSED, set()
        if answer is Answer.UNSUPPORTED:
            self.without_verb.add(endpoint(node))
        if self.idleness.told(device, device_key(node), idle):
            self.logger.warning(
                'The rounds of %s were not played for %d s: going on to the '
                'devices after it', node_to_string(node, replication=True),
                idle)
        return answer, differing

    def call(self, sender, node, method, *args):
        """
        Call a method of the client, and keep the failure table by what comes
        of it.

        :param sender: the endpoint of the local device, or None
        :param node: the device that is talked to
        :returns: what the method returns
        :raises: what it raises
        """
        try:
            result = method(*args)
        except ConnectFailure as err:
            self._failed(sender, node, endpoint(node),
                         1 if err.answer is Answer.REFUSED
                         else self._patience, err)
            raise
        except Timeout as err:
            # It has held up the pass for http_timeout: once is enough.
            self._failed(sender, node, device_key(node),
                         max(self.failures.table.limit, self._patience), err)
            raise
        except (SyncMessageError, Refusal):
            self._contact(node)
            raise
        except (OSError, green_http_client.HTTPException) as err:
            self._failed(sender, node, device_key(node), 1, err)
            raise
        self._contact(node)
        return result

    @property
    def _patience(self):
        """
        The weight of a time-out: it holds up the pass, where a refusal costs
        next to nothing.
        """
        return max(2, -(-self.failures.table.limit // 5))

    def _contact(self, node):
        self.failures.contact(endpoint(node))
        self.failures.contact(device_key(node))

    def _failed(self, sender, node, key, weight, err):
        node_str = node_to_string(node, replication=True)
        self.logger.error('No answer to the sync message to %s: %s',
                          node_str, err)
        failed = self.failures.record(key, weight)
        if failed:
            self.logger.warning(
                'Closing the replica rings over %s for %s seconds',
                node_str if len(key) == 3 else '%s:%s' % key,
                self.failures.table.interval)
        # A refusal costs the others nothing to find out for themselves.
        if sender and (failed or weight > 1) and key not in self._notified:
            self._notified.add(key)
            self._notify(Notice(sender, key))

    def _notify(self, notice):
        """Tell the nodes of the closed rings (§5.4.2)."""
        others = {endpoint(node): node for node in self.sharing.values()
                  if not self.has_failed(node)}
        others = [node for where, node in others.items()
                  if where not in (notice.reporter, notice.failed[:2])]
        pool = GreenPool(MAX_NOTIFIED)
        for node in random.sample(others, min(len(others), MAX_NOTIFIED)):
            pool.spawn_n(self._notify_one, node, notice.encode())

    def _notify_one(self, node, data):
        try:
            self.client.notify(node, data)
        except (ConnectFailure, Timeout, OSError,
                green_http_client.HTTPException) as err:
            self.logger.debug('Notice to %s not delivered: %s',
                              node_to_string(node, replication=True), err)
