# SPDX-License-Identifier: Apache-2.0
"""What the tests of the index share: a device with volumes and an index."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import suppress
from unittest import mock

from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import VolumeType, record_length
from swift_losf.format.layout import Layout
from swift_losf.format.record import BlockSums, NewRecord
from swift_losf.format.values import Location
from swift_losf.index.index import Index, is_tombstone
from swift_losf.index.index_client import IndexClient
from swift_losf.upkeep.compaction_plan import Limits, Rates
from swift_losf.upkeep.compactor import Compaction, Compactor
from swift_losf.upkeep.recovery import recover
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.writable import WritableVolume
from tests.waiting import wait_for

NAME = '1700000000.00001.data'
OTHER = '1700000000.00002.data'
TOMBSTONE = '1700000000.00003.ts'
HASH = bytes(range(16))
PARTITION = 7
#: Limits with which each volume is compacted that nobody has locked
ALL = {'garbage': -1, 'extents': 0, 'reserve': 0, 'slack': -1}


def location_of(name, offset=4096, volume=1, data_length=10):
    """:returns: a Location where a record of a file may be"""
    return Location(volume, offset, data_length, 20, len(name))


def all_files(reader):
    """Yield each file of an EntryReader, as list_quarantine has them."""
    for partition in reader.list_partitions():
        for suffix in reader.list_partition(partition):
            for hash_, _ in reader.list_suffix(partition, suffix)[0]:
                for name, location in reader.list_hash(partition, hash_):
                    yield partition, hash_, name, location


class IndexTest(unittest.TestCase):
    """A device in a temporary directory."""

    def setUp(self):
        self.device = self.make_device()
        self.layout = Layout(self.device, 0)
        os.makedirs(self.layout.volumes)
        self.volumes = {}
        self.clock = 0

    def make_device(self):
        """:returns: the path of an empty directory"""
        return self.enterContext(tempfile.TemporaryDirectory(prefix='losf'))

    def open_index(self):
        """:returns: the Index, which is closed at the end"""
        index = Index(self.layout.index)
        self.addCleanup(index.close)
        return index

    def recover(self, *args, layout=None, **kwargs):
        """:param args: of recover(), behind the layout
        :returns: the recovered Index, which is closed at the end
        """
        index = recover(layout or self.layout, *args, **kwargs)
        self.addCleanup(index.close)
        return index

    def volume(self, number, volume_type=VolumeType.DATA):
        """:returns: a volume that this test has locked"""
        if number not in self.volumes:
            self.volumes[number] = WritableVolume.create(
                self.layout, number, volume_type)
            self.addCleanup(self.release, number)
        return self.volumes[number]

    def release(self, number):
        """Unlock a volume."""
        if number in self.volumes:
            self.volumes.pop(number).close()

    def write(self, name=NAME, hash_=HASH, data=b'some data', number=None,
              partition=PARTITION):
        """Write a record, by default to volume 1, or 2 if it is a tombstone.

        :returns: its Location
        """
        tombstone = is_tombstone(name)
        volume = self.volume(number or 1 + tombstone, VolumeType(
            1 + tombstone))
        sums = BlockSums()
        sums.add(data)
        self.clock += 1
        record = NewRecord.make(partition, hash_, name, {'name': name},
                                len(data), sums.pack(), self.clock)
        location, header, footer = record.place(volume.header, volume.end)
        volume.write_at([header, data, footer], volume.end)
        volume.sync()
        volume.end = volume.align(volume.end + location.length)
        return location

    def put(self, index, name=NAME, hash_=HASH, **kwargs):
        """Write a file and register it.

        :returns: its Location
        """
        location = self.write(name, hash_, **kwargs)
        index.register(PARTITION, hash_, name, location, location.offset)
        return location

    def overwrite(self, number, offset, data):
        """Change bytes of a volume, as a failing disk would."""
        with open(self.layout.volume(number), 'r+b') as volume:
            volume.seek(offset)
            volume.write(data)

    def break_index(self):
        """Leave an index that LevelDB cannot open."""
        with open(os.path.join(self.layout.index, 'CURRENT'), 'w') as file:
            file.write('nonsense')

    def compactor(self, index, max_volume_size=2 ** 30, layout=None,
                  **limits):
        """Return a Compactor, which compacts all by default.

        :param layout: of another device than the test's
        :param limits: of a Limits
        """
        return Compactor(
            layout or self.layout, index, Compaction(
                Limits(**{**ALL, **limits}), Rates(2 ** 50, 2 ** 50), 0.01,
                max_volume_size), self.fail)

    def compact_all(self, index, **kwargs):
        """:returns: the compactor() that has compacted all once"""
        made = self.compactor(index, **kwargs)
        made.compact_all()
        return made

    def sweep_once(self, index):
        """:returns: how much is left of what was to be given back"""
        return Sweeper(self.layout, index, 1, self.fail).sweep()

    def names(self, index, hash_=HASH):
        """:returns: the names of the files of a hash"""
        return [name for name, _ in index.reader.list_hash(PARTITION, hash_)]

    def bytes_at(self, location):
        """:returns: all bytes of a record"""
        with open(self.layout.volume(location.volume), 'rb') as volume:
            volume.seek(location.offset)
            return volume.read(record_length(
                location.data_length, location.metadata_length,
                location.name_length))

    def start_process(self, *options):
        """Return the process of an index server that was just started."""
        process = subprocess.Popen(
            [sys.executable, '-m', 'swift_losf.daemon.index_server',
             '--device-path', self.device, '--policy', '0', *options],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def serve(self, *options):
        """:returns: the process of an index server that serves"""
        process = self.start_process(*options)
        client = IndexClient(self.layout.socket, retry_interval=0)

        def serves():
            self.assertIsNone(process.poll())
            with suppress(IndexUnavailable):
                return client.statistics()
        self.wait_for(serves)
        return process

    def assert_counted(self, index):
        """Fail unless the index has counted right what is in it."""
        files = [(name, location)
                 for _, _, name, location in all_files(index.reader)]
        found = index.statistics()
        self.assertEqual(
            (len(files), sum(at.length for _, at in files),
             len(index.reader.list_quarantine()[0])),
            (found.files, found.bytes, found.quarantined))

    def wait_for(self, condition):
        """Fail unless condition() holds some time."""
        wait_for(condition, 'it holds', 120)


class RecoveryTest(IndexTest):
    """An index that is lost, or whose server is killed."""

    def lose_index(self, index):
        index.close()
        shutil.rmtree(self.layout.index)

    def after_loss(self, index):
        """:returns: the Index that is recovered after this one is lost"""
        self.lose_index(index)
        return self.recover()

    def after_crash(self, index):
        """:returns: the Index that is recovered after this one's server died
        """
        self.crash(index)
        return self.recover()

    def crash(self, index):
        """Stop as if the server were killed: nothing is synced."""
        with mock.patch.object(index.db, 'sync'):
            index.close()

    def invalidations(self):
        with open(os.path.join(self.layout.partition(PARTITION),
                               'hashes.invalid')) as lines:
            return lines.read().split()
