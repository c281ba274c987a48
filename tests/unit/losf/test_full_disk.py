# SPDX-License-Identifier: Apache-2.0
"""A disk that is full: the ballast, and an index that cannot be written."""

import contextlib
import errno
import os
import unittest
from unittest import mock

import plyvel

from swift_losf.format.layout import Layout
from swift_losf.index.index import Index
from swift_losf.index.index_lock import locked
from swift_losf.volumes import ballast
from swift_losf.volumes.ballast import (
    PLENTY,
    SHORT,
    Ballast,
    Space,
    is_given_up,
)
from tests.unit.losf.filesystems import with_holes
from tests.unit.losf.index_world import NAME, PARTITION, IndexTest, location_of
from tests.unit.losf.kv_world import KVTest, World


class TestBallast(IndexTest):

    def setUp(self):
        super().setUp()
        self.path, = self.layout.ballasts
        self.ballast = Ballast(self.path)
        self.addCleanup(self.ballast.close)

    def tend(self, left):
        with mock.patch.object(Space, 'of', return_value=left):
            self.ballast.tend()

    def taken(self, path=None):
        """:returns: (blocks of 512 bytes, files) of the ballast"""
        with os.scandir(path or self.path) as entries:
            stats = [each.stat() for each in entries]
        return sum(each.st_blocks for each in stats), len(stats)

    def assert_given_up(self):
        self.assertTrue(is_given_up(self.path))
        self.assertEqual((0, 1), self.taken())

    def assert_whole(self):
        self.assertFalse(is_given_up(self.path))
        self.assertEqual((65536, 32), self.taken())

    def test_it_is_made_given_up_and_made_again(self):
        for _ in range(2):
            self.tend(PLENTY)
            self.assert_whole()
            self.tend(Space(SHORT.bytes - 1, PLENTY.inodes))
            self.assert_given_up()

    def test_few_inodes_are_as_bad_as_few_bytes(self):
        self.tend(PLENTY)
        self.tend(Space(PLENTY.bytes, SHORT.inodes - 1))
        self.assert_given_up()

    def test_in_between_it_stays_what_it_is(self):
        self.tend(PLENTY)
        self.tend(SHORT)
        self.assert_whole()
        self.tend(Space(0, 0))
        for left in (Space(PLENTY.bytes - 1, PLENTY.inodes),
                     Space(PLENTY.bytes, PLENTY.inodes - 1)):
            self.tend(left)
            self.assert_given_up()

    def test_where_there_was_never_room_there_is_none(self):
        for left in (Space(0, 0), SHORT):
            self.tend(left)
        self.assertFalse(os.path.exists(self.path))
        self.assertFalse(is_given_up(self.path))

    def test_one_that_cannot_be_made_takes_nothing(self):
        self.tend(PLENTY)
        self.tend(Space(0, 0))
        real = os.posix_fallocate
        failing = mock.Mock(side_effect=[None, None, OSError(
            errno.ENOSPC, 'No space left on device')])
        with mock.patch.object(
                ballast.os, 'posix_fallocate',
                lambda *args: (failing(), real(*args))):
            self.tend(PLENTY)
        self.assertEqual(3, failing.call_count)
        self.assert_given_up()

    def test_while_it_is_made_it_is_not_given_up_unless_it_was(self):
        real, seen = os.posix_fallocate, []

        def fallocate(*args):
            seen.append(is_given_up(self.path))
            real(*args)
            seen.append(is_given_up(self.path))
        for before in (False, True):
            with mock.patch.object(ballast.os, 'posix_fallocate', fallocate):
                self.tend(PLENTY)
            self.assertEqual([before] * 64, seen)
            self.assert_whole()
            self.tend(Space(0, 0))
            seen.clear()

    def test_another_disk_in_its_place_is_left_alone(self):
        self.tend(PLENTY)
        gone = self.layout.root + '.gone'
        os.rename(self.layout.root, gone)
        os.mkdir(self.layout.root)
        self.tend(Space(0, 0))
        self.assertEqual((0, 1), self.taken(os.path.join(gone, 'ballast')))
        self.tend(PLENTY)
        self.assertEqual([], os.listdir(self.layout.root))

    def test_who_takes_the_lock_has_room(self):
        self.tend(PLENTY)
        with mock.patch.object(Space, 'of', return_value=Space(0, 0)):
            with locked(self.layout):
                self.assert_given_up()

    def test_an_index_elsewhere_has_one_of_its_own(self):
        layout = Layout(self.device, 0, self.make_device())
        with mock.patch.object(Space, 'of', return_value=PLENTY), \
                locked(layout) as lock:
            for each in lock.ballasts:
                each.tend()
        self.assertEqual(2, len(layout.ballasts))
        for path in layout.ballasts:
            self.assertEqual((65536, 32), self.taken(path))
        self.assertEqual(os.path.dirname(layout.index),
                         os.path.dirname(layout.ballasts[1]))

    def test_no_limit_of_inodes_is_no_lack_of_them(self):
        stat = mock.Mock(f_bavail=1, f_frsize=4096, f_files=0, f_favail=0)
        with mock.patch.object(ballast.os, 'statvfs', return_value=stat):
            left = Space.of('/')
        self.assertEqual(4096, left.bytes)
        self.assertGreaterEqual(left.inodes, PLENTY.inodes)


class TestRequests(KVTest):

    def setUp(self):
        self.world = self.enterContext(contextlib.closing(World('d1')))
        super().setUp()
        self.ballast = Ballast(self.world.layout('d1').ballasts[0])
        self.addCleanup(self.ballast.close)

    def tend(self, left):
        with mock.patch.object(Space, 'of', return_value=left):
            self.ballast.tend()

    def test_while_the_ballast_is_given_up_nothing_but_deletes(self):
        self.tend(PLENTY)
        self.assert_status(201, 'PUT', body=b'before')
        self.tend(Space(0, 0))
        self.assert_status(507, 'PUT', body=b'x')
        self.assert_status(507, 'POST')
        self.assertEqual(b'before', self.assert_status(200, 'GET').body)
        self.assert_status(204, 'DELETE')
        self.assert_status(404, 'GET')
        self.tend(PLENTY)
        self.assert_status(201, 'PUT', body=b'after')


class Filler:
    """:param directory: on the filesystem that is to be full"""

    def __init__(self, directory):
        self.path = os.path.join(directory, 'filler')

    def fill(self):
        with open(self.path, 'wb', buffering=0) as file:
            length = 2 ** 20
            while length >= 512:
                try:
                    file.write(bytes(length))
                except OSError:
                    length //= 2

    def remove(self):
        os.unlink(self.path)


@unittest.skipIf(os.geteuid(), 'only root can mount')
class TestIndex(unittest.TestCase):
    """A LevelDB that has no space."""

    def register(self, index, number):
        index.register(PARTITION, number.to_bytes(16, 'big'), NAME,
                       location_of(NAME, 4096 * (1 + number)), 4096)

    def register_until_it_fails(self, index):
        """:returns: how many were registered"""
        for number in range(10 ** 6):
            try:
                self.register(index, number)
            except plyvel.IOError as err:
                self.assertIn('No space left on device', str(err))
                return number

    def test_what_was_acknowledged_is_there_when_it_is_opened_again(self):
        for name, make in with_holes().items():
            with self.subTest(name), make() as directory:
                self.check(directory)

    def check(self, directory):
        path = os.path.join(directory, 'index')
        filler = Filler(directory)
        index = Index(path)
        filler.fill()
        count = self.register_until_it_fails(index)
        filler.remove()
        # LevelDB would take these, and lose them.
        for number in range(count, count + 100):
            with self.assertRaises(plyvel.IOError):
                self.register(index, number)
        self.assertEqual(count, index.statistics().files)
        with self.assertRaises(plyvel.IOError):
            index.close()
        with contextlib.closing(Index(path)) as index:
            for number in range(count + 100):
                self.assertEqual(number < count, bool(index.reader.list_hash(
                    PARTITION, number.to_bytes(16, 'big'))))
            self.register(index, count)
