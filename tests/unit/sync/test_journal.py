# SPDX-License-Identifier: Apache-2.0
"""The journal of a device: nothing that changed goes unnoticed."""

import contextlib
import errno
import os
import random
import shutil
import unittest
from unittest import mock

import greenlet

from swift_lightsync.sync import device_watch, journal, journaling
from swift_lightsync.sync.device_watch import DeviceWatch
from swift_lightsync.sync.journal import Writers
from swift_lightsync.sync.names import JOURNAL_FILE
from tests.unit.sync.fixtures import SwiftTestCase


class JournalTestCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(device_watch, 'TICK', 0))
        self.device = os.path.join(self.devices_dir, 'sda')
        os.makedirs(os.path.join(self.device, 'objects'))
        self.path = os.path.join(self.device, JOURNAL_FILE)
        self.writers = Writers(self.conf, self.logger)
        self.writers.touch()
        self.watch = DeviceWatch(self.manager(), self.writers)

    def begin(self):
        self.assertTrue(self.watch.begin('sda', [self.policy]))

    def changes(self):
        return self.watch.changes('sda')


class TestJournal(JournalTestCase):

    def test_what_is_entered_is_read_once(self):
        self.begin()
        journal.enter(self.device, 0, 7)
        journal.enter(self.device, 3, 0xffffffff)
        self.assertEqual({(0, 7), (3, 0xffffffff)}, self.changes())
        self.assertEqual(set(), self.changes())

    def test_nothing_is_written_if_nobody_reads(self):
        journal.enter(self.device, 0, 7)
        self.assertFalse(os.path.exists(self.path))

    @unittest.skipIf(os.geteuid(), 'only root can be another user')
    def test_what_root_begins_the_user_of_the_servers_can_go_on_with(self):
        place = os.path.dirname(self.writers.path)
        os.chown(place, 65534, 65533)
        self.writers.touch()
        found = os.stat(self.writers.path)
        self.assertEqual((65534, 65533), (found.st_uid, found.st_gid))

    def test_two_readers_read_the_same(self):
        other = DeviceWatch(self.manager(), self.writers)
        self.begin()
        self.assertTrue(other.begin('sda', [self.policy]))
        journal.enter(self.device, 0, 7)
        self.assertEqual({(0, 7)}, self.changes())
        self.assertEqual({(0, 7)}, other.changes('sda'))

    def test_a_full_one_is_begun_anew(self):
        self.begin()
        with mock.patch.object(journal, 'MAX_BYTES', 24):
            journal.enter(self.device, 0, 1)
            journal.enter(self.device, 0, 2)
        self.assertIsNone(self.changes())
        self.begin()
        self.assertEqual(set(), self.changes())

    def test_one_that_cannot_be_written_goes(self):
        for short in (OSError(errno.ENOSPC, 'full'), 3):
            self.begin()
            with mock.patch('os.write', **(
                    {'side_effect': short} if isinstance(short, OSError)
                    else {'return_value': short})):
                journal.enter(self.device, 0, 1)
            self.assertFalse(os.path.exists(self.path))
            self.assertIsNone(self.changes())

    def test_a_disk_from_yesterday_is_known_by_its_journal(self):
        self.begin()
        yesterday = os.path.join(self.root, 'yesterday')
        shutil.copy2(self.path, yesterday)
        for number in range(3):
            journal.enter(self.device, 0, number)
        self.assertEqual({(0, 0), (0, 1), (0, 2)}, self.changes())
        with open(yesterday, 'rb') as source, open(self.path, 'r+b') as back:
            # Even the inode is the same.
            back.truncate(0)
            back.write(source.read())
        for number in range(4, 8):
            journal.enter(self.device, 0, number)
        self.assertIsNone(self.changes())

    def test_strange_files_are_replaced(self):
        for data in (b'', b'x', b'LSJ2' + bytes(40), os.urandom(300)):
            with open(self.path, 'wb') as strange:
                strange.write(data)
            self.begin()
            journal.enter(self.device, 0, 5)
            self.assertEqual({(0, 5)}, self.changes())

    def test_partitions_that_come_and_go_are_seen(self):
        self.begin()
        os.mkdir(os.path.join(self.device, 'objects', '9'))
        self.assertIsNone(self.changes())

    def test_a_writer_that_begins_may_stand_in_for_one_that_died(self):
        self.begin()
        self.writers.touch()
        self.assertIsNone(self.changes())

    def test_a_directory_that_has_just_changed_is_not_trusted(self):
        with mock.patch.object(device_watch, 'TICK', 1e9):
            self.begin()
        self.assertIsNone(self.changes())

    def test_a_device_that_is_not_there_is_not_watched(self):
        shutil.rmtree(self.device)
        with mock.patch.object(self.watch.manager, 'get_dev_path',
                               return_value=None):
            self.assertFalse(self.watch.begin('sda', [self.policy]))


class TestJournaling(JournalTestCase):
    """What Swift's diskfiles change is entered."""

    def setUp(self):
        super().setUp()
        self.disk = self.manager()
        journaling.Journaling({self.policy: self.disk}, self.writers,
                              self.logger)
        self.put(self.disk, 'sda', 'o', partition=3)
        self.disk._get_hashes('sda', 3, self.policy)
        self.begin()

    def test_writes_are(self):
        self.put(self.disk, 'sda', 'p', partition=3)
        self.assertEqual({(0, 3)}, self.changes())

    def test_hashing_is_if_something_was_hashed(self):
        self.disk._get_hashes('sda', 3, self.policy)
        self.assertEqual(set(), self.changes())
        self.disk.get_hashes('sda', '3', ['abc'], self.policy)
        self.assertEqual({(0, 3)}, self.changes())

    def test_quarantine_is(self):
        disk_file = self.disk.get_diskfile('sda', 3, 'a', 'c', 'o',
                                           self.policy)
        self.disk.quarantine_renamer(self.device, os.path.join(
            disk_file._datadir, 'x.data'))
        self.assertEqual({(0, 3)}, self.changes())

    def test_an_invalidation_that_fails_is(self):
        with mock.patch('swift.obj.diskfile.lock_path',
                        side_effect=OSError('no')):
            with self.assertRaises(OSError):
                self.disk.invalidate_hash(os.path.join(
                    self.part_path('sda', 3), 'abc'))
        self.assertEqual({(0, 3)}, self.changes())

    def test_an_entry_that_is_lost_for_good_is_told_of(self):
        with mock.patch.object(journal, 'enter', side_effect=OSError('no')):
            self.disk.invalidate_hash(os.path.join(
                self.part_path('sda', 3), 'abc'))
        self.assertIsNone(self.changes())


#: Lives of the campaign; each follows from its number.
LIVES = int(os.environ.get('LIVES', 60))


class TestRaces(JournalTestCase):
    """Writers and readers in any order, and killed at any step.

    A reader that believes something else than what is there has an entry, or
    a reason to look at everything, before it next answers.
    """

    def test_no_reader_believes_what_is_not_so(self):
        first = int(os.environ.get('FIRST_LIFE', 0))
        for seed in range(first, first + LIVES):
            with self.subTest(seed=seed):
                self._live(random.Random(seed))

    def _live(self, rng):
        truth = dict.fromkeys(range(4), 0)
        readers = [(DeviceWatch(self.manager(), self.writers), {})
                   for _ in range(2)]
        writers = [self._writer(truth, rng) for _ in range(3)]
        with mock.patch.object(journal, 'os', _Pausing()), \
                mock.patch.object(journal, 'MAX_BYTES', rng.choice((32, 80))):
            for _ in range(80):
                index, event = rng.randrange(3), rng.random()
                if event < 0.7:
                    writers[index].switch()
                elif event < 0.75:
                    # Killed, and another begins.
                    writers[index].throw()
                    writers[index] = self._writer(truth, rng)
                    self.writers.touch()
                elif event < 0.8:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self.path)
                else:
                    self._read(*rng.choice(readers), truth)
                if writers[index].dead:
                    writers[index] = self._writer(truth, rng)
            for each in writers:
                while not each.dead:
                    each.switch()
            for watch, believed in readers:
                self._read(watch, believed, truth)
                self.assertEqual(truth, believed)

    def _writer(self, truth, rng):
        """Return what changes a partition, a step at each switch."""
        number = rng.randrange(4)

        def write():
            truth[number] += 1
            greenlet.getcurrent().parent.switch()
            journal.enter(self.device, 0, number)

        return greenlet.greenlet(write)

    def _read(self, watch, believed, truth):
        changed = watch.changes('sda')
        if changed is None:
            self.assertTrue(watch.begin('sda', [self.policy]))
            believed.update(truth)
        else:
            believed.update((number, truth[number]) for _, number in changed)


class _Pausing:
    """The module os, with a pause before each step of a writer."""

    def __getattr__(self, name):
        found = getattr(os, name)
        if name in ('open', 'fstat', 'write', 'unlink'):
            parent = greenlet.getcurrent().parent
            if parent:
                parent.switch()
        return found
