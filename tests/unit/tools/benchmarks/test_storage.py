# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import time
import unittest
from unittest import mock

from swift.common import utils
from swift.obj.diskfile import read_metadata

from tools.benchmarks.sync.dataset import Version, Write
from tools.benchmarks.sync.storage import Storage, restore

DEVICES = ('a', 'b', 'c')
#: Swift removes tombstones older than a week.
NOW = float(int(time.time()) - 3600)
SWIFT_CONF = ('[swift-hash]\nswift_hash_path_prefix = p\n'
              'swift_hash_path_suffix = s\n')


class OnePartition:
    """A ring whose only partition is on all devices."""

    def get_nodes(self, account, container, name):
        return 0, [{'device': device} for device in DEVICES]


class TestStorage(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        etc = os.path.join(self.root, 'etc')
        os.mkdir(etc)
        with open(os.path.join(etc, 'swift.conf'), 'w') as conf:
            conf.write(SWIFT_CONF)
        for name, value in (('HASH_PATH_PREFIX', b'p'),
                            ('HASH_PATH_SUFFIX', b's')):
            patch = mock.patch.object(utils, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        for device in DEVICES:
            os.makedirs(self.path(device))
        self.storage = Storage(etc, OnePartition(), seed=1)
        self.objects = [Version('o%d' % i, NOW + i, 100) for i in range(4)]

    def path(self, *parts):
        return os.path.join(self.root, 'srv', *parts)

    def write(self, *writes, **kwargs):
        self.storage.write(writes, lambda device: self.path(), **kwargs)

    def write_all(self):
        self.write(*(Write(version, DEVICES) for version in self.objects),
                   hash_partitions=True)

    def stale(self, versions=None, devices=DEVICES):
        return self.storage.stale(
            self.objects if versions is None else versions,
            lambda device: device in devices and self.path(device))

    def test_what_was_written_everywhere_is_nowhere_stale(self):
        self.assertEqual(12, self.stale())
        self.write_all()
        self.assertEqual(0, self.stale())

    def test_objects_are_as_swift_writes_them(self):
        self.write_all()
        one = self.objects[0]
        path = self.path('a', self.storage.place(one.name).path,
                         one.file_name)
        with open(path, 'rb') as data:
            self.assertEqual(one.body(1), data.read())
        metadata = read_metadata(path)
        self.assertEqual('/AUTH_bench/bench/o0', metadata['name'])
        self.assertEqual('%.5f' % NOW, metadata['X-Timestamp'])
        self.assertEqual('100', metadata['Content-Length'])

    def test_a_missing_an_older_and_a_deleted_replica_are_stale(self):
        self.write_all()
        newer = Version('o1', NOW + 100, 50)
        gone = Version('o2', NOW + 100, 0, True)
        self.write(Write(newer, ('a', 'b')), Write(gone, ('a',)))
        self.assertEqual(3, self.stale([newer, gone]))
        self.assertEqual(0, self.stale([newer, gone], devices=('a',)))
        self.assertEqual(2, self.stale([newer, gone], devices=('c',)))

    def test_a_replica_of_another_size_is_stale(self):
        self.write_all()
        one = self.objects[0]
        path = self.path('a', self.storage.place(one.name).path,
                         one.file_name)
        with open(path, 'ab') as data:
            data.write(b'x')
        self.assertEqual(1, self.stale())

    def test_an_older_file_beside_the_newest_does_not_matter(self):
        self.write_all()
        gone = Version('o1', NOW + 100, 0, True)
        path = self.path('a', self.storage.place('o1').path)
        with open(os.path.join(path, gone.file_name), 'w'):
            self.assertEqual(2, len(os.listdir(path)))
        self.assertEqual(0, self.stale([gone], devices=('a',)))
        self.assertEqual(1, self.stale(self.objects, devices=('a',)))

    def test_a_change_invalidates_the_hashes_as_swift_does(self):
        self.write_all()
        queue = self.path('a', 'objects', '0', 'hashes.invalid')
        self.assertEqual(0, os.stat(queue).st_size)
        self.write(Write(Version('o1', NOW + 100, 50), ('a',)))
        self.assertGreater(os.stat(queue).st_size, 0)

    def test_a_restored_device_is_as_its_master_with_the_same_hashes(self):
        self.write_all()
        restore(self.path('a'), self.path('b'))
        part = ('objects', '0')
        master, copy = (self.path(device, *part, 'hashes.pkl')
                        for device in 'ab')
        self.assertTrue(os.path.samefile(master, copy))
        self.assertEqual(0, self.stale(devices=('b',)))

    def test_restoring_what_is_equal_changes_nothing(self):
        self.write_all()
        restore(self.path('a'), self.path('b'))
        before = self.times('b')
        restore(self.path('a'), self.path('b'))
        self.assertEqual(before, self.times('b'))

    def times(self, device):
        return {directory: os.stat(directory).st_mtime_ns
                for directory, _, _ in os.walk(self.path(device))}

    def test_files_and_directories_can_have_changed_places(self):
        for path, name in ((self.path('a'), 'x'), (self.path('b'), 'y')):
            os.makedirs(os.path.join(path, name, 'below'))
        for path, name in ((self.path('a'), 'y'), (self.path('b'), 'x')):
            with open(os.path.join(path, name), 'w') as output:
                output.write(path)
        restore(self.path('a'), self.path('b'))
        self.assertTrue(os.path.isdir(self.path('b', 'x', 'below')))
        self.assertTrue(os.path.samefile(self.path('a', 'y'),
                                         self.path('b', 'y')))

    def test_what_happens_to_a_restored_device_leaves_the_master(self):
        self.write_all()
        restore(self.path('a'), self.path('b'))
        self.write(Write(Version('o1', NOW + 100, 0, True), ('b',)),
                   Write(Version('new', NOW, 10), ('b',)),
                   hash_partitions=True)
        self.assertEqual(0, self.stale(devices=('a',)))
        self.assertEqual(1, self.stale(devices=('b',)))
        queue = self.path('a', 'objects', '0', 'hashes.invalid')
        self.assertEqual(0, os.stat(queue).st_size)
        restore(self.path('a'), self.path('b'))
        self.assertEqual(0, self.stale(devices=('b',)))
        self.assertFalse(os.path.exists(self.path(
            'b', self.storage.place('new').path)))


if __name__ == '__main__':
    unittest.main()
