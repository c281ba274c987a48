# SPDX-License-Identifier: Apache-2.0
"""Conversion of files into volumes and back, with real files and indexes."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import Any
from unittest import mock

from swift.common import storage_policy
from swift.common.ring import RingBuilder
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.utils import md5
from swift.obj import diskfile

from swift_losf.convert import cli, group_sync
from swift_losf.convert.converter import Converter
from swift_losf.convert.files import Files
from swift_losf.convert.sides import NotCopied, Source, Volumes, place
from swift_losf.diskfile.store import Store
from swift_losf.format.keys import partition_of
from tests.unit.losf.filesystems import small_disk
from tests.unit.losf.kv_world import (
    LONG,
    PARTITION,
    KVTest,
    World,
    bytes_of,
    wait_for,
)

#: partitions with a file each
MANY = 20
LENGTHS = (0, 1, 300, 65536, 262145, LONG)
#: a process of its own that converts a device: its path
CONVERT = """
import logging, sys
from swift_losf.convert import group_sync
from swift_losf.convert.converter import Converter
from swift_losf.convert.files import Files
from swift_losf.convert.sides import Volumes
from swift_losf.diskfile.store import Store
from swift_losf.format.layout import Layout
from swift_losf.options import LosfOptions
layout = Layout(sys.argv[1], 0)
sides = [Files(layout), Volumes(Store(layout, LosfOptions(), logging))]
Converter(*(sides if sys.argv[2] == 'volumes' else sides[::-1])).copy()
"""


def convert(path, target):
    """Start a process that makes one side equal to the other."""
    return subprocess.Popen([sys.executable, '-c', CONVERT, path, target])


class ConvertTest(KVTest):
    """A device of its own, with a manager of each kind."""

    def setUp(self):
        self.world = self.enterContext(contextlib.closing(World('d1')))
        super().setUp()
        self.stock = diskfile.DiskFileManager(self.conf(), self.logger)
        self.volumes = Volumes(self.store())
        self.files_side = Files(self.world.layout('d1'))

    def put(self, name, manager, length=300, seed=1, **metadata):
        self.write(bytes_of(length, seed), self.now(), name, manager,
                   **metadata)

    def fill(self, manager, count=6):
        """Write objects of all kinds: changed, deleted, long and empty."""
        for number, length in enumerate(LENGTHS[:count]):
            self.put('o%d' % number, manager, length,
                     **{'X-Object-Meta-Name': 'n\u00e4me'})
        self.diskfile(name='o1', manager=manager).write_metadata({
            'X-Timestamp': self.now().internal, 'X-Object-Meta-Color': 'red'})
        self.diskfile(name='o2', manager=manager).delete(self.now())
        # Of what was never there.
        self.diskfile(name='gone', manager=manager).delete(self.now())

    def seen(self, manager):
        """Return what a manager gives of each object, and its hashes."""
        objects = {}
        for name in ['o%d' % number for number in range(len(LENGTHS))]:
            with contextlib.suppress(diskfile.DiskFileNotExist):
                with self.diskfile(name=name, manager=manager).open() as df:
                    objects[name] = (b''.join(df.reader()), df.get_metadata())
        return objects, self.suffix_hashes(manager)

    def where(self, object_hash, file):
        return place(self.world.layout('d1'), int(PARTITION), object_hash,
                     file)

    def listing(self, side):
        return {object_hash: sorted(names) for object_hash, names in
                side.hashes(int(PARTITION)).items()}

    def assert_same(self):
        self.assertEqual(self.listing(self.files_side),
                         self.listing(self.volumes))
        stock = self.seen(self.stock)
        # Each counts for itself: they share hashes.pkl.
        os.unlink(os.path.join(self.world.layout('d1').partition(
            int(PARTITION)), 'hashes.pkl'))
        self.assertEqual(stock, self.seen(self.manager))


class TestCopy(ConvertTest):

    def test_volumes_have_what_files_have(self):
        self.fill(self.stock)
        tally = Converter(self.files_side, self.volumes).copy()
        self.assertEqual(8, tally.copied)
        self.assert_same()

    def test_files_have_what_volumes_have_and_their_times(self):
        self.fill(self.manager)
        Converter(self.volumes, self.files_side).copy()
        self.assert_same()
        ((name, location),) = self.files('o3').items()
        where = self.where(self.hash('o3'), name)
        with self.volumes.open(where) as record:
            with self.files_side.open(where) as file:
                self.assertAlmostEqual(record.written, file.written, 3)

    def test_a_second_run_copies_only_what_has_changed(self):
        self.fill(self.stock)
        Converter(self.files_side, self.volumes).copy()
        self.put('o0', self.stock, 10, seed=2)
        self.diskfile(name='o3', manager=self.stock).delete(self.now())
        shutil.rmtree(self.diskfile(name='gone', manager=self.stock)._datadir)
        tally = Converter(self.files_side, self.volumes).copy()
        self.assertEqual((2, 3), (tally.copied, tally.removed))
        self.assert_same()
        tally = Converter(self.files_side, self.volumes).copy()
        self.assertEqual((0, 0), (tally.copied, tally.removed))

    def test_what_clients_write_meanwhile_is_there_after_the_next_run(self):
        self.fill(self.stock)
        written = 0
        for _ in range(3):
            conversion = convert(self.world.path('d1'), 'volumes')
            while conversion.poll() is None:
                written += 1
                self.put('o%d' % (written % 6), self.stock, written,
                         seed=written)
            self.assertEqual(0, conversion.returncode)
        Converter(self.files_side, self.volumes).copy()
        self.assert_same()

    def test_a_file_that_is_damaged_is_named_and_the_others_are_copied(self):
        self.fill(self.stock)
        datadir = self.diskfile(name='o3', manager=self.stock)._datadir
        name, = os.listdir(datadir)
        os.setxattr(os.path.join(datadir, name), 'user.swift.metadata',
                    b'damage')
        tally = Converter(self.files_side, self.volumes).copy()
        self.assertEqual(7, tally.copied)
        self.assertIn(name, ''.join(tally.failed))
        self.assertEqual({}, self.files('o3'))

    def test_a_copy_that_differs_is_not_there(self):
        self.put('o1', self.stock)
        with mock.patch.object(
                Volumes, '_opened', lambda *args: contextlib.nullcontext(
                    SimpleNamespace(size=1, metadata={}))):
            with self.assertRaises(NotCopied):
                Converter(self.files_side, self.volumes).copy()
        self.assertEqual({}, self.files('o1'))

    def test_files_of_many_partitions_are_made_durable_at_once(self):
        layout, syncs = self.world.layout('d1'), []
        for partition in range(MANY):
            object_hash = '%032x' % partition
            self.volumes.write(
                place(layout, partition, object_hash, self.now().internal
                      + '.data'),
                Source(lambda *args: b'', 0, {'n': partition}, 1.5e9))

        def sync(fd):
            if not syncs:
                wait_for(lambda: len(os.listdir(os.path.join(
                    layout.device_path, 'tmp'))) == MANY, 'all are written')
            syncs.append(fd)
        with mock.patch.object(group_sync, 'syncfs', sync):
            tally = Converter(self.volumes, self.files_side).copy()
        self.assertEqual(MANY, tally.copied)
        # One may have begun before the last was written; one is of names.
        self.assertLessEqual(len(syncs), 3)

    def test_it_is_no_faster_than_it_may_be(self):
        self.put('o1', self.stock, 60000)
        begun = time.monotonic()
        Converter(self.files_side, self.volumes, bandwidth=60000).copy()
        self.assertGreaterEqual(time.monotonic() - begun, 0.9)


class TestFinish(ConvertTest):

    def test_a_tombstone_that_is_being_compacted_is_removed_after_that(self):
        self.put('o1', self.manager)
        self.diskfile(name='o1', manager=self.manager).delete(self.now())
        removing, kept = Store.remove, []

        def remove(store, partition, object_hash, names=()):
            # As the index does while it compacts the hash.
            kept.extend(names)
            if len(kept) > 2:
                removing(store, partition, object_hash, names)
        with mock.patch.object(Store, 'remove', remove):
            Converter(self.volumes, self.files_side).finish()
        self.assertEqual(3, len(kept))
        self.assertEqual({}, self.listing(self.volumes))

    def test_what_clients_have_written_since_wins(self):
        self.fill(self.stock)
        Converter(self.files_side, self.volumes).copy()
        self.put('o0', self.manager, 77, seed=7)
        self.diskfile(name='o4', manager=self.manager).delete(self.now())
        # What the last copy has missed.
        self.put('o5', self.stock, 88, seed=8)
        tally = Converter(self.files_side, self.volumes).finish()
        self.assertEqual(1, tally.copied)
        objects, hashes = self.seen(self.manager)
        self.assertEqual(bytes_of(77, 7), objects['o0'][0])
        self.assertEqual(bytes_of(88, 8), objects['o5'][0])
        self.assertNotIn('o4', objects)
        self.assertEqual({}, self.listing(self.files_side))
        self.assertEqual(1, len(self.files('o5')))

    def test_volumes_are_emptied_into_files(self):
        self.fill(self.manager)
        before = self.seen(self.manager)
        Converter(self.volumes, self.files_side).finish()
        self.assertEqual({}, self.listing(self.volumes))
        self.assertEqual(before, self.seen(self.stock))

    def test_what_cannot_be_converted_stays(self):
        self.fill(self.manager)
        ((name, location),) = self.files('o3').items()
        self.overwrite(location, location.footer_offset - location.offset,
                       b'damage')
        tally = Converter(self.volumes, self.files_side).finish()
        self.assertIn(name, ''.join(tally.failed))
        self.assertEqual({self.hash('o3'): [name]},
                         self.listing(self.volumes))


class TestInterruption(ConvertTest):

    def interrupt(self, target):
        """Kill a conversion, over and over, until one comes to its end."""
        delay = 1.0
        while True:
            process = convert(self.world.path('d1'), target)
            delay *= 1.2
            try:
                self.assertEqual(0, process.wait(delay))
                return
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            for partial in (self.files_side, self.volumes):
                self.assert_whole(partial)

    def assert_whole(self, side):
        for object_hash, names in self.listing(side).items():
            for name in names:
                if not name.endswith('.data'):
                    continue
                path = self.where(object_hash, name)
                with side.open(path) as source:
                    data = b''.join(source.chunks())
                    self.assertEqual(
                        source.metadata['ETag'],
                        md5(data, usedforsecurity=False).hexdigest())

    def test_killed_conversions_leave_whole_files_and_go_on(self):
        for number in range(60):
            self.put('p%d' % number, self.stock, 20000, seed=number)
        self.fill(self.stock)
        self.interrupt('volumes')
        self.assert_same()

    def test_killed_conversions_into_files(self):
        for number in range(60):
            self.put('p%d' % number, self.manager, 20000, seed=number)
        self.fill(self.manager)
        self.interrupt('files')
        self.assert_same()


class TestCommand(ConvertTest):

    ring: Any = mock.Mock(part_power=10)

    def run_command(self, command, in_volumes):
        """Run the command as swift.conf has the policy."""
        policy = StoragePolicy(
            0, 'p', is_default=True, object_ring=self.ring,
            diskfile_module='egg:swift-lightsync#replication.kv'
            if in_volumes else 'egg:swift#replication.fs')
        policies = StoragePolicyCollection([policy])
        output = io.StringIO()
        with mock.patch.object(storage_policy, '_POLICIES', policies), \
                contextlib.redirect_stdout(output), \
                contextlib.redirect_stderr(output):
            status = cli.main([command, self.world.path('d1'), '--policy',
                               '0', '--no-mount-check'])
        return status, output.getvalue()

    def test_the_whole_way_into_volumes_and_back(self):
        self.fill(self.stock)
        before = self.seen(self.stock)
        for in_volumes, manager in ((False, self.manager),
                                    (True, self.stock)):
            self.assertEqual(0, self.run_command('copy', in_volumes)[0])
            status, output = self.run_command('finish', not in_volumes)
            self.assertEqual(0, status, output)
            self.assertEqual(before, self.seen(manager))

    def test_it_has_an_index_server_of_its_own_if_none_runs(self):
        self.fill(self.stock)
        self.world.kill('d1')
        with mock.patch.object(cli.subprocess, 'Popen',
                               wraps=subprocess.Popen) as started:
            status, output = self.run_command('copy', False)
        self.assertEqual(0, status, output)
        self.assertIn('copy to volumes: 8 files', output)
        argv = started.call_args.args[0]
        self.assertEqual('10', argv[argv.index('--part-power') + 1])
        self.world.serve('d1')
        # Partitions are those of the ring, from now on.
        for object_hash, names in self.listing(self.files_side).items():
            self.assertEqual(names, sorted(self.volumes.hashes(partition_of(
                bytes.fromhex(object_hash), 10))[object_hash]))

    def test_without_the_ring_nothing_is_begun(self):
        self.ring = None
        status, output = self.run_command('copy', False)
        self.assertEqual(2, status)
        self.assertIn('/etc/swift: the ring of policy 0 cannot be read: ',
                      output)

    def test_which_way_it_goes_is_of_the_directory_that_is_given(self):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        argv = ['copy', self.world.path('d1'), '--policy', '7',
                '--no-mount-check', '--swift-dir', directory]
        with open(os.path.join(directory, 'swift.conf'), 'w') as conf:
            conf.write('[swift-hash]\nswift_hash_path_suffix = x\n'
                       '[storage-policy:0]\nname = p\ndefault = yes\n'
                       '[storage-policy:7]\nname = q\ndiskfile_module = '
                       'egg:swift-lightsync#replication.kv\n')
        builder = RingBuilder(10, 1, 0)
        builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'weight': 1,
                         'ip': '127.0.0.1', 'port': 1, 'device': 'd1'})
        builder.rebalance()
        builder.get_ring().save(os.path.join(directory, 'object-7.ring.gz'))
        done = subprocess.run(
            [sys.executable, '-m', 'swift_losf.convert.cli', *argv],
            capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn('copy to files: 0 files', done.stdout)

    def test_a_disk_that_is_full_loses_nothing(self):
        self.world.kill('d1')
        with small_disk(self.world.path('d1'), 96 * 2 ** 20):
            for number in range(60):
                self.put('p%d' % number, self.stock, LONG, seed=number)
            listing = self.listing(self.files_side)
            status, output = self.run_command('copy', False)
            self.assertEqual(1, status, output)
            # Who meets it first tells it: the converter, or the index.
            self.assertRegex(output, 'No space left|not all is converted')
            self.assertEqual(listing, self.listing(self.files_side))
