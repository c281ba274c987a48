# SPDX-License-Identifier: Apache-2.0
"""What concurrent clients of primary-role writes see is what one register for
each object would show; and when a primary role does not answer, only what
PROTOCOL.md lists under "What can be lost, what can be seen".
"""

import logging
import statistics
import time
from contextlib import ExitStack, contextmanager

import pytest
from swift.common.exceptions import ReplicationLockTimeout
from swift.obj.diskfile import DiskFileRouter

from tests.functional.clusters import wait_for
from tests.functional.history_case import HistoryCase
from tests.functional.role_cluster import CONVERGER

WRITES = 20
#: A partition that no object has.
UNUSED = 1 << 20


class TestHistories(HistoryCase):

    # Without a fail-over

    def hold_without_failure(self, seconds, seed):
        self.begin(4, seed)
        with self.clients():
            time.sleep(seconds)
        self.assertEqual(0, self.judge())

    def test_each_object_is_linearizable_without_a_failure(self):
        self.hold_without_failure(15, 1)

    @pytest.mark.long
    def test_each_object_is_linearizable_for_long(self):
        for seed in range(100, 110):
            self.hold_without_failure(30, seed)

    def test_each_object_is_linearizable_while_nobody_is_vouched(self):
        """All are asked, of whom only the primary roles have the newest."""
        self.begin(4, 6)
        with self.clients():
            time.sleep(2)
            with self.without_convergers():
                time.sleep(12)
        self.assertEqual(0, self.judge())

    # With one

    def hold_in_outages(self, outages, seed):
        """Kill primary roles amid traffic, one after the other."""
        self.begin(6, seed)
        for name in self.traffic.names[:outages]:
            with self.clients():
                time.sleep(2)
                self.have_outage(self.cluster.primary(self.traffic, name),
                                 lambda: time.sleep(3))
                time.sleep(3)
            self.cluster.converge()
        self.judge()

    def test_in_outages_clients_see_what_the_protocol_lists(self):
        self.hold_in_outages(2, 2)

    @pytest.mark.long
    def test_in_outages_clients_see_what_the_protocol_lists_for_long(self):
        for seed in range(200, 206):
            self.hold_in_outages(6, seed)

    def test_what_has_not_converged_is_missed_in_the_outage_only(self):
        self.begin(9, 3)
        node, one, other = self.of_one_node()
        found = {}
        with self.without_convergers():
            self.ask('PUT', one)
            found['before'] = self.ask('PUT', other)

            def meanwhile():
                found['failed over'] = self.ask('PUT', one)
                found['seen'] = self.ask('GET', one)
                found['stale'] = self.ask('GET', other)
            self.have_outage(node, meanwhile)
            wait_for(lambda: time.monotonic() > self.outages[node][0].end,
                     'no proxy avoids the node')
            found['newest'] = self.ask('GET', one)
            found['back'] = self.ask('GET', other)
        read = {what: each.body for what, each in found.items()}
        self.assertEqual(read['failed over'], read['seen'])
        self.assertEqual(read['failed over'], read['newest'])
        self.assertNotEqual(read['before'], read['stale'])
        self.assertEqual(read['before'], read['back'])
        self.assertEqual(1, self.judge())

    def test_a_failed_over_post_does_not_bring_back_what_is_deleted(self):
        self.begin(1, 5)
        name, = self.traffic.names
        node = self.cluster.primary(self.traffic, name)
        with self.without_convergers():
            self.assertEqual(204, self.traffic.ask('DELETE', name).status)
            self.have_outage(node, lambda: self.assertEqual(
                202, self.traffic.ask('POST', name).status))
        self.judge()
        self.assertEqual(404, self.traffic.ask('GET', name).status)

    def ask(self, *request):
        answer = self.traffic.ask(*request)
        self.assertIn(answer.status, (200, 201))
        return answer

    def of_one_node(self):
        """:returns: a node, and two objects whose primary role it has"""
        seen = {}
        for name in self.traffic.names:
            node = self.cluster.primary(self.traffic, name)
            if node in seen:
                return node, seen[node], name
            seen[node] = name
        raise AssertionError('each node has one at most: %s' % seen)

    @contextmanager
    def without_convergers(self):
        for node in self.cluster.cluster.spec.node_numbers():
            self.cluster.kill(CONVERGER, node)
        try:
            yield
        finally:
            self.cluster.start(CONVERGER)

    # While another partition of each device is being replicated

    def test_a_locked_partition_holds_up_no_other(self):
        self.begin(1, 4)
        lags = []
        with self.replication_locks():
            for number in range(WRITES):
                request = self.traffic.ask('PUT', 'other%d' % number)
                self.assertEqual(201, request.status)
                wait_for(lambda: not self.cluster.unequal(),
                         'all devices hold it', 60)
                lags.append(time.monotonic() - request.answered)
        print('held by all after %.2f s, at most %.2f s' % (
            statistics.median(lags), max(lags)))

    @contextmanager
    def replication_locks(self):
        """Hold the lock of one partition of each device, and so of the device:
        no other one gets it.
        """
        objects = self.cluster.objects
        cluster = self.cluster.cluster
        with ExitStack() as held:
            for device in objects.devices():
                manager = DiskFileRouter({
                    'devices': cluster.layout.node_dir(
                        cluster.node_of(device)), 'mount_check': 'false',
                    'replication_lock_timeout': 1},
                    logging.getLogger())[objects.policy]
                held.enter_context(manager.replication_lock(
                    device, objects.policy, UNUSED))
                with self.assertRaises(ReplicationLockTimeout), \
                        manager.replication_lock(device, objects.policy,
                                                 UNUSED - 1):
                    pass
            yield
