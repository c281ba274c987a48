# SPDX-License-Identifier: Apache-2.0
"""swift-losf-mount without a mount: its tree, and how places are numbered."""

import contextlib
import errno
import hashlib
import io
import os
import pickle
import shutil
import unittest
from pathlib import Path
from unittest import mock

import plyvel
from swift.obj import diskfile

from swift_losf.format.keys import partition_of
from swift_losf.index.index import Index
from swift_losf.mount import cli
from swift_losf.mount.tree import ROOT, Inodes, Tree, attributes
from tests.unit.losf.index_world import HASH, NAME, PARTITION, IndexTest

LONG = bytes(range(256)) * 4000
FRAGMENT = '1700000000.00001#3#d.data'
SUFFIX = HASH.hex()[-3:]
DIRECTORY = 'objects', str(PARTITION), SUFFIX, HASH.hex()


class TreeTest(IndexTest):
    """A device with an object of one file, and the fragments of another."""

    def setUp(self):
        super().setUp()
        self.other = bytes(16)
        index = Index(self.layout.index)
        self.located = self.put(index, data=b'some data')
        self.put(index, FRAGMENT, self.other, data=LONG)
        index.close()
        self.release(1)
        self.at_end = contextlib.ExitStack()
        self.addCleanup(self.at_end.close)

    def tree(self):
        return Tree(cli.stores([self.layout], self.at_end))

    def listed(self, tree, place=()):
        """Yield all places below one."""
        for name in tree.list(place):
            yield (*place, name)
            if len(place) < 4:
                yield from self.listed(tree, (*place, name))

    def everything(self):
        other = self.other.hex()
        return [
            ('objects',), DIRECTORY[:2],
            ('objects', '7', '000'), ('objects', '7', '000', other),
            ('objects', '7', '000', other, FRAGMENT),
            DIRECTORY[:3], DIRECTORY, (*DIRECTORY, NAME)]


class TestTree(TreeTest):

    def test_of_a_stopped_server_all_is_there(self):
        tree = self.tree()
        self.assertEqual(self.everything(), list(self.listed(tree)))
        for place in self.everything():
            tree.require(place)

    def test_of_a_running_server_all_is_there(self):
        self.serve()
        tree = self.tree()
        self.assertEqual(self.everything(), list(self.listed(tree)))
        with tree.open((*DIRECTORY, NAME)) as reader:
            self.assertEqual(b'some data', reader.read())

    def test_what_is_nowhere_is_not_there(self):
        tree = self.tree()
        for place in (
                ('objects-1',), ('losf',), ('objects', '8'),
                ('objects', '07'), ('objects', 'tmp'),
                ('objects', str(2 ** 32)), ('objects', str(2 ** 40)),
                (*DIRECTORY[:2], '001'),
                (*DIRECTORY[:2], 'xyz'), (*DIRECTORY[:2], '000', HASH.hex()),
                (*DIRECTORY[:3], 'ab' * 16), (*DIRECTORY[:3], '.'),
                (*DIRECTORY, 'other.data'), (*DIRECTORY, NAME, 'below'),
                ('objects', '8', SUFFIX, HASH.hex())):
            with self.subTest(place), self.assertRaises(OSError) as caught:
                tree.require(place)
            self.assertEqual(errno.ENOENT, caught.exception.errno)

    def test_the_partition_is_that_of_the_ring(self):
        shutil.rmtree(self.layout.index)
        index = Index(self.layout.index)
        index.part_power.set(8)
        for hash_ in (HASH, bytes([99]) * 16):
            self.put(index, hash_=hash_, number=3)
        index.close()
        tree = self.tree()
        self.assertEqual(['0', '99'], tree.list(('objects',)))
        for hash_ in (HASH, bytes([99]) * 16):
            place = ('objects', str(partition_of(hash_, 8)),
                     hash_.hex()[-3:], hash_.hex())
            tree.require(place)
            with self.assertRaises(FileNotFoundError):
                tree.require(('objects', '200', *place[2:]))
            with self.assertRaises(FileNotFoundError):
                tree.stat(('objects', '200', *place[2:], NAME))

    def test_a_file_has_its_size_and_the_time_of_its_writing(self):
        tree = self.tree()
        found = tree.stat((*DIRECTORY, NAME))
        self.assertEqual((9, 1), (found.size, found.written))
        place = ('objects', '7', '000', self.other.hex(), FRAGMENT)
        self.assertEqual(len(LONG), tree.stat(place).size)
        with tree.open(place) as reader:
            reader.seek(300_000)
            self.assertEqual(LONG[300_000:300_100], reader.read(100))

    def test_a_damaged_file_is_listed_but_cannot_be_read(self):
        self.overwrite(1, self.located.data_offset, b'rotten')
        tree = self.tree()
        found = tree.stat((*DIRECTORY, NAME))
        self.assertEqual((9, 0), (found.size, found.written))
        with self.assertRaises(OSError) as caught:
            tree.open((*DIRECTORY, NAME))
        self.assertEqual(errno.EUCLEAN, caught.exception.errno)

    def test_a_listing_reads_what_it_shows_and_no_more(self):
        index = Index(self.layout.index)
        for number in range(1, 200):
            self.put(index, hash_=bytes([number]) * 16, number=3)
        index.close()
        tree = self.tree()
        reader = tree._stores['objects'].index._index.reader
        with mock.patch.object(
                reader.db, 'scan', side_effect=AssertionError) as scan:
            scan.side_effect = lambda *key_range: _counted(
                scan, type(reader.db).scan(reader.db, *key_range))
            scan.read = 0
            self.assertEqual([HASH.hex()], tree.list(DIRECTORY[:3]))
            self.assertEqual([NAME], tree.list(DIRECTORY))
            for depth in range(6):
                tree.require((*DIRECTORY, NAME)[:depth])
        self.assertLess(scan.read, 10)

    def test_a_damaged_block_of_the_index_hides_no_others(self):
        hashes = [hashlib.md5(b'%d' % number,
                              usedforsecurity=False).digest()
                  for number in range(2000)]
        index = Index(self.layout.index)
        for hash_ in hashes:
            self.put(index, hash_=hash_, number=3)
        index.db._db.compact_range()
        index.close()
        path = max(Path(self.layout.index).glob('*.ldb'), key=os.path.getsize)
        sound = path.read_bytes()
        # the first block, where the partition begins, and a later one
        for at in (100, len(sound) // 2):
            with self.subTest(at), contextlib.ExitStack() as self.at_end:
                path.write_bytes(sound[:at] + b'rotten' + sound[at + 6:])
                tree = self.tree()
                hidden = sum(self.is_hidden(tree, each) for each in hashes)
                self.assertTrue(0 < hidden < len(hashes) // 3, hidden)

    def is_hidden(self, tree, hash_):
        place = (*DIRECTORY[:2], hash_.hex()[-3:], hash_.hex(), NAME)
        try:
            for depth in range(6):
                tree.require(place[:depth])
        except plyvel.CorruptionError:
            return True
        return False


def _counted(counter, entries):
    for entry in entries:
        counter.read += 1
        yield entry


class TestAttributes(unittest.TestCase):

    def test_they_are_those_that_swift_writes(self):
        for metadata in ({'name': '/a/c/o', 'X-Timestamp': '1'},
                         {'name': '/a/c/\u00e4', 'X-Object-Meta-A': '\udcff',
                          'X-Object-Meta-B': 'x' * 150_000}):
            written = {}
            with mock.patch.object(diskfile.xattr, 'setxattr', (
                    lambda fd, key, value: written.update({key: value}))):
                diskfile.write_metadata(0, metadata)
            self.assertEqual(written, attributes(metadata))
            text = b''.join(value for key, value in sorted(written.items())
                            if key != diskfile.METADATA_CHECKSUM_KEY)
            self.assertEqual(len(metadata), len(pickle.loads(text)))


class TestInodes(unittest.TestCase):

    def test_a_place_keeps_its_number_until_it_is_forgotten(self):
        inodes = Inodes()
        self.assertEqual((), inodes.place(ROOT))
        first = inodes.number(('objects',))
        inodes.look_up(first)
        inodes.look_up(inodes.number(('objects',)))
        inodes.forget(first, 1)
        self.assertEqual(('objects',), inodes.place(first))
        inodes.forget(first, 1)
        self.assertNotEqual(first, inodes.number(('objects',)))
        with self.assertRaises(KeyError):
            inodes.place(first)

    def test_one_that_nobody_was_told_of_is_dropped(self):
        inodes = Inodes()
        number = inodes.number(('objects',))
        inodes.forget(number)
        self.assertRaises(KeyError, inodes.place, number)
        inodes.forget(ROOT, 5)
        self.assertEqual((), inodes.place(ROOT))


class TestCommand(TreeTest):

    def run_mount(self, *args, found=True):
        find_spec = mock.Mock(return_value=found or None)
        with mock.patch('importlib.util.find_spec', find_spec), \
                contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                status = cli.main([self.device, *args])
            except SystemExit as end:
                status = end.code
        return status, err.getvalue()

    def test_without_pyfuse3_it_says_what_to_install(self):
        self.assertEqual(
            (1, "swift-losf-mount: pyfuse3 is not installed: pip install "
             "'swift-lightsync[fuse]'\n"),
            self.run_mount(self.device, found=False))

    def test_what_cannot_be_mounted_is_said(self):
        missing = os.path.join(self.device, 'nowhere')
        empty = self.make_device()
        with mock.patch.dict('sys.modules', {
                'swift_losf.mount.operations': mock.MagicMock()}):
            for args, text in (
                    ([missing, '--no-mount-check'],
                     'must be an empty directory: No such file'),
                    # it would wait for itself for ever
                    ([self.device, '--no-mount-check'],
                     'must be an empty directory: it is not empty'),
                    ([empty], 'nothing is mounted there'),
                    ([empty, '--no-mount-check', '--policy', '5'],
                     'not of policy 5')):
                status, err = self.run_mount(*args)
                self.assertEqual(2, status)
                self.assertIn(text, err)
