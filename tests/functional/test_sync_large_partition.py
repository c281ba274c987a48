# SPDX-License-Identifier: Apache-2.0
"""A partition with nearly all suffixes, and more than 20,000 objects."""

import os
import re
import subprocess
from hashlib import md5

import pytest
from swift.common.utils import Timestamp
from swift.obj.diskfile import write_metadata

from tests.functional.clusters import SyncCase, play_round
from tools.cluster import Policy

OBJECTS = 22000
#: Of resident memory that a pass may take more than one without work, and an
#: object-server more than it has at the start: KiB.
MEMORY = 65536
TROUBLE = re.compile('.*(?:error|timeout|unable|no answer|traceback).*', re.I)


@pytest.mark.long
@pytest.mark.timeout(1800)
class TestLargePartition(SyncCase):
    policy = Policy('gold', 0, 3, part_power=1)
    fields = {'nodes': 3, 'policies': (policy,)}

    def fill(self, device):
        """Put all objects on one device, faster than through a diskfile."""
        timestamp = Timestamp(1.7e9 + 1).internal
        number = 0
        while len(self.acknowledged.newest) < OBJECTS:
            name, number = 'o-%d' % number, number + 1
            partition, _ = self.objects.nodes(name)
            if partition:
                continue
            body = b'%s at %s' % (name.encode(), timestamp.encode())
            directory = self.objects._diskfile(
                {'device': device}, partition, name)._datadir
            os.makedirs(directory)
            with open(os.path.join(directory, timestamp + '.data'),
                      'wb') as data:
                data.write(body)
                write_metadata(data, {
                    'name': '/a/c/' + name, 'X-Timestamp': timestamp,
                    'Content-Type': 'text/plain',
                    'Content-Length': str(len(body)),
                    'ETag': md5(body).hexdigest()})
            self.acknowledged.newest[name] = timestamp, body

    def resident(self, field, pids):
        """:returns: the most resident memory of processes, KiB"""
        found = []
        for pid in pids:
            with open('/proc/%d/status' % pid) as status:
                found += re.findall(r'%s:\s*(\d+)' % field, status.read())
        return max(map(int, found))

    def servers(self):
        return [pid for node in self.cluster.spec.node_numbers()
                for pid in self.cluster.pids(node, 'replication-server')]

    def peak_of_pass(self, node):
        """:returns: the most resident memory of a node's pass, and its log"""
        process = subprocess.Popen(
            [self.cluster.layout.launcher(
                'swift-' + self.cluster.replicator_daemon),
             self.cluster.conf_path('object-server', node), '--once',
             '--verbose'], env=self.cluster.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        log = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        self.assertEqual(0, process.returncode, log)
        return usage.ru_maxrss, log

    def assert_quiet(self, log):
        self.assertEqual([], TROUBLE.findall(log))

    def test_it_is_brought_to_empty_disks_and_kept_equal(self):
        idle, _ = self.peak_of_pass(1)
        before = self.resident('VmRSS', self.servers())
        self.fill('n1d1')
        suffixes = os.listdir(os.path.join(
            self.objects.objects_path('n1d1'), '0'))
        self.assertGreater(len(suffixes), 4000)
        peak, log = self.peak_of_pass(1)
        self.assert_quiet(log)
        self.assertLess(peak - idle, MEMORY)
        rounds, log = self.converge(2)
        self.assert_quiet(log)
        self.assertLess(
            self.resident('VmHWM', self.servers()) - before, MEMORY)
        # From now on, what changes is found among what does not.
        names = sorted(self.acknowledged.newest)[::500]
        for name in names:
            self.acknowledged.put(name, self.acknowledged.quorum(name))
        _, log = self.converge(1)
        self.assert_quiet(log)
        # Nobody is left with something to do.
        log = ''.join(play_round(self.cluster).values())
        self.assertNotIn('rsync', log)
        self.assert_quiet(log)
