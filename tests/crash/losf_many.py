# SPDX-License-Identifier: Apache-2.0
"""The many objects of a device that is converted, in files or in volumes."""

import hashlib
import os
import random
from unittest import mock

from swift.common.utils import Timestamp
from swift.obj import diskfile

from swift_losf.convert.files import Files
from swift_losf.convert.sides import Source, place
from swift_losf.volumes.writable import WritableVolume
from tests.crash.losf_objects import MIB, PARTITIONS

#: of the many objects; clients change others, in the first ones
BULK_PARTITIONS = 256
#: bytes of most objects, below which they are; each 1,000th is LONG
SHORT, LONG = 8192, 2 * MIB


def digest(data, metadata):
    """Return what differs if a file differs."""
    return hashlib.sha256(repr(sorted(metadata.items())).encode(
        errors='surrogateescape') + data).digest()


def many_files(count, seed, now):
    """Yield the files of objects of all kinds.

    :param count: of the objects
    :param now: when the tombstones were written, Unix time, seconds
    :returns: (an iterable of) ObjectPath's arguments behind the policy's,
        data, metadata, Unix time
    """
    chance = random.Random(seed)

    def file(number, seconds, extension, data, **metadata):
        object_hash = hashlib.md5(b'%d' % number).hexdigest()  # nosec: B324
        stamp = Timestamp(seconds).internal
        metadata = {'X-Timestamp': stamp, 'name': '/a/c/n\u00e4me %d' % number,
                    **metadata}
        return (PARTITIONS + number % BULK_PARTITIONS, object_hash,
                stamp + extension), data, metadata, seconds

    for number in range(count):
        if number % 10 == 0:
            yield file(number, now, '.ts', b'')
            continue
        data = chance.randbytes(
            chance.randrange(SHORT) if number % 1000 - 1 else LONG)
        yield file(number, 1.5e9 + number, '.data', data, **{
            'Content-Length': str(len(data)), 'Content-Type': 'text/plain',
            'X-Object-Meta-Owner': 'J\u00fcrg'})
        if number % 10 == 1:
            yield file(number, 1.5e9 + number + 5, '.meta', b'',
                       **{'X-Object-Meta-Color': 'r\u00f6t'})


def write_file(files, where, data, metadata, seconds):
    """Write a file as stock Swift has it."""
    directory = files._directory(where)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, where.name), 'wb') as file:
        file.write(data)
        file.flush()
        diskfile.write_metadata(file.fileno(), metadata)
    os.utime(file.name, (seconds,) * 2)


def write_record(volumes, where, data, metadata, seconds):
    """Write a file into a volume."""
    volumes.write(where, Source(
        lambda offset, length: data[offset:offset + length], len(data),
        metadata, seconds))


def write_many(side, *args):
    """Write many_files; there is no power cut that they had to survive.

    :param side: a Side
    :returns: (hash, name of a file) -> digest
    """
    write = write_file if isinstance(side, Files) else write_record
    written = {}
    with mock.patch.object(WritableVolume, 'sync'):
        for (partition, *key), data, metadata, seconds in many_files(*args):
            write(side, place(side.layout, partition, *key), data, metadata,
                  seconds)
            written[tuple(key)] = digest(data, metadata)
    return written


def read_files(side):
    """Return what a side has of the many objects, as write_many."""
    found = {}
    for partition in side.partitions():
        if partition < PARTITIONS:
            continue
        for object_hash, names in side.hashes(partition).items():
            for name in names:
                with side.open(place(side.layout, partition, object_hash,
                                     name)) as source:
                    found[object_hash, name] = digest(b''.join(
                        source.chunks()), source.metadata)
    return found
