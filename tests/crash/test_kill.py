# SPDX-License-Identifier: Apache-2.0
"""Nothing is lost when processes are killed in the middle of a pass."""

import os
import signal
from tempfile import TemporaryDirectory
from time import sleep

from tests.crash.crashes import CrashTestCase, SlowRsync, kill, wait_for


class Killing(CrashTestCase):

    def setUp(self):
        self.change_all()

    def start_passes(self, slow=None):
        self.passes = {node: self.start_pass(node, slow)
                       for node in self.cluster.spec.node_numbers()}

    def meet_half_way(self):
        """Start passes on all nodes, and wait until files are under way.

        :returns: the number of a node that is receiving one
        """
        self.slow = SlowRsync(self.enterContext(TemporaryDirectory()))
        self.start_passes(self.slow)
        wait_for(self.slow.pids, 'an rsync')
        path, = wait_for(self.temporary_files,
                         'a file that is being received')[:1]
        device = os.path.relpath(path, self.cluster.layout.srv).split(
            os.sep)[1]
        return self.cluster.node_of(device)

    def kill_pass(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        self.end_session(process)

    def assert_recovers(self, node=None):
        """Fail unless all is well after the passes have ended.

        :param node: to be started again first
        """
        for process in self.passes.values():
            self.end_session(process)
        if node:
            self.restart(node)
        self.assert_nothing_lost()
        self.assert_converges()

    def kill_some(self):
        """Kill the passes and a node: nothing is lost. Change all again."""
        node = self.random.choice([1, 2, 3])
        self.cluster.kill(node)
        for process in self.passes.values():
            self.kill_pass(process)
        self.cluster.start(node)
        self.assert_nothing_lost()
        self.change_all()


class TestRsync(Killing):

    def test_the_senders_and_their_rsyncs_at_a_transfer(self):
        self.meet_half_way()
        for process in self.passes.values():
            self.kill_pass(process)
        self.assert_recovers()

    def test_the_senders_alone_while_their_rsyncs_go_on(self):
        self.meet_half_way()
        for process in self.passes.values():
            kill(process.pid)
        # The files are there, and nobody has told the receivers.
        self.assert_recovers()

    def test_the_rsyncs_of_the_senders_at_a_transfer(self):
        self.meet_half_way()
        for pid in self.slow.pids():
            kill(pid)
        self.assert_recovers()

    def test_a_receiving_server_at_a_transfer(self):
        for server in 'rsync', 'replication-server':
            with self.subTest(server):
                self.change_all()
                node = self.meet_half_way()
                killed = self.cluster.pids(node, server)
                self.assertTrue(killed)
                for pid in killed:
                    kill(pid)
                self.assert_recovers(node)

    def test_a_whole_receiving_node_at_a_transfer(self):
        node = self.meet_half_way()
        self.kill_pass(self.passes[node])
        self.cluster.kill(node)
        self.assert_recovers(node)

    def test_everything_at_random_moments_again_and_again(self):
        for _ in range(3):
            slow = SlowRsync(self.enterContext(TemporaryDirectory()), 400)
            self.start_passes(slow)
            wait_for(slow.pids, 'an rsync')
            sleep(self.random.uniform(0, 0.6))
            self.kill_some()
        self.assert_converges()


class TestSsync(Killing):
    fields = {'sync_method': 'ssync'}

    def test_senders_and_a_receiver_at_random_moments(self):
        for _ in range(3):
            self.start_passes()
            before = self.copies()
            wait_for(lambda: self.copies() > before
                     or all(each.poll() is not None
                            for each in self.passes.values()), 'a transfer')
            self.kill_some()
        self.assert_converges()

    def copies(self):
        return sum(len(self.holders(name)) for name in self.names)
