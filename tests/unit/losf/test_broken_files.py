# SPDX-License-Identifier: Apache-2.0
"""Damaged headers, volumes and indexes: written anew, or set aside."""

import errno
import os
import random
import shutil
from unittest import mock

import plyvel

from swift_losf.format.header import (
    FIRST_RECORD,
    VOLUME_HEADER_LENGTH,
    VolumeType,
)
from swift_losf.upkeep import recovery
from swift_losf.upkeep.recovery import recover
from swift_losf.volumes import volume as volume_module
from swift_losf.volumes.volume import read_header
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    RecoveryTest,
)


class TestDamagedHeaders(RecoveryTest):

    def setUp(self):
        super().setUp()
        index = self.open_index()
        self.locations = {name: self.put(index, name)
                          for name in (NAME, OTHER, TOMBSTONE)}
        self.unregistered = self.write('1700000000.00009.data')
        index.close()
        for number in (1, 2):
            self.release(number)

    def damage(self, at, value=None, number=1):
        """Change a byte of a volume; by default one of its bits."""
        with open(self.layout.volume(number), 'r+b') as volume:
            volume.seek(at)
            old = volume.read(1)[0]
            volume.seek(at)
            volume.write(bytes([old ^ 4 if value is None else value]))

    def header(self, number=1):
        with open(self.layout.volume(number), 'rb') as volume:
            return read_header(volume.fileno())

    def assert_mended(self, before, number=1):
        with self.assertLogs(recovery.logger, 'WARNING') as logs:
            index = self.recover()
        self.assertIn('written anew', logs.output[0])
        self.assertEqual(before, self.head(number))
        self.assertEqual(
            {**self.locations, '1700000000.00009.data': self.unregistered},
            dict(index.reader.list_hash(PARTITION, HASH)))
        index.close()

    def head(self, number=1):
        """:returns: the bytes of both copies"""
        with open(self.layout.volume(number), 'rb') as volume:
            return volume.read(FIRST_RECORD)

    def test_one_bit_anywhere_is_mended_and_all_files_are_there(self):
        before = self.head()
        for at in (0, 9, 10, 13, 17, 25, 30, 40, 45,
                   random.randrange(48, VOLUME_HEADER_LENGTH)):
            for copy in (0, VOLUME_HEADER_LENGTH):
                with self.subTest(at=at, copy=copy):
                    self.damage(copy + at)
                    self.assertEqual(1, self.header().number)
                    self.assert_mended(before)

    def test_a_copy_that_is_gone_is_made_anew_even_without_the_index(self):
        before = self.head()
        for copy in (0, VOLUME_HEADER_LENGTH):
            self.overwrite(1, copy, bytes(VOLUME_HEADER_LENGTH))
            shutil.rmtree(self.layout.index)
            self.assert_mended(before)

    def test_a_volume_of_tombstones_stays_one(self):
        before = self.head(2)
        self.damage(20, number=2)
        self.assert_mended(before, 2)
        self.assertEqual(VolumeType.TOMBSTONES, self.header(2).type)

    def test_a_copy_that_the_disk_cannot_read_is_written_anew(self):
        before, real = self.head(), os.pread
        unread = {0}

        def pread(fd, length, offset):
            if offset in unread and length == VOLUME_HEADER_LENGTH:
                raise OSError(errno.EIO, 'the disk is broken')
            return real(fd, length, offset)
        with mock.patch.object(volume_module.os, 'pread', pread):
            self.assert_mended(before)

    def test_copies_that_differ_are_no_header(self):
        other = self.head(2)[:VOLUME_HEADER_LENGTH]
        self.overwrite(1, VOLUME_HEADER_LENGTH, other)
        before = self.head()[:VOLUME_HEADER_LENGTH]
        self.assert_mended(2 * before)

    def test_without_either_copy_it_is_set_aside(self):
        for copy in (0, VOLUME_HEADER_LENGTH):
            self.damage(copy + 20)
        self.recover()
        self.assertIn('v0000000001.broken', os.listdir(self.layout.volumes))


class TestBrokenFiles(RecoveryTest):

    def broken(self):
        return [name for name in os.listdir(os.path.dirname(
            self.layout.index)) if 'index.broken-' in name]

    def test_an_index_that_cannot_be_read_is_set_aside(self):
        index = self.open_index()
        location = self.put(index)
        index.close()
        self.break_index()
        index = self.recover()
        self.assertEqual([(NAME, location)],
                         index.reader.list_hash(PARTITION, HASH))
        self.assertEqual(1, len(self.broken()))

    def test_an_index_that_is_in_use_is_not_set_aside(self):
        self.open_index()
        with self.assertRaisesRegex(plyvel.IOError, 'lock'):
            recover(self.layout)
        self.assertEqual([], self.broken())

    def test_a_volume_without_records_and_header_is_removed(self):
        for size in (0, 10, 4096, FIRST_RECORD):
            with open(self.layout.volume(1), 'wb') as volume:
                volume.write(b'x' * size)
            self.recover().close()
            self.assertEqual([], os.listdir(self.layout.volumes))

    def test_a_volume_with_a_broken_header_is_set_aside(self):
        self.write()
        self.release(1)
        self.overwrite(1, 0, bytes(FIRST_RECORD))
        index = self.recover()
        self.assertEqual([], self.names(index))
        self.assertEqual(['v0000000001.broken'],
                         os.listdir(self.layout.volumes))
        self.assertEqual(2, index.new_volume(1))

    def test_a_volume_under_the_name_of_another_is_set_aside(self):
        self.write()
        self.release(1)
        os.rename(self.layout.volume(1), self.layout.volume(3))
        self.recover()
        self.assertEqual(['v0000000003.broken'],
                         os.listdir(self.layout.volumes))

    def test_a_volume_that_is_in_use_is_never_set_aside(self):
        self.volume(1, VolumeType.DATA)
        self.overwrite(1, 0, bytes(FIRST_RECORD))
        self.recover()
        self.assertEqual(['v0000000001'], os.listdir(self.layout.volumes))
