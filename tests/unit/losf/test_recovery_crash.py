# SPDX-License-Identifier: Apache-2.0
"""Power cuts: what was acknowledged is there, what was deleted is not.

Objects are put, deleted, reclaimed and quarantined as Swift does it. Then the
power is cut: LevelDB's logs lose some of what was not synced, at their end or
in their middle. The volumes are synced before anything is registered.
"""

import os
import random
import shutil
import tempfile
from dataclasses import dataclass, field
from unittest import mock

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from swift_losf.format.header import HEADER_LENGTH, RecordHeader, VolumeType
from swift_losf.format.layout import Layout, volume_number
from swift_losf.index import leveldb_log
from swift_losf.index.index import is_tombstone
from swift_losf.upkeep.recovery import recover
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.index_world import PARTITION, IndexTest

OBJECTS = 4
_SECTOR = 512
_LOG_BLOCK = 32768


@dataclass
class Expected:
    """:param name: of the newest file, or None
    :param written: what tells its record from all others
    :param quarantined: the same of what was quarantined
    """
    name: str = None
    written: int = None
    quarantined: list = field(default_factory=list)


class Disk:
    """Knows how much of each file of an index is durable."""

    def __init__(self):
        self.durable = {}

    def fsync(self, path):
        if os.path.isfile(path):
            self.durable[os.path.basename(path)] = os.path.getsize(path)

    def cut_power(self, path, fate, seed):
        """Take from the logs what is not durable, or a part of that.

        :param path: of a copy of the index
        :param fate: 'tail': the end; 'hole': blocks in the middle read as
            zeros
        """
        chance = random.Random(seed)
        for name in os.listdir(path):
            if not name.endswith('.log'):
                continue
            log = os.path.join(path, name)
            size = os.path.getsize(log)
            durable = min(self.durable.get(name, 0), size)
            if fate == 'tail':
                os.truncate(log, chance.randint(durable, size))
            elif durable < size:
                start = chance.randint(durable, size)
                with open(log, 'r+b') as file:
                    file.seek(start)
                    file.write(bytes(min(size - start,
                                         chance.randint(1, 9) * _SECTOR)))


def written(layout, location):
    """:returns: what tells a record from all others but its copies"""
    with open(layout.volume(location.volume), 'rb') as volume:
        volume.seek(location.offset)
        return RecordHeader.unpack(volume.read(HEADER_LENGTH)).written


class PowerCutTest(IndexTest):

    def setUp(self):
        super().setUp()
        self.disk = Disk()
        self.enterContext(mock.patch.object(
            leveldb_log, 'fsync', self.disk.fsync))
        self.restart()

    def restart(self):
        """Begin anew, with nothing."""
        self.objects = {}
        self.unacknowledged = set()
        self.seconds = 1700000000
        self.index = self.open_index()
        self.take_new_volumes()

    def take_new_volumes(self):
        for number in list(self.volumes):
            self.release(number)
        self.current = {type_: self.index.new_volume(type_)
                        for type_ in VolumeType}

    def write(self, name, *args, **kwargs):
        return super().write(name, *args, number=self.current[
            VolumeType(1 + is_tombstone(name))], **kwargs)

    def location(self, number):
        """:returns: the Location of the newest file of an object"""
        return self.index.reader.files(PARTITION, self.hash_of(number))[
            self.objects[number].name]

    def hash_of(self, number):
        return (number << 12 | number % 2).to_bytes(16, 'big')

    def put_file(self, number, extension):
        self.seconds += 1
        name = '%d.00000%s' % (self.seconds, extension)
        self.put(self.index, name, self.hash_of(number))
        older = [each for each, _ in self.index.reader.list_hash(
            PARTITION, self.hash_of(number)) if each < name]
        expected = self.objects.setdefault(number, Expected())
        expected.name, expected.written = name, self.clock
        if older:
            self.index.remove(PARTITION, self.hash_of(number), older)

    def do_put(self, number):
        self.put_file(number, '.data')

    def do_delete(self, number):
        self.put_file(number, '.ts')

    def do_commit(self, number):
        self.put_file(number, '#1.data')
        expected = self.objects[number]
        mark_durable(self.layout, self.location(number))
        durable = expected.name.replace('#1', '#1#d')
        self.index.rename(PARTITION, self.hash_of(number), expected.name,
                          durable)
        expected.name = durable

    def do_reclaim(self, number):
        expected = self.objects.get(number)
        if expected and expected.name and is_tombstone(expected.name):
            self.index.remove(PARTITION, self.hash_of(number),
                              [expected.name])
            expected.name = expected.written = None

    def do_quarantine(self, number):
        expected = self.objects.get(number)
        if expected and expected.name:
            mark_quarantined(self.layout, self.location(number))
            self.index.quarantine(PARTITION, self.hash_of(number))
            expected.quarantined.append(expected.written)
            expected.name = expected.written = None

    def do_write_only(self, number):
        self.seconds += 1
        name = '0%09d.00000.data' % (self.seconds - 10 ** 9)
        self.write(name, self.hash_of(number), data=b'unacknowledged')
        self.unacknowledged.add(name)

    def do_kill_put(self, number):
        """Leave what a process leaves that is killed within a long PUT."""
        volume = self.volume(self.current[VolumeType.DATA])
        volume.write_at([b'x' * 1000 * (number + 1)], volume.end + 64)
        volume.end = volume.align(os.fstat(volume.fd).st_size)

    def do_sync(self, number):
        self.index.sync()

    def do_sweep(self, number):
        self.sweep_once(self.index)

    def do_compact(self, number):
        self.take_new_volumes()
        self.compact_all(self.index)

    def do_break_off(self, number):
        """The server dies when copies are durable, and no entry is moved."""
        self.take_new_volumes()
        with mock.patch.object(self.index.mover, 'move'):
            self.compact_all(self.index)
        for number in list(self.volumes):
            self.release(number)
        self.index.close()
        self.index = self.recover()
        self.take_new_volumes()

    def after_power_cut(self, fate, seed):
        """:returns: the recovered index of a copy of the device"""
        device = tempfile.mkdtemp(prefix='losf')
        self.addCleanup(shutil.rmtree, device, True)
        while True:
            try:
                shutil.copytree(self.device, device, dirs_exist_ok=True)
                break
            except shutil.Error:
                # LevelDB has replaced a table meanwhile.
                shutil.rmtree(device)
        layout = Layout(device, 0)
        if fate == 'lost':
            shutil.rmtree(layout.index)
        elif fate != 'none':
            self.disk.cut_power(layout.index, fate, seed)
        with mock.patch.object(leveldb_log, 'fsync'):
            return layout, recover(layout)

    def check(self, layout, index):
        for number, expected in self.objects.items():
            files = index.reader.files(PARTITION, self.hash_of(number))
            for name, location in files.items():
                self.assertNotIn(written(layout, location),
                                 expected.quarantined, name)
            if expected.name:
                self.assertEqual(expected.written, written(
                    layout, files[expected.name]), files)
                self.assertEqual(expected.name, max(files))
            elif set(files) - self.unacknowledged:
                self.assertTrue(is_tombstone(max(files)), files)
        quarantined = [written(layout, each[3])
                       for each in index.reader.list_quarantine()[0]]
        for expected in self.objects.values():
            self.assertLessEqual(set(expected.quarantined), set(quarantined))

    def sweep_all(self, layout, index):
        """Give all back that is dead.

        :returns: the numbers of the volumes that are left
        """
        sweeper = Sweeper(layout, index, 1, None)
        index.reclaim.pending.set()
        while index.reclaim.pending.is_set():
            index.reclaim.pending.clear()
            self.assertEqual(0, sweeper.sweep())
        self.compact_all(index, layout=layout)
        return {volume_number(name) for name in os.listdir(layout.volumes)}

    def used(self, index):
        """:returns: the numbers of the volumes that files are in"""
        return {location.volume for number in range(OBJECTS)
                for location in index.reader.files(
                    PARTITION, self.hash_of(number)).values()} | {
                        location.volume for _, _, _, location
                        in index.reader.list_quarantine()[0]}

    def play(self, steps, fate, seed):
        """Do steps, cut the power, and check what is there."""
        for step, number in steps:
            getattr(self, 'do_' + step)(number)
        layout, index = self.after_power_cut(fate, seed)
        try:
            self.check(layout, index)
            left = self.sweep_all(layout, index)
            self.check(layout, index)
            if fate != 'hole':
                self.assertEqual(self.used(index), left)
            if fate == 'tail':
                IndexTest.assert_counted(self, index)
        finally:
            index.close()
            shutil.rmtree(layout.device_path)


STEPS = st.lists(st.tuples(
    st.sampled_from(['put', 'put', 'delete', 'commit', 'reclaim',
                     'quarantine', 'write_only', 'kill_put', 'sync',
                     'sweep', 'compact', 'break_off']),
    st.integers(0, OBJECTS - 1)), min_size=1, max_size=30)


class TestPowerCut(PowerCutTest):

    @settings(max_examples=40,
              suppress_health_check=list(HealthCheck))
    @given(STEPS, st.sampled_from(['tail', 'hole', 'lost']),
           st.integers(0, 1000))
    @example([('put', 0), ('put', 0), ('quarantine', 0)], 'lost', 0)
    @example([('quarantine', 1), ('put', 1), ('kill_put', 0)], 'lost', 0)
    def test_what_was_acknowledged_is_there_and_nothing_deleted(
            self, steps, fate, seed):
        for number in list(self.volumes):
            self.release(number)
        self.index.close()
        shutil.rmtree(self.device)
        os.makedirs(self.layout.volumes)
        self.disk.durable.clear()
        self.restart()
        self.play(steps, fate, seed)

    def fill_log(self):
        """:returns: the path of a log of more than three blocks"""
        log, = (os.path.join(self.layout.index, name)
                for name in os.listdir(self.layout.index)
                if name.endswith('.log'))
        size = os.path.getsize(log) + 3 * _LOG_BLOCK
        while os.path.getsize(log) < size:
            self.do_put(len(self.objects))
        return log

    def damage(self, log):
        with open(log, 'r+b') as file:
            file.seek(_LOG_BLOCK)
            file.write(bytes(_LOG_BLOCK))

    def broken(self, layout):
        return [name for name in os.listdir(layout.root)
                if '.broken-' in name]

    def test_what_was_behind_a_hole_in_the_log_is_found_again(self):
        self.index.sync()
        self.damage(self.fill_log())
        layout, index = self.after_power_cut('none', 0)
        self.addCleanup(index.close)
        self.check(layout, index)
        self.assertEqual([], self.broken(layout))

    def test_damage_of_what_was_synced_has_the_index_made_anew(self):
        log = self.fill_log()
        self.index.sync()
        self.damage(log)
        layout, index = self.after_power_cut('none', 0)
        self.addCleanup(index.close)
        self.check(layout, index)
        self.assertEqual(1, len(self.broken(layout)))
