# SPDX-License-Identifier: Apache-2.0
"""The fingerprints of a node's partitions: kept true, and remembered."""

import contextlib
import errno
import itertools
import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from dataclasses import asdict, replace
from types import SimpleNamespace
from unittest import mock

from swift.common.exceptions import DiskFileDeviceUnavailable, LockTimeout
from swift.common.utils import lock_path
from swift.obj.diskfile import read_hashes, write_hashes

import swift_lightsync
from swift_lightsync.sync import changed_file, fingerprints
from swift_lightsync.sync.changed_file import (
    ABSENT,
    Fingerprint,
    is_current,
    load,
    store,
)
from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.fingerprint_memory import FingerprintMemory
from swift_lightsync.sync.fingerprints import in_portions
from tests.unit.sync.fingerprinting import SOUND, FingerprintTestCase
from tests.unit.sync.fixtures import PARTITION, wait_for

REPOSITORY = os.path.dirname(os.path.dirname(swift_lightsync.__file__))


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
        with self.assertRaises(DiskFileDeviceUnavailable):
            self.fingerprints.get_many('sdz', [PARTITION])

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
                    mock.patch('swift_lightsync.sync.changed_file.replace_file',
                               side_effect=OSError(number, '')):
                self.assertEqual(expected, self.get()[1].root)
                self.fingerprints.note_exchange('sda', PARTITION, 5.0)
                self.assertIn(self.path, self.logger.at('WARNING')[-1])

    def test_a_device_that_is_emptied_meanwhile_is_no_error(self):
        self.put_object()
        genuine = os.replace

        def replace(source, target):
            if target.endswith('changed.pkl'):
                shutil.rmtree(os.path.join(self.devices_dir, 'sda'))
            return genuine(source, target)

        with mock.patch('swift_lightsync.common.files.os.replace', replace):
            self.get()
        self.assertEqual([], self.logger.at('WARNING'))

    def test_the_partition_may_vanish_at_any_moment(self):
        calls = {'load': 'load', 'is_current': 'is_current',
                 'the read': 'from_hashes_file', 'store': 'store'}
        for moment, name in calls.items():
            for after in (False, True):
                with self.subTest(moment=moment, after=after):
                    self.put_object('o', stamp=time.time())
                    self.get()
                    self.put_object('o', stamp=time.time())
                    genuine = getattr(changed_file, name)

                    def vanish(*args):
                        if not after:
                            shutil.rmtree(self.path)
                        try:
                            return genuine(*args)
                        finally:
                            shutil.rmtree(self.path, ignore_errors=True)

                    with mock.patch.object(changed_file, name, vanish):
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

        with mock.patch.object(changed_file, 'is_current', vanish):
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

            with mock.patch.object(changed_file, 'load', failing):
                _, found = self.other_process().get_many('sda', range(3))
            self.assertEqual({0, 2}, set(found))
            self.assertIn('partition 1 on sda', self.logger.at('ERROR')[-1])

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
        with mock.patch.object(changed_file, 'load') as loading:
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

    def fill(self, count):
        for partition in range(count):
            path = self.part_path(partition=partition)
            os.makedirs(path)
            write_hashes(path, {'valid': True, '07b': '%032x' % partition})
        return dict(self.fingerprints.get_many('sda', range(count))[1])

    def test_one_that_is_there_takes_little(self):
        self.fill(1000)
        self.fingerprints = self.other_process()
        tracemalloc.start()
        try:
            self.fingerprints.get_many('sda', range(1000))
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        self.assertLess(held, 200 * 1000)

    def read_again(self, partitions):
        with mock.patch.object(changed_file, 'load', wraps=load) as loading:
            self.fingerprints.get_many('sda', partitions)
        return [int(os.path.basename(call.args[0]))
                for call in loading.call_args_list]

    def test_those_that_nobody_asks_for_are_forgotten(self):
        self.fill(3)
        self.assertEqual([], self.read_again(range(3)))
        with mock.patch.object(FingerprintMemory, 'INTERVAL', 0):
            for _ in range(2):
                self.assertEqual([], self.read_again([0]))
        self.assertEqual([1, 2], self.read_again(range(3)))
        self.assertEqual([], self.read_again(range(3)))

    def test_after_the_deadline_no_further_one_is_looked_at(self):
        known = self.fill(20)
        for method, wanted in (
                ('roots', {partition: each.root
                           for partition, each in known.items()}),
                ('suffix_hashes', {partition: {'07b': '%032x' % partition}
                                   for partition in known})):
            ask = getattr(self.fingerprints, method)
            self.assertEqual({}, ask('sda', range(20), time.monotonic()))
            self.assertEqual(wanted, ask('sda', range(20),
                                         time.monotonic() + 60))
            ticks = SimpleNamespace(monotonic=itertools.count().__next__)
            with mock.patch.object(fingerprints, 'time', ticks):
                found = ask('sda', range(20), 10)
            self.assertEqual(list(range(len(found))), list(found))
            self.assertTrue(0 < len(found) < 20)

    def test_portions_are_all_in_order(self):
        for count in (0, 1, 63, 64, 65, 1000):
            portions = in_portions(range(count))
            self.assertEqual(list(range(count)), sum(portions, []))
            self.assertTrue(all(0 < len(portion) <= fingerprints.PORTION
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
        self.assertEqual(1, self.fingerprints.relist('sda', PARTITION)[0])
        _, renewed = self.get()
        self.assertEqual(2, renewed.suffixes)
        self.assertIn(suffix, read_hashes(self.path))

    def test_relist_writes_nothing_if_nothing_is_new(self):
        self.put_object()
        self.get()
        before = os.stat(self.file('hashes.pkl')).st_ino
        self.assertEqual(0, self.fingerprints.relist('sda', PARTITION)[0])
        self.assertEqual(before, os.stat(self.file('hashes.pkl')).st_ino)

    def test_relist_replaces_a_root_that_is_wrong(self):
        self.put_object()
        known = self.get()[1]
        wrong = replace(known, root='f' * 32)
        store(self.path, self.tmp, wrong)
        self.fingerprints = self.other_process()
        self.assertEqual((0, wrong), self.get())
        self.assertEqual((0, known),
                         self.fingerprints.relist('sda', PARTITION))
        self.assertEqual(known, load(self.path))


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
