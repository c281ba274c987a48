# SPDX-License-Identifier: Apache-2.0
"""What is on the disks is seen as it is, and compared file by file."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import TestCase, mock

from swift.common.ring import RingBuilder
from swift.common.utils import Timestamp, hash_path, storage_directory
from swift.obj.diskfile import write_metadata

from tests.unit.losf.kv_world import PARTITION, START, KVTest, World
from tools import ToolError
from tools.cluster import Cluster, ClusterSpec, Policy
from tools.demonstration.survey import (
    Copies,
    StoredFile,
    files_on_device,
    judge,
)
from tools.demonstration.users import ObjectName, digest

HASH = 'd41d8cd98f00b204e9800998ecf8427e'
OLD = StoredFile(0, 7, HASH, '1.00000.data', 'old', 'm1')
NEW = StoredFile(0, 7, HASH, '2.00000.data', 'new', 'm2')
GONE = StoredFile(0, 7, HASH, '3.00000.ts', '', 'm3')
ROTTEN, REMARKED = NEW._replace(content='rot'), NEW._replace(metadata='rot')
STRAY = NEW._replace(policy=9)
PLACEMENT = {(0, 7): frozenset('abc')}


class TestJudge(TestCase):
    def test_states_of_three_primaries_and_another_device(self):
        for files, content, wrong, handoffs in (
                # the same everywhere
                ([[NEW], [NEW], [NEW], []], 'new', '', ''),
                ([[GONE], [GONE], [GONE]], None, '', ''),
                # outdated, be they the most, or missing
                ([[OLD], [OLD], [NEW]], 'new', 'ab', ''),
                ([[NEW], [], [NEW]], 'new', 'b', ''),
                ([[NEW], [NEW]], 'new', 'c', ''),
                ([[GONE], [NEW], [GONE]], None, 'b', ''),
                # superseded files beside the newest
                ([[OLD, NEW], [NEW], [OLD, NEW]], 'new', 'ac', ''),
                # other content or metadata: what most have counts
                ([[ROTTEN], [NEW], [NEW]], 'new', 'a', ''),
                ([[NEW], [REMARKED], [NEW]], 'new', 'b', ''),
                # where the ring names others
                ([[NEW], [NEW], [NEW], [NEW]], 'new', '', 'd')):
            with self.subTest(files=files):
                found = judge(dict(zip('abcd', map(frozenset, files))),
                              PLACEMENT)
                self.assertEqual({(0, HASH): content}, found.contents)
                self.assertEqual([*wrong], [each[3] for each in found.wrong])
                self.assertEqual([*handoffs],
                                 [each[3] for each in found.handoffs])
                self.assertEqual(not wrong and not handoffs, found.equal)

    def test_a_partition_that_no_ring_has_is_a_hand_off(self):
        found = judge({'a': frozenset([STRAY])}, PLACEMENT)
        self.assertIn('on a: a hand-off copy', found.examples)

    def test_what_was_found_is_said(self):
        self.assertEqual('1 objects, 0 tombstones: all replicas identical',
                         str(judge(dict.fromkeys('abc', frozenset([NEW])),
                                   PLACEMENT)))
        found = judge({'a': frozenset([GONE])}, PLACEMENT)
        self.assertEqual('0 objects, 1 tombstones: 2 replicas differ; 0 '
                         'hand-off copies', str(found))
        self.assertIn('object %s on b: differs' % HASH, found.examples)


class TestDirectories(TestCase):
    def setUp(self):
        directory = TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.device = directory.name

    def found(self, *path, content=b'', metadata=None):
        """Write a file; return what is on the device."""
        path = Path(self.device, *path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with path.open('wb') as new:
            new.write(content)
            if metadata:
                write_metadata(new, metadata)
        return files_on_device(self.device)

    def object(self, name='1.00000.data', **kwargs):
        return self.found('objects', '7', '27e', HASH, name, **kwargs)

    def test_a_file_is_found_with_all_that_counts(self):
        stored, = self.object(content=b'abc', metadata={'name': '/a/c/o'})
        self.assertEqual((0, 7, HASH, '1.00000.data', digest(b'abc')),
                         stored[:5])
        # other content or metadata is another file; their order is none
        self.assertEqual(3, len(frozenset().union(*(
            self.object(content=content, metadata=metadata)
            for content, metadata in (
                (b'abc', {'a': '1', 'b': '2'}), (b'abd', {'a': '1', 'b': '2'}),
                (b'abc', {'b': '2', 'a': '1'}), (b'abc', {'a': '1'}))))))

    def test_missing_metadata_is_not_equal_to_any(self):
        good = self.object(metadata={'a': '1'})
        bad, = self.object()
        self.assertIn('unreadable', bad.metadata)
        self.assertNotIn(bad, good)

    def test_every_policy_and_a_left_over_temporary_file_count(self):
        self.object(name='.1.00000.data.x7Gh2')
        self.assertEqual({(0, 7), (1, 8)}, {
            each[:2] for each in self.found(
                'objects-1', '8', '27e', HASH, '1.00000.ts')})

    def test_what_each_node_keeps_for_itself_does_not_count(self):
        for name in ('hashes.pkl', 'hashes.invalid', 'changed.pkl', '.lock'):
            self.found('objects', '7', name, content=b'x')
        self.found('tmp', 'x')
        self.found('async_pending', 'abc', 'x')
        self.assertEqual(frozenset(), self.found(
            'objects', 'auditor_status_ALL.json'))


class TestVolumes(KVTest):
    @classmethod
    def setUpClass(cls):
        cls.world = World('d1')
        cls.addClassCleanup(cls.world.close)

    def found(self):
        """Return the files of the object of this test."""
        return [each for each in files_on_device(self.world.path('d1'))
                if each.object_hash == self.hash()]

    def flip_bit(self, location):
        with open(self.world.layout('d1').volume(location.volume),
                  'r+b') as volume:
            volume.seek(location.data_offset)
            value, = volume.read(1)
            volume.seek(location.data_offset)
            volume.write(bytes([value ^ 4]))

    def test_a_record_is_a_file_and_each_difference_another(self):
        seen = set()
        for number, (data, kind) in enumerate((
                (b'abc', 'x'), (b'abd', 'x'), (b'abc', 'y'))):
            self.write(data, START + number, **{'Content-Type': kind})
            stored, = self.found()
            name = Timestamp(START + number).internal + '.data'
            self.assertEqual((0, int(PARTITION), name, digest(data)), (
                *stored[:2], stored.name, stored.content))
            seen.add(stored[-2:])
        self.assertEqual(3, len(seen))
        self.diskfile().delete(Timestamp(START + 3))
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
        with self.assertRaisesRegex(ToolError, 'd1: .*cannot be told'):
            files_on_device(self.world.path('d1'))


class TestCopies(TestCase):
    where = ObjectName('proar', 'o')

    def setUp(self):
        directory = TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.cluster = Cluster(ClusterSpec(
            root=directory.name, nodes=3, disks='directory', policies=(
                Policy('stock', 0, 3), Policy('proar', 1, 3, proar=True))))
        builder = RingBuilder(2, 3, 0)
        for node in self.cluster.spec.node_numbers():
            builder.add_dev(dict(
                id=node, region=1, zone=node, weight=1, port=6200,
                ip='127.0.0.%d' % node, device='n%dd1' % node))
        builder.rebalance(seed=1)
        self.ring = builder.get_ring()
        with mock.patch.object(Cluster, 'ring', return_value=self.ring):
            self.copies = Copies(self.cluster, 'a')
        self.ring.get_nodes = lambda *name: (
            0, [{'device': 'n%dd1' % node} for node in (1, 2, 3)])

    def hold(self, node, name, where=where):
        path = Path(self.cluster.device_path(node, 'n%dd1' % node),
                    storage_directory('objects-1' if where == self.where
                                      else 'objects', 0,
                                      hash_path('a', where.container, 'o')))
        os.makedirs(path, exist_ok=True)
        if name:
            (path / name).touch()

    def test_who_has_the_newest_file_holds_it(self):
        for node, name, holders in (
                (1, None, set()), (1, '2.00000.data', {'n1d1'}),
                (2, '1.00000.data', {'n1d1'}),
                (2, '2.00000.data', {'n1d1', 'n2d1'}),
                (3, '2.00000.data', {'n1d1', 'n2d1', 'n3d1'}),
                (3, '3.00000.ts', {'n3d1'})):
            self.hold(node, name)
            self.assertEqual(holders, self.copies.holders(self.where))
        # Each policy has a directory of its own.
        stock = ObjectName('stock', 'o')
        self.hold(1, '1.00000.data', stock)
        self.assertEqual({'n1d1'}, self.copies.holders(stock))
        self.assertEqual({'n3d1'}, self.copies.holders(self.where))
