# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest
from unittest import mock

from tools.benchmarks.errors import BenchError
from tools.benchmarks.losf import throttle

MOUNTS = '''\
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
%s'''
V1 = 'cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n'
V2 = 'cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n'


class TestMounted(unittest.TestCase):

    def test_it_finds_the_hierarchies(self):
        v1, v2 = '/sys/fs/cgroup/blkio', '/sys/fs/cgroup/unified'
        for text, found in (('', (None, None)), (V1, (v1, None)),
                            (V2, (None, v2)), (V1 + V2, (v1, v2))):
            self.assertEqual(found, throttle.mounted(MOUNTS % text))


class Groups(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name

    def read(self, *path):
        with open(os.path.join(self.root, *path)) as text:
            return text.read()

    def write(self, name, text):
        with open(os.path.join(self.root, name), 'w') as file:
            file.write(text)


class TestV1(Groups):

    def test_reads_and_writes_of_a_device_are_limited(self):
        group = throttle.V1(self.root)
        group.limit('7:6', 120)
        for kind in ('read', 'write'):
            self.assertEqual('7:6 120', self.read(
                'blkio.throttle.%s_iops_device' % kind))
        group.limit('7:6', 0)
        self.assertEqual('7:6 0', self.read(
            'blkio.throttle.read_iops_device'))

    def test_processes_come_out_of_groups_that_it_does_not_limit(self):
        throttle.V1(self.root).add([12])
        self.assertEqual('12', self.read('cgroup.procs'))

    def test_a_hierarchy_that_it_has_mounted_is_unmounted(self):
        with mock.patch.object(throttle.commands, 'run') as run, \
                mock.patch.object(os, 'rmdir') as rmdir:
            throttle.V1(self.root).close()
            self.assertFalse(run.called or rmdir.called)
            throttle.V1(self.root, mounted=True).close()
        run.assert_called_once_with(['umount', self.root])
        rmdir.assert_called_once_with(self.root)


class TestV2(Groups):

    def test_a_group_of_its_own_is_limited(self):
        group = throttle.V2(self.root)
        self.assertEqual('+io', self.read('cgroup.subtree_control'))
        group.limit('7:6', 120)
        self.assertEqual('7:6 riops=120 wiops=120',
                         self.read(throttle.GROUP, 'io.max'))
        group.limit('7:6', 0)
        self.assertEqual('7:6 riops=max wiops=max',
                         self.read(throttle.GROUP, 'io.max'))
        group.add([12])
        self.assertEqual('12', self.read(throttle.GROUP, 'cgroup.procs'))

    def test_closing_it_moves_who_is_left_back(self):
        group = throttle.V2(self.root)
        self.write(os.path.join(throttle.GROUP, 'cgroup.procs'), '12\n')
        with mock.patch.object(os, 'rmdir') as rmdir:
            group.close()
        self.assertEqual('12', self.read('cgroup.procs'))
        rmdir.assert_called_once_with(group.path)


class TestFind(Groups):

    def find(self, mounts, mount_fails=True):
        done = mock.Mock(returncode=32 if mount_fails else 0)
        with mock.patch.object(
                throttle, 'open', mock.mock_open(read_data=mounts),
                create=True), \
                mock.patch.object(throttle, '_has',
                                  lambda path, file, word: 'io' in path), \
                mock.patch.object(throttle, 'V2', lambda root: ('v2', root)), \
                mock.patch.object(throttle.commands, 'run',
                                  return_value=done):
            return throttle.find()

    def test_cgroup_v1_comes_first(self):
        self.assertEqual('/sys/fs/cgroup/blkio',
                         self.find(MOUNTS % (V1 + V2)).path)

    def test_cgroup_v2_is_taken_if_it_has_the_controller(self):
        mounts = 'cgroup2 /io cgroup2 rw 0 0\n'
        self.assertEqual(('v2', '/io'), self.find(mounts))

    def test_cgroup_v1_is_mounted_if_it_can_be(self):
        found = self.find(MOUNTS % V2, mount_fails=False)
        self.addCleanup(os.rmdir, found.path)
        self.assertTrue(os.path.isdir(found.path))

    def test_a_machine_that_has_none_gets_a_clear_error(self):
        with self.assertRaisesRegex(BenchError, 'blkio.*io controller'):
            self.find(MOUNTS % V2)


if __name__ == '__main__':
    unittest.main()
