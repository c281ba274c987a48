# SPDX-License-Identifier: Apache-2.0
"""The index has the metadata of records, too, if it is told to."""

import json
import os
from dataclasses import replace
from unittest import mock

from swift_losf.format import keys
from swift_losf.format.published import BUCKET
from swift_losf.format.values import WITHHELD
from swift_losf.index.db import Database, VersionError
from swift_losf.index.publisher import Publisher, identity
from swift_losf.upkeep import rebuild
from swift_losf.upkeep.lost_index import set_damaged_aside
from tests.unit.losf.compactor_world import CompactorTest
from tests.unit.losf.fsck_world import HASHES, MendTest
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    RecoveryTest,
)

MOST = 1000
#: what index_world.write gives a record
METADATA = b'{"name":"%b"}' % NAME.encode()
META = '1700000000.00005.meta'


class MetadataTest(RecoveryTest):

    def metadata(self, index, hash_=HASH):
        """:returns: a dict of names to the metadata that the index has"""
        return {name: location.metadata for name, location
                in index.reader.list_hash(PARTITION, hash_)}

    def recover(self, most=MOST):
        return super().recover(most_metadata=most)

    def reopened(self, index, most):
        index.close()
        index = self.open_index()
        index.db.keep_metadata(most)
        return index


class TestEntries(MetadataTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()
        self.index.db.keep_metadata(MOST)

    def test_a_file_that_is_registered_brings_them(self):
        self.put(self.index)
        self.put(self.index, META)
        self.assertEqual({NAME: METADATA, META: METADATA.replace(
            NAME.encode(), META.encode())}, self.metadata(self.index))

    def test_what_is_longer_than_allowed_stays_out(self):
        self.index.db.keep_metadata(len(METADATA) - 1)
        self.put(self.index)
        self.assertEqual({NAME: b''}, self.metadata(self.index))
        self.index.db.keep_metadata(len(METADATA))
        self.put(self.index, OTHER)
        self.assertTrue(self.metadata(self.index)[OTHER])

    def test_other_metadata_than_the_location_says_are_refused(self):
        location = self.write()
        with self.assertRaisesRegex(ValueError, 'metadata'):
            self.index.register(PARTITION, HASH, NAME, replace(
                location, metadata=b'{}'), location.offset)

    def test_a_file_that_is_renamed_keeps_them(self):
        self.put(self.index)
        self.index.rename(PARTITION, HASH, NAME, OTHER)
        self.assertEqual({OTHER: METADATA}, self.metadata(self.index))

    def test_switched_off_what_is_there_stays_and_nothing_is_added(self):
        self.put(self.index)
        self.index = self.reopened(self.index, 0)
        self.put(self.index, OTHER)
        self.assertEqual({NAME: METADATA, OTHER: b''},
                         self.metadata(self.index))

    def test_switched_on_what_is_there_goes_on_without(self):
        self.index = self.reopened(self.index, 0)
        self.put(self.index)
        self.index = self.reopened(self.index, MOST)
        self.put(self.index, OTHER)
        self.assertEqual([b'', True], [bool(each) and True or each for each
                         in self.metadata(self.index).values()])

    def test_an_older_release_refuses_an_index_that_may_have_them(self):
        self.index.close()
        with mock.patch('swift_losf.index.db.WITH_METADATA', 3):
            with self.assertRaises(VersionError):
                Database(self.layout.index)

    def test_the_version_stays_while_none_are_wanted(self):
        self.assertEqual(b'\4', self.index.db.get(b'sversion'))
        self.index = self.reopened(self.index, 0)
        self.assertEqual(b'\4', self.index.db.get(b'sversion'))
        self.lose_index(self.index)
        self.assertEqual(b'\3', self.open_index().db.get(b'sversion'))

    def test_the_version_is_durable_before_any_of_them(self):
        self.lose_index(self.index)
        index = self.open_index()
        with mock.patch.object(index.db, 'sync') as sync:
            index.db.keep_metadata(0)
            sync.assert_not_called()
            index.db.keep_metadata(MOST)
            index.db.keep_metadata(MOST)
        sync.assert_called_once_with()


class TestRecovered(MetadataTest):
    """Who makes entries of records takes the metadata from there."""

    def test_by_recovery_of_what_was_not_registered(self):
        self.open_index().close()
        self.write()
        self.release(1)
        self.assertEqual({NAME: METADATA}, self.metadata(self.recover()))

    def test_by_a_rebuild_in_this_process_and_in_others(self):
        self.write()
        self.release(1)
        for large in (rebuild.LARGE, 0):
            for most, expected in ((MOST, METADATA), (9, b''), (0, b'')):
                with mock.patch.object(rebuild, 'LARGE', large):
                    index = self.recover(most)
                self.assertEqual({NAME: expected}, self.metadata(index))
                self.lose_index(index)

    def test_what_is_salvaged_keeps_them_and_its_version(self):
        index = self.open_index()
        index.db.keep_metadata(MOST)
        self.put(index)
        self.release(1)
        index.close()
        set_damaged_aside(self.layout, 'for a test')
        index = self.recover(0)
        self.assertEqual({NAME: METADATA}, self.metadata(index))
        self.assertEqual(b'\4', index.db.get(b'sversion'))

    def test_an_older_index_beside_newer_volumes_tells_nothing_old(self):
        index = self.open_index()
        index.db.keep_metadata(MOST)
        self.put(index)
        index.sync()
        older = list(index.db.scan(b'', b'\xff'))
        self.put(index, OTHER)
        index.remove(PARTITION, HASH, [NAME])
        self.lose_index(index)
        self.release(1)
        index = self.open_index()
        index.db.copy_in(older)
        index.close()
        index = self.recover()
        newest = max(self.metadata(index))
        self.assertEqual(
            (OTHER, OTHER), (newest, json.loads(
                self.metadata(index)[newest])['name']))


class TestCompacted(MetadataTest, CompactorTest):

    def compacted(self, before, after):
        self.index.db.keep_metadata(before)
        self.put(self.index)
        self.release(1)
        self.index.db.keep_metadata(after)
        self.compact()
        return self.metadata(self.index)[NAME]

    def test_an_entry_gets_them_with_its_copy(self):
        self.assertEqual(METADATA, self.compacted(0, MOST))

    def test_an_entry_keeps_them_with_its_copy(self):
        self.assertEqual(METADATA, self.compacted(MOST, MOST))

    def test_an_entry_loses_them_once_they_are_not_wanted(self):
        self.assertEqual(b'', self.compacted(MOST, 0))


class TestFsck(MendTest):

    def change(self, metadata):
        location = self.files[HASHES[0]]
        self.value = replace(location, metadata=metadata).pack(MOST)
        with self.changed() as change:
            change.put(self.key(HASHES[0]), self.value)

    def test_metadata_of_the_record_are_right(self):
        self.change(METADATA)
        self.assertEqual((0, []), (lambda status, lines: (
            status, self.kinds(lines)))(*self.run_fsck('check')))

    def test_other_metadata_are_dropped(self):
        self.change(METADATA.replace(b'17', b'18'))
        self.assert_mended('metadata')
        self.assertEqual(b'', self.listed()[HASHES[0], NAME].metadata)

    def test_what_cannot_be_metadata_is_no_entry(self):
        self.change(WITHHELD)
        self.assert_mended('bad-entry', 'missing', 'statistics')


class TestWithheld(MetadataTest):

    def test_what_the_table_has_no_room_for_is_asked_of_the_index(self):
        index = self.open_index()
        index.db.keep_metadata(MOST)
        socket = os.path.join(self.device, 'socket')
        open(socket, 'w').close()
        publisher = Publisher(index.db, identity(socket), most_bytes=BUCKET)
        self.addCleanup(publisher.close)
        for number in range(80):
            self.put(index, hash_=bytes([number]) * 16)
        found = publisher._bucket(0).files(keys.turn(bytes(16)))
        (value,) = found.values()
        self.assertTrue(value.endswith(WITHHELD))
        self.assertEqual(METADATA, self.metadata(index, bytes(16))[NAME])
