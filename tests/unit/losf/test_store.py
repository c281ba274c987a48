# SPDX-License-Identifier: Apache-2.0
"""What one device holds for one policy, with a real index server."""

import os
from unittest import mock

from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import QUARANTINED_OFFSET
from swift_losf.format.layout import ObjectPath
from swift_losf.format.values import Location
from tests.unit.losf.kv_world import PARTITION, KVTest, World


def setUpModule():
    KVTest.world = World('d1')


def tearDownModule():
    KVTest.world.close()


class TestStore(KVTest):

    def where(self, name=None):
        return ObjectPath(self.world.path('d1'), 0, int(PARTITION),
                          self.hash()[-3:], self.hash(), name)

    def append(self, name, data=b'data'):
        """:returns: a Pending of a file of this test's object"""
        writer = self.store().writer(name[name.rindex('.'):], 1 << 20)
        writer.write(data)
        return writer.finish(name, {'name': name}, int(PARTITION),
                             bytes.fromhex(self.hash()))

    def register(self, name, data=b'data'):
        """:returns: its Location"""
        pending = self.append(name, data)
        self.store().register(self.where(), name, pending)
        return pending.location

    def test_a_registered_file_is_listed_and_can_be_read(self):
        location = self.register('1.00001.data', b'content')
        self.assertEqual({'1.00001.data': location}, self.files())
        store, where = self.store(), self.where('1.00001.data')
        with store.open(where, location) as source:
            self.assertEqual(b'content', source.read())
        metadata, written = store.read_metadata(where, location)
        self.assertEqual({'name': '1.00001.data'}, metadata)
        self.assertGreater(written, 0)

    def test_what_has_files_is_listed(self):
        self.register('1.00001.data')
        self.register('1.00002.meta')
        store, suffix = self.store(), self.hash()[-3:]
        self.assertIn(suffix, store.list_partition(int(PARTITION)))
        self.assertTrue(store.has_files(int(PARTITION), suffix))
        self.assertEqual(
            ['1.00001.data', '1.00002.meta'],
            dict(store.list_suffix(int(PARTITION), suffix))[self.hash()])

    def test_what_was_removed_is_not_listed(self):
        self.register('1.00001.data')
        self.store().remove(int(PARTITION), self.hash())
        self.assertEqual({}, self.files())
        self.assertFalse(self.store().has_files(int(PARTITION),
                                                self.hash()[-3:]))

    def test_a_tombstone_goes_to_a_volume_of_its_own(self):
        data = self.register('1.00001.data')
        tombstone = self.register('1.00002.ts')
        self.assertNotEqual(data.volume, tombstone.volume)

    def test_quarantine_marks_every_record_before_the_index_knows(self):
        locations = [self.register('1.00001.data'),
                     self.register('1.00002.meta')]
        self.store().quarantine(self.where())
        self.assertEqual({}, self.files())
        self.assertEqual(['1.00001.data', '1.00002.meta'],
                         self.quarantined())
        for location in locations:
            with open(self.store().layout.volume(location.volume),
                      'rb') as volume:
                volume.seek(location.offset + QUARANTINED_OFFSET)
                self.assertEqual(b'\xff', volume.read(1))

    def test_a_suffix_is_quarantined_with_all_its_hashes(self):
        self.register('1.00001.data')
        self.store().quarantine(ObjectPath(
            self.world.path('d1'), 0, int(PARTITION), self.hash()[-3:]))
        self.assertEqual(['1.00001.data'], self.quarantined())

    def test_what_cannot_be_marked_is_quarantined_all_the_same(self):
        location = self.register('1.00001.data')
        os.rename(self.store().layout.volume(location.volume),
                  self.store().layout.volume(location.volume) + '.away')
        self.addCleanup(
            os.rename,
            self.store().layout.volume(location.volume) + '.away',
            self.store().layout.volume(location.volume))
        self.store().quarantine(self.where())
        self.assertEqual(['1.00001.data'], self.quarantined())

    def test_a_registration_that_failed_holds_no_watermark_back(self):
        store = self.store()
        with mock.patch.object(store.index, 'register',
                               side_effect=IndexUnavailable('away')):
            with self.assertRaises(IndexUnavailable):
                store.register(self.where(), '1.00001.data',
                               self.append('1.00001.data'))
        location = self.register('1.00002.data')
        (volume,) = [each for each in store.index.list_volumes()
                     if each.number == location.volume]
        self.assertGreater(volume.watermark, location.offset)

    def test_a_record_that_is_not_there_is_missing(self):
        with self.assertRaises(FileNotFoundError):
            self.store().open(self.where('1.00001.data'),
                              Location(10 ** 6, 4096, 1, 1, 12))
