# SPDX-License-Identifier: Apache-2.0
"""The appender: which volume a file goes to."""

import errno
import fcntl
import os
from unittest import mock

from swift_losf.format.header import VolumeType
from swift_losf.format.layout import Layout
from swift_losf.volumes.volume_pool import IDLE
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.volumes import LONG, AppenderTest, bytes_of, hash_of


class TestChoice(AppenderTest):

    def test_volumes_are_taken_over_when_their_process_has_left(self):
        self.put(1, b'x').done()
        self.appender.close()
        pending = self.put(2, b'x', appender=self.new_appender())
        self.assertEqual((1, 8320), (pending.location.volume,
                                     pending.location.offset))

    def test_volumes_of_others_are_left_alone(self):
        self.put(1, b'x')
        self.assertEqual(2, self.put(
            2, b'x', appender=self.new_appender()).location.volume)

    def test_types_do_not_mix(self):
        tombstones = self.new_appender(VolumeType.TOMBSTONES)
        self.put(1, b'x').done()
        self.appender.close()
        self.assertEqual(2, self.put(
            2, b'', '1.ts', appender=tombstones).location.volume)
        self.assertEqual(1, self.put(3, b'x').location.volume)

    def test_policies_do_not_mix(self):
        self.put(1, b'x').done()
        self.appender.close()
        other = Layout(self.device, 3)
        os.makedirs(other.root)
        os.rename(self.layout.volumes, other.volumes)
        self.layout = other
        self.assertEqual(2, self.put(
            2, b'x', appender=self.new_appender()).location.volume)

    def test_a_copy_under_another_number_is_not_used(self):
        self.put(1, b'x').done()
        self.appender.close()
        os.rename(self.layout.volume(1), self.layout.volume(7))
        self.assertEqual(2, self.put(2, b'x').location.volume)

    def test_a_full_volume_is_never_taken_again(self):
        appender = self.new_appender(max_volume_size=20000)
        numbers = [self.put(number, bytes_of(number, 9000),
                            appender=appender).location.volume
                   for number in range(5)]
        self.assertEqual([1, 1, 2, 2, 3], numbers)
        appender.close()
        self.assertEqual(3, self.put(
            9, b'x', appender=self.new_appender(max_volume_size=20000)
        ).location.volume)

    def test_a_volume_grows_to_a_small_part_of_its_disk(self):
        with mock.patch('swift_losf.volumes.volume_pool.part_of',
                        side_effect=lambda disk, most: min(most, 20000)):
            numbers = [self.put(number, bytes_of(
                number, 9000)).location.volume for number in range(5)]
        self.assertEqual([1, 1, 2, 2, 3], numbers)

    def test_what_is_no_volume_is_passed_over(self):
        os.makedirs(self.layout.volumes)
        for name in ('v0000000001', 'v0000000002.broken', 'notes'):
            with open(os.path.join(self.layout.volumes, name), 'wb') as file:
                file.write(b'x' * 5000)
        next(self.numbers)
        self.assertEqual(2, self.put(1, b'x').location.volume)

    def test_a_volume_that_cannot_be_read_is_passed_over(self):
        self.put(1, b'x').done()
        self.appender.close()
        with mock.patch.object(WritableVolume, 'take',
                               side_effect=OSError(errno.EIO, 'broken')):
            self.assertEqual(2, self.put(2, b'x').location.volume)

    def test_a_number_that_exists_is_passed_over(self):
        self.put(1, b'x')
        numbers = iter([1, 1, 5])
        appender = self.new_appender()
        appender._process()[0]._reserve_volume = lambda: next(numbers)
        self.assertEqual(5, self.put(
            2, b'x', appender=appender).location.volume)

    def test_an_index_that_gives_numbers_that_exist_is_an_error(self):
        self.put(1, b'x')
        appender = self.new_appender()
        appender._process()[0]._reserve_volume = lambda: 1
        with self.assertRaisesRegex(OSError, '100 numbers of volumes'):
            self.put(2, b'x', appender=appender)

    def test_no_more_volumes_than_max_volume_count_are_in_use(self):
        appender = self.new_appender(max_volume_count=2)
        writers = self.long_writers(2, appender)
        with self.assertRaisesRegex(
                OSError, '2 volumes are in use; max_volume_count allows 2'):
            self.long_writers(1, appender)
        writers.pop().abort()
        for each in writers + self.long_writers(1, appender):
            each.abort()

    def test_long_files_have_volumes_of_their_own_at_one_time(self):
        writers = [self.writer() for _ in range(4)]
        for number, writer in enumerate(writers):
            writer.write(bytes_of(number, LONG))
        pendings = [writer.finish('1.data', {}, 1, hash_of(number))
                    for number, writer in enumerate(writers)]
        self.assertEqual({1, 2, 3, 4}, {
            each.location.volume for each in pendings})
        for number, pending in enumerate(pendings):
            self.assertEqual(bytes_of(number, LONG), self.read(
                number, pending.location, '1.data'))

    def test_most_volumes_that_are_idle_are_unlocked(self):
        pendings = [writer.finish('1.data', {}, 1, hash_of(1))
                    for writer in self.long_writers(6)]
        self.assertEqual(0, self.unlocked())
        for pending in pendings:
            pending.done()
        self.assertEqual(6 - IDLE, self.unlocked())

    def test_files_that_were_aborted_keep_no_volume_locked(self):
        for writer in self.long_writers(6):
            writer.abort()
        self.assertEqual(6 - IDLE, self.unlocked())

    def unlocked(self):
        count = 0
        for name in self.volumes():
            with open(os.path.join(self.layout.volumes, name)) as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    count += 1
                except BlockingIOError:
                    pass
        return count

    def test_a_child_has_volumes_of_its_own(self):
        self.put(1, b'x').done()
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            try:
                number = self.put(2, b'y').location.volume
                os.write(writer, b'%d of %r' % (number, self.open_volumes()))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        self.assertEqual(b"2 of ['v0000000002']", os.read(reader, 99))
        os.close(reader)
        self.assertEqual(1, self.put(3, b'x').location.volume)
        self.assertEqual([hash_of(1), hash_of(3)], [
            each.header.hash for each in self.found()])
