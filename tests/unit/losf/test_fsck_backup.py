# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck backup and restore."""

import contextlib
import os
import shutil
import threading
from unittest import mock

from swift_losf.format.header import VolumeType
from swift_losf.format.name_code import durable_name
from swift_losf.fsck import backup
from swift_losf.index import db as database
from swift_losf.index.db import Database
from swift_losf.upkeep.lost_index import DAMAGED
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.fsck_world import HASHES, FsckTest
from tests.unit.losf.index_world import (
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    all_files,
)

FRAGMENT = '1700000000.00009#3.data'


class TestBackup(FsckTest):

    def setUp(self):
        super().setUp()
        self.copy = os.path.join(self.make_device(), 'copy')

    def change_much(self, compacts):
        """Do what happens within a week, and return the files then."""
        first, second, third, fourth, _ = HASHES
        with self.index() as index:
            fragment = self.put(index, FRAGMENT, second, number=3)
        self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
        with self.index() as index:
            # one is deleted, and reclaimed
            self.put(index, TOMBSTONE, first, number=4)
            index.remove(PARTITION, first, [NAME])
            self.sweep_once(index)
            index.remove(PARTITION, first, [TOMBSTONE])
            self.sweep_once(index)
            # a fragment becomes durable
            mark_durable(self.layout, fragment)
            index.rename(PARTITION, second, FRAGMENT, durable_name(FRAGMENT))
            # one is put into quarantine
            mark_quarantined(self.layout, self.files[third])
            index.quarantine(PARTITION, third)
            # one is overwritten
            self.put(index, OTHER, fourth, number=3)
            index.remove(PARTITION, fourth, [NAME])
            self.sweep_once(index)
            if compacts:
                # all that is left is moved, and its volumes removed
                for number in (1, 3, 4):
                    self.release(number)
                self.compact_all(index)
                self.assertFalse(os.path.exists(self.layout.volume(1)))
            return self.told(index)

    def told(self, index):
        """:returns: (all files, without places; names in quarantine)"""
        return (sorted(each[:3] for each in all_files(index.reader)),
                [each[:3] for each in index.reader.list_quarantine()[0]])

    def restored(self, compacts):
        """:returns: what was found, names to counts"""
        expected = self.change_much(compacts)
        shutil.rmtree(self.layout.index)
        status, lines = self.run_fsck('restore', self.copy)
        self.assertEqual(0, status)
        with self.index() as index:
            self.assertEqual(expected, self.told(index))
        self.assertEqual(0, self.run_fsck('check')[0])
        return lines[-1]['summary']['found']

    def test_what_came_since_the_backup_is_in_what_is_restored(self):
        found = self.restored(compacts=False)
        self.assertEqual((2, 1), tuple(found[kind] for kind in (
            'no-record', 'not-quarantined')))

    def test_what_was_compacted_since_is_found_where_it_is_now(self):
        self.assertIn('no-volume', self.restored(compacts=True))

    def test_a_volume_with_the_number_of_one_that_is_gone_keeps_its_files(
            self):
        gone, new = b'g' * 16, b'n' * 16
        with self.index() as index:
            number = index.new_volume(VolumeType.DATA)
            self.put(index, hash_=gone, number=number)
            index.remove(PARTITION, gone, [NAME])
        self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
        self.release(number)
        with self.index() as index:
            self.sweep_once(index)
            self.compact_all(index, garbage=99, extents=1000)
        shutil.rmtree(self.layout.index)
        self.assertEqual(0, self.run_fsck('rebuild')[0])
        with self.index() as index:
            self.assertEqual(number, index.new_volume(VolumeType.DATA))
            self.put(index, hash_=new, number=number)
        before = self.listed()
        self.assertIn((new, NAME), before)
        self.assertEqual(0, self.run_fsck('restore', self.copy)[0])
        self.assertEqual(before, self.listed())
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_without_salts_no_dead_record_is_believed(self):
        with self.index() as index:
            self.sweep_once(index)
            dead = self.put(index, hash_=b'd' * 16, number=3)
            index.remove(PARTITION, b'd' * 16, [NAME])
        before = self.listed()
        self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
        self.assertEqual(0, self.run_fsck('restore', self.copy)[0])
        self.assertEqual(before, self.listed())
        salts = os.path.join(self.copy, 'volumes.json')
        os.unlink(salts)
        for text in ('', '[]', '{}'):
            self.assertEqual(0, self.run_fsck('restore', self.copy)[0])
            self.assertEqual({**before, (b'd' * 16, NAME): dead},
                             self.listed())
            with open(salts, 'w') as file:
                file.write(text)

    def test_a_damaged_index_gives_way_to_what_is_restored(self):
        self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
        # as when a server was killed that began to copy it
        os.rename(self.layout.index, self.layout.index + DAMAGED)
        self.assertEqual(0, self.run_fsck('restore', self.copy)[0])
        self.assertEqual(1, len([
            name for name in os.listdir(self.layout.root)
            if name.startswith('index.broken-')]))
        self.assertFalse(os.path.exists(self.layout.index + DAMAGED))

    def test_a_restore_says_what_takes_the_place_of_the_index(self):
        self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
        with self.assertLogs() as logs:
            self.assertEqual(0, self.run_fsck('restore', self.copy)[0])
        self.assertRegex(
            '\n'.join(logs.output),
            r'\AWARNING:[^:]+:\S+/index is set aside as '
            r'\S+/index\.broken-\d+: a backup takes its place\Z')

    def test_a_restore_that_is_interrupted_leaves_the_index(self):
        self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
        before = self.content()
        with mock.patch('swift_losf.fsck.commands.put_in_place',
                        side_effect=OSError('cut')):
            self.assertEqual(2, self.run_fsck('restore', self.copy)[0])
        self.assertEqual(before, self.content())
        self.assertEqual(0, self.run_fsck('restore', self.copy)[0])

    def test_what_is_no_backup_is_refused(self):
        for args in (['restore', self.copy], ['backup', self.device]):
            self.assertEqual(2, self.run_fsck(*args)[0])
            self.assertIn(args[1], self.stderr.getvalue())

    def test_a_running_server_does_not_hinder_a_backup_but_a_restore(self):
        self.start_process()
        self.wait_for(lambda: os.path.exists(self.layout.socket))
        self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
        self.assertEqual(2, self.run_fsck('restore', self.copy)[0])

    def test_one_backup_waits_for_another(self):
        others = [threading.Thread(target=backup.back_up, args=[
            self.layout, self.copy + str(number)]) for number in range(3)]
        copytree, alive = shutil.copytree, []

        def copy(*args):
            if not alive:
                for other in others:
                    other.start()
                for other in others:
                    other.join(0.3)
                alive.extend(other.is_alive() for other in others)
            return copytree(*args)
        with mock.patch.object(backup.shutil, 'copytree', copy):
            self.assertEqual(0, self.run_fsck('backup', self.copy)[0])
            for other in others:
                other.join()
        self.assertEqual([True] * len(others), alive)
        for path in [self.copy, *(self.copy + '%d' % number
                                  for number in range(3))]:
            self.assertTrue(os.path.exists(os.path.join(path, 'CURRENT')))

    def test_a_copy_is_the_index_as_it_was_at_one_moment(self):
        stop = threading.Event()
        written = []

        def write(entries):
            number = 0
            while not stop.is_set():
                with entries.change() as change:
                    change.put(b'o%08d' % number, bytes(200))
                    change.delete(b'o%08d' % (number - 5000))
                number += 1
                written.append(number)
        path = os.path.join(self.device, 'busy')
        with mock.patch.object(database, '_WRITE_BUFFER', 2 ** 16):
            entries = Database(path)
        thread = threading.Thread(target=write, args=[entries])
        with contextlib.closing(entries):
            thread.start()
            try:
                for round_number in range(10):
                    self.require_moment(path, written, round_number)
            finally:
                stop.set()
                thread.join()

    def require_moment(self, path, written, round_number):
        self.wait_for(lambda: len(written) > 2000 * round_number)
        layout = mock.Mock(index=path, index_path=None, root=self.device)
        copy = self.copy
        before = len(written)
        with mock.patch.object(backup, '_count', lambda path: 0):
            backup.back_up(layout, copy)
        after = len(written) + 1
        with contextlib.closing(Database(copy)) as found:
            numbers = [int(key[1:]) for key, _ in found.scan(b'o', b'p')]
        shutil.rmtree(copy)
        last = numbers[-1] + 1
        self.assertTrue(before <= last <= after, (before, last, after))
        self.assertEqual(list(range(max(0, last - 5000), last)), numbers)
