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

    def met_half_way(self):
        """
        Start passes on all nodes, and stop the clock while files are under
        way.

        :returns: the Popen of each node's pass
        """
        slow = SlowRsync(self.enterContext(TemporaryDirectory()))
        self.slow = slow
        passes = {node: self.start_pass(node, slow)
                  for node in self.cluster.spec.node_numbers()}
        wait_for(slow.pids, 'an rsync')
        wait_for(self.temporary_files, 'a file that is being received')
        return passes

    def receiver(self):
        """:returns: the number of a node that is receiving a file"""
        path, = wait_for(self.temporary_files, 'a file under way')[:1]
        device = os.path.relpath(path, self.cluster.layout.srv).split(
            os.sep)[1]
        return self.cluster.node_of(device)

    def end(self, passes):
        for process in passes.values():
            self.end_session(process)

    def kill_pass(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        self.end_session(process)


class TestRsync(Killing):

    def test_the_senders_and_their_rsyncs_at_a_transfer(self):
        for process in self.met_half_way().values():
            self.kill_pass(process)
        self.assert_nothing_lost()
        self.assert_converges()

    def test_the_senders_alone_while_their_rsyncs_go_on(self):
        passes = self.met_half_way()
        for process in passes.values():
            kill(process.pid)
        self.end(passes)
        # The files are there, and nobody has told the receivers.
        self.assert_nothing_lost()
        self.assert_converges()

    def test_the_rsyncs_of_the_senders_at_a_transfer(self):
        passes = self.met_half_way()
        for pid in self.slow.pids():
            kill(pid)
        self.end(passes)
        self.assert_nothing_lost()
        self.assert_converges()

    def test_a_receiving_rsyncd_at_a_transfer(self):
        passes = self.met_half_way()
        node = self.receiver()
        for pid in self.cluster.pids(node, 'rsync'):
            kill(pid)
        self.end(passes)
        self.restart(node)
        self.assert_nothing_lost()
        self.assert_converges()

    def test_a_receiving_replication_server_at_a_transfer(self):
        passes = self.met_half_way()
        node = self.receiver()
        killed = self.cluster.pids(node, 'replication-server')
        self.assertTrue(killed)
        for pid in killed:
            kill(pid)
        self.end(passes)
        self.restart(node)
        self.assert_nothing_lost()
        self.assert_converges()

    def test_a_whole_receiving_node_at_a_transfer(self):
        passes = self.met_half_way()
        node = self.receiver()
        self.kill_pass(passes[node])
        self.cluster.kill(node)
        self.end(passes)
        self.cluster.start(node)
        self.assert_nothing_lost()
        self.assert_converges()

    def test_everything_at_random_moments_again_and_again(self):
        for _ in range(3):
            with TemporaryDirectory() as directory:
                slow = SlowRsync(directory, rate=400)
                passes = {node: self.start_pass(node, slow)
                          for node in self.cluster.spec.node_numbers()}
                wait_for(slow.pids, 'an rsync')
                sleep(self.random.uniform(0, 0.6))
                node = self.random.choice([1, 2, 3])
                self.cluster.kill(node)
                for process in passes.values():
                    self.kill_pass(process)
            self.cluster.start(node)
            self.assert_nothing_lost()
            self.change_all()
        self.assert_converges()


class TestSsync(Killing):
    fields = {'sync_method': 'ssync'}

    def test_senders_and_a_receiver_at_random_moments(self):
        for _ in range(3):
            passes = {node: self.start_pass(node)
                      for node in self.cluster.spec.node_numbers()}
            before = self.copies()
            wait_for(lambda: self.copies() > before
                     or all(each.poll() is not None
                            for each in passes.values()), 'a transfer')
            node = self.random.choice([1, 2, 3])
            self.cluster.kill(node)
            for process in passes.values():
                self.kill_pass(process)
            self.cluster.start(node)
            self.assert_nothing_lost()
            self.change_all()
        self.assert_converges()

    def copies(self):
        return sum(len(self.holders(name)) for name in self.names)
