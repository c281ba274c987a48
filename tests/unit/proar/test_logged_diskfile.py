# SPDX-License-Identifier: Apache-2.0
"""logged_diskfile: the log knows of a write before the disk does."""

import errno
import os
from unittest import mock

from swift.common.exceptions import DiskFileNoSpace
from swift.common.utils import Timestamp
from swift.obj import diskfile

from swift_lightsync.common.quiet_logger import QuietLogger
from swift_lightsync.proar.core.oplog import Op
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.logged_diskfile import LoggedWrite, log_writes
from swift_lightsync.proar.log.segment import Segment
from tests.unit.proar.logs import BROKEN, entries_of, entry, side_by_side
from tests.unit.sync.fixtures import SwiftTestCase, wait_for


class TestLoggedDiskFile(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.devices_dir, 'sda')
        self.log = DeviceLog(self.path)
        self.addCleanup(self.log.close)
        self.stock = self.diskfile()

    def diskfile(self):
        return self.manager().get_diskfile(
            'sda', '3', 'a', 'c', 'o', self.policy)

    def logged(self, stamp=1, op=Op.MODIFY):
        """:returns: the diskfile of a request"""
        return log_writes(self.diskfile(), LoggedWrite(
            self.log.begin(entry(stamp, op)), QuietLogger(self.logger)))

    def write(self, stamp=1, with_writer=False):
        metadata = {'X-Timestamp': Timestamp(stamp).internal, 'ETag': 'e',
                    'Content-Type': 'text/plain', 'Content-Length': '1'}
        if with_writer:
            writer = self.logged(stamp).writer(size=1).open()
            try:
                writer.write(b'x')
                writer.put(metadata)
            finally:
                writer.close()
        else:
            with self.logged(stamp).create(size=1) as writer:
                writer.write(b'x')
                writer.put(metadata)

    def operations(self):
        return [(entry.op.name, entry.timestamp, entry.state.name)
                for entry in entries_of(self.path)]

    def ended(self):
        """:returns: the operations when all outcomes are noted"""
        wait_for(lambda: all(state != 'INTENT' for _, _, state
                             in self.operations()), 'all are noted')
        return self.operations()

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
        self.logged(first + 2).write_metadata(
            {'X-Timestamp': Timestamp(first + 2).internal})
        self.logged(first + 3, Op.DELETE).delete(Timestamp(first + 3))
        self.assertEqual(
            [(op, (first + number) * 10 ** 5, 'COMMITTED') for number, op
             in enumerate(('MODIFY', 'MODIFY', 'MODIFY', 'DELETE'))],
            self.ended())
        self.assertEqual(['4000000003.00000.ts'], self.files())

    def test_the_intent_is_durable_before_the_operation_is(self):
        seen = []
        link = diskfile.link_fd_to_path

        def look_and_link(*args, **kwargs):
            seen.append((self.operations(), self.files(), list(flushes)))
            link(*args, **kwargs)
        flushes = []
        sync = Segment.sync

        def counted(segment):
            sync(segment)
            flushes.append(segment.number)

        with mock.patch.object(diskfile, 'link_fd_to_path', look_and_link), \
                mock.patch.object(Segment, 'sync', counted):
            self.write()
        self.assertEqual([([('MODIFY', 100000, 'INTENT')], [], [1])], seen)

    def test_the_flush_begins_before_the_body_has_come(self):
        with self.logged().create(size=1):
            wait_for(self.operations, 'it is logged')

    def test_the_log_and_the_file_are_flushed_at_the_same_time(self):
        with side_by_side(diskfile, 'fsync'):
            self.write()

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
        self.assertEqual({'UNDECIDED'}, {state for _, _, state
                                         in self.ended()})

    def test_what_cannot_be_logged_is_not_written(self):
        for error in errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS:
            for write in (self.write, lambda: self.logged(
                    1, Op.DELETE).delete(Timestamp(1))):
                with mock.patch.object(Segment, 'sync',
                                       side_effect=OSError(error, 'no')):
                    # The object-server answers it with 507.
                    self.assertRaises(DiskFileNoSpace, write)
        self.assertEqual([], self.files())
        self.assertEqual({'ABORTED'}, {state for _, _, state
                                       in self.ended()})

    def test_a_writer_that_puts_nothing_has_changed_nothing(self):
        with self.logged().create(size=1) as writer:
            writer.write(b'x')
        self.assertLessEqual({state for _, _, state in self.ended()},
                             {'ABORTED'})

    def test_what_is_read_of_it_is_not_logged(self):
        self.write()
        before = self.ended()
        self.assertEqual('1', self.logged().read_metadata()['Content-Length'])
        self.assertEqual(before, self.ended())

    def test_what_cannot_be_logged_is_brought_to_a_quorum_if_it_may_be(self):
        metadata = {'X-Timestamp': Timestamp(1).internal, 'ETag': 'e',
                    'Content-Type': 'text/plain', 'Content-Length': '1'}
        for is_quorum in True, False:
            seen = []

            def make_quorum(is_quorum=is_quorum, seen=seen):
                seen.append(self.files())
                return is_quorum
            disk_file = log_writes(self.diskfile(), LoggedWrite(
                self.log.begin(entry(1)), QuietLogger(self.logger),
                make_quorum=make_quorum))
            with mock.patch.object(Segment, 'sync', side_effect=BROKEN), \
                    disk_file.create(size=1) as writer:
                writer.write(b'x')
                if is_quorum:
                    writer.put(metadata)
                else:
                    with self.assertRaises(DiskFileNoSpace):
                        writer.put(metadata)
            # Others are asked when it is durable here.
            self.assertEqual([['0000000001.00000.data']], seen)
