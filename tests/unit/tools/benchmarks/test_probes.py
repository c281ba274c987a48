# SPDX-License-Identifier: Apache-2.0
import json
import os
import socket
import tempfile
import time
import unittest
from types import SimpleNamespace

from tools.benchmarks.errors import BenchError
from tools.benchmarks.sync import probe
from tools.benchmarks.sync.probes import ProbeProcess, Probes


class Replicator:
    """A replicator whose passes take CPU time and memory."""

    passes = 0

    def run_once(self):
        self.replicate()
        self.passes += 1

    def replicate(self):
        self.ballast = b'x' * 40 * 2 ** 20
        begin = time.process_time()
        while time.process_time() - begin < 0.1:
            pass
        del self.ballast


class TestProbe(unittest.TestCase):

    def run_probe(self, *commands):
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        with ours, theirs:
            for command in commands:
                ours.send(command)
            ours.shutdown(socket.SHUT_WR)
            found = probe._probe(Replicator, theirs.fileno())()
            found.run_forever()
            theirs.shutdown(socket.SHUT_WR)
            return found, list(iter(lambda: ours.recv(probe.PACKET), b''))

    def test_it_says_that_it_is_ready_and_ends_with_its_controller(self):
        found, packets = self.run_probe()
        self.assertEqual([probe.READY], packets)
        self.assertEqual(0, found.passes)

    def test_it_runs_a_pass_for_each_command(self):
        found, packets = self.run_probe(probe.GO, probe.GO)
        self.assertEqual(2, found.passes)
        self.assertEqual(3, len(packets))

    def test_a_pass_is_measured(self):
        _, packets = self.run_probe(probe.GO)
        usage = probe.Usage(**json.loads(packets[1]))
        self.assertGreaterEqual(usage.seconds, 0.09)
        self.assertTrue(0.09 < usage.cpu_seconds < 1, usage)
        self.assertGreater(usage.max_rss_kib, 40 * 1024)


class Cluster:
    """A cluster whose probes are another program."""

    spec = SimpleNamespace(replicator='stock')

    def __init__(self, directory, argv):
        self.layout = SimpleNamespace(
            etc=directory,
            log=lambda name: os.path.join(directory, name + '.log'))
        self.network = SimpleNamespace(command=lambda node, _: argv)

    def conf_path(self, server, node):
        return '/conf'

    def environment(self):
        return dict(os.environ)


class TestProbeProcess(unittest.TestCase):

    def start(self, *argv):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        cluster = Cluster(directory.name, argv)
        self.probes = Probes(cluster)
        self.addCleanup(self.probes.stop)
        return ProbeProcess(cluster, 4)

    def test_one_that_dies_is_reported_with_its_log(self):
        found = self.start('sh', '-c', 'echo broken; exit 3')
        self.addCleanup(found.stop)
        with self.assertRaisesRegex(BenchError, 'node 4.*ended.*'
                                    + found.log):
            found.receive(time.monotonic() + 30, 'its start')
        with open(found.log) as log:
            self.assertEqual('broken\n', log.read())

    def test_one_that_takes_too_long_is_reported_and_can_be_ended(self):
        found = self.start('sleep', '60')
        with self.assertRaisesRegex(BenchError, 'node 4: a pass did not '
                                    'come in time.*--timeout'):
            found.receive(time.monotonic(), 'a pass')
        found.idle = False
        found.stop()
        self.assertIsNotNone(found.process.returncode)


if __name__ == '__main__':
    unittest.main()
