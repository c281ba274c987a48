# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""fingerprint: when changed.pkl counts, and when it does not."""

import contextlib
import errno
import itertools
import math
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import unittest
from dataclasses import asdict, replace
from unittest import mock

from swift.common.exceptions import DiskFileDeviceUnavailable, \
    DiskFileQuarantined, LockTimeout
from swift.common.utils import Timestamp, lock_path
from swift.obj.diskfile import consolidate_hashes, invalidate_hash, \
    read_hashes, write_hashes

import swift_lightsync
from swift_lightsync.sync import fingerprint, merkle
from swift_lightsync.sync.fingerprint import ABSENT, Fingerprint, \
    FingerprintError, Fingerprints, in_portions, is_current, load, store
from tests.unit.sync import documented
from tests.unit.sync.fixtures import PARTITION, SwiftTestCase, wait_for

REPOSITORY = os.path.dirname(os.path.dirname(swift_lightsync.__file__))
SOUND = Fingerprint('0123456789abcdef' * 2, 3, (1, 2, 3), 1e9)


class FingerprintTestCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.manager = self.manager()
        self.path = self.part_path()
        self.tmp = os.path.join(self.devices_dir, 'sda', 'tmp')
        self.fingerprints = self.other_process()

    def other_process(self):
        """What is remembered in memory only is not known to it."""
        return Fingerprints(self.manager, self.policy, self.logger)

    def put_object(self, name='o', stamp=1):
        return self.put(self.manager, 'sda', name, stamp)

    def get(self):
        return self.fingerprints.get('sda', PARTITION)

    def fresh_root(self):
        """The root from suffix hashes that no cache had a part in."""
        for name in ('hashes.pkl', 'changed.pkl'):
            path = os.path.join(self.path, name)
            if os.path.exists(path):
                os.unlink(path)
        return merkle.root(self.manager._get_hashes(
            'sda', PARTITION, self.policy, do_listdir=True)[1])

    def file(self, name):
        return os.path.join(self.path, name)

    def write_changed(self, data):
        os.makedirs(self.path, exist_ok=True)
        with open(self.file('changed.pkl'), 'wb') as changed:
            changed.write(data)


class TestFile(FingerprintTestCase):

    def setUp(self):
        super().setUp()
        os.makedirs(self.path)

    def test_what_is_stored_is_loaded(self):
        store(self.path, self.tmp, SOUND)
        self.assertEqual(SOUND, load(self.path))
        self.assertEqual([], os.listdir(self.tmp))

    def test_no_file_is_none(self):
        self.assertIsNone(load(self.path))
        self.assertIsNone(load(os.path.join(self.root, 'nowhere')))

    def test_its_fields_are_the_documented_ones(self):
        keys = re.findall(r'^\| `(\w+)` \| (?:int|str|tuple|float)\b',
                          documented.protocol(), re.M)
        store(self.path, self.tmp, SOUND)
        with open(self.file('changed.pkl'), 'rb') as changed:
            data = changed.read()
        self.assertEqual(b'\x80\x02', data[:2])
        self.assertCountEqual(keys, pickle.loads(data))
        self.assertEqual(documented.found(r'most ([\d,]+) bytes\.$'),
                         format(fingerprint.MAX_BYTES, ','))

    def assert_damaged(self, reason=''):
        with self.assertRaisesRegex(FingerprintError, reason) as caught:
            load(self.path)
        self.assertIn(self.file('changed.pkl'), str(caught.exception))

    def test_each_field_of_a_wrong_type_or_value_is_refused(self):
        sound = asdict(SOUND)
        for field, values in {
                'root': (None, 5, b'ab' * 16, 'ab' * 15, 'AB' * 16,
                         'zz' * 16, ['a'] * 32, ''),
                'suffixes': (None, -1, 1.0, '3', True),
                'source': (None, [1, 2, 3], (1, 2), (1, 2, 3, 4),
                           (1, 2, 3.0), ('1', 2, 3), (True, 2, 3)),
                'exchanged': (None, 5, '5', math.nan, math.inf, -math.inf,
                              -1.0, 1e300),
                'version': (None, 0, 2, '1')}.items():
            for value in values:
                with self.subTest(field=field, value=value):
                    self.write_changed(pickle.dumps(
                        dict(sound, **{field: value}), 2))
                    self.assert_damaged(field)

    def test_a_count_beyond_the_possible_suffixes_is_refused(self):
        # There are 4,096 suffixes; 2 ** 20000 has no float, and would
        # break the statistics of a pass.
        for count in (4097, 2 ** 20000):
            with self.subTest(bits=count.bit_length()):
                self.write_changed(pickle.dumps(
                    dict(asdict(SOUND), suffixes=count), 2))
                self.assert_damaged('suffixes')

    def test_missing_and_unknown_fields_are_refused(self):
        sound = asdict(SOUND)
        for data in ({}, {'root': sound['root']}, dict(sound, more=1),
                     dict(sound, **{'': 1}), {1: 2}, [], None, 7, 'abc',
                     list(sound.items())):
            self.write_changed(pickle.dumps(data, 2))
            self.assert_damaged()

    def test_a_file_truncated_at_any_byte_is_refused(self):
        data = pickle.dumps(asdict(SOUND), 2)
        for length in range(len(data)):
            self.write_changed(data[:length])
            self.assert_damaged()

    def test_a_flipped_bit_never_raises_anything_else(self):
        data = pickle.dumps(asdict(SOUND), 2)
        for bit in range(8 * len(data)):
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            self.write_changed(bytes(flipped))
            try:
                self.assertIsInstance(load(self.path), Fingerprint)
            except FingerprintError:
                pass

    def test_a_huge_file_is_not_read(self):
        self.write_changed(b'')
        os.truncate(self.file('changed.pkl'), 1 << 40)
        self.assert_damaged('longer than 4096 bytes')

    def test_a_pickle_that_would_run_something_runs_nothing(self):
        marker = os.path.join(self.root, 'ran')

        class Hostile:
            def __init__(self, *call):
                self.call = call

            def __reduce__(self):
                return self.call[0], self.call[1:]

        for call in ((os.system, 'touch ' + marker),
                     (eval, 'open(%r, "w")' % marker),
                     (open, marker, 'w'), (os.mkdir, marker)):
            self.write_changed(pickle.dumps(Hostile(*call), 2))
            self.assert_damaged('forbidden')
            self.write_changed(pickle.dumps(
                dict(asdict(SOUND), root=Hostile(*call)), 2))
            self.assert_damaged('forbidden')
        self.assertFalse(os.path.exists(marker))

    def test_nested_pickles_cost_no_memory_and_no_stack(self):
        laughs = b'x'
        value = [laughs]
        for _ in range(300):
            value = [value, value]
        self.write_changed(pickle.dumps(
            dict(asdict(SOUND), root=value), 2))
        self.assert_damaged('root')
        deep = b'\x80\x02' + b'(' * 2000 + b'l' * 2000 + b'.'
        self.write_changed(deep)
        self.assert_damaged()
        tuples = b'\x80\x02K\x01' + b'\x85' * 4000 + b'.'
        self.write_changed(tuples)
        self.assert_damaged()

    def test_a_directory_in_its_place_is_damage(self):
        os.mkdir(self.file('changed.pkl'))
        self.assert_damaged()

    def test_store_replaces_it_at_once(self):
        store(self.path, self.tmp, SOUND)
        with open(self.file('changed.pkl'), 'rb') as before:
            store(self.path, self.tmp, replace(SOUND, suffixes=4))
            self.assertEqual(3, pickle.load(before)['suffixes'])
        self.assertEqual(4, load(self.path).suffixes)

    def test_store_leaves_nothing_behind_without_a_partition(self):
        shutil.rmtree(self.path)
        with self.assertRaises(FileNotFoundError):
            store(self.path, self.tmp, SOUND)
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual([], os.listdir(self.tmp))

    def test_store_leaves_nothing_behind_if_the_rename_fails(self):
        for number in (errno.ENOSPC, errno.EROFS, errno.EIO):
            with mock.patch('os.rename', side_effect=OSError(number, '')):
                with self.assertRaises(OSError):
                    store(self.path, self.tmp, SOUND)
            self.assertEqual([], os.listdir(self.tmp))

    def test_a_failure_is_told_even_if_the_temporary_file_is_gone(self):
        def rename(source, target):
            os.unlink(source)
            raise OSError(errno.EIO, '')

        with mock.patch('swift_lightsync.sync.fingerprint.os.rename',
                        rename):
            with self.assertRaises(OSError) as caught:
                store(self.path, self.tmp, SOUND)
        self.assertEqual(errno.EIO, caught.exception.errno)
        self.assertIsNone(load(self.path))


class TestCurrent(FingerprintTestCase):

    def setUp(self):
        super().setUp()
        self.suffix = self.put_object()
        self.hashed, self.known = self.get()

    def current(self):
        return is_current(self.path, load(self.path))

    def test_it_is_current_once_made(self):
        self.assertEqual(1, self.hashed)
        self.assertTrue(self.current())
        self.assertEqual((0, self.known), self.get())
        self.assertEqual(merkle.root(self.manager._get_hashes(
            'sda', PARTITION, self.policy)[1]), self.known.root)
        self.assertEqual(1, self.known.suffixes)

    def test_a_current_one_costs_no_hashing_and_no_writing(self):
        names = ('changed.pkl', 'hashes.pkl', 'hashes.invalid')
        before = [os.stat(self.file(name)) for name in names]
        with mock.patch.object(self.manager, '_get_hashes') as hashing:
            self.assertEqual((0, self.known), self.get())
        self.assertFalse(hashing.called)
        self.assertEqual(before, [os.stat(self.file(name))
                                  for name in names])

    def test_not_after_an_invalidation(self):
        invalidate_hash(os.path.join(self.path, self.suffix))
        self.assertFalse(self.current())

    def test_not_after_the_invalidation_was_consolidated(self):
        invalidate_hash(os.path.join(self.path, self.suffix))
        consolidate_hashes(self.path)
        self.assertFalse(self.current())

    def test_not_after_a_put_that_another_process_hashed(self):
        self.put_object('p')
        self.manager._get_hashes('sda', PARTITION, self.policy)
        self.assertFalse(self.current())
        _, renewed = self.get()
        self.assertNotEqual(self.known.root, renewed.root)
        self.assertEqual(self.known.exchanged, renewed.exchanged)

    def test_not_after_a_replacement_of_the_same_size(self):
        hashes = read_hashes(self.path)
        size = os.stat(self.file('hashes.pkl')).st_size
        hashes[self.suffix] = '0' * 32
        write_hashes(self.path, hashes)
        self.assertEqual(size, os.stat(self.file('hashes.pkl')).st_size)
        self.assertFalse(self.current())
        self.assertEqual(merkle.root({self.suffix: '0' * 32}),
                         self.get()[1].root)

    def test_not_once_hashes_pkl_is_gone(self):
        os.unlink(self.file('hashes.pkl'))
        self.assertFalse(self.current())
        self.assertEqual(self.known.root, self.get()[1].root)
        self.assertTrue(self.current())

    def test_it_is_without_a_queue_and_with_an_empty_one(self):
        os.unlink(self.file('hashes.invalid'))
        self.assertTrue(self.current())
        open(self.file('hashes.invalid'), 'w').close()
        self.assertTrue(self.current())

    def test_not_while_the_queue_holds_anything_at_all(self):
        with open(self.file('hashes.invalid'), 'w') as queue:
            queue.write('\n')
        self.assertFalse(self.current())

    def test_a_suffix_that_awaits_hashing_is_hashed_and_kept(self):
        write_hashes(self.path, {'valid': True, self.suffix: None})
        hashed, renewed = self.get()
        self.assertEqual((1, self.known.root), (hashed, renewed.root))
        self.assertTrue(self.current())

    def test_a_hashes_pkl_that_is_not_valid_is_replaced(self):
        write_hashes(self.path, {'valid': False, self.suffix: 'f' * 32})
        self.assertEqual(self.known.root, self.get()[1].root)
        self.assertTrue(self.current())

    def test_a_damaged_hashes_pkl_is_replaced(self):
        for data in (b'', b'garbage', b'\x80',
                     pickle.dumps({'../..': 'x', 'valid': True})):
            with self.subTest(data=data):
                with open(self.file('hashes.pkl'), 'wb') as hashes:
                    hashes.write(data)
                self.assertEqual(self.known.root, self.get()[1].root)
                self.assertTrue(self.current())

    def test_a_hash_that_is_no_string_is_used_once_and_not_kept(self):
        # Stock Swift mends it in the exchange, since it differs.
        write_hashes(self.path, {'valid': True, self.suffix: 5})
        self.assertNotEqual(self.known.root, self.get()[1].root)
        self.assertFalse(self.current())

    def test_what_cannot_be_hashed_is_used_once_and_not_kept(self):
        self.put_object('p')
        with mock.patch.object(self.manager, '_hash_suffix',
                               side_effect=OSError(errno.EIO, '')):
            self.get()
            _, unsure = self.get()
        self.assertEqual((0, 0, 0), unsure.source)
        self.assertFalse(self.current())
        _, renewed = self.get()
        self.assertNotEqual(unsure.root, renewed.root)
        self.assertTrue(self.current())

    def test_a_write_between_hashing_and_reading_is_not_missed(self):
        get_hashes = self.manager._get_hashes

        def hash_and_be_overtaken(*args, **kwargs):
            result = get_hashes(*args, **kwargs)
            self.put_object('late')
            return result

        self.put_object('p')
        with mock.patch.object(self.manager, '_get_hashes',
                               hash_and_be_overtaken):
            self.get()
        self.assertFalse(self.current())
        root = self.get()[1].root
        self.assertEqual(self.fresh_root(), root)

    def test_a_consolidation_between_hashing_and_reading_is_not_kept(self):
        get_hashes = self.manager._get_hashes

        def hash_and_be_overtaken(*args, **kwargs):
            result = get_hashes(*args, **kwargs)
            self.put_object('late')
            consolidate_hashes(self.path)
            return result

        self.put_object('p')
        with mock.patch.object(self.manager, '_get_hashes',
                               hash_and_be_overtaken):
            self.get()
        self.assertFalse(self.current())
        root = self.get()[1].root
        self.assertEqual(self.fresh_root(), root)

    def test_not_in_a_copy_of_the_partition(self):
        copy = self.path + '-copy'
        subprocess.check_call(['cp', '-a', self.path, copy])
        self.assertEqual(self.known, load(copy))
        self.assertFalse(is_current(copy, self.known))

    def test_it_is_in_a_partition_that_was_moved(self):
        moved = self.path + '-moved'
        os.rename(self.path, moved)
        self.assertTrue(is_current(moved, load(moved)))

    def test_not_after_an_object_was_quarantined(self):
        diskfile = self.manager.get_diskfile('sda', PARTITION, 'a', 'c', 'o',
                                             self.policy)
        os.truncate(os.path.join(diskfile._datadir,
                                 os.listdir(diskfile._datadir)[0]), 0)
        with self.assertRaises(DiskFileQuarantined), diskfile.open():
            pass
        self.assertFalse(self.current())
        self.assertEqual(merkle.root({}), self.get()[1].root)

    def test_not_after_a_delete(self):
        diskfile = self.manager.get_diskfile('sda', PARTITION, 'a', 'c', 'o',
                                             self.policy)
        diskfile.delete(Timestamp(2))
        self.assertFalse(self.current())
        self.assertNotEqual(self.known.root, self.get()[1].root)

    def test_not_after_a_post(self):
        diskfile = self.manager.get_diskfile('sda', PARTITION, 'a', 'c', 'o',
                                             self.policy)
        diskfile.write_metadata({'X-Timestamp': Timestamp(2).internal})
        self.assertFalse(self.current())
        self.assertNotEqual(self.known.root, self.get()[1].root)

    def test_not_after_a_replicate_of_a_peer_that_found_something(self):
        # As after an rsync, which invalidates nothing.
        other = os.path.join(self.path, self.suffix, 'f' * 29 + self.suffix)
        os.mkdir(other)
        with open(os.path.join(other, '0000000003.00000.ts'), 'w'):
            pass
        self.assertTrue(self.current())
        self.manager.get_hashes('sda', PARTITION, [self.suffix], self.policy)
        self.assertFalse(self.current())

    def test_a_consolidation_between_the_two_looks_is_seen(self):
        # The queue is seen empty, then all of a PUT and of its hashing
        # happens, then hashes.pkl is looked at.
        stat = os.stat

        def looked_at(path, *args, **kwargs):
            if path == self.file('hashes.pkl'):
                with mock.patch('os.stat', stat):
                    self.put_object('p')
                    self.manager._get_hashes('sda', PARTITION, self.policy)
            return stat(path, *args, **kwargs)

        with mock.patch('swift_lightsync.sync.fingerprint.os.stat',
                        looked_at):
            self.assertFalse(is_current(self.path, self.known))


class TestGet(FingerprintTestCase):

    def test_a_partition_that_is_not_there_is_empty_and_not_made(self):
        hashed, found = self.get()
        self.assertEqual((0, merkle.root({}), 0),
                         (hashed, found.root, found.suffixes))
        self.assertEqual([], os.listdir(
            os.path.join(self.devices_dir, 'sda')))

    def test_an_empty_partition_has_the_same_root_as_none(self):
        _, none = self.get()
        os.makedirs(self.path)
        self.assertEqual(none.root, self.get()[1].root)
        self.assertTrue(os.path.exists(self.file('changed.pkl')))

    def test_an_unmounted_device_is_an_error(self):
        with mock.patch.object(self.manager, 'mount_check', True):
            for method in (self.fingerprints.get,
                           lambda *args: self.fingerprints.note_exchange(
                               *args, now=1.0)):
                with self.assertRaises(DiskFileDeviceUnavailable):
                    method('sda', PARTITION)
        with self.assertRaises(DiskFileDeviceUnavailable):
            self.fingerprints.get('sdz', PARTITION)

    def test_damage_is_logged_and_made_good(self):
        self.put_object()
        expected = self.get()[1].root
        with open(self.file('changed.pkl'), 'rb') as changed:
            sound = changed.read()
        for data in (b'', b'garbage', sound[:50], b'\0' * 5000,
                     pickle.dumps(dict(asdict(SOUND), exchanged=math.nan)),
                     pickle.dumps(dict(asdict(SOUND), exchanged=math.inf))):
            with self.subTest(data=data[:20]):
                self.logger.lines.clear()
                self.write_changed(data)
                self.fingerprints = self.other_process()
                self.assertEqual(expected, self.get()[1].root)
                warning, = self.logger.at('WARNING')
                self.assertIn(self.file('changed.pkl'), warning)
                self.logger.lines.clear()
                self.assertEqual(self.get(), self.other_process().get(
                    'sda', PARTITION))
                self.assertEqual([], self.logger.lines)

    def test_no_room_or_a_read_only_disk_still_gives_the_root(self):
        self.put_object()
        expected = self.fresh_root()
        for number in (errno.ENOSPC, errno.EROFS, errno.EDQUOT):
            with self.subTest(errno=errno.errorcode[number]), \
                    mock.patch('swift_lightsync.sync.fingerprint.mkstemp',
                               side_effect=OSError(number, '')):
                self.assertEqual(expected, self.get()[1].root)
                self.fingerprints.note_exchange('sda', PARTITION, 5.0)
                self.assertIn(self.path, self.logger.at('WARNING')[-1])

    def test_a_device_that_is_emptied_meanwhile_is_no_error(self):
        self.put_object()
        genuine = os.rename

        def rename(source, target):
            if target.endswith('changed.pkl'):
                shutil.rmtree(os.path.join(self.devices_dir, 'sda'))
            return genuine(source, target)

        with mock.patch('swift_lightsync.sync.fingerprint.os.rename',
                        rename):
            self.get()
        self.assertEqual([], self.logger.at('WARNING'))

    def test_the_partition_may_vanish_at_any_moment(self):
        calls = {'load': 'load', 'is_current': 'is_current',
                 'the read': '_from_hashes_file', 'store': 'store'}
        for moment, name in calls.items():
            for after in (False, True):
                with self.subTest(moment=moment, after=after):
                    self.put_object('o', stamp=time.time())
                    self.get()
                    self.put_object('o', stamp=time.time())
                    genuine = getattr(fingerprint, name)

                    def vanish(*args):
                        if not after:
                            shutil.rmtree(self.path)
                        try:
                            return genuine(*args)
                        finally:
                            shutil.rmtree(self.path, ignore_errors=True)

                    with mock.patch.object(fingerprint, name, vanish):
                        self.get()
                    self.assertEqual(merkle.root({}), self.get()[1].root)
                    self.assertEqual([], os.listdir(self.tmp))

    def test_the_partition_may_be_without_a_change_but_vanish(self):
        self.put_object()
        self.get()
        genuine = is_current

        def vanish(*args):
            shutil.rmtree(self.path)
            return genuine(*args)

        with mock.patch.object(fingerprint, 'is_current', vanish):
            self.assertEqual(merkle.root({}), self.get()[1].root)


class TestMany(FingerprintTestCase):

    def test_each_partition_is_as_if_it_was_asked_for_alone(self):
        for partition in (1, 4, 5):
            self.put(self.manager, 'sda', 'o%d' % partition,
                     partition=partition)
        hashed, found = self.fingerprints.get_many('sda', range(7))
        self.assertEqual((3, list(range(7))), (hashed, list(found)))
        for partition, known in found.items():
            self.assertEqual((0, known), self.other_process().get(
                'sda', partition))
            self.assertEqual(partition not in (1, 4, 5), known is ABSENT)

    def test_a_string_names_the_same_partition(self):
        # As the jobs of a pass have them.
        self.put_object()
        _, known = self.get()
        self.assertEqual((0, {'0': known}),
                         self.fingerprints.get_many('sda', ['0']))

    def test_one_that_cannot_be_read_is_left_out_and_told(self):
        for partition in range(3):
            self.put(self.manager, 'sda', 'o', partition=partition)
        for error in (OSError(errno.EIO, ''), LockTimeout(None, 'lock'),
                      PermissionError()):
            def failing(path):
                if path == self.part_path(partition=1):
                    raise error
                return load(path)

            with mock.patch.object(fingerprint, 'load', failing):
                _, found = self.other_process().get_many('sda', range(3))
            self.assertEqual({0, 2}, set(found))
            self.assertIn('partition 1 on sda', self.logger.at('ERROR')[-1])

    def test_of_an_unmounted_device_is_an_error(self):
        with self.assertRaises(DiskFileDeviceUnavailable):
            self.fingerprints.get_many('sdz', [0])

    def test_a_write_is_seen_over_what_is_remembered(self):
        self.put_object()
        before = self.fingerprints.get_many('sda', [0])
        self.put_object(stamp=2)
        after = self.fingerprints.get_many('sda', [0])
        self.assertNotEqual(before[1][0].root, after[1][0].root)
        shutil.rmtree(self.path)
        self.assertIs(ABSENT, self.fingerprints.get_many('sda', [0])[1][0])

    def test_what_is_remembered_is_not_read_again(self):
        self.put_object()
        _, known = self.get()
        with mock.patch.object(fingerprint, 'load') as loading:
            self.assertEqual((0, known), self.get())
        self.assertFalse(loading.called)

    def test_partitions_that_are_not_there_take_no_memory(self):
        self.fingerprints.get_many('sda', range(100))
        tracemalloc.start()
        try:
            for start in range(0, 20000, 1000):
                self.fingerprints.get_many('sda', range(start, start + 1000))
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        self.assertLess(held, 1 << 16)

    def test_portions_are_all_in_order(self):
        for count in (0, 1, 63, 64, 65, 1000):
            portions = in_portions(range(count))
            self.assertEqual(list(range(count)), sum(portions, []))
            self.assertTrue(all(0 < len(portion) <= fingerprint.PORTION
                                for portion in portions))


class TestExchanged(FingerprintTestCase):

    def test_a_new_file_counts_from_its_making(self):
        self.put_object()
        before = time.time()
        _, made = self.get()
        self.assertTrue(before <= made.exchanged <= time.time())

    def test_an_exchange_is_remembered_and_the_root_kept(self):
        self.put_object()
        _, known = self.get()
        self.fingerprints.note_exchange('sda', PARTITION, 5.0)
        self.assertEqual((0, replace(known, exchanged=5.0)), self.get())

    def test_it_is_remembered_over_later_writes(self):
        self.put_object()
        self.fingerprints.note_exchange('sda', PARTITION, 5.0)
        self.put_object('p')
        self.assertEqual(5.0, self.get()[1].exchanged)

    def test_it_is_remembered_while_a_suffix_cannot_be_hashed(self):
        self.put_object()
        with mock.patch.object(self.manager, '_hash_suffix',
                               side_effect=OSError(errno.EIO, '')):
            self.fingerprints.note_exchange('sda', PARTITION, 5.0)
        self.assertEqual(5.0, load(self.path).exchanged)
        self.assertFalse(is_current(self.path, load(self.path)))

    def test_nothing_is_made_for_a_partition_that_is_not_there(self):
        self.fingerprints.note_exchange('sda', PARTITION, 5.0)
        self.assertFalse(os.path.exists(self.path))

    def test_relist_finds_a_suffix_whose_invalidation_was_lost(self):
        self.put_object()
        _, known = self.get()
        suffix = self.put_object('p')
        with open(self.file('hashes.invalid'), 'w'):
            pass  # as after a power cut
        self.assertEqual((0, known), self.get())
        self.assertEqual(1, self.fingerprints.relist('sda', PARTITION))
        _, renewed = self.get()
        self.assertEqual(2, renewed.suffixes)
        self.assertIn(suffix, read_hashes(self.path))


class TestRaces(FingerprintTestCase):

    def test_after_all_writes_the_root_is_that_of_fresh_hashes(self):
        self.put_object()
        command = [sys.executable, '-W', 'ignore', '-m',
                   'tests.unit.sync.writer', self.devices_dir]
        with contextlib.ExitStack() as stack:
            writers = [stack.enter_context(subprocess.Popen(
                command + [str(seed), '60'], cwd=REPOSITORY,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE))
                for seed in (0, 1)]
            for writer in writers:
                self.assertEqual(b'ready\n', writer.stdout.readline())
            for writer in writers:
                writer.stdin.write(b'start\n')
                writer.stdin.flush()
            taken = set()
            while any(writer.poll() is None for writer in writers):
                taken.add(self.get()[1].root)
                self.fingerprints.note_exchange('sda', PARTITION, 5.0)
            self.assertEqual([0, 0],
                             [writer.returncode for writer in writers])
        self.assertGreater(len(taken), 1)
        root = self.get()[1].root
        self.assertTrue(is_current(self.path, load(self.path)))
        self.assertEqual(self.fresh_root(), root)

    def test_a_get_that_follows_a_put_has_it(self):
        # No get may return the root of before a PUT that was done.
        roots = set()
        for number in range(60):
            self.put_object('o', stamp=number + 1)
            roots.add(self.get()[1].root)
            self.assertEqual(number + 1, len(roots))

    def store_until_killed(self, after):
        """In a child process; kill -9 it once it has stored that often."""
        ours, its = os.pipe()
        child = os.fork()
        if not child:
            try:
                for number in itertools.count():
                    store(self.path, self.tmp, Fingerprint(
                        '%032x' % number, number % 4096, (number,) * 3,
                        float(number)))
                    os.write(its, b'.')
            finally:
                os._exit(1)
        os.close(its)
        for _ in range(after):
            self.assertEqual(b'.', os.read(ours, 1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ours)

    def test_kill_9_leaves_a_file_that_is_right_or_replaced(self):
        self.put_object()
        expected = self.get()[1].root
        for after in range(1, 40):
            self.store_until_killed(after)
            known = load(self.path)
            number = int(known.root, 16)
            self.assertEqual(
                Fingerprint('%032x' % number, number % 4096,
                            (number,) * 3, float(number)), known)
            self.assertFalse(is_current(self.path, known))
            self.assertEqual(expected, self.get()[1].root)
            self.assertEqual(expected, self.other_process().get(
                'sda', PARTITION)[1].root)
            self.assertTrue(is_current(self.path, load(self.path)))
        self.assertEqual([], self.logger.at('WARNING'))
        # What was never renamed is left to the clean-up of tmp.
        self.assertLessEqual(len(os.listdir(self.tmp)), 40)

    def test_two_that_renew_at_once_agree(self):
        self.put_object()
        found = []
        threads = [threading.Thread(target=lambda: found.append(self.get()))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(8, len(found))
        self.assertEqual({self.fresh_root()},
                         {known.root for _, known in found})

    def test_nobody_waits_for_a_lock_to_see_that_it_is_current(self):
        self.put_object()
        _, known = self.get()
        found = []
        with lock_path(self.path):
            thread = threading.Thread(
                target=lambda: found.append(self.get()))
            thread.start()
            wait_for(lambda: not thread.is_alive(), 'a get under a lock')
        self.assertEqual([(0, known)], found)


if __name__ == '__main__':
    unittest.main()
