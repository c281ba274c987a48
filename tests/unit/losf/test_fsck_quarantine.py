# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck quarantine: listing it, and giving it up."""

import contextlib
import io
import os
import time

from swift_losf.format.header import HEADER_LENGTH
from swift_losf.fsck import cli as fsck
from swift_losf.fsck.quarantine import Wanted
from swift_losf.index.index_lock import locked
from swift_losf.volumes.volume import mark_quarantined
from tests.unit.losf.fsck_world import HASHES, NAME, PARTITION, FsckTest

DAY = 86400
LENGTH = 2 ** 20


class QuarantineTest(FsckTest):
    """Two objects are in quarantine; the second's data is damaged."""

    def setUp(self):
        super().setUp()
        self.old = b'o' * 16
        self.new_name = '%010d.00000.data' % (time.time() - DAY)
        self.new = b'n' * 16
        with self.index() as index:
            self.places = {
                self.old: self.put(index, hash_=self.old, number=3,
                                   data=b'o' * LENGTH),
                self.new: self.put(index, self.new_name, self.new, number=3,
                                   data=b'n' * LENGTH)}
            for hash_, place in self.places.items():
                mark_quarantined(self.layout, place)
                index.quarantine(PARTITION, hash_)
        self.release(3)
        self.overwrite(3, self.places[self.new].offset + HEADER_LENGTH,
                       b'damage')

    def quarantine(self, *args):
        """:returns: (the hashes that are listed, the summary)"""
        status, lines = self.run_fsck('quarantine', *args)
        self.assertEqual(0, status)
        return {bytes.fromhex(line['hash'])
                for line in lines[:-1]}, lines[-1]['summary']

    def left(self):
        return {hash_ for hash_, _, _ in self.in_quarantine()}

    def used(self):
        return 512 * os.stat(self.layout.volume(3)).st_blocks


class TestList(QuarantineTest):

    def test_files_are_listed_with_what_they_take(self):
        before = self.content()
        listed, summary = self.quarantine()
        self.assertEqual(set(self.places), listed)
        self.assertEqual(
            {'files': 2, 'purged': False, 'bytes': sum(
                place.length for place in self.places.values())}, summary)
        self.assertEqual(before, self.content())

    def test_a_hash_or_an_age_selects(self):
        for args, expected in (
                (['--hash', self.old.hex()], {self.old}),
                (['--hash', 32 * '0'], set()),
                (['--older-than', '2'], {self.old}),
                (['--older-than', '0.5'], {self.old, self.new}),
                (['--older-than', '0.5', '--hash', self.new.hex()],
                 {self.new})):
            self.assertEqual(expected, self.quarantine(*args)[0], args)

    def test_a_name_without_timestamp_has_no_age(self):
        self.assertTrue(Wanted().has(self.old, 'x.data'))
        self.assertFalse(Wanted(before=10 ** 12).has(self.old, 'x.data'))

    def test_wrong_arguments_are_refused(self):
        for args in (['--older-than', '-1'], ['--older-than', 'inf'],
                     ['--older-than', 'x'], ['--hash', '12']):
            with contextlib.redirect_stderr(io.StringIO()) as text, \
                    self.assertRaises(SystemExit):
                fsck.main(['quarantine', self.device, *args])
            self.assertRegex(text.getvalue(), '%s: .* must be a ' % args[0])


class TestPurge(QuarantineTest):

    def test_what_is_purged_gives_its_space_back(self):
        before, expected = self.used(), self.listed()
        listed, summary = self.quarantine('--purge')
        self.assertEqual((set(self.places), 2, True), (
            listed, summary['files'], summary['purged']))
        self.assertEqual(set(), self.left())
        self.assertEqual(0, self.run_fsck('check', '--data')[0])
        self.sweep()
        self.assertLess(self.used(), before - 2 * LENGTH + 8192)
        self.assertEqual(expected, self.listed())
        self.assertEqual(0, self.run_fsck('check', '--data')[0])

    def test_only_what_is_selected_is_purged(self):
        self.quarantine('--purge', '--older-than', '2')
        self.assertEqual({self.new}, self.left())
        self.sweep()
        self.quarantine('--purge', '--hash', self.new.hex())
        self.assertEqual(set(), self.left())

    def test_a_dry_run_says_the_same_and_changes_nothing(self):
        before = self.content()
        listed, summary = self.quarantine('--purge', '--dry-run')
        self.assertEqual((set(self.places), False),
                         (listed, summary['purged']))
        self.assertEqual(before, self.content())

    def test_damaged_headers_and_lost_volumes_hinder_nothing(self):
        with self.index() as index:
            mark_quarantined(self.layout, self.files[HASHES[0]])
            index.quarantine(PARTITION, HASHES[0])
        self.overwrite(1, self.files[HASHES[0]].offset + 20, b'xxx')
        os.unlink(self.layout.volume(3))
        self.assertEqual(3, self.quarantine('--purge')[1]['files'])
        self.sweep()
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_what_was_purged_returns_neither_by_recovery_nor_when_swept(self):
        self.quarantine('--purge')
        self.recover().close()
        self.assertEqual(set(), self.left())
        self.sweep()
        self.remake_index()
        self.assertEqual(set(), self.left())
        self.assertNotIn((self.old, NAME), self.listed())

    def test_an_index_lost_before_the_sweep_has_them_in_quarantine_again(self):
        self.quarantine('--purge', '--hash', self.old.hex())
        self.remake_index()
        self.assertIn(self.old, self.left())
        self.assertNotIn((self.old, NAME), self.listed())

    def test_it_is_refused_while_an_index_server_runs(self):
        before = self.content()
        with locked(self.layout):
            status, _ = self.run_fsck('quarantine', '--purge')
        self.assertEqual(2, status)
        self.assertIn('swift-init object-losf stop', self.stderr.getvalue())
        self.assertEqual(before, self.content())

    def test_a_rotten_index_is_left_alone(self):
        self.break_index()
        self.assertEqual(2, self.run_fsck('quarantine', '--purge')[0])
        self.assertIn(self.layout.index, self.stderr.getvalue())
        self.assertEqual({'index', 'index.lock', 'volumes'},
                         set(os.listdir(self.layout.root)))
