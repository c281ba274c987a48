# SPDX-License-Identifier: Apache-2.0
"""What is on a device is seen as it is, in directories and in volumes."""

import os
import tempfile
import unittest

from swift.common.utils import Timestamp
from swift.obj.diskfile import write_metadata

from tests.unit.losf.kv_world import PARTITION, START, KVTest, World
from tools.demonstration.client import digest
from tools.demonstration.errors import DemoError
from tools.demonstration.stored import files_on_device

HASH = 'd41d8cd98f00b204e9800998ecf8427e'


class TestDirectories(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.device = directory.name

    def write(self, *path, content=b'', metadata=None):
        path = os.path.join(self.device, *path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as new:
            new.write(content)
            if metadata:
                write_metadata(new, metadata)

    def object(self, name='1.00000.data', **kwargs):
        self.write('objects', '7', '27e', HASH, name, **kwargs)

    def found(self):
        return files_on_device(self.device)

    def test_a_file_is_found_with_all_that_counts(self):
        self.object(content=b'abc', metadata={'name': '/a/c/o'})
        stored, = self.found()
        self.assertEqual((0, 7, HASH, '1.00000.data', 3), (
            stored.policy, stored.partition, stored.object_hash,
            stored.name, stored.size))

    def test_other_content_or_metadata_is_another_file(self):
        seen = set()
        for content, name in ((b'abc', 'x'), (b'abd', 'x'), (b'abc', 'y')):
            self.object(content=content, metadata={'name': name})
            seen |= self.found()
        self.assertEqual(3, len(seen))

    def test_the_order_of_metadata_does_not_count(self):
        self.object(metadata={'a': '1', 'b': '2'})
        first = self.found()
        self.object(metadata={'b': '2', 'a': '1'})
        self.assertEqual(first, self.found())

    def test_missing_metadata_is_not_equal_to_any(self):
        self.object(metadata={'a': '1'})
        good = self.found()
        os.unlink(os.path.join(self.device, 'objects', '7', '27e', HASH,
                               '1.00000.data'))
        self.object()
        bad, = self.found()
        self.assertIn('unreadable', bad.metadata)
        self.assertNotIn(bad, good)

    def test_every_policy_counts(self):
        self.object(metadata={'a': '1'})
        self.write('objects-1', '8', '27e', HASH, '1.00000.ts',
                   metadata={'a': '1'})
        self.assertEqual({(0, 7), (1, 8)}, {
            (each.policy, each.partition) for each in self.found()})

    def test_a_left_over_temporary_file_counts(self):
        self.object(name='.1.00000.data.x7Gh2')
        self.assertEqual(1, len(self.found()))

    def test_what_each_node_keeps_for_itself_does_not_count(self):
        for name in ('hashes.pkl', 'hashes.invalid', 'changed.pkl', '.lock'):
            self.write('objects', '7', name, content=b'x')
        self.write('tmp', 'x')
        self.write('async_pending', 'abc', 'x')
        self.write('objects', 'auditor_status_ALL.json')
        self.assertEqual(frozenset(), self.found())


class TestVolumes(KVTest):
    @classmethod
    def setUpClass(cls):
        cls.world = World('d1')

    @classmethod
    def tearDownClass(cls):
        cls.world.close()

    def found(self):
        """:returns: the files of the object of this test"""
        return [each for each in files_on_device(self.world.path('d1'))
                if each.object_hash == self.hash()]

    def flip_bit(self, location):
        with open(self.world.layout('d1').volume(location.volume),
                  'r+b') as volume:
            volume.seek(location.data_offset)
            value, = volume.read(1)
            volume.seek(location.data_offset)
            volume.write(bytes([value ^ 4]))

    def test_a_record_is_a_file_with_all_that_counts(self):
        self.write(b'abc', START)
        stored, = self.found()
        name = Timestamp(START).internal + '.data'
        self.assertEqual((0, int(PARTITION), name, 3, digest(b'abc')), (
            stored.policy, stored.partition, stored.name, stored.size,
            stored.content))

    def test_other_content_or_metadata_is_another_file(self):
        seen = set()
        for number, (data, kind) in enumerate((
                (b'abc', 'x'), (b'abd', 'x'), (b'abc', 'y'))):
            self.write(data, START + number, **{'Content-Type': kind})
            stored, = self.found()
            seen.add((stored.content, stored.metadata))
        self.assertEqual(3, len(seen))

    def test_a_tombstone_is_a_file(self):
        self.write(b'abc', START)
        self.diskfile().delete(Timestamp(START + 1))
        stored, = self.found()
        self.assertTrue(stored.name.endswith('.ts'))

    def test_one_flipped_bit_makes_it_unreadable(self):
        self.write(b'abc', START)
        location, = self.files().values()
        self.flip_bit(location)
        stored, = self.found()
        self.assertIn('unreadable', stored.content)
        self.flip_bit(location)
        stored, = self.found()
        self.assertEqual(digest(b'abc'), stored.content)

    def test_an_index_that_does_not_answer_is_an_error(self):
        self.world.kill('d1')
        self.addCleanup(self.world.serve, 'd1')
        with self.assertRaisesRegex(DemoError, 'd1: .*cannot be told'):
            files_on_device(self.world.path('d1'))
