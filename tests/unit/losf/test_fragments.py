# SPDX-License-Identifier: Apache-2.0
"""Fragments in volumes, with real indexes. FORMAT.md, "Fragments"."""

import os
import shutil
from contextlib import contextmanager, suppress
from unittest import mock

from swift.common.exceptions import DiskFileError, DiskFileNotExist
from swift.common.storage_policy import ECStoragePolicy
from swift.common.utils import Timestamp, md5

from swift_losf.diskfile.fragments import KVECDiskFileManager
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import HEADER_LENGTH, FormatError, RecordHeader
from swift_losf.volumes.volume import pread
from tests.unit.losf.kv_world import (
    DEADLINE,
    LONG,
    PARTITION,
    KVTest,
    bytes_of,
    wait_for,
    with_devices,
)

setUpModule, tearDownModule = with_devices('d1')


def ec_policy(data=4, parity=2):
    return ECStoragePolicy(
        0, 'ec', is_default=True, ec_type='liberasurecode_rs_vand',
        ec_ndata=data, ec_nparity=parity,
        diskfile_module='egg:swift-lightsync#erasure_coding.kv')


class FragmentTest(KVTest):
    """Writes and reads fragment archives of an object of its own."""

    manager_class = KVECDiskFileManager
    make_policy = staticmethod(ec_policy)

    def fragment(self, index, length=100):
        """Return a fragment archive of an object of one segment."""
        return self.policy.pyeclib_driver.encode(bytes_of(length))[index]

    @contextmanager
    def written(self, index, timestamp, length=100, manager=None):
        """Yield a writer that has written a fragment archive, its diskfile."""
        data = self.fragment(index, length)
        df = self.diskfile(frag_index=index, manager=manager)
        with df.create() as writer:
            writer.write(data)
            writer.put({
                'X-Timestamp': timestamp.internal,
                'ETag': md5(data, usedforsecurity=False).hexdigest(),
                'Content-Length': str(len(data)),
                'Content-Type': 'text/plain',
                'X-Object-Sysmeta-Ec-Etag': 'etag',
                'X-Object-Sysmeta-Ec-Frag-Index': str(index)})
            yield writer, df

    def put(self, index, timestamp, commit=True, **kwargs):
        """Write a fragment archive, and return its diskfile."""
        with self.written(index, timestamp, **kwargs) as (writer, df):
            if commit:
                writer.commit(timestamp)
        return df

    def data(self, **kwargs):
        """Return what a reader of the object is given."""
        with self.diskfile(**kwargs).open() as df:
            return b''.join(df.reader())

    def names(self):
        return sorted(self.files())

    def header(self, location):
        """Return the header of a record."""
        with open(self.store().layout.volume(location.volume), 'rb') as at:
            return RecordHeader.unpack(
                pread(at.fileno(), HEADER_LENGTH, location.offset))


class TestDurability(FragmentTest):

    def test_a_fragment_is_opened_once_it_is_durable(self):
        now = self.now()
        df = self.put(3, now, commit=False)
        self.assertEqual([now.internal + '#3.data'], self.names())
        self.assertRaises(DiskFileNotExist, self.data)
        self.assertEqual(self.fragment(3), self.data(frag_prefs=[]))
        with df.create() as writer:
            writer.commit(now)
        self.assertEqual([now.internal + '#3#d.data'], self.names())
        self.assertEqual(self.fragment(3), self.data())
        self.assertTrue(self.header(self.only_file()[1]).durable)

    def test_fragments_of_several_indexes_are_told_apart(self):
        now = self.now()
        for index in (0, 5):
            self.put(index, now)
            self.assertEqual(self.fragment(index),
                             self.data(frag_index=index))
        self.assertEqual(self.fragment(5), self.data(frag_prefs=[
            {'timestamp': now.internal, 'exclude': [0]}]))
        with self.diskfile().open() as df:
            self.assertEqual({now: [0, 5]}, df.fragments)

    def test_what_is_durable_removes_what_is_older(self):
        before, now = self.now(), self.now()
        for index in (1, 2):
            self.put(index, before)
        self.put(1, now, commit=False)
        self.assertEqual(3, len(self.names()))
        self.put(1, now)
        self.assertEqual([now.internal + '#1#d.data'], self.names())

    def test_a_long_archive(self):
        self.put(1, self.now(), length=LONG)
        self.assertEqual(self.fragment(1, LONG), self.data())

    def test_to_be_made_durable_twice_changes_nothing(self):
        now = self.now()
        df = self.put(1, now)
        file = self.only_file()
        with df.create() as writer:
            writer.commit(now)
        self.assertEqual(file, self.only_file())
        with self.written(2, now) as (writer, _):
            writer.commit(now)
            writer.commit(now)
        self.assertEqual(2, len(self.names()))

    def test_a_fragment_that_a_newer_one_has_removed_is_durable_enough(self):
        before, now = self.now(), self.now()
        df = self.put(1, before, commit=False)
        self.put(1, now)
        self.assertEqual([now.internal + '#1#d.data'], self.names())
        with df.create() as writer:
            writer.commit(before)
        self.assertEqual([now.internal + '#1#d.data'], self.names())

    def test_a_fragment_that_is_lost_cannot_be_made_durable(self):
        now = self.now()
        df = self.put(1, now, commit=False)
        self.store().remove(int(PARTITION), self.hash())
        with df.create() as writer:
            self.assertRaises(DiskFileError, writer.commit, now)

    def test_without_an_index_server_nothing_is_said_to_be_durable(self):
        now = self.now()
        df = self.put(1, now, commit=False)
        with mock.patch.object(self.store().index, 'rename',
                               side_effect=IndexUnavailable('away')):
            with df.create() as writer:
                self.assertRaises(DiskFileError, writer.commit, now)
        self.assertEqual([now.internal + '#1.data'], self.names())

    def test_a_record_that_is_moved_meanwhile_is_marked_where_it_is(self):
        now = self.now()
        self.put(1, now, commit=False)
        (_, moved), = self.files().items()
        self.store().remove(int(PARTITION), self.hash())
        df = self.put(1, now, commit=False)
        name, location = self.only_file()
        index = self.store().index
        self.assertNotEqual(moved, location)
        with mock.patch.object(index, 'rename', side_effect=lambda *key: [
                (key[3], moved)]):
            with df.create() as writer:
                writer.commit(now)
        for each in (location, moved):
            self.assertTrue(self.header(each).durable, name)


class TestTwoSteps(FragmentTest):
    """What is stored is seen before anything older is removed elsewhere."""

    def lose_what_was_not_synced(self, directory):
        """Cut the power of the index, which had been copied when synced."""
        self.world.kill('d1')
        shutil.rmtree(self.world.layout('d1').index)
        shutil.copytree(directory, self.world.layout('d1').index)
        self.world.serve('d1')

    def synced_copy(self):
        """Return a directory with the index as a power cut leaves it now."""
        index = self.world.layout('d1').index
        self.world.kill('d1')
        copy = shutil.copytree(index, index + '.copy')
        self.addCleanup(shutil.rmtree, copy)
        self.world.serve('d1')
        return copy

    def test_each_step_is_one_call_and_one_flush_of_the_volume(self):
        index = self.store().index
        with mock.patch.object(index, '_call', wraps=index._call) as call:
            with mock.patch('os.fdatasync', wraps=os.fdatasync) as flush:
                self.put(1, self.now())
        self.assertEqual(['Register'] * 2, [
            each.args[0] for each in call.mock_calls
            if each.args[0] not in ('NewVolume', 'GetTable')])
        self.assertEqual(2, flush.call_count)
        self.assertTrue(self.header(self.only_file()[1]).durable)

    def test_what_is_stored_is_read_beside_what_is_older(self):
        before, now = self.now(), self.now()
        self.put(1, before)
        with self.written(1, now, length=50) as (writer, _):
            self.assertEqual([before.internal + '#1#d.data',
                              now.internal + '#1.data'], self.names())
            # Other nodes may have committed, and removed what is older.
            self.assertEqual(self.fragment(1, 50), self.data(frag_prefs=[
                {'timestamp': now.internal, 'exclude': []}]))
            self.assertEqual(self.fragment(1), self.data())
            writer.commit(now)
        self.assertEqual(self.fragment(1, 50), self.data())

    def test_a_suffix_hashed_before_the_commit_is_hashed_again(self):
        now, suffix = self.now(), self.hash()[-3:]
        hashes = []
        with self.written(1, now) as (writer, _):
            hashes.append(self.suffix_hashes())
            writer.commit(now)
        hashes.append(self.suffix_hashes())
        self.assertEqual([{1}, {1, None}],
                         [set(each[suffix]) for each in hashes])

    def test_a_power_cut_takes_no_commit(self):
        now = self.now()
        with self.written(1, now) as (writer, _):
            synced = self.synced_copy()
            writer.commit(now)
            # Of the same volume, so that its watermark goes on.
            self.put(2, now)
        self.lose_what_was_not_synced(synced)
        self.assertEqual([now.internal + '#1#d.data',
                          now.internal + '#2#d.data'], self.names())
        wait_for(lambda: not self.store().index.statistics().dead_bytes,
                 'what is to be given back is')
        self.assertEqual(self.fragment(1), self.data(frag_index=1))

    def test_recovery_amid_a_write_changes_nothing(self):
        now = self.now()
        with self.written(1, now) as (writer, _):
            self.world.kill('d1')
            self.world.serve('d1')
            self.assertEqual([now.internal + '#1.data'], self.names())
            writer.commit(now)
        self.assertEqual([now.internal + '#1#d.data'], self.names())
        self.assertEqual(self.fragment(1), self.data())

    def test_what_a_newer_fragment_has_removed_does_not_come_back(self):
        before, now = self.now(), self.now()
        with self.written(1, before) as (writer, _):
            self.put(1, now)
            writer.commit(before)
        self.assertEqual([now.internal + '#1#d.data'], self.names())

    def test_while_its_writer_may_commit_no_space_is_given_back(self):
        before, now = self.now(), self.now()
        self.put(1, before)
        first = self.only_file()[1]
        with self.written(1, now) as (writer, _):
            held = self.files()[now.internal + '#1.data']
            self.store().remove(int(PARTITION), self.hash())
            wait_for(lambda: not self.is_there(first), 'a round has been')
            self.assertTrue(self.is_there(held))
            self.assertRaises(DiskFileError, writer.commit, now)
        wait_for(lambda: not self.is_there(held), 'the space is given back')
        self.assertEqual([], self.names())

    def is_there(self, location):
        """Return whether a record has a header."""
        try:
            return bool(self.header(location))
        except FormatError:
            return False

    def test_another_of_the_same_name_and_time_is_made_durable(self):
        now = self.now()
        with self.written(1, now) as (writer, _):
            self.put(1, now, commit=False)
            second = self.only_file()[1]
            writer.commit(now)
        self.assertEqual((now.internal + '#1#d.data', second),
                         self.only_file())
        self.assertTrue(self.header(second).durable)

    def test_what_was_removed_is_not_durable(self):
        now = self.now()
        with self.written(1, now) as (writer, _):
            self.store().remove(int(PARTITION), self.hash())
            self.assertRaises(DiskFileError, writer.commit, now)
        self.assertEqual({}, self.files())

    def test_a_fragment_of_which_the_index_cannot_be_told_is_no_success(self):
        now = self.now()
        with mock.patch.object(self.store().index, 'register',
                               side_effect=IndexUnavailable('away')):
            self.assertRaises(IndexUnavailable, self.put, 1, now)
        self.assertEqual({}, self.files())
        with self.assertRaises(DiskFileError):
            with self.written(1, now) as (writer, _):
                with mock.patch.object(self.store().index, 'register',
                                       side_effect=IndexUnavailable('away')):
                    writer.commit(now)
        self.assertEqual([now.internal + '#1.data'], self.names())

    def test_nothing_is_marked_on_a_device_that_was_mounted_meanwhile(self):
        now = self.now()
        with self.assertRaises(DiskFileError):
            with self.written(1, now) as (writer, _):
                pending = writer._held
                pending.is_in_place = lambda path: False
                writer.commit(now)
        self.assertEqual([now.internal + '#1.data'], self.names())
        self.assertFalse(self.header(pending.location).durable)


class TestPurge(FragmentTest):

    def test_what_is_not_durable_is_kept_for_a_while(self):
        now = self.now()
        df = self.put(1, now, commit=False)
        df.purge(now, 1, nondurable_purge_delay=DEADLINE)
        self.assertEqual(1, len(self.files()))
        df.purge(now, 1, nondurable_purge_delay=0)
        self.assertEqual({}, self.files())

    def test_what_is_durable_goes_at_once_and_other_indexes_stay(self):
        now = self.now()
        self.put(2, now)
        self.put(1, now).purge(now, 1, nondurable_purge_delay=DEADLINE)
        self.assertEqual([now.internal + '#2#d.data'], self.names())

    def test_what_cannot_be_read_is_no_reason_to_fail(self):
        now = self.now()
        df = self.put(1, now, commit=False)
        self.overwrite(self.only_file()[1], 0, b'damage')
        df.purge(now, 1, nondurable_purge_delay=DEADLINE)
        self.assertEqual({}, self.files())

    def test_the_commit_window_is_that_of_the_record(self):
        old = Timestamp(1)
        self.put(1, old, commit=False)
        self.manager.commit_window = DEADLINE
        clean = self.manager.cleanup_ondisk_files
        self.assertEqual(1, len(clean(self.diskfile()._datadir)['files']))
        self.manager.commit_window = 0
        self.assertEqual([], clean(self.diskfile()._datadir)['files'])
        self.assertEqual({}, self.files())


class TestRecovery(FragmentTest):

    def lose_index(self):
        self.world.kill('d1')
        shutil.rmtree(self.world.layout('d1').index)
        self.world.serve('d1')

    def test_a_lost_index_changes_nothing_about_what_is_durable(self):
        before, now = self.now(), self.now()
        self.put(4, before)
        self.put(1, now, commit=False)
        self.put(2, now, commit=False)
        files = self.files()
        self.assertEqual(3, len(files))
        self.lose_index()
        wait_for(self.files, 'the index is made anew')
        self.assertEqual(files, self.files())

    def test_suffix_hashes_are_those_of_stock_swift(self):
        now = self.now()
        self.put(4, now)
        self.put(1, now)
        self.assertEqual({None, 1, 4}, set(
            self.suffix_hashes()[self.hash()[-3:]]))


class TestDamage(FragmentTest):

    def test_all_fragments_of_an_object_go_into_quarantine_with_one(self):
        now = self.now()
        for index in (1, 2):
            self.put(index, now)
        names = self.names()
        self.overwrite(self.files()[names[0]], HEADER_LENGTH + 40, b'damage')
        with suppress(DiskFileError):
            self.data(frag_index=1)
        self.assertEqual({}, self.files())
        self.assertEqual(names, sorted(self.quarantined()))
        self.assertNotIn(self.hash()[-3:], self.suffix_hashes())


class TestTenAndFour(FragmentTest):

    make_policy = staticmethod(lambda: ec_policy(10, 4))

    def test_a_device_that_has_all_fragments_gives_and_counts_each(self):
        now, before = self.now(), self.store().index.statistics()
        for index in range(14):
            self.put(index, now, length=LONG)
        self.assertEqual(before.files + 14,
                         self.store().index.statistics().files)
        self.assertEqual(bytes_of(LONG), self.policy.pyeclib_driver.decode(
            [self.data(frag_index=index) for index in range(4, 14)]))
        for index in range(13):
            self.diskfile().purge(now, index)
        self.assertEqual([now.internal + '#13#d.data'], self.names())
        wait_for(lambda: self.store().index.statistics().files
                 == before.files + 1, 'what is purged is not counted')
