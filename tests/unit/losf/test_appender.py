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
import errno
import fcntl
import os
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from swift_losf.format.header import VolumeType
from swift_losf.format.layout import Layout
from swift_losf.vfile import VFileWriter
from swift_losf.volumes import appender as appender_module
from swift_losf.volumes.pool import IDLE
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.volumes import FailingDisk, VolumeTest, bytes_of, \
    hash_of

LONG = 300000


class GatedDisk(FailingDisk):
    """A disk whose syncs wait until they may go on."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.syncing = threading.Event()

    def fdatasync(self, fd):
        self.syncing.set()
        if not self.gate.wait(30):
            raise AssertionError('the gate was never opened')
        super().fdatasync(fd)


class AppenderTest(VolumeTest):
    disk_class = FailingDisk

    def setUp(self):
        super().setUp()
        self.disk = self.disk_class()
        # Nothing is laid out: test_laying_out.py has that.
        for name, value in ('os', self.disk), ('ROOM', 2 ** 63):
            patched = mock.patch('swift_losf.volumes.writable.' + name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def syncs(self):
        return sum(1 for each in self.disk.log if each[0] == 'sync')

    def put_many(self, lengths):
        """
        Put files from a thread each.

        :returns: the outcome of each, by number: a Pending or an OSError
        """
        outcomes = {}

        def put(number, length):
            try:
                outcomes[number] = self.put(number, bytes_of(number, length))
            except OSError as err:
                outcomes[number] = err
        threads = [threading.Thread(target=put, args=each, daemon=True)
                   for each in enumerate(lengths)]
        for thread in threads:
            thread.start()
        return threads, outcomes

    def wait(self, condition):
        deadline = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.001)

    def join(self, threads):
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())


class TestGroupCommit(AppenderTest):
    disk_class = GatedDisk

    def gathered(self, lengths):
        """
        Put one file that is held up, then the others, which gather.

        :returns: the outcomes of put_many
        """
        first = threading.Thread(
            target=lambda: self.put(99, b'first').done())
        first.start()
        self.assertTrue(self.disk.syncing.wait(30))
        threads, outcomes = self.put_many(lengths)
        group = self.appender._process()[1]
        self.wait(lambda: len(group._waiting) == len(lengths))
        return [first] + threads, outcomes

    def test_what_comes_at_the_same_time_is_synced_once(self):
        threads, outcomes = self.gathered([100] * 40)
        before = self.syncs()
        self.disk.gate.set()
        self.join(threads)
        # the first one's, and that of all others
        self.assertEqual(before + 2, self.syncs())
        for number, pending in outcomes.items():
            self.assertEqual(bytes_of(number, 100),
                             self.read(number, pending.location))
        self.assertEqual(41, len(self.found()))
        self.assertEqual(['v0000000001'], self.volumes())

    def test_a_group_has_a_limit_and_the_next_one_follows(self):
        with mock.patch.object(appender_module, 'BATCH', 7):
            threads, outcomes = self.gathered([10] * 40)
            before = self.syncs()
            self.disk.gate.set()
            self.join(threads)
        self.assertEqual(before + 1 + 6, self.syncs())
        self.assertEqual(41, len(self.found()))
        self.assertEqual(40, len(outcomes))

    def test_a_full_disk_fails_only_those_that_do_not_fit(self):
        threads, outcomes = self.gathered([1000, 200000, 1000, 1000])
        self.disk.space = 50000
        self.disk.gate.set()
        self.join(threads)
        big = outcomes.pop(1)
        self.assertEqual(errno.ENOSPC, big.errno)
        for number, pending in outcomes.items():
            self.assertEqual(bytes_of(number, 1000),
                             self.read(number, pending.location))
        self.assertEqual(4, len(self.found()))

    def test_a_sync_that_fails_fails_all_that_it_was_for(self):
        threads, outcomes = self.gathered([10] * 5)
        # the first one is beyond this already
        self.disk.fdatasync = mock.Mock(
            side_effect=OSError(errno.EIO, 'the disk is broken'))
        self.disk.gate.set()
        self.join(threads)
        self.assertEqual([errno.EIO] * 5,
                         [outcomes[number].errno for number in range(5)])
        self.assertEqual(1, len(self.found()))
        del self.disk.fdatasync
        pending = self.put(7, b'later')
        self.assertEqual(2, pending.location.volume)

    def test_no_volume_fails_all_and_later_ones_try_again(self):
        threads, outcomes = self.gathered([10] * 5)
        self.numbers = iter(())
        group = self.appender._process()[1]
        with mock.patch.object(group._pool, 'full', lambda held: True), \
                mock.patch.object(
                    group._pool, 'take',
                    side_effect=OSError(errno.EMFILE, 'none')):
            self.disk.gate.set()
            self.join(threads)
        self.assertEqual([errno.EMFILE] * 5,
                         [each.errno for each in outcomes.values()])
        self.assertEqual(4608, self.put(7, b'later').location.offset)

    def test_many_threads_for_many_rounds_lose_nothing(self):
        self.disk.gate.set()
        kept = []

        def work(first):
            for number in range(first, first + 40):
                pending = self.put(number, bytes_of(number, number % 3000))
                kept.append((number, pending.location, pending.watermark()))
                pending.done()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            threads = [threading.Thread(target=work, args=(100 * n,))
                       for n in range(16)]
            for thread in threads:
                thread.start()
            self.join(threads)
        finally:
            sys.setswitchinterval(interval)
        found = {each.header.hash: each.location for each in self.found()}
        self.assertEqual(640, len(kept))
        for number, location, _ in kept:
            self.assertEqual(location, found[hash_of(number)])
            self.assertEqual(bytes_of(number, number % 3000),
                             self.read(number, location))
        self.assertLess(self.syncs(), 640)


GREEN = '''
import itertools, sys
import eventlet
eventlet.monkey_patch()
from eventlet import tpool
from swift_losf.format.header import VolumeType
from swift_losf.format.layout import Layout
from swift_losf.vfile import VFileReader, VFileWriter
from swift_losf.volumes.appender import Appender
from tests.unit.losf.volumes import Options, bytes_of, hash_of
layout = Layout(sys.argv[1], 0)
appender = Appender(layout, VolumeType.DATA, Options(),
                    itertools.count(1).__next__)
ticks = itertools.count()
def tick():
    while True:
        next(ticks)
        eventlet.sleep(0.001)
def put(number):
    writer = VFileWriter(appender, run=tpool.execute)
    data = bytes_of(number, number * 1000)
    for start in range(0, len(data), 65536):
        writer.write(data[start:start + 65536])
    pending = tpool.execute(writer.finish, '1.data', {}, 1, hash_of(number))
    pending.watermark()
    pending.done()
    reader = VFileReader.open(layout, pending.location, hash_of(number),
                              '1.data')
    assert reader.read() == data
    reader.close()
    return number
ticker = eventlet.spawn(tick)
pool = eventlet.GreenPool(64)
done = list(pool.imap(put, range(400)))
print(len(done), next(ticks) > 10)
'''


class TestUnderEventlet(VolumeTest):

    def test_64_greenthreads_commit_and_the_hub_runs_on(self):
        done = subprocess.run([sys.executable, '-c', GREEN, self.device],
                              stdout=subprocess.PIPE, check=True, timeout=100)
        self.assertEqual(b'400 True\n', done.stdout)


class TestErrors(AppenderTest):

    def test_a_full_disk_leaves_no_tail_and_the_volume_goes_on(self):
        self.put(1, b'x').done()
        size = os.path.getsize(self.layout.volume(1))
        for code, length in ((errno.ENOSPC, 10000), (errno.ENOSPC, LONG)):
            self.disk.space = 5000
            with self.assertRaises(OSError) as caught:
                self.put(2, bytes_of(2, length))
            self.assertEqual(code, caught.exception.errno)
        self.disk.space = None
        # cut off to the end of the last record, or its padding
        self.assertLess(os.path.getsize(self.layout.volume(1)) - size, 4096)
        pending = self.put(3, b'later')
        self.assertEqual(4608, pending.location.offset)
        self.assertEqual(2, len(self.found()))

    def test_a_long_file_that_does_not_fit_is_cut_off(self):
        writer = VFileWriter(self.appender)
        self.disk.space = 4096 + LONG
        with self.assertRaises(OSError) as caught:
            for _ in range(20):
                writer.write(bytes(65536))
        self.assertEqual(errno.ENOSPC, caught.exception.errno)
        self.assertEqual(4096, os.path.getsize(self.layout.volume(1)))
        self.disk.space = None
        self.assertEqual(4096, self.put(1, b'x').location.offset)

    def test_a_long_file_whose_sync_fails_is_not_there(self):
        self.put(1, bytes_of(1, LONG)).done()
        self.disk.failing_syncs = 1
        with self.assertRaises(OSError) as caught:
            self.put(2, bytes_of(2, LONG))
        self.assertEqual(errno.EIO, caught.exception.errno)
        self.assertEqual(1, len(self.found()))
        self.assertEqual(2, self.put(3, bytes_of(3, LONG)).location.volume)

    def test_a_volume_that_cannot_be_cut_is_not_used_again(self):
        self.put(1, b'x').done()
        self.disk.space, self.disk.failing_cuts = 100, True
        with self.assertRaises(OSError) as caught:
            self.put(2, b'x')
        self.assertEqual(errno.ENOSPC, caught.exception.errno)
        self.disk.space, self.disk.failing_cuts = None, False
        self.assertEqual(2, self.put(3, b'x').location.volume)
        self.assertEqual(1, len(self.found()))

    def test_a_volume_that_cannot_be_made_leaves_nothing(self):
        self.disk.space = 100
        with self.assertRaises(OSError) as caught:
            self.put(1, b'x')
        self.assertEqual(errno.ENOSPC, caught.exception.errno)
        self.assertEqual([], self.volumes())
        self.disk.space = None
        self.assertEqual(2, self.put(1, b'x').location.volume)


class TestChoice(AppenderTest):

    def test_volumes_are_taken_over_when_their_process_has_left(self):
        self.put(1, b'x').done()
        self.appender.close()
        pending = self.put(2, b'x', appender=self.new_appender())
        self.assertEqual((1, 4608), (pending.location.volume,
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
        writers = [VFileWriter(appender) for _ in range(3)]
        for writer in writers[:2]:
            writer.write(bytes(LONG))
        with self.assertRaisesRegex(
                OSError, '2 volumes are in use; max_volume_count allows 2'):
            writers[2].write(bytes(LONG))
        writers[0].abort()
        writer = VFileWriter(appender)
        writer.write(bytes(LONG))
        for each in writers + [writer]:
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
        writers = [self.writer() for _ in range(6)]
        for writer in writers:
            writer.write(bytes(LONG))
        pendings = [writer.finish('1.data', {}, 1, hash_of(1))
                    for writer in writers]
        self.assertEqual(0, self.unlocked())
        for pending in pendings:
            pending.done()
        self.assertEqual(6 - IDLE, self.unlocked())

    def test_files_that_were_aborted_keep_no_volume_locked(self):
        writers = [self.writer() for _ in range(6)]
        for writer in writers:
            writer.write(bytes(LONG))
        for writer in writers:
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
                os.write(writer, ('%d of %r' % (number, self.held())).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        self.assertEqual(b"2 of ['v0000000002']", os.read(reader, 99))
        os.close(reader)
        self.assertEqual(1, self.put(3, b'x').location.volume)
        self.assertEqual([hash_of(1), hash_of(3)], [
            each.header.hash for each in self.found()])

    def held(self):
        """:returns: the names of the volumes that this process has open"""
        open_ones = []
        for fd in os.listdir('/proc/self/fd'):
            try:
                open_ones.append(os.fstat(int(fd)).st_ino)
            except OSError:
                continue
        return [name for name in self.volumes() if os.stat(os.path.join(
            self.layout.volumes, name)).st_ino in open_ones]


class TestWatermark(AppenderTest):

    def test_it_is_the_end_if_all_before_is_registered(self):
        pending = self.put(1, b'x')
        self.assertEqual(4608, pending.watermark())
        pending.done()
        self.assertEqual(5120, self.put(2, b'x').watermark())

    def test_it_is_the_first_other_that_is_not_registered(self):
        first, second, third = (self.put(n, b'x') for n in range(3))
        self.assertEqual(4608, first.watermark())
        self.assertEqual(4096, third.watermark())
        second.done()
        self.assertEqual(5120, first.watermark())
        first.done()
        self.assertEqual(5632, third.watermark())

    def test_a_file_that_is_being_written_holds_it_back(self):
        pending = self.put(1, bytes_of(1, LONG))
        end = pending.watermark()
        writer = self.writer()
        writer.write(bytes(LONG))
        self.assertEqual(end, pending.watermark())
        writer.finish('1.data', {}, 1, hash_of(2)).done()
        self.assertEqual(end + 300544, pending.watermark())

    def test_one_that_was_aborted_does_not_hold_it_back(self):
        pending = self.put(1, bytes_of(1, LONG))
        end = pending.watermark()
        writer = self.writer()
        writer.write(bytes(LONG))
        writer.abort()
        self.assertEqual(end, pending.watermark())

    def test_a_volume_stays_locked_until_all_is_registered(self):
        appender = self.new_appender(max_volume_size=4500)
        pending = self.put(1, b'x', appender=appender)
        self.assertIsNone(WritableVolume.take(self.layout.volume(1)))
        pending.done()
        volume = WritableVolume.take(self.layout.volume(1))
        self.assertIsNotNone(volume)
        volume.close()


if __name__ == '__main__':
    unittest.main()
