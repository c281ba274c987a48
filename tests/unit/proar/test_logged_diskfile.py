# SPDX-License-Identifier: Apache-2.0
"""logged_diskfile: the log knows of a write before the disk does."""

import errno
import os
from unittest import mock

from swift.common.exceptions import DiskFileNoSpace
from swift.common.utils import Timestamp
from swift.obj import diskfile

from swift_lightsync.proar.core.oplog import Entry, Op, State
from swift_lightsync.proar.log.logged_diskfile import (
    LogContext,
    LoggedDiskFile,
)
from swift_lightsync.proar.log.oplog_file import Oplog
from tests.unit.proar.logs import BROKEN, HASH
from tests.unit.sync.fixtures import SwiftTestCase


class TestLoggedDiskFile(SwiftTestCase):

    def setUp(self):
        super().setUp()
        directory = os.path.join(self.devices_dir, 'sda', 'proar')
        self.oplog = Oplog(directory + '/3.log', directory + '/3.cursors')
        self.stock = self.manager().get_diskfile(
            'sda', '3', 'a', 'c', 'o', self.policy)
        self.logged = LoggedDiskFile(self.stock, LogContext(
            self.oplog, 2, HASH, self.logger))

    def write(self, stamp=1, with_writer=False):
        metadata = {'X-Timestamp': Timestamp(stamp).internal, 'ETag': 'e',
                    'Content-Type': 'text/plain', 'Content-Length': '1'}
        if with_writer:
            writer = self.logged.writer(size=1).open()
            try:
                writer.write(b'x')
                writer.put(metadata)
            finally:
                writer.close()
        else:
            with self.logged.create(size=1) as writer:
                writer.write(b'x')
                writer.put(metadata)

    def operations(self):
        return [(entry.op.name, entry.timestamp, entry.state.name)
                for entry in self.oplog.read().entries]

    def files(self):
        try:
            return sorted(os.listdir(self.stock._datadir))
        except FileNotFoundError:
            return []

    def test_put_post_and_delete_are_logged_with_their_timestamps(self):
        # To come: a tombstone of the past would be reclaimed.
        first = 4 * 10 ** 9
        self.write(first)
        self.write(first + 1, with_writer=True)
        self.logged.write_metadata(
            {'X-Timestamp': Timestamp(first + 2).internal})
        self.logged.delete(Timestamp(first + 3))
        self.assertEqual(
            [(op, (first + number) * 10 ** 5, 'COMMITTED') for number, op
             in enumerate(('MODIFY', 'MODIFY', 'MODIFY', 'DELETE'))],
            self.operations())
        self.assertEqual(['4000000003.00000.ts'], self.files())

    def test_an_entry_says_of_which_object_and_slot_it_is(self):
        self.logged.delete(Timestamp(4, offset=5))
        entry, = self.oplog.read().entries
        self.assertEqual(
            Entry(Op.DELETE, 2, 1, HASH, 400000, 5, entry.logged,
                  State.COMMITTED), entry)

    def test_the_intent_is_there_and_locked_while_it_becomes_durable(self):
        seen = []
        link = diskfile.link_fd_to_path

        def look_and_link(*args, **kwargs):
            seen.append((self.operations(), self.oplog.in_progress(1),
                         self.files()))
            link(*args, **kwargs)

        with mock.patch.object(diskfile, 'link_fd_to_path', look_and_link):
            self.write()
        self.assertEqual(
            [([('MODIFY', 100000, 'INTENT')], True, [])], seen)
        self.assertFalse(self.oplog.in_progress(1))

    def test_what_fails_before_the_link_or_behind_it_is_undecided(self):
        for name, files in (('link_fd_to_path', 0), ('fsync', 0)):
            with mock.patch.object(diskfile, name, side_effect=BROKEN), \
                    self.assertRaises(OSError):
                self.write()
            self.assertEqual(files, len(self.files()))
        link = diskfile.link_fd_to_path

        def link_and_fail(*args, **kwargs):
            link(*args, **kwargs)
            raise BROKEN

        with mock.patch.object(diskfile, 'link_fd_to_path', link_and_fail), \
                self.assertRaises(OSError):
            self.write()
        self.assertEqual(1, len(self.files()))
        self.assertEqual({'INTENT'}, {state for _, _, state
                                      in self.operations()})
        self.assertFalse(any(map(self.oplog.in_progress, (1, 2, 3))))

    def test_without_a_log_nothing_is_written_and_swift_answers_507(self):
        for error in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS):
            with mock.patch.object(Oplog, 'append',
                                   side_effect=OSError(error, 'broken')):
                for write in (self.write, lambda: self.logged.delete(
                        Timestamp(1))):
                    self.assertRaises(DiskFileNoSpace, write)
        self.assertEqual([], self.files())

    def test_a_writer_that_puts_nothing_logs_nothing(self):
        with self.logged.create(size=1) as writer:
            writer.write(b'x')
        self.assertEqual([], self.operations())

    def test_in_all_else_it_is_the_diskfile(self):
        self.write()
        self.assertEqual('1', self.logged.read_metadata()['Content-Length'])
        self.assertEqual(Timestamp(1), self.logged.data_timestamp)
        self.assertIs(self.stock.manager, self.logged.manager)
        with self.assertRaises(AttributeError):
            self.logged.nothing
