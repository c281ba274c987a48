# SPDX-License-Identifier: Apache-2.0
"""What the tests of compaction share."""

import os

from swift_losf.diskfile.vfile import VFileReader
from tests.unit.losf.index_world import NAME, PARTITION, RecoveryTest
from tests.unit.losf.volumes import bytes_of, hash_of

FIRST = 100


class Crash(Exception):
    pass


class CompactorTest(RecoveryTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()
        # What is appended to in these tests is not what copies go to.
        self.index.skip_volumes(FIRST - 1)

    def compact(self, **limits):
        return self.compact_all(self.index, **limits)

    def fill(self, lengths, number=1):
        """:returns: the data of files, by hash; the volume is unlocked"""
        data = {}
        for each, length in enumerate(lengths):
            hash_ = hash_of(each)
            data[hash_] = bytes_of(each, length)
            self.put(self.index, NAME, hash_, data=data[hash_],
                     number=number)
        self.release(number)
        return data

    def read(self, hash_, name=NAME):
        location = self.index.reader.files(PARTITION, hash_)[name]
        with VFileReader.open(self.layout, location, hash_, name) as file:
            return file.read()

    def assert_readable(self, data):
        for hash_, expected in data.items():
            self.assertEqual(expected, self.read(hash_))

    def numbers(self):
        """:returns: the volumes: files, and in the index"""
        return ([int(name[1:]) for name in sorted(
            os.listdir(self.layout.volumes))],
            [number for number, _ in self.index.list_volumes()])

    def restart(self):
        self.index = self.after_crash(self.index)
