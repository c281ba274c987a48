# SPDX-License-Identifier: Apache-2.0
"""Damaged headers, volumes and indexes: written anew, or set aside."""

import os
import random
import unittest

import plyvel

from swift_losf.format.header import (
    VOLUME_HEADER_LENGTH,
    VolumeHeader,
    VolumeType,
)
from swift_losf.upkeep import lost_index, recovery
from swift_losf.upkeep.lost_index import set_aside
from swift_losf.upkeep.recovery import recover
from swift_losf.volumes.header_repair import find_salt
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

    def assert_mended(self, number=1, type_=VolumeType.DATA):
        with self.assertLogs(recovery.logger, 'WARNING') as logs:
            index = self.recover()
        self.assertIn('written anew', logs.output[0])
        self.assertEqual(['v0000000001', 'v0000000002'],
                         sorted(os.listdir(self.layout.volumes)))
        header = self.header(number)
        self.assertEqual((number, type_, 0), (
            header.number, header.type, header.policy))
        self.assertEqual(
            {**self.locations, '1700000000.00009.data': self.unregistered},
            dict(index.reader.list_hash(PARTITION, HASH)))
        index.close()

    def test_one_bit_anywhere_is_mended_and_all_files_are_there(self):
        for at in (0, 9, 10, 13, 17, 25, 30, 40, 45,
                   random.randrange(48, VOLUME_HEADER_LENGTH)):
            with self.subTest(at=at):
                self.damage(at)
                self.assert_mended()

    def test_a_header_that_is_gone_is_made_anew(self):
        self.overwrite(1, 0, bytes(VOLUME_HEADER_LENGTH))
        self.assert_mended()

    def test_a_volume_of_tombstones_stays_one(self):
        self.damage(20, number=2)
        self.assert_mended(2, VolumeType.TOMBSTONES)

    def test_of_several_records_one_that_is_valid_will_do(self):
        self.damage(self.locations[NAME].data_offset)
        self.damage(20)
        self.assert_mended()

    def test_without_a_valid_record_it_is_set_aside(self):
        self.damage(self.locations[NAME].data_offset)
        self.damage(self.locations[OTHER].offset + 30)
        self.damage(20)
        self.recover()
        self.assertIn('v0000000001.broken', os.listdir(self.layout.volumes))

    def test_without_its_entries_a_volume_is_set_aside(self):
        os.rename(self.layout.index, self.layout.index + '.lost')
        self.damage(20)
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
        with open(os.path.join(self.layout.index, 'CURRENT'), 'w') as file:
            file.write('nonsense')
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
        for size in (0, 10, 4096):
            with open(self.layout.volume(1), 'wb') as volume:
                volume.write(b'x' * size)
            self.recover().close()
            self.assertEqual([], os.listdir(self.layout.volumes))

    def test_a_volume_with_a_broken_header_is_set_aside(self):
        self.write()
        self.release(1)
        self.overwrite(1, 0, b'x')
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
        self.overwrite(1, 0, b'x')
        self.recover()
        self.assertEqual(['v0000000001'], os.listdir(self.layout.volumes))


class TestSetAside(RecoveryTest):

    def test_the_log_has_the_reason_and_no_other(self):
        self.open_index().close()
        with self.assertLogs(lost_index.logger, 'ERROR') as logs:
            set_aside(self.layout, 'it is rebuilt, as the operator wants it')
        self.assertRegex(logs.output[0], r'/losf/index is set aside as \S+'
                         r'/index\.broken-\d+, and .*: it is rebuilt, as')
        self.assertNotIn('cannot be read', logs.output[0])


class TestSalt(unittest.TestCase):

    def test_the_salt_that_is_found_gives_all_records_their_tags(self):
        rng = random.Random(7)
        for _ in range(20):
            header = VolumeHeader(3, VolumeType.DATA, 0, 0,
                                  rng.randbytes(8))
            at = 64 * rng.randrange(2 ** 40)
            found = VolumeHeader(3, VolumeType.DATA, 0, 0, find_salt(
                header.tag(at), at))
            for _ in range(20):
                offset = rng.randrange(2 ** 50)
                self.assertEqual(header.tag(offset), found.tag(offset))
