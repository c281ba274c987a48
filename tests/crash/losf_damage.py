# SPDX-License-Identifier: Apache-2.0
"""Disks that give back something else than what was written to them: an index
from before, volumes that end early, flipped bits.
"""

import os
import random
import shutil
import signal
from dataclasses import astuple
from pathlib import Path

from swift_losf.format.header import HEADER_LENGTH, VOLUME_HEADER_LENGTH
from swift_losf.format.values import Location
from tests.crash.losf_objects import UNAVAILABLE, Version
from tests.crash.losf_steps import kill_self
from tests.crash.losf_traffic import many_changes

#: how often an index server is started anew, until it serves for good
ATTEMPTS = 5


def change(world, seed, rounds):
    """Start an index server, and change objects at the same time."""
    world.start_server()
    assert not world.run(many_changes(seed, rounds)), seed


def older_indexes(world, args):
    """The index is replaced by one from before, again and again."""
    chance = random.Random(args.seed)
    olds = []
    for number in range(args.rounds):
        change(world, args.seed + number, 12)
        world.check()
        world.stop_server(chance.choice((signal.SIGTERM, signal.SIGKILL)))
        olds.append(os.path.join(world.root, 'index-%d' % number))
        shutil.copytree(world.layout.index, olds[-1])
        shutil.rmtree(world.layout.index)
        old = chance.choice(olds[-4:-1] or [None])
        if old:
            shutil.copytree(old, world.layout.index)
        world.serve_and_check()
    return args.rounds


def torn_tails(world, args):
    """Of what a killed object-server had begun, a part is there.

    Nothing is compacted meanwhile: copies are durable, and must not be cut.
    """
    world.compact_garbage = '100'
    chance = random.Random(args.seed)
    for number in range(args.rounds):
        change(world, args.seed + number, 4)
        before = sizes(world)

        def begin(objects):
            with objects.diskfile('unfinished').create() as writer:
                for _ in range(chance.randrange(2, 6)):
                    writer.write(chance.randbytes(200000))
                kill_self()
        assert world.run(begin) == -signal.SIGKILL
        world.stop_server(chance.choice((signal.SIGTERM, signal.SIGKILL)))
        for path, size in sizes(world).items():
            os.truncate(path, chance.randint(before.get(
                path, VOLUME_HEADER_LENGTH), size))
        if number % 3 == 2:
            shutil.rmtree(world.layout.index)
        world.serve_and_check()
    return args.rounds


def sizes(world):
    """:returns: a dict of the volumes' paths -> their sizes"""
    return {path: path.stat().st_size
            for path in Path(world.layout.volumes).iterdir()}


def bit_flips(world, args):
    """One bit of one file is flipped: each object is as it was, or known to be
    damaged, and none is if the file is of the index.

    Nothing is compacted meanwhile: a volume must not go before its bit does.
    """
    world.compact_garbage = '100'
    chance = random.Random(args.seed)
    change(world, args.seed, 40)
    world.check()
    records = [Location(*each) for each in world.ask(records_of)]
    world.stop_server()
    lost = 0
    for number in range(args.rounds):
        copy = world.copy(os.path.join(world.root, 'copy'))
        of_index = number % 2
        path, offset = (index_bit if of_index else record_bit)(
            copy, records, chance)
        flip(path, offset, chance.randrange(8))
        try:
            damaged = damaged_objects(copy)
            assert not (of_index and damaged), (path, offset, damaged)
            assert len(damaged) < 2 or offset < VOLUME_HEADER_LENGTH, (
                path, offset, damaged)
            lost += len(damaged)
        finally:
            copy.stop_server(signal.SIGKILL)
            shutil.rmtree(copy.root)
    assert lost, 'no bit that was flipped was of any object'
    return args.rounds


def records_of(objects):
    """:returns: the Locations of all records, as tuples"""
    index = objects.manager.store(objects.device_path, 0).index
    return [astuple(location) for partition in index.list_partitions()
            for suffix in index.list_partition(partition)
            for hash_, _ in index.list_suffix(partition, suffix)
            for _, location in index.list_hash(partition, hash_)]


def record_bit(world, records, chance):
    """:returns: a path and an offset: any part of a record is as likely"""
    location = chance.choice(records)
    data = HEADER_LENGTH + location.data_length
    part = chance.choice(((0, HEADER_LENGTH), (HEADER_LENGTH, data),
                          (data, location.length), None))
    at = (chance.randrange(48) if part is None else
          location.offset + chance.randrange(*part) if part[0] < part[1]
          else location.offset)
    return world.layout.volume(location.volume), at


def index_bit(world, records, chance):
    """:returns: a path and an offset in the LevelDB"""
    paths = [path for path in sorted(Path(world.layout.index).iterdir())
             if path.stat().st_size and not path.name.startswith('LO')]
    path = chance.choice(paths)
    return path, chance.randrange(path.stat().st_size)


def flip(path, offset, bit):
    with open(path, 'r+b', buffering=0) as damaged:
        damaged.seek(offset)
        value = damaged.read(1)[0]
        damaged.seek(offset)
        damaged.write(bytes([value ^ 1 << bit]))


def damaged_objects(world):
    """Look at all objects, again and again, and start the index server when it
    has ended, as its manager does.

    :returns: names of those that are damaged; no other is wrong
    """
    names = list(world.allowed)
    damaged = set()
    for _ in range(ATTEMPTS):
        world.stop_server(signal.SIGKILL)
        if not world.try_server():
            continue
        complete = True
        for _ in range(2):
            seen = dict(zip(names, world.ask(lambda objects: [
                objects.read(name) for name in names])))
            damaged |= {name for name in names
                        if is_damaged(seen[name], world.allowed[name])}
            complete = complete and UNAVAILABLE not in seen.values()
        if complete:
            return damaged
    raise AssertionError('the index server does not come back')


def is_damaged(seen, allowed):
    """:returns: whether what is seen of an object says that it is damaged
    :raises AssertionError: if it says anything else that is not true
    """
    if seen in allowed or seen == UNAVAILABLE:
        return False
    if isinstance(seen, Version):
        raise AssertionError('%s, allowed is %s' % (seen, allowed))
    return True
