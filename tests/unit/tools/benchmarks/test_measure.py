# SPDX-License-Identifier: Apache-2.0
"""What is read from the kernel and from servers, and what limits a device."""

import os
import tempfile
import time
import unittest

from tools import ToolError
from tools.benchmarks import request_log, throttle
from tools.benchmarks.measure import BlockStats, cpu_seconds, rss_mib

STAT = '  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n'
MOUNTS = '''\
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
%s'''
V1 = 'cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n'
V2 = 'cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n'


class TestKernel(unittest.TestCase):

    def test_counters_of_a_device_are_parsed_and_subtracted(self):
        found = BlockStats.parse(STAT)
        self.assertEqual(BlockStats(1, 3, 5, 7, 16), found)
        self.assertEqual(BlockStats(0, 0, 0, 0, 0), found - found)

    def test_a_kernel_that_counts_no_flushes_is_an_error(self):
        with self.assertRaisesRegex(ToolError, '15 fields'):
            BlockStats.parse(' '.join(STAT.split()[:15]))

    def test_cpu_and_memory_of_processes_are_read(self):
        before = cpu_seconds([os.getpid()])
        deadline = time.process_time() + 0.05
        while time.process_time() < deadline:
            pass
        self.assertGreater(cpu_seconds([os.getpid()]), before)
        self.assertGreater(rss_mib([os.getpid()]), 1)


class InDirectory(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name

    def read(self, *path):
        with open(os.path.join(self.root, *path)) as text:
            return text.read()


class TestThrottle(InDirectory):

    def test_it_finds_the_hierarchies(self):
        v1, v2 = '/sys/fs/cgroup/blkio', '/sys/fs/cgroup/unified'
        for text, found in (('', (None, None)), (V1, (v1, None)),
                            (V2, (None, v2)), (V1 + V2, (v1, v2))):
            self.assertEqual(found, throttle.mounted(MOUNTS % text))

    def test_cgroup_v1_limits_reads_and_writes_in_its_root(self):
        group = throttle.Throttle(self.root, None)
        for iops in (120, 0):
            group.limit('7:6', iops)
            for kind in ('read', 'write'):
                self.assertEqual('7:6 %d' % iops, self.read(
                    'blkio.throttle.%s_iops_device' % kind))
        group.add([12])
        self.assertEqual('12', self.read('cgroup.procs'))
        group.close()

    def test_cgroup_v2_limits_a_group_of_its_own_and_gives_it_back(self):
        group = throttle.Throttle(None, self.root)
        own = throttle.GROUP
        for iops, text in ((120, '120'), (0, 'max')):
            group.limit('7:6', iops)
            self.assertEqual('7:6 riops=%s wiops=%s' % (text, text),
                             self.read(own, 'io.max'))
        group.add([12])
        self.assertEqual('12', self.read(own, 'cgroup.procs'))
        with self.assertRaises(OSError):
            # This directory is no cgroup: it is not empty.
            group.close()
        self.assertEqual('12', self.read('cgroup.procs'))

    def test_a_machine_that_has_none_gets_a_clear_error(self):
        for v2 in (None, os.path.join(self.root, 'missing')):
            with self.assertRaisesRegex(ToolError, 'blkio.*io controller'):
                throttle.Throttle(None, v2)


class TestRequestLog(InDirectory):

    def setUp(self):
        super().setUp()
        self.log = request_log.path(self.root)
        self.server = request_log.filter_factory(
            {'recon_cache_path': self.root})(lambda env, start: env)

    def ask(self, *requests):
        for method, path in requests:
            self.server({'REQUEST_METHOD': method, 'PATH_INFO': path}, None)

    def test_requests_are_counted_since_a_position(self):
        self.ask(('PUT', '/n1d1/3/a/c/o'))
        logged = request_log.Since([self.log])
        self.ask(('PUT', '/n1d1/3/a/c/o'), ('PUT', '/n2d1/3/a/c/o'),
                 ('GET', '/n2d1/3/a/c/o'), ('GET', '/'))
        self.assertEqual({'PUT': 2, 'GET': 2}, logged.methods())
        self.assertEqual({'n1d1': 1, 'n2d1': 1}, logged.devices('PUT'))

    def test_no_file_is_no_request(self):
        logged = request_log.Since([os.path.join(self.root, 'missing')])
        self.assertEqual({}, logged.methods())

    def test_calls_of_a_class_are_counted_once(self):
        class Channel:
            def call(self, number):
                return number + 1

        for _ in range(2):
            request_log.count_calls(Channel, 'call', self.server)
        logged = request_log.Since([self.log])
        self.assertEqual(3, Channel().call(2))
        self.assertEqual({'RPC': 1}, logged.methods())

    def test_requests_wait_as_long_as_the_file_says_at_the_time(self):
        path, waits = os.path.join(self.root, 'delay'), []
        self.server.delay_file, self.server.wait = path, waits.append
        self.ask(('GET', '/'))
        for seconds in (0.5, 0.125, 0):
            request_log.set_delay(path, seconds)
            self.ask(('GET', '/'))
        self.assertEqual([0.5, 0.125], waits)
