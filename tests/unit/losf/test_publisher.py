# SPDX-License-Identifier: Apache-2.0
"""The table of an index server, and those who read it without a call."""

import os
import random
from types import SimpleNamespace
from unittest import mock

from swift_losf.format import keys
from swift_losf.format.header import VolumeType
from swift_losf.format.published import BUCKET
from swift_losf.index import publisher as publisher_module
from swift_losf.index.mover import Copy
from swift_losf.index.published_places import RETRY, PublishedPlaces
from swift_losf.index.publisher import Publisher, identity
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    IndexTest,
    location_of,
)
from tests.waiting import wait_for


class PublisherTest(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()
        self.clock = 0.0
        self.offset = 4096
        self.socket = os.path.join(self.device, 'socket')
        open(self.socket, 'w').close()

    def publish(self, **kwargs):
        self.publisher = Publisher(self.index.db, identity(self.socket),
                                   **kwargs)
        self.addCleanup(self.publisher.close)
        self.publisher.start()
        wait_for(lambda: self.publisher.complete, 'the table is filled', 120)

    def reply(self):
        it = self.publisher
        return SimpleNamespace(
            process=os.getpid(), descriptor=it.descriptor, socket=it.socket,
            buckets=it.buckets if it.complete else 0, key=it.key,
            most_metadata=self.index.db.most_metadata)

    def places(self):
        return PublishedPlaces(self.socket, self.reply, lambda: self.clock)

    def register(self, name=NAME, hash_=HASH, supersedes=()):
        self.offset += 4096
        location = location_of(name, self.offset)
        self.index.register(PARTITION, hash_, name, location, self.offset,
                            supersedes)
        return location


class TestMutations(PublisherTest):
    """A reader sees each change as soon as it is made."""

    def setUp(self):
        super().setUp()
        self.early = self.register(hash_=bytes(16))
        self.publish()
        self.reader = self.places()

    def assert_published(self, hash_=HASH):
        found = self.reader.find(hash_)
        self.assertEqual(self.index.reader.list_hash(PARTITION, hash_), found)
        return dict(found)

    def test_what_was_there_before_is_found(self):
        self.assertEqual({NAME: self.early}, self.assert_published(bytes(16)))

    def test_what_is_not_there_is_known_not_to_be(self):
        self.assertEqual([], self.reader.find(HASH))

    def test_registered_and_superseded(self):
        self.register()
        self.assertEqual([NAME], list(self.assert_published()))
        self.register(OTHER, supersedes=[NAME])
        self.assertEqual([OTHER], list(self.assert_published()))

    def test_removed(self):
        self.register()
        self.register(OTHER)
        self.index.remove(PARTITION, HASH, [NAME])
        self.assertEqual([OTHER], list(self.assert_published()))
        self.index.remove(PARTITION, HASH)
        self.assertEqual({}, self.assert_published())

    def test_quarantined(self):
        self.register()
        self.index.quarantine(PARTITION, HASH)
        self.assertEqual({}, self.assert_published())

    def test_renamed(self):
        location = self.register()
        self.index.rename(PARTITION, HASH, NAME, OTHER)
        self.assertEqual({OTHER: location}, self.assert_published())

    def test_moved_by_the_compactor(self):
        source = self.register()
        target = location_of(NAME, 8192, volume=2)
        self.index.mover.move([Copy(PARTITION, HASH, source, target,
                                    NAME)],
                              VolumeType.DATA, 16384, lambda copy: True)
        self.assertEqual({NAME: target}, self.assert_published())

    def test_a_change_that_cannot_be_written_is_not_published(self):
        with mock.patch('swift_losf.index.change.Change.write',
                        side_effect=RuntimeError()):
            with self.assertRaises(RuntimeError):
                self.register()
        self.assertEqual({}, self.assert_published())


class TestFalling(PublisherTest):
    """What the table cannot tell is asked for."""

    def test_a_small_table_forgets_but_does_not_lie(self):
        chance = random.Random(7)
        hashes = [chance.randbytes(16) for _ in range(400)]
        for each in hashes[:200]:
            self.register(hash_=each)
        self.publish(most_bytes=2 * BUCKET)
        for each in hashes[100:]:
            self.register(OTHER, each)
        for each in hashes[:40]:
            self.index.remove(PARTITION, each)
        reader, known = self.places(), 0
        for each in hashes:
            found = reader.find(each)
            known += found is not None
            if found is not None:
                self.assertEqual(self.index.reader.list_hash(
                    PARTITION, each), found)
        self.assertGreater(known, 80)
        self.assertLess(known, 240)

    def test_changes_while_it_is_filled(self):
        chance = random.Random(3)
        hashes = [chance.randbytes(16) for _ in range(600)]
        for each in hashes[:500]:
            self.register(hash_=each)
        publisher = self.publisher = Publisher(
            self.index.db, identity(self.socket))
        self.addCleanup(publisher.close)
        after, last = keys.prefix_range(keys.FILE)
        with mock.patch.object(publisher_module, '_STRIDE', 7):
            while after:
                after = publisher._enter(after, last)
                for each in chance.sample(hashes, 5):
                    if chance.random() < 0.5:
                        self.register(OTHER, each)
                    else:
                        self.index.remove(PARTITION, each)
        publisher.complete = True
        reader = self.places()
        for each in hashes:
            self.assertEqual(self.index.reader.list_hash(PARTITION, each),
                             reader.find(each))

    def test_no_table_is_asked_for_once_a_second(self):
        asked = []
        reader = PublishedPlaces(
            self.socket, lambda: asked.append(1) or SimpleNamespace(
                buckets=0, socket=(), most_metadata=0), lambda: self.clock)
        for _ in range(3):
            self.assertIsNone(reader.find(HASH))
        self.clock += RETRY
        self.assertIsNone(reader.find(HASH))
        self.assertEqual(2, len(asked))

    def test_a_server_that_stops_takes_its_table_back(self):
        self.publish()
        reader = self.places()
        self.assertEqual([], reader.find(HASH))
        with self.index.db.paused():
            self.publisher._end()
        self.clock += RETRY
        self.assertIsNone(reader.find(HASH))
        self.assertIsNone(reader.find(HASH))

    def test_what_was_withdrawn_has_no_bucket_again(self):
        self.publish()
        with self.index.db.paused():
            self.publisher._end()
        with self.assertRaises(PermissionError):
            os.pwrite(self.publisher.descriptor, b'x', 4096)

    def test_a_table_that_cannot_be_written_is_withdrawn(self):
        self.publish()
        reader = self.places()
        self.assertEqual([], reader.find(HASH))
        with mock.patch.object(publisher_module.os, 'pwrite',
                               side_effect=OSError('no memory')), \
                self.assertLogs(publisher_module.logger):
            self.register()
        self.assertIsNone(reader.find(HASH))
        self.register(OTHER)

    def test_another_server_at_the_socket_is_asked_anew(self):
        self.publish()
        reader = self.places()
        self.assertEqual([], reader.find(HASH))
        os.unlink(self.socket)
        self.assertIsNone(reader.find(HASH))
        open(self.socket, 'w').close()
        # The table that is told of is still that of the server before.
        self.clock += RETRY
        self.assertIsNone(reader.find(HASH))

    def test_a_file_that_is_no_table(self):
        self.publish()
        self.publisher.key = b'another'
        self.assertIsNone(self.places().find(HASH))


class TestSupersede(PublisherTest):

    def test_what_is_superseded_is_given_back(self):
        old = self.register()
        self.register(TOMBSTONE, supersedes=[NAME, OTHER])
        self.assertEqual([TOMBSTONE], self.names(self.index))
        self.assertTrue(self.index.reclaim.has(old))

    def test_a_tombstone_goes_after_what_it_has_deleted(self):
        self.register()
        self.register(TOMBSTONE, supersedes=[NAME])
        with mock.patch.object(self.index.db, 'sync') as sync:
            self.register('1700000000.00009.data', supersedes=[TOMBSTONE])
        sync.assert_called_once_with()

    def test_entered_again_it_supersedes_again(self):
        self.register()
        location = self.register(OTHER)
        self.assertEqual([(OTHER, location)], self.index.register(
            PARTITION, HASH, OTHER, location, self.offset, [NAME]))

    def test_no_file_supersedes_itself(self):
        with self.assertRaisesRegex(ValueError, 'supersedes'):
            self.register(supersedes=[NAME])
