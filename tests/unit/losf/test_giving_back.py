# SPDX-License-Identifier: Apache-2.0
"""What a volume takes of its filesystem when records are removed, measured;
and that records beside them stay as they are.
"""

import contextlib
import os
import random
import threading
import unittest

from swift_losf.diskfile.vfile import VFileReader, VFileWriter
from swift_losf.format.header import FIRST_RECORD, VolumeType
from swift_losf.format.layout import Layout
from swift_losf.index.index import Index
from swift_losf.upkeep.compaction_plan import Limits, Rates
from swift_losf.upkeep.compactor import Compaction, Compactor
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.appender import Appender
from tests.unit.losf.filesystems import with_holes
from tests.unit.losf.volumes import Options, bytes_of, hash_of

NAME = '1700000000.00001.data'
PARTITION = 7
ROUNDS = 6


class World:
    """A device whose files are written as Swift writes them.

    :param device: the path of its directory
    """

    def __init__(self, device):
        self.layout = Layout(device, 0)
        self.index = Index(self.layout.index)
        self.sweeper = Sweeper(self.layout, self.index, 1, None)
        self.appender = Appender(self.layout, VolumeType.DATA, Options(),
                                 lambda: self.index.new_volume(1))
        self.lock = threading.Lock()
        #: numbers of files that are there: their Locations
        self.files = {}

    def close(self):
        self.appender.close()
        self.index.close()

    def put(self, number, length):
        writer = VFileWriter(self.appender)
        data = bytes_of(number, length)
        for start in range(0, length, 65536):
            writer.write(data[start:start + 65536])
        pending = writer.finish(NAME, {}, PARTITION, hash_of(number))
        try:
            self.index.register(PARTITION, hash_of(number), NAME,
                                pending.location, pending.watermark())
        finally:
            pending.done()
        with self.lock:
            self.files[number] = pending.location

    def remove(self, number):
        with self.lock:
            del self.files[number]
        self.index.remove(PARTITION, hash_of(number))

    def read(self, number, location):
        with VFileReader.open(self.layout, location, hash_of(number),
                              NAME) as reader:
            return reader.read()

    def compact(self, garbage=-1, size=2 ** 20):
        """Compact all, or what has more than a part of garbage."""
        Compactor(self.layout, self.index, Compaction(
            Limits(garbage, 500, 0, 4096), Rates(2 ** 50, 2 ** 50), 1, size),
            None).compact_all()

    def taken(self):
        """:returns: bytes of the disk, without the headers of volumes"""
        return sum(os.stat(entry).st_blocks * 512 - FIRST_RECORD
                   for entry in os.scandir(self.layout.volumes))


class TestGivingBack(unittest.TestCase):

    @contextlib.contextmanager
    def world(self, make):
        with make() as device:
            with contextlib.closing(World(device)) as world:
                yield world

    def check(self, world, sample=None):
        numbers = list(world.files)
        for number in random.sample(numbers, min(
                sample or len(numbers), len(numbers))):
            location = world.index.reader.files(
                PARTITION, hash_of(number))[NAME]
            self.assertEqual(bytes_of(number, location.data_length),
                             world.read(number, location))

    def test_when_all_is_removed_nothing_is_left(self):
        for name, make in with_holes().items():
            with self.subTest(name), self.world(make) as world:
                self.remove_all(world, random.Random(name))

    def remove_all(self, world, chance):
        for number in range(250):
            world.put(number, chance.choice(
                [0, 100, 4000, 4096, 9000, chance.randrange(70000)]))
        world.put(1000, 600000)
        world.appender.close()
        numbers = list(world.files)
        chance.shuffle(numbers)
        for turn in range(ROUNDS):
            for number in numbers[turn::ROUNDS]:
                world.remove(number)
            self.assertEqual(0, world.sweeper.sweep())
            self.check(world)
            world.compact()
            self.check(world)
        self.assertEqual([], os.listdir(world.layout.volumes))

    def test_what_is_taken_is_no_more_than_a_third_above_what_lives(self):
        for name, make in with_holes().items():
            with self.subTest(name), self.world(make) as world:
                self.churn(world, random.Random(name))

    def churn(self, world, chance):
        """Overwrite short files, each of 1.5 KiB at most, again and again."""
        for number in range(2400):
            if number >= 800:
                world.remove(chance.choice(list(world.files)))
            world.put(number, chance.randrange(1500))
            if not number % 800:
                world.appender.close()
        world.appender.close()
        world.sweeper.sweep()
        world.compact(garbage=0.2)
        self.check(world, 300)
        self.assertLess(world.taken(), 1.3 * sum(
            state.live_bytes for _, state in world.index.list_volumes()))

    def test_of_a_volume_that_has_grown_nothing_is_laid_out(self):
        for name, make in with_holes().items():
            with self.subTest(name), self.world(make) as world:
                for number in range(300):
                    world.put(number, 100000)
                world.appender.close()
                for number in range(0, 300, 2):
                    world.remove(number)
                world.sweeper.sweep()
                world.compact(size=2 ** 30)
                self.assertLess(world.taken(), 150 * 100256 + 2 ** 16)

    def test_a_small_file_takes_its_size_and_little_more(self):
        for name, make in with_holes().items():
            with self.subTest(name), self.world(make) as world:
                for number in range(100):
                    world.put(number, 4096)
                world.appender.close()
                # header, name, metadata, CRCs: at most 192 bytes with them
                self.assertLessEqual(
                    os.path.getsize(world.layout.volume(1)),
                    4096 + 100 * (4096 + 192))

    def test_who_appends_meanwhile_loses_nothing(self):
        for name, make in with_holes().items():
            with self.subTest(name), self.world(make) as world:
                self.change_and_sweep(world, name)

    def change_and_sweep(self, world, seed):
        failures = []

        def work(first):
            chance = random.Random('%s %d' % (seed, first))
            mine = []
            try:
                for number in range(first, first + 80):
                    world.put(number, chance.choice([0, 300, 3000, 20000]))
                    mine.append(number)
                    if chance.random() < 0.6:
                        world.remove(mine.pop(chance.randrange(len(mine))))
            except Exception as err:  # is raised in the main thread
                failures.append(err)
        threads = [threading.Thread(target=work, args=(1000 * n,))
                   for n in range(6)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            world.sweeper.sweep()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)
        world.sweeper.sweep()
        self.check(world)
        self.remove_the_rest(world)

    def remove_the_rest(self, world):
        world.appender.close()
        for number in list(world.files):
            world.remove(number)
        self.assertEqual(0, world.sweeper.sweep())
        self.assertEqual(0, world.index.statistics().dead_bytes)
