# SPDX-License-Identifier: Apache-2.0
"""The manager of diskfiles in volumes, with real index servers."""

import errno
import os
import shutil
import tempfile
from types import SimpleNamespace
from unittest import mock

from swift.common.exceptions import (
    DiskFileDeviceUnavailable,
    DiskFileNotExist,
    DiskFileQuarantined,
)
from swift.obj import diskfile
from swift.obj.diskfile import DiskFileManager

from swift_lightsync.common.options import OptionError
from swift_losf.diskfile import kvmanager
from swift_losf.diskfile.kvfile import KVDiskFileManager
from swift_losf.diskfile.object_files import ObjectFiles
from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import QUARANTINED_OFFSET
from swift_losf.format.keys import partition_of
from tests.unit.losf.kv_world import PARTITION, KVTest, World, with_devices

setUpModule, tearDownModule = with_devices('d1', 'd2')


class TestAsStock(KVTest):
    """Whatever is done, the hashes are those of stock Swift."""

    def setUp(self):
        super().setUp()
        self.stock_root = self.enterContext(tempfile.TemporaryDirectory())
        os.mkdir(os.path.join(self.stock_root, 'd1'))
        self.stock = DiskFileManager(
            self.conf(devices=self.stock_root), self.logger)
        self.managers = self.manager, self.stock
        # A partition of this test's own.
        self.partition = str(1000 + len(self.object))

    def each(self, name=None):
        """:returns: the object as a diskfile of either manager"""
        return [manager.get_diskfile('d1', self.partition, 'a', 'c',
                                     name or self.object, self.policy)
                for manager in self.managers]

    def put(self, name=None, **metadata):
        now = self.now()
        for df in self.each(name):
            with df.create(size=4) as writer:
                writer.write(b'data')
                writer.put(dict({
                    'X-Timestamp': now.internal, 'ETag': 'e',
                    'Content-Type': 'a/b', 'Content-Length': '4'},
                    **metadata))
                writer.commit(now)

    def post(self, **metadata):
        metadata = dict({'X-Timestamp': self.now().internal}, **metadata)
        for df in self.each():
            df.write_metadata(dict(metadata))

    def delete(self, name=None):
        now = self.now()
        for df in self.each(name):
            df.delete(now)

    def assert_as_stock(self, **kwargs):
        ours, stocks = [
            (manager._get_hashes('d1', self.partition, self.policy,
                                 **kwargs)[1],
             sorted(manager.yield_hashes('d1', self.partition, self.policy)))
            for manager in self.managers]
        self.assertEqual(stocks, ours)
        self.assertTrue(ours)

    def test_hashes_follow_puts_posts_and_deletes(self):
        self.put()
        self.assert_as_stock()
        self.post()
        self.assert_as_stock()
        self.put()
        self.assert_as_stock()
        self.delete()
        self.assert_as_stock()

    def test_hashes_follow_a_content_type_of_its_own_time(self):
        self.put()
        self.assert_as_stock()
        self.post(**{'Content-Type': 'c/d',
                     'Content-Type-Timestamp': self.now().internal})
        self.post()
        self.assert_as_stock()

    def test_hashes_of_many_objects(self):
        for number in range(20):
            self.put('%s-%d' % (self.object, number))
        self.delete(self.object + '-3')
        self.assert_as_stock()
        for number in range(20):
            self.delete('%s-%d' % (self.object, number))
        self.assert_as_stock(do_listdir=True)

    def test_a_reclaimed_tombstone_takes_its_suffix_with_it(self):
        self.put()
        self.delete()
        self.assert_as_stock()
        for manager in self.managers:
            manager.reclaim_age = 0
        for manager in self.managers:
            self.assertEqual([], list(manager.yield_hashes(
                'd1', self.partition, self.policy)))
            path = diskfile.get_part_path(
                manager.get_dev_path('d1'), self.policy, self.partition)
            with open(os.path.join(path, 'hashes.invalid')) as invalid:
                self.assertIn(self.hash()[-3:] + '\n', invalid.readlines())
            self.assertEqual({}, manager.get_hashes(
                'd1', self.partition, [], self.policy))
            self.assertTrue(os.path.isdir(path))

    def test_a_suffix_that_was_not_invalidated_is_not_hashed_again(self):
        self.put()
        self.assert_as_stock()
        hashed, hashes = self.manager._get_hashes('d1', self.partition,
                                                  self.policy)
        self.assertEqual((0, 1), (hashed, len(hashes)))


class TestPaths(KVTest):

    def path(self, *names):
        return os.path.join(self.world.path('d1'), 'objects', PARTITION,
                            *names)

    def test_a_partition_that_is_not_there_cannot_be_listed(self):
        with self.assertRaises(FileNotFoundError):
            self.manager.list_dir(self.world.path('d1') + '/objects/77')

    def test_what_is_beside_the_partitions_is_listed_as_ever(self):
        os.makedirs(self.world.path('d2') + '/objects', exist_ok=True)
        path = self.world.path('d2') + '/objects/auditor_status_ALL.json'
        open(path, 'w').close()
        self.addCleanup(os.unlink, path)
        with self.assertRaises(NotADirectoryError):
            self.manager.list_dir(path)

    def test_a_hash_without_files_is_missing(self):
        with self.assertRaises(FileNotFoundError):
            self.manager.list_dir(self.path(self.hash()[-3:], self.hash()))

    def test_a_suffix_with_files_is_not_removed(self):
        self.write(b'x', 1)
        with self.assertRaises(OSError) as caught:
            self.manager.remove_dir(self.path(self.hash()[-3:]))
        self.assertEqual(errno.ENOTEMPTY, caught.exception.errno)
        self.assertTrue(self.files())

    def test_the_age_of_a_file_is_that_of_its_record(self):
        self.write(b'x', 1)
        path = self.path(self.hash()[-3:], self.hash(), self.only_file()[0])
        self.assertTrue(self.manager.is_file_older(path, 0))
        self.assertFalse(self.manager.is_file_older(path, 1000))
        self.assertFalse(self.manager.is_file_older(path + 'x', 1))

    def test_a_file_that_came_after_the_listing_is_found(self):
        self.write(b'x', 1)
        directory = self.path(self.hash()[-3:], self.hash())
        self.manager.list_dir(directory)
        self.diskfile(manager=KVDiskFileManager(
            self.conf(), self.logger)).write_metadata(
                {'X-Timestamp': '0000000002.00000', 'key': 'value'})
        self.assertEqual('value', self.manager.read_metadata(
            directory + '/0000000002.00000.meta')['key'])

    def test_reading_the_metadata_of_a_file_that_is_not_there(self):
        with self.assertRaises(DiskFileNotExist):
            self.manager.read_metadata(self.path(
                self.hash()[-3:], self.hash(), '1.00000.data'))


class TestQuarantine(KVTest):

    def assert_suffix_is_invalid(self):
        with open(os.path.join(
                self.world.path('d1'), 'objects', PARTITION,
                'hashes.invalid')) as invalid:
            self.assertEqual(self.hash()[-3:] + '\n',
                             invalid.readlines()[-1])

    def test_an_object_whose_files_cannot_be_listed(self):
        for number in errno.ENODATA, errno.EUCLEAN:
            self.write(b'x', 1)
            with mock.patch.object(self.manager, 'list_dir',
                                   side_effect=OSError(number, 'bad')):
                self.assertRaises(DiskFileQuarantined, self.diskfile().open)
            self.assertEqual({}, self.files())
            self.assertTrue(self.quarantined())
            self.assert_suffix_is_invalid()

    def test_hashing_a_suffix_quarantines_only_what_cannot_be_listed(self):
        other = self.object + '-other'
        self.write(b'x', 1)
        self.write(b'x', 1, other)
        listed = self.manager.list_dir

        def list_dir(path):
            if path.endswith(self.hash()):
                raise OSError(errno.ENODATA, 'bad')
            return listed(path)
        with mock.patch.object(self.manager, 'list_dir', list_dir):
            _, hashes = self.manager._get_hashes(
                'd1', PARTITION, self.policy, do_listdir=True,
                recalculate=[self.hash()[-3:]])
        self.assertNotIn(self.hash()[-3:], hashes)
        self.assertIn(self.hash(other)[-3:], hashes)
        self.assertEqual(['0000000001.00000.data'], self.quarantined())
        self.assertTrue(self.files(other))

    def test_what_is_written_while_suffixes_are_hashed_is_not_missed(self):
        names = ['o%d' % number for number in range(40)]
        for name in names:
            self.write(b'x', 1, name)
        late = min(names, key=lambda name: self.hash(name)[-3:])
        last = max(names, key=lambda name: self.hash(name)[-3:])
        hashed = KVDiskFileManager._hash_suffix_dir

        def hash_suffix_dir(manager, path, policy):
            if path.endswith(self.hash(late)[-3:]) and not written:
                written.append(self.write(b'y', 2, last))
            return hashed(manager, path, policy)
        written = []
        with mock.patch.object(KVDiskFileManager, '_hash_suffix_dir',
                               hash_suffix_dir):
            self.get_hashes()
        self.assertTrue(written)
        known = self.get_hashes()
        self.assertEqual(self.get_hashes(recalculate=list(known)), known)

    def get_hashes(self, recalculate=()):
        return self.manager._get_hashes(
            'd1', PARTITION, self.policy, do_listdir=True,
            recalculate=list(recalculate))[1]

    def test_a_suffix_whose_objects_cannot_be_quarantined_singly(self):
        self.write(b'x', 1)
        path = self.diskfile()._datadir
        self.manager.quarantine_dir_renamer(self.world.path('d1'),
                                            os.path.dirname(path))
        self.assertEqual(['0000000001.00000.data'], self.quarantined())
        self.assert_suffix_is_invalid()

    def test_every_record_is_marked(self):
        self.write(b'x', 1)
        self.diskfile().write_metadata({'X-Timestamp': '0000000002.00000'})
        locations = self.files().values()
        self.manager.quarantine_dir_renamer(self.world.path('d1'),
                                            self.diskfile()._datadir)
        self.assertEqual({}, self.files())
        self.assertEqual(2, len(self.quarantined()))
        for location in locations:
            with open(self.store().layout.volume(location.volume),
                      'rb') as volume:
                volume.seek(location.offset + QUARANTINED_OFFSET)
                self.assertEqual(b'\xff', volume.read(1))

    def test_the_name_is_that_of_stock_swift(self):
        self.write(b'x', 1)
        self.assertEqual(
            self.world.path('d1') + '/quarantined/objects/' + self.hash(),
            self.manager.quarantine_renamer(
                self.world.path('d1'),
                self.diskfile()._datadir + '/0000000001.00000.data'))

    def test_no_index_no_quarantine_on_a_guess(self):
        self.write(b'x', 1)
        self.diskfile().write_metadata({'X-Timestamp': '0000000002.00000'})
        with mock.patch.object(ObjectFiles, '_read',
                               side_effect=IndexUnavailable('away')):
            with self.assertRaises(IndexUnavailable):
                self.diskfile().open()
        self.assertEqual([], self.quarantined())
        with self.diskfile().open() as df:
            self.assertEqual('0000000002.00000', df.timestamp.internal)


class TestPartitions(KVTest):

    def setUp(self):
        super().setUp()
        self.write(b'x', 1)
        self.path = os.path.join(self.world.path('d1'), 'objects', PARTITION)

    def test_deleting_a_partition_deletes_all_that_is_in_it(self):
        self.write(b'x', 1, self.object + '-2')
        self.manager.delete_partition('d1', PARTITION, self.policy)
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual([], self.manager.list_suffixes(
            'd1', PARTITION, self.policy))
        self.assertRaises(DiskFileNotExist, self.diskfile().open)

    def test_what_is_put_while_a_partition_is_deleted_stays_visible(self):
        other = self.object + '-other'
        rmtree = shutil.rmtree

        def put_and_remove(path):
            self.write(b'x', 1, other)
            rmtree(path)
        with mock.patch('swift_losf.diskfile.kvmanager.shutil.rmtree',
                        put_and_remove):
            self.manager.delete_partition('d1', PARTITION, self.policy)
        self.assertIn(self.hash(other)[-3:], self.suffix_hashes())

    def test_what_is_put_as_a_partition_goes_stays_visible(self):
        other = self.object + '-other'
        register = self.store().register

        def remove_and_register(*args):
            shutil.rmtree(self.path)
            return register(*args)
        with mock.patch.object(self.store(), 'register',
                               remove_and_register):
            self.write(b'x', 1, other)
        self.assertIn(self.hash(other)[-3:], self.suffix_hashes())

    def test_who_hashes_a_suffix_before_its_file_is_entered_does_it_again(
            self):
        """It would be taken for hashed, and nobody would replicate it."""
        df = self.diskfile()
        for name, change in (
                ('register', lambda: self.write(b'new', 2)),
                ('quarantine', lambda: self.manager.quarantine_renamer(
                    df._device_path, df._datadir + '/x'))):
            method, seen = getattr(self.store(), name), []

            def hashed_before(*args, **kwargs):
                seen.append(self.suffix_hashes())
                return method(*args, **kwargs)
            with mock.patch.object(self.store(), name, hashed_before):
                change()
            before, after = (hashes.get(self.hash()[-3:])
                             for hashes in (*seen, self.suffix_hashes()))
            self.assertTrue(before)
            self.assertNotEqual(before, after, name)

    def test_what_is_queued_is_not_queued_again(self):
        self.suffix_hashes()
        with mock.patch.object(
                self.manager, 'invalidate_hash',
                side_effect=self.manager.invalidate_hash) as queue:
            self.write(b'new', 2)
        self.assertEqual(1, queue.call_count)

    def test_deleting_an_object_leaves_the_others_of_its_suffix(self):
        self.manager.delete_hash_dir('d1', PARTITION, self.hash(),
                                     self.policy)
        self.assertEqual({}, self.files())

    def test_an_object_of_a_suffix_that_has_others(self):
        store = self.store()
        with mock.patch.object(store, 'has_files', return_value=True):
            with self.assertRaises(OSError) as caught:
                self.manager.delete_hash_dir('d1', PARTITION, self.hash(),
                                             self.policy)
        self.assertEqual(errno.ENOTEMPTY, caught.exception.errno)


class TestUnavailable(KVTest):
    """Devices whose index is away."""

    index_timeout = 2

    def setUp(self):
        super().setUp()
        self.write(b'x', 1)
        self.world.kill('d2')
        self.addCleanup(self.world.serve, 'd2')
        os.makedirs(self.world.path('d2') + '/objects/' + PARTITION,
                    exist_ok=True)

    def test_a_partition_is_not_taken_to_be_empty(self):
        for method in (self.manager.list_suffixes,
                       self.manager.delete_partition):
            with self.assertRaises(IndexUnavailable):
                method('d2', PARTITION, self.policy)
        with self.assertRaises(IndexUnavailable):
            list(self.manager.yield_suffixes('d2', PARTITION, self.policy))
        with self.assertRaises(DiskFileDeviceUnavailable):
            self.manager.get_hashes('d2', PARTITION, ['abc'], self.policy)
        self.assertTrue(os.path.isdir(
            self.world.path('d2') + '/objects/' + PARTITION))

    def test_the_audit_of_the_other_devices_goes_on(self):
        self.manager.clear_auditor_status(self.policy)
        with mock.patch.object(self.manager.complaints, 'of') as told:
            found = list(self.manager.object_audit_location_generator(
                self.policy))
        self.assertIn(self.hash(),
                      [os.path.basename(each.path) for each in found])
        self.assertEqual({'d1'}, {each.device for each in found})
        self.assertIn('/d2/', str(told.call_args.args[0]))


class TestPartPower(KVTest):
    """While the part power of the ring is increased."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world = World('d1')
        cls.addClassCleanup(cls.world.close)

    def setUp(self):
        super().setUp()
        self.index = self.store().index
        self.index.set_part_power(10)

    def hashes(self, part_power, next_part_power, **kwargs):
        """:returns: what Swift computes of the object's partition"""
        ring = SimpleNamespace(part_power=part_power,
                               next_part_power=next_part_power)
        partition = partition_of(bytes.fromhex(self.hash()), part_power)
        with mock.patch.object(self.policy, 'object_ring', ring):
            return self.manager.get_hashes('d1', str(partition), [],
                                           self.policy, **kwargs)

    def test_a_client_is_served(self):
        for verb, status in (('PUT', 201), ('POST', 202), ('DELETE', 204)):
            self.assert_status(status, verb, X_Backend_Next_Part_Power='11')
        self.assertEqual([self.hash()[-3:]], [
            each for each in self.hashes(10, 11) if len(each) == 3])

    def test_hashes_wait_for_the_index(self):
        self.write(b'data', self.now())
        for following in (None, 11):
            self.assertIn(self.hash()[-3:], self.hashes(10, following))
        with mock.patch.object(kvmanager, 'PART_POWER_PATIENCE', 0), \
                self.assertRaisesRegex(IndexUnavailable,
                                       'not yet those of part power 11'):
            self.hashes(11, 11)
        self.assertIsNone(self.hashes(11, 11, skip_rehash=True))
        self.index.set_part_power(11)
        self.assertIn(self.hash()[-3:], self.hashes(11, 11))
        self.assertEqual(1, len(self.files()))


class TestRefusals(KVTest):

    def test_rsync(self):
        self.assertFalse(self.manager.supports_rsync)

    def test_a_swift_without_the_patches(self):
        with mock.patch.object(diskfile.BaseDiskFileManager, 'list_dir',
                               create=True):
            del diskfile.BaseDiskFileManager.list_dir
            with self.assertRaisesRegex(SystemExit,
                                        'list_dir.*swift-lightsync-patch'):
                KVDiskFileManager(self.conf(), self.logger)

    def test_a_device_whose_path_is_too_long_for_a_socket(self):
        device = 'd' * 100
        os.mkdir(self.world.path(device))
        for verb in 'GET', 'PUT', 'DELETE':
            self.assertIn(b'Linux takes 107', self.assert_status(
                507, verb, device).body)

    def test_an_option_that_is_not_allowed(self):
        with self.assertRaisesRegex(OptionError,
                                    'losf_max_volume_size = 1'):
            KVDiskFileManager(self.conf(losf_max_volume_size='1'),
                              self.logger)
