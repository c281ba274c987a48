# SPDX-License-Identifier: Apache-2.0
"""changed.pkl: its format, and when it counts."""

import errno
import math
import os
import pickle
import re
import shutil
import subprocess
import tracemalloc
from dataclasses import asdict, replace
from unittest import mock

from swift.common.exceptions import DiskFileQuarantined
from swift.common.utils import Timestamp
from swift.obj.diskfile import (
    consolidate_hashes,
    invalidate_hash,
    read_hashes,
    write_hashes,
)

from swift_lightsync.sync import changed_file
from swift_lightsync.sync.changed_file import (
    Fingerprint,
    FingerprintError,
    is_current,
    load,
    store,
)
from swift_lightsync.sync.core import fragments, merkle
from tests.unit.sync import documented
from tests.unit.sync.fingerprinting import SOUND, FingerprintTestCase
from tests.unit.sync.fixtures import PARTITION

#: Or what is in no fingerprint was not even unpickled.
STRANGE = '|is in no fingerprint'


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
        for fragment in (4, fragments.MIXED, fragments.NONE):
            fingerprint = replace(SOUND, fragment=fragment)
            store(self.path, self.tmp, fingerprint)
            self.assertEqual(fingerprint, load(self.path))
            with open(self.file('changed.pkl'), 'rb') as changed:
                data = changed.read()
            self.assertEqual(b'\x80\x02', data[:2])
            # A replicated policy has the fields that it always had.
            absent = {'fragment'} if fragment == fragments.NONE else set()
            self.assertCountEqual(set(keys) - absent, pickle.loads(data))
        self.assertEqual(documented.found(r'dict, at most ([\d,]+) bytes,'),
                         format(changed_file.MAX_BYTES, ','))

    def assert_damaged(self, reason=''):
        with self.assertRaisesRegex(FingerprintError, reason) as caught:
            load(self.path)
        self.assertIn(self.file('changed.pkl'), str(caught.exception))

    def test_each_field_of_a_wrong_type_or_value_is_refused(self):
        sound = asdict(SOUND)
        for field, values in {
                'root': (None, 5, b'ab' * 16, 'ab' * 15, 'AB' * 16,
                         'zz' * 16, ['a'] * 32, ''),
                # There are 4,096; 2 ** 2000 would break statistics.
                'suffixes': (None, -1, 1.0, '3', True, 4097, 2 ** 2000),
                'source': (None, [1, 2, 3], (1, 2), (1, 2, 3, 4),
                           (1, 2, 3.0), ('1', 2, 3), (True, 2, 3)),
                'exchanged': (None, 5, '5', math.nan, math.inf, -math.inf,
                              -1.0, 1e300),
                'version': (None, 0, 2, '1'),
                'fragment': (None, '4', 4.0, True, -3, 32768)}.items():
            for value in values:
                with self.subTest(field=field, value=value):
                    self.write_changed(pickle.dumps(
                        dict(sound, **{field: value}), 2))
                    self.assert_damaged(field + STRANGE)

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
            self.assert_damaged('is in no fingerprint')
            self.write_changed(pickle.dumps(
                dict(asdict(SOUND), root=Hostile(*call)), 2))
            self.assert_damaged('is in no fingerprint')
        self.assertFalse(os.path.exists(marker))

    def test_nested_pickles_cost_no_memory_and_no_stack(self):
        laughs = b'x'
        value = [laughs]
        for _ in range(300):
            value = [value, value]
        self.write_changed(pickle.dumps(
            dict(asdict(SOUND), root=value), 2))
        self.assert_damaged('is in no fingerprint')
        deep = b'\x80\x02' + b'(' * 2000 + b'l' * 2000 + b'.'
        self.write_changed(deep)
        self.assert_damaged()
        tuples = b'\x80\x02K\x01' + b'\x85' * 4000 + b'.'
        self.write_changed(tuples)
        self.assert_damaged()

    def test_a_few_bytes_never_take_much_memory(self):
        for data in (b'\x80\x02K\x01r\x00\x00\x00\x04.',
                     b'\x80\x05\x96\x00\x00\x00\x04\x00\x00\x00\x00.',
                     b'\x80\x02cbuiltins\nbytes\nJ\x00\x00\x00\x04\x85R.'):
            self.write_changed(data)
            tracemalloc.start()
            try:
                self.assert_damaged()
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            self.assertLess(peak, 1 << 20)

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

    def test_a_failure_is_told_even_if_the_temporary_file_is_gone(self):
        def replace(source, target):
            os.unlink(source)
            raise OSError(errno.EIO, '')

        with mock.patch('swift_lightsync.common.files.os.replace', replace):
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

    def test_not_after_an_invalidation_nor_its_consolidation(self):
        invalidate_hash(os.path.join(self.path, self.suffix))
        for change in (lambda: None, lambda: consolidate_hashes(self.path)):
            change()
            self.assertFalse(self.current())
        self.assertEqual(self.known.root, self.get()[1].root)

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

    def test_it_is_without_a_queue_and_with_an_empty_one_only(self):
        os.unlink(self.file('hashes.invalid'))
        self.assertTrue(self.current())
        for content, current in (('', True), ('\n', False)):
            with open(self.file('hashes.invalid'), 'w') as queue:
                queue.write(content)
            self.assertEqual(current, self.current())

    def test_a_suffix_that_awaits_hashing_is_hashed_and_kept(self):
        write_hashes(self.path, {'valid': True, self.suffix: None})
        hashed, renewed = self.get()
        self.assertEqual((1, self.known.root), (hashed, renewed.root))
        self.assertTrue(self.current())

    def test_a_damaged_hashes_pkl_is_replaced(self):
        for data in (b'', b'garbage', b'\x80',
                     pickle.dumps({'../..': 'x', 'valid': True}),
                     pickle.dumps({'valid': False, self.suffix: 'f' * 32})):
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

    def test_what_happens_between_hashing_and_reading_is_not_missed(self):
        get_hashes = self.manager._get_hashes
        for number, consolidate in enumerate(
                (lambda path: None, consolidate_hashes)):

            def hash_and_be_overtaken(*args, **kwargs):
                result = get_hashes(*args, **kwargs)
                self.put_object('late%d' % number)
                consolidate(self.path)
                return result

            self.put_object('p%d' % number)
            with mock.patch.object(self.manager, '_get_hashes',
                                   hash_and_be_overtaken):
                self.get()
            self.assertFalse(self.current())
            root = self.get()[1].root
            self.assertEqual(self.fresh_root(), root)
            self.get()

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

    def test_not_after_a_delete_nor_after_a_post(self):
        diskfile = self.manager.get_diskfile('sda', PARTITION, 'a', 'c', 'o',
                                             self.policy)
        for change in (lambda: diskfile.write_metadata(
                           {'X-Timestamp': Timestamp(2).internal}),
                       lambda: diskfile.delete(Timestamp(3))):
            before = self.get()[1].root
            change()
            self.assertFalse(self.current())
            self.assertNotEqual(before, self.get()[1].root)

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

        with mock.patch('swift_lightsync.sync.changed_file.os.stat',
                        looked_at):
            self.assertFalse(is_current(self.path, self.known))
