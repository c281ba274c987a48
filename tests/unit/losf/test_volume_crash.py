# SPDX-License-Identifier: Apache-2.0
"""What power cuts leave of volumes.

Everything that reaches the files is recorded. The disk is then thought to stop
at any point: what was synced before is there; of what was not, any sector of
512 bytes may be there or not, in any order.
"""

import contextlib
import errno
import os
import random
import signal
import subprocess
import sys
import threading
import unittest
from dataclasses import dataclass, replace
from unittest import mock

from swift_losf.format.header import FormatError
from swift_losf.format.layout import volume_number
from swift_losf.volumes.volume import iter_records, pread, read_header
from tests.unit.losf.volumes import FailingDisk, VolumeTest, bytes_of, hash_of

SECTOR = 512
SEED = int(os.environ.get('LOSF_CRASH_SEED', '20261120'))


@dataclass(frozen=True)
class Acknowledged:
    """:param at: how many operations had been recorded"""
    at: int
    inode: int
    number: int
    location: object


class Image:
    """What may be on disk of one volume."""

    def __init__(self):
        self.durable = bytearray()
        self.unsynced = []

    def apply(self, operation, *arguments):
        if operation == 'sync':
            for each in self.unsynced:
                self._do(self.durable, *each)
            self.unsynced = []
        else:
            self.unsynced.append((operation,) + arguments)

    @staticmethod
    def _do(image, operation, offset, data=b''):
        if operation == 'cut':
            del image[offset:]
            image.extend(bytes(offset - len(image)))
        else:
            image.extend(bytes(max(0, offset - len(image))))
            image[offset:offset + len(data)] = data

    @staticmethod
    def _sectors(operation, offset, data=b''):
        if operation == 'cut':
            return [(operation, offset)]
        first = SECTOR - offset % SECTOR
        starts = [0] + list(range(first, len(data), SECTOR))
        return [(operation, offset + start, data[start:stop])
                for start, stop in zip(starts, starts[1:] + [len(data)])]

    def after_crash(self, rng):
        """:returns: one of the images that a power cut may leave"""
        image = bytearray(self.durable)
        pieces = [piece for each in self.unsynced
                  for piece in self._sectors(*each)]
        mode = rng.randrange(4)
        if mode == 1:
            # a prefix: torn within a write
            pieces = pieces[:rng.randrange(len(pieces) + 1)]
        elif mode == 2:
            keep = rng.random()
            pieces = [each for each in pieces if rng.random() < keep]
        elif mode == 3:
            # all but one, reordered
            rng.shuffle(pieces)
            pieces = pieces[1:]
        if mode:
            for each in pieces:
                self._do(image, *each)
        return bytes(image)


def records_of(image):
    """:returns: (Found, data) of what a scan of an image finds"""
    fd = os.memfd_create('volume')
    try:
        os.pwrite(fd, image, 0)
        try:
            header = read_header(fd)
        except FormatError:
            return None
        return [(each, pread(fd, each.location.data_length,
                             each.location.data_offset))
                for each in iter_records(fd, header, 0, len(image))]
    finally:
        os.close(fd)


class CrashTest(VolumeTest):

    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.disk = FailingDisk()
        self.attempted = {}
        self.acknowledged = []
        #: for many threads: what is recorded and acknowledged is in order
        self.lock = threading.Lock()

    def length(self, rng):
        return rng.choice((0, rng.randrange(600), rng.randrange(9000),
                           rng.randrange(9000, 30000),
                           rng.randrange(65000, 140000)))

    def put_recorded(self, number, rng):
        data = bytes_of(number, self.length(rng))
        self.attempted[hash_of(number)] = data
        writer = self.writer()
        for start in range(0, len(data), 5000):
            writer.write(data[start:start + 5000])
        if not rng.randrange(6):
            writer.abort()
            return
        pending = writer.finish(
            '%d.data' % number, {'n': 'x' * (number % 700)}, 1,
            hash_of(number))
        with self.lock:
            self.acknowledged.append(Acknowledged(
                len(self.disk.log), self.inode(pending.location.volume),
                number, pending.location))
        pending.done()

    def inode(self, number):
        return os.stat(self.layout.volume(number)).st_ino

    @contextlib.contextmanager
    def recorded(self):
        # long files are long from 8 KiB here: there are many of them
        with mock.patch('swift_losf.volumes.writable.os', self.disk), \
                mock.patch('swift_losf.diskfile.vfile_writer.SMALL', 8192):
            yield

    def check(self, cuts_each):
        """Cut the power after every operation, in several ways each.

        :returns: how many images were looked at
        """
        images, looked_at = {}, 0
        log = list(self.disk.log)
        for at in range(len(log) + 1):
            if at:
                operation, inode, *arguments = log[at - 1]
                images.setdefault(inode, Image()).apply(
                    operation, *arguments)
            for inode, image in images.items():
                if at and inode != log[at - 1][1]:
                    continue
                for _ in range(cuts_each):
                    self.check_image(at, inode, image.after_crash(self.rng))
                    looked_at += 1
        return looked_at

    def check_image(self, at, inode, image):
        acknowledged = [each for each in self.acknowledged
                        if each.at <= at and each.inode == inode]
        found = records_of(image)
        if found is None:
            self.assertEqual([], acknowledged)
            return
        there = {each.location: each.header.hash for each, _ in found}
        for each in acknowledged:
            self.assertEqual(hash_of(each.number), there.get(each.location),
                             'acknowledged, lost at %d' % at)
        for each, data in found:
            self.assertEqual(self.attempted[each.header.hash], data,
                             'torn, but valid at %d' % at)


class TestPowerCuts(CrashTest):

    def test_what_was_acknowledged_is_there_and_nothing_torn_is(self):
        with self.recorded():
            for number in range(70):
                self.put_recorded(number, self.rng)
        self.assertGreater(len(self.acknowledged), 40)
        self.assertGreater(self.check(8), 3000)

    def test_the_same_on_a_disk_that_fails_and_runs_full(self):
        failures = {errno.ENOSPC: 0, errno.EIO: 0}
        with self.recorded():
            for number in range(120):
                self.disk.space = self.rng.choice(
                    (None, None, self.rng.randrange(40000)))
                self.disk.failing_syncs = self.rng.choice((0, 0, 0, 0, 1))
                self.disk.failing_cuts = not self.rng.randrange(4)
                try:
                    self.put_recorded(number, self.rng)
                except OSError as err:
                    failures[err.errno] += 1
        self.assertGreater(min(failures.values()), 5)
        self.assertGreater(len(self.acknowledged), 30)
        self.assertGreater(self.check(4), 1000)

    def test_the_same_with_many_threads(self):
        def work(first):
            rng = random.Random(SEED + first)
            for number in range(first, first + 12):
                self.put_recorded(number, rng)
        with self.recorded():
            threads = [threading.Thread(target=work, args=(100 * n,))
                       for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertGreater(len(self.acknowledged), 50)
        self.assertGreater(self.check(4), 500)

    def test_a_volume_that_went_on_after_a_crash_keeps_what_it_had(self):
        for round_ in range(30):
            with self.recorded():
                for number in range(10 * round_, 10 * round_ + 5):
                    self.put_recorded(number, self.rng)
            self.appender.close()
            self.crash()
        self.assertGreater(len(self.acknowledged), 80)

    def crash(self):
        """Leave of each volume what a power cut may leave, and go on."""
        images = {}
        for operation, inode, *arguments in self.disk.log:
            images.setdefault(inode, Image()).apply(operation, *arguments)
        log = []
        for name in self.volumes():
            path = os.path.join(self.layout.volumes, name)
            inode = os.stat(path).st_ino
            after = images[inode].after_crash(self.rng)
            self.check_image(len(self.disk.log), inode, after)
            with open(path, 'r+b') as volume:
                volume.write(after)
                volume.truncate()
            log += [('write', inode, 0, after), ('cut', inode, len(after)),
                    ('sync', inode)]
        self.disk.log = log
        # all that was, is there from the beginning of what comes
        self.acknowledged = [replace(each, at=0)
                             for each in self.acknowledged]


class TestTheModel(unittest.TestCase):
    """That the disk above can lose something, and that it is seen."""

    def test_unsynced_bytes_may_be_lost_torn_or_there(self):
        image = Image()
        image.apply('write', 0, b'a' * 600)
        image.apply('sync')
        image.apply('write', 100, b'b' * 1500)
        rng = random.Random(SEED)
        seen = {image.after_crash(rng) for _ in range(200)}
        kept, lost = b'a' * 100 + b'b' * 1500, b'a' * 600
        self.assertIn(lost, seen)
        self.assertIn(kept, seen)
        self.assertIn(kept[:512] + b'a' * 88, seen)
        self.assertGreater(len(seen), 6)


class TestForgottenSync(CrashTest):

    def test_a_record_that_was_not_synced_is_found_to_be_lost(self):
        with self.recorded(), mock.patch.object(
                self.disk, 'fdatasync', lambda fd: None):
            for number in range(20):
                self.put_recorded(number, self.rng)
        with self.assertRaisesRegex(AssertionError, 'acknowledged, lost'):
            self.check(4)

    def test_data_that_is_not_verified_is_found_to_be_torn(self):
        with self.recorded():
            for number in range(60):
                self.put_recorded(number, self.rng)
        with mock.patch('swift_losf.format.record.Footer.check_block'):
            with self.assertRaisesRegex(AssertionError, 'torn, but valid'):
                self.check(4)


KILLED = '''
import hashlib, itertools, os, sys, threading
from swift_losf.format.header import VolumeType
from swift_losf.format.layout import Layout
from swift_losf.diskfile.vfile import VFileWriter
from swift_losf.volumes.appender import Appender
from tests.unit.losf.volumes import Options, bytes_of, hash_of
layout = Layout(sys.argv[1], 0)
numbers = itertools.count(1)
appender = Appender(layout, VolumeType.DATA, Options(), lambda: next(numbers))
def work(first):
    for number in range(first, first + 10 ** 6):
        writer = VFileWriter(appender)
        data = bytes_of(number, number * 37 % 400000)
        for start in range(0, len(data), 65536):
            writer.write(data[start:start + 65536])
        pending = writer.finish('1.data', {}, 1, hash_of(number))
        where = pending.location
        os.write(1, b'%d %d %d\\n' % (number, where.volume, where.offset))
        pending.done()
for first in range(4):
    threading.Thread(target=work, args=(
        (int(sys.argv[2]) * 10 + first) * 10 ** 7,), daemon=True).start()
threading.Event().wait()
'''


class TestKilled(VolumeTest):

    def run_and_kill(self, round_):
        """:returns: the lines of what was acknowledged"""
        process = subprocess.Popen(
            [sys.executable, '-c', KILLED, self.device, str(round_)],
            stdout=subprocess.PIPE)
        try:
            lines = [process.stdout.readline() for _ in range(60)]
        finally:
            process.send_signal(signal.SIGKILL)
            lines += process.communicate()[0].splitlines(True)
        return lines

    def test_a_process_that_is_killed_loses_nothing_and_another_goes_on(self):
        acknowledged = {}
        for round_ in range(3):
            for line in self.run_and_kill(round_):
                number, volume, offset = map(int, line.split())
                self.assertNotIn((volume, offset), acknowledged)
                acknowledged[volume, offset] = hash_of(number)
        there = {}
        for number in map(volume_number, self.volumes()):
            there.update({
                (number, each.location.offset): each.header.hash
                for each in self.found(number)})
        self.assertGreaterEqual(len(acknowledged), 180)
        self.assertLessEqual(acknowledged.items(), there.items())
