# SPDX-License-Identifier: Apache-2.0
"""Measures one index of many objects, on real volumes: a line of JSON for each
number of objects.

    tools/env python -m tools.benchmarks.losf_scale --objects 100000,1000000
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress

from swift_losf.errors import IndexUnavailable
from swift_losf.format.header import VolumeType
from swift_losf.format.keys import MAX_SUFFIX, partition_of, suffix_of
from swift_losf.format.layout import Layout
from swift_losf.format.record import BlockSums, NewRecord
from swift_losf.index.index import Index
from swift_losf.index.index_client import IndexClient
from swift_losf.upkeep.recovery import recover
from swift_losf.volumes.writable import WritableVolume
from tools.benchmarks.measure import memory_mib, own_cpu_seconds
from tools.cluster.processes import wait_until

#: objects of one partition, of one volume, and asked for
PER_PARTITION, PER_VOLUME, ASKED = 200, 250000, 2000
#: listings, and by how much the part power is above that of the index
LISTED, INCREASES = 500, (0, 1, 2)
METADATA = {
    'X-Timestamp': '1700000000.00001', 'ETag': 32 * 'd',
    'Content-Type': 'application/octet-stream', 'Content-Length': '500',
    'name': '/AUTH_test/container/object'}


class Objects:
    """Objects of one device.

    :param layout: a Layout
    :param count: how many there are
    :param size: of each, in bytes
    """

    def __init__(self, layout, count, size):
        self.layout = layout
        self.count = count
        self.part_power = max(1, (count // PER_PARTITION).bit_length())
        self._data = os.urandom(size)
        sums = BlockSums()
        sums.add(self._data)
        self._blocks = sums.pack()

    def hash(self, number):
        """Return the hash, and the partition, of an object."""
        hash_ = hashlib.md5(b'%d' % number, usedforsecurity=False).digest()
        return hash_, partition_of(hash_, self.part_power)

    def write(self):
        """Write all of them to volumes; no index knows them."""
        for first in range(0, self.count, PER_VOLUME):
            volume = WritableVolume.create(
                self.layout, 1 + first // PER_VOLUME, VolumeType.DATA)
            for number in range(first, min(first + PER_VOLUME, self.count)):
                self.append(volume, number)
            volume.sync()
            volume.finish()

    def append(self, volume, number):
        """Append one to a volume; return what it is registered with."""
        hash_, partition = self.hash(number)
        name = '%010d.%05d.data' % (1700000000 + number, number % 100000)
        record = NewRecord.make(partition, hash_, name, METADATA,
                                len(self._data), self._blocks, number)
        location, header, footer = record.place(volume.header, volume.end)
        volume.write_at([header, self._data, footer], volume.end)
        volume.end = volume.align(volume.end + location.length)
        return partition, hash_, name, location


def _micros(work, count):
    begin, cpu = time.perf_counter(), time.process_time()
    for number in range(count):
        work(number)
    return {'us': (time.perf_counter() - begin) * 1e6 / count,
            'cpu_us': (time.process_time() - cpu) * 1e6 / count}


def serves(client):
    """Return whether an index server answers."""
    with suppress(IndexUnavailable):
        return bool(client.statistics())
    return False


@contextmanager
def _server(objects):
    """Yields a process of an index server, and seconds until it serves."""
    begin = time.perf_counter()
    process = subprocess.Popen([
        sys.executable, '-m', 'swift_losf.daemon.index_server',
        '--device-path', objects.layout.device_path, '--policy', '0',
        '--part-power', str(objects.part_power)], stderr=subprocess.DEVNULL)
    try:
        client = IndexClient(objects.layout.socket, 60)
        wait_until(lambda: serves(client) or process.poll() is not None,
                   60, 'the index server serves')
        yield process, client, time.perf_counter() - begin
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def measure(directory, count, size):
    """Return the figures of one number of objects.

    :param directory: where to put them
    :param count: of objects
    :param size: of each, in bytes
    """
    layout = Layout(directory, 0)
    os.makedirs(layout.volumes)
    objects = Objects(layout, count, size)
    objects.write()
    begin, cpu = time.perf_counter(), own_cpu_seconds()
    index = recover(layout, part_power=objects.part_power)
    found = {'objects': count, 'size': size, 'rebuild_us_per_record':
             (time.perf_counter() - begin) * 1e6 / count,
             'rebuild_cpu_us_per_record':
             (own_cpu_seconds() - cpu) * 1e6 / count}
    index.close()
    found['index_bytes_per_object'] = sum(
        each.stat().st_blocks * 512
        for each in os.scandir(layout.index)) / count
    found.update(_calls(objects))
    with _server(objects) as (process, client, seconds):
        found['start_seconds'] = seconds
        for number in range(ASKED):
            client.list_hash(*reversed(objects.hash(number)))
        for name, field in (('own_mib', 'RssAnon'), ('mapped_mib', 'RssFile')):
            found[name] = memory_mib(field, process.pid)
    with _server(objects) as (_, _, seconds):
        found['start_after_kill_seconds'] = seconds
    return found


def _calls(objects):
    index = Index(objects.layout.index)
    volume = WritableVolume.create(objects.layout, index.new_volume(1),
                                   VolumeType.DATA)
    chance = random.Random(1)

    def lookup(number):
        hash_, partition = objects.hash(chance.randrange(objects.count))
        assert index.reader.list_hash(partition, hash_)
    records = [objects.append(volume, objects.count + number)
               for number in range(ASKED)]
    found = {'list': _micros(lookup, ASKED), 'register': _micros(
        lambda number: _register(index, *records[number]), ASKED)}
    for more in INCREASES:
        found.update(_listings(index, objects, more))
    volume.finish()
    index.close()
    return {'%s_%s' % (name, unit): value for name, each in found.items()
            for unit, value in each.items()}


def _listings(index, objects, more):
    """Measure listings of partitions after increases of the part power."""
    power = objects.part_power + more
    index.part_power.set(power)
    hashes = [objects.hash(number)[0] for number in range(ASKED)]
    partitions = [partition_of(each, power) for each in hashes]
    return {'%s_at_%d_more' % (name, more): _micros(call, LISTED)
            for name, call in {
        'list_suffix': lambda number: index.reader.list_suffix(
            partitions[number], suffix_of(hashes[number])),
        'list_partition': lambda number: index.reader.list_partition(
            partitions[number]),
        'list_all': lambda number: index.reader.list_suffix(
            partitions[number], 0, last_suffix=MAX_SUFFIX)}.items()}


def _register(index, partition, hash_, name, location):
    index.register(partition, hash_, name, location, location.offset)


def main():
    """Measure each number of objects; print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--objects', default='100000,1000000')
    parser.add_argument('--size', type=int, default=500)
    parser.add_argument('--directory', help='on the disk to be measured')
    args = parser.parse_args()
    for count in map(int, args.objects.split(',')):
        directory = tempfile.mkdtemp(prefix='losf-scale-',
                                     dir=args.directory)
        try:
            print(json.dumps(measure(directory, count, args.size)),
                  flush=True)
        finally:
            shutil.rmtree(directory)


if __name__ == '__main__':
    main()
