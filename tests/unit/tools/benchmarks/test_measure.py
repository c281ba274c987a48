# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import time
import unittest
from collections import Counter

from tools.benchmarks.sync import record, request_log
from tools.benchmarks.sync.measure import Pass, cpu_seconds
from tools.benchmarks.sync.record import Shape


class TestRequestLog(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.cache = directory.name
        self.log = request_log.path(self.cache)
        self.seen = []
        self.app = request_log.filter_factory(
            {'recon_cache_path': self.cache})(self.server)
        self.addCleanup(os.close, self.app.fd)

    def server(self, env, start_response):
        self.seen.append(env)
        return [b'answer']

    def request(self, method):
        return self.app({'REQUEST_METHOD': method}, None)

    def test_it_passes_requests_on(self):
        self.assertEqual([b'answer'], self.request('REPLICATE'))
        self.assertEqual([{'REQUEST_METHOD': 'REPLICATE'}], self.seen)

    def test_it_counts_methods_since_a_position(self):
        self.request('SSYNC')
        begin = request_log.position(self.log)
        self.assertEqual(Counter(), request_log.since(self.log, begin))
        for method in ('REPLICATE', 'LIGHTSYNC', 'LIGHTSYNC'):
            self.request(method)
        self.assertEqual(Counter(REPLICATE=1, LIGHTSYNC=2),
                         request_log.since(self.log, begin))

    def test_a_log_that_is_not_there_yet_is_empty(self):
        self.assertEqual(0, request_log.position(self.log + 'x'))


class TestCpuSeconds(unittest.TestCase):

    def test_it_counts_what_a_process_and_its_children_used(self):
        mine = os.getpid()
        before = cpu_seconds([mine])
        begin = time.process_time()
        while time.process_time() - begin < 0.1:
            pass
        used = cpu_seconds([mine]) - before
        self.assertGreater(used, 0.05)
        child = os.fork()
        if not child:
            begin = time.process_time()
            while time.process_time() - begin < 0.2:
                pass
            os._exit(0)
        os.waitpid(child, 0)
        self.assertGreater(cpu_seconds([mine]) - before, used + 0.1)


class TestRecord(unittest.TestCase):

    SHAPE = Shape(nodes=5, replicas=5, objects_per_node=80.0,
                  partitions_per_node=10.0, suffixes_per_partition=8.0)

    def make(self, passes, live=5, stale=0):
        return record.make(self.SHAPE, 'stock', 'create', 2, passes, live,
                           stale)

    def test_the_first_pass_and_the_sum_of_all_are_kept(self):
        found = self.make([Pass(2.0, {'A': 30.0, 'B': 10.0}, 900.0, 1.5, 50.0),
                           Pass(1.0, {'A': 30.0}, 100.0, 0.5, 60.0)])
        self.assertEqual(
            (2.0, 40.0, 900.0, 1.5, 50.0),
            (found.pass_seconds, found.messages, found.bytes_sent,
             found.cpu_seconds, found.max_rss_mib))
        self.assertEqual(
            (3.0, 70.0, 1000.0, 2.0),
            (found.total_pass_seconds, found.total_messages,
             found.total_bytes_sent, found.total_cpu_seconds))
        self.assertEqual(2, found.rounds)
        self.assertEqual({'A': 30.0, 'B': 10.0}, found.requests)

    def test_messages_of_a_partition_are_those_of_all_its_replicas(self):
        # Ten partitions, on each of the five nodes.
        one = Pass(1.0, {'A': 40.0}, 1.0, 1.0, 1.0)
        self.assertEqual(20.0, self.make([one]).messages_per_partition)
        self.assertEqual(16.0,
                         self.make([one], live=4).messages_per_partition)

    def test_only_equal_replicas_are_converged(self):
        one = Pass(1.0, {}, 1.0, 1.0, 1.0)
        self.assertTrue(self.make([one]).converged)
        self.assertFalse(self.make([one], stale=1).converged)

    def test_every_metric_is_a_field_of_a_record(self):
        found = self.make([Pass(1.0, {}, 1.0, 1.0, 1.0)])
        for metric in record.METRICS:
            self.assertIsInstance(getattr(found, metric.field),
                                  (int, float))


if __name__ == '__main__':
    unittest.main()
