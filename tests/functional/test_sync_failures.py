# SPDX-License-Identifier: Apache-2.0
"""Nodes that die, come and go, fall silent or cannot see each other.

What was acknowledged reaches all that can be reached, in as many rounds as
without the failure, and nobody waits for a failed node once a partition.
"""

import json
import os
from contextlib import ExitStack, contextmanager
from glob import glob

import pytest

from swift_lightsync.sync.core.failure_table import ERROR_SUPPRESSION_INTERVAL
from swift_lightsync.sync.names import FAILURES_FILE
from tests.functional.clusters import (
    R3,
    R5,
    RunningPass,
    SyncCase,
    wait_for,
    with_options,
)
from tools.cluster.processes import stopped

QUICK = with_options(conn_timeout=2, http_timeout=5)
NO_ANSWER = 'No answer to the sync message to '


class FailureCase(SyncCase):
    policy = R5
    fields = {'options': QUICK}
    names = ['o-%d' % number for number in range(80)]

    def setUp(self):
        super().setUp()
        self.acknowledged.put_everywhere(self.names)
        self.converge(1)

    def let_interval_pass(self):
        """Make what the nodes know of failures older than they believe."""
        for path in glob(os.path.join(self.cluster.layout.cache, '*',
                                      FAILURES_FILE)):
            with open(path) as table:
                state = json.load(table)
            for rows, when in (('rows', 2), ('hints', 1), ('rejoined', 1)):
                for row in state[rows]:
                    row[when] -= ERROR_SUPPRESSION_INTERVAL
            with open(path, 'w') as table:
                json.dump(state, table)

    def write(self, without=()):
        """Put and delete objects, each on a quorum of what is there."""
        self.acknowledged.put_quorums(self.names, without)
        for name in self.names[::5]:
            self.acknowledged.delete(name, self.acknowledged.quorum(
                name, without))


@pytest.mark.long
class TestFailures(FailureCase):

    def test_two_dead_nodes_of_five_cost_no_round(self):
        self.cluster.kill(2)
        self.cluster.kill(3)
        gone = ['n2d1', 'n3d1']
        self.write(gone)
        # A quorum is all that is left; a copy has two devices before it.
        self.assertEqual([], self.acknowledged.wrong(gone))
        for name in self.names:
            self.acknowledged.put(name, self.acknowledged.quorum(
                name, gone)[:1])
        _, log = self.converge(2, [1, 4, 5], without=gone)
        self.assertIn(NO_ANSWER, log)
        self.cluster.start(2)
        self.cluster.start(3)
        # Two replicas lack all of it: they may stand side by side.
        self.converge(2)

    def test_a_node_that_stands_still_holds_up_no_partition(self):
        with stopped(*self.cluster.pids(3)):
            self.write(['n3d1'])
            _, log = self.converge(2, [1, 2, 4, 5], without=['n3d1'])
        # Not one of 32 partitions, but one a node: the device has failed.
        self.assertEqual(4, log.count(NO_ANSWER), log)
        self.let_interval_pass()
        self.converge(2)

    def test_a_silent_node_holds_up_no_partition(self):
        self.cluster.partition(3)
        try:
            self.write(['n3d1'])
            _, log = self.converge(2, [1, 2, 4, 5], without=['n3d1'])
        finally:
            self.cluster.heal(3)
        self.assertLessEqual(1, log.count(NO_ANSWER))
        self.assertLessEqual(log.count(NO_ANSWER), 2 * 4, log)
        self.converge(2)

    def test_a_node_that_stands_still_for_a_while_misses_nothing(self):
        self.write()
        with ExitStack() as stack:
            with stopped(*self.cluster.pids(4)):
                passes = [stack.enter_context(RunningPass(
                    self.cluster, node)) for node in (1, 2, 3, 5)]
                wait_for(lambda: any(NO_ANSWER in each.log()
                                     for each in passes),
                         'somebody has waited for node 4 in vain')
            for each in passes:
                each.wait()
        self.converge(2, without=['n4d1'])
        self.let_interval_pass()
        self.converge(2)

    def test_a_flapping_node_stops_nobody(self):
        for _ in range(3):
            self.write(['n5d1'])
            with ExitStack() as stack:
                passes = [stack.enter_context(RunningPass(
                    self.cluster, node)) for node in (1, 2, 3, 4)]
                while not all([each.has_ended() for each in passes]):
                    self.cluster.kill(5)
                    self.cluster.start(5)
            # The other four are done in the round after, at the latest.
            self.converge(1, [1, 2, 3, 4], without=['n5d1'])
        self.converge(2)


@pytest.mark.long
class TestSeveredPair(FailureCase):
    """Two nodes cannot see each other; all others see both."""

    fields = dict(FailureCase.fields, network='namespaces')

    def test_a_quorum_write_is_everywhere_in_three_rounds(self):
        self.cluster.sever(1, 2)
        try:
            self.write()
            # A round more, in which who sees both hears of it.
            _, log = self.converge(3)
            self.assertLessEqual(log.count(NO_ANSWER), 3 * 2, log)
            self.write()
            self.converge(2)
        finally:
            self.cluster.heal(1)
        self.write()
        self.converge(2)


@pytest.mark.long
class TestFrozenDisk(FailureCase):
    """A disk of which nothing can be written to or read, for hours."""

    policy = R3
    fields = {'nodes': 4, 'devices': 2, 'policies': (R3,),
              'options': with_options(conn_timeout=2, http_timeout=5,
                                      replicator_workers=2)}

    @contextmanager
    def frozen(self, device):
        path = self.cluster.device_path(self.cluster.node_of(device), device)
        self.cluster.run(['xfs_freeze', '-f', path])
        try:
            yield
        finally:
            self.cluster.run(['xfs_freeze', '-u', path])

    def test_it_does_not_cut_off_its_node(self):
        # What was written before the disk hung has yet to be hashed there.
        self.acknowledged.put_everywhere(self.names)
        with self.frozen('n2d1'):
            self.write(['n2d1'])
            with RunningPass(self.cluster, 2) as of_its_node:
                # One worker hangs; the other goes on.
                wait_for(lambda: 'replication complete (once)'
                         in of_its_node.log(), 'the end of one worker')
                _, log = self.converge(1, [1, 3, 4], without=['n2d1'])
                self.assertFalse(of_its_node.has_ended())
            # The node tells of its disk: nobody takes it for silent.
            self.assertNotIn(NO_ANSWER + '%s:%d/n2d2' % (
                self.cluster.node_ip(2), self.cluster.spec.port(
                    'replication-server', 2)), log)
            # Two devices of each of three nodes, each with a message.
            self.assertLessEqual(log.count(NO_ANSWER), 3 * 2, log)
        self.let_interval_pass()
        self.converge(1)


@pytest.mark.long
class TestFullExchange(FailureCase):
    """What it makes up for, as its turn has come in every pass here."""

    fields = {'options': with_options(full_exchange_interval=0)}

    def test_nobody_depends_on_a_node_whose_replicator_does_not_run(self):
        self.write()
        self.converge(1, [1, 2, 3, 5], without=['n4d1'])
        self.converge(1)
