# SPDX-License-Identifier: Apache-2.0
"""The appender: files that come at the same time are synced together."""

import errno
import subprocess
import sys
import threading
from unittest import mock

from swift_losf.volumes import appender as appender_module
from tests.unit.losf.volumes import (
    AppenderTest,
    FailingDisk,
    VolumeTest,
    bytes_of,
    hash_of,
)
from tests.waiting import wait_for


class GatedDisk(FailingDisk):
    """A disk whose syncs wait until they may go on."""

    def __init__(self):
        super().__init__()
        self.gate = threading.Event()
        self.syncing = threading.Event()

    def fdatasync(self, fd):
        self.syncing.set()
        if not self.gate.wait(120):
            raise AssertionError('the gate was never opened')
        super().fdatasync(fd)


class TestGroupCommit(AppenderTest):
    disk_class = GatedDisk

    def gathered(self, lengths):
        """Put one file that is held up, then the others, which gather.

        :returns: the outcomes of put_many
        """
        first = threading.Thread(
            target=lambda: self.put(99, b'first').done())
        first.start()
        self.assertTrue(self.disk.syncing.wait(120))
        threads, outcomes = self.put_many(lengths)
        group = self.appender._process()[1]
        wait_for(lambda: len(group._waiting) == len(lengths), 'gathered',
                 120)
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
        self.assertEqual(8320, self.put(7, b'later').location.offset)

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
from swift_losf.diskfile.vfile import VFileReader, VFileWriter
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
