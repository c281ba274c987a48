# SPDX-License-Identifier: Apache-2.0
"""writable: zeros are laid out ahead of records, and given back."""

import os
from unittest import mock

from swift_losf.volumes.volume import iter_records, read_header
from swift_losf.volumes.writable import CHUNK, WritableVolume
from tests.unit.losf.volumes import LONG, VolumeTest, bytes_of


class TestLayingOut(VolumeTest):

    def setUp(self):
        super().setUp()
        self.path = self.layout.volume(1)

    def size(self):
        return os.path.getsize(self.path)

    def blocks(self):
        return os.stat(self.path).st_blocks * 512

    def found(self):
        with open(self.path, 'rb') as file:
            return [each.location for each in iter_records(
                file.fileno(), read_header(file.fileno()), 0, self.size())]

    def test_records_overwrite_what_is_laid_out(self):
        sizes, locations = set(), []
        for number in range(50):
            pending = self.put(number, bytes_of(number, 4096))
            locations.append(pending.location)
            pending.done()
            sizes.add(self.size())
        self.assertEqual({CHUNK}, sizes)
        self.assertEqual(locations, self.found())

    def test_long_records_and_short_ones_follow_each_other(self):
        locations = []
        for number, length in enumerate((10, LONG, 10, 4 * LONG, LONG, 10)):
            pending = self.put(number, bytes_of(number, length))
            locations.append(pending.location)
            pending.done()
        self.assertEqual(locations, self.found())
        self.assertEqual(0, self.size() % CHUNK)
        for number, (location, length) in enumerate(zip(
                locations, (10, LONG, 10, 4 * LONG, LONG, 10))):
            self.assertEqual(bytes_of(number, length),
                             self.read(number, location))

    def test_a_volume_that_is_closed_ends_behind_its_last_record(self):
        self.put(1, b'x' * 5000).done()
        self.assertEqual(CHUNK, self.size())
        self.appender.close()
        location, = self.found()
        self.assertLess(self.size() - location.offset - location.length, 512)

    def test_behind_what_a_killed_writer_laid_out_the_next_appends(self):
        pid = os.fork()
        if not pid:
            self.put(1, b'x' * 5000).done()
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual(CHUNK, self.size())
        volume = WritableVolume.take(self.path)
        self.addCleanup(volume.close)
        self.assertEqual(CHUNK, volume.end)
        self.assertEqual(1, len(self.found()))

    def test_nothing_is_laid_out_where_there_is_little_room(self):
        with mock.patch('swift_losf.volumes.writable.ROOM', 2 ** 63):
            self.put(1, b'x' * 5000).done()
        self.assertLess(self.size(), 3 * 5000)

    def test_a_record_that_fits_is_written_where_zeros_are_not(self):
        real = os.pwritev

        def pwritev(fd, buffers, offset):
            if sum(map(len, buffers)) > CHUNK // 2:
                os.pwrite(fd, bytes(8192), offset)
                raise OSError(28, 'No space left on device')
            return real(fd, buffers, offset)
        with mock.patch('swift_losf.volumes.writable.os.pwritev', pwritev):
            pending = self.put(1, b'x' * 5000)
        pending.done()
        self.assertEqual(b'x' * 5000, self.read(1, pending.location))
        self.assertLess(self.size(), 3 * 5000)
