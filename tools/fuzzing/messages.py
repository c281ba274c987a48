# SPDX-License-Identifier: Apache-2.0
"""
The messages of LIGHTSYNC requests: valid ones, and how they are read.

Each goes through the function that the object-server or the replicator
decodes it with, with what it does first with what came out.
"""

from swift_lightsync.sync import missing_message as missing
from swift_lightsync.sync.core.comparison import differing_slices, slice_roots
from swift_lightsync.sync.core.partition_set import (
    MAX_PARTITIONS,
    PartitionSet,
    PartitionSetError,
)
from swift_lightsync.sync.wire import exchange_message as exchange
from swift_lightsync.sync.wire import sync_message
from swift_lightsync.sync.wire.known_sets import KnownSets
from swift_lightsync.sync.wire.sync_message import SyncMessageError, Verdict
from tools.fuzzing.mutate import repair_crc
from tools.fuzzing.target import Target

#: What the answers that are decoded were asked with.
SLICES = 300
ASKED = frozenset(range(4096)) | {0xffffffff}
LARGEST_EXCHANGE = 256
#: Objects of each partition that were offered.
OFFERED = 20
OFFER = dict.fromkeys(ASKED, range(OFFERED))


def _partitions(rng, most=300):
    bits = rng.choice((4, 9, 18, 32))
    return PartitionSet({rng.getrandbits(bits)
                         for _ in range(rng.choice((0, 1, 3, 17, most)))})


def _digest(rng):
    return '%032x' % rng.getrandbits(128)


def make_roots(rng, most=300):
    partitions = _partitions(rng, most)
    count = rng.choice((1, 2, 17, len(partitions)))
    roots = slice_roots(partitions, count,
                        {each: _digest(rng) for each in partitions})
    return sync_message.encode_roots(partitions, roots,
                                     with_list=rng.random() < 0.7)


def make_largest_roots(rng):
    low = rng.choice((0, (1 << 32) - MAX_PARTITIONS))
    partitions = PartitionSet(range(low, low + MAX_PARTITIONS))
    roots = ['%032x' % low] * rng.choice((1, 512, MAX_PARTITIONS))
    return sync_message.encode_roots(partitions, roots)


class RootsReader:
    """As the object-server reads them: it remembers sets."""

    def __init__(self):
        self.known_sets = KnownSets()

    def parse(self, data):
        message = sync_message.decode_roots(data)
        partitions = self.known_sets.find(message)
        if partitions is not None:
            differing_slices(partitions, message.roots, {})
        return message


class _Named:
    """A set of which but the digest is known."""

    encoded = b''

    def __init__(self, message):
        self.digest = message.digest
        self.count = message.count

    def __len__(self):
        return self.count


def encode_roots(message):
    with_list = message.partitions is not None
    return sync_message.encode_roots(
        message.partitions if with_list else _Named(message), message.roots,
        with_list=with_list)


def make_reply(rng):
    if rng.random() < 0.1:
        return sync_message.encode_reply(Verdict.UNKNOWN_SET)
    return sync_message.encode_reply(Verdict.COMPARED, sorted(rng.sample(
        range(SLICES), rng.choice((0, 1, 5, SLICES)))))


def make_suffixes(rng):
    return exchange.encode_suffixes(
        _partitions(rng)[:rng.choice((3, LARGEST_EXCHANGE))])


def _of_each(rng, make):
    asked = rng.sample(range(4096), rng.choice((0, 1, 1, 2, 3, 9)))
    return {each: make(['%03x' % suffix for suffix in rng.sample(
        range(4096), rng.choice((0, 1, 2, 5, 40)))]) for each in asked}


def make_suffix_hashes(rng):
    return exchange.encode_suffix_hashes(_of_each(
        rng, lambda suffixes: {each: _digest(rng) for each in suffixes}))


def make_largest_suffix_hashes(rng):
    hashes = {'%03x' % suffix: _digest(rng) for suffix in range(4096)}
    return exchange.encode_suffix_hashes(dict.fromkeys(range(64), hashes))


def make_rehash(rng):
    return exchange.encode_rehash(_of_each(rng, sorted))


def _line(rng):
    line = '%s %010d.%05d' % (_digest(rng), rng.randrange(1 << 33),
                              rng.randrange(100000))
    if rng.random() < 0.2:
        line += '_%016x' % rng.getrandbits(64)
    for mark in rng.choice(((), (), (' m:',), (' m:', ',t:'))):
        line += '%s%x' % (mark, rng.getrandbits(rng.choice((8, 32))))
        if rng.random() < 0.2:
            line += '__%x' % rng.getrandbits(8)
    return line.encode()


def make_offer(rng):
    return missing.encode_offer({
        each: [_line(rng) for _ in range(rng.choice((0, 1, 2, 9)))]
        for each in rng.sample(range(4096), rng.choice((0, 1, 1, 2, 9)))})


def make_largest_offer(rng):
    return missing.encode_offer({
        each: [_line(rng)] * (missing.MAX_OBJECTS // 2) for each in (1, 2)})


def make_wanted(rng):
    return missing.encode_wanted({
        each: (OFFERED, sorted(rng.sample(range(OFFERED), rng.randrange(9))))
        for each in rng.sample(range(4096), rng.choice((0, 1, 1, 2, 9)))})


def make_set(rng):
    return _partitions(rng).encoded


def make_largest_set(rng):
    """A set with all its gaps long, or none; or one that is too long."""
    return rng.choice((bytes(MAX_PARTITIONS), b'\x80' * 5 * MAX_PARTITIONS,
                       b'\xff\x7f' * MAX_PARTITIONS,
                       b'\x01' * (MAX_PARTITIONS + 1)))


def decode_set(data):
    """With the count that a peer would say, to get past it."""
    return PartitionSet.decode(data, sum(byte < 0x80 for byte in data))


def _message(name, make, parse, encode, memory, longest, **more):
    return Target(
        name, make, parse, (SyncMessageError, PartitionSetError),
        longest=longest, memory=memory, encode=encode, finish=repair_crc,
        **more)


TARGETS = (
    _message('roots', make_roots, RootsReader().parse, encode_roots, 100,
             sync_message.MAX_BYTES, make_large=make_largest_roots),
    _message('reply', make_reply,
             lambda data: sync_message.decode_reply(data, SLICES),
             lambda reply: sync_message.encode_reply(*reply), 100,
             sync_message.MAX_BYTES),
    _message('suffixes', make_suffixes, exchange.decode_suffixes,
             exchange.encode_suffixes, 100, sync_message.MAX_BYTES),
    _message('suffix-hashes', make_suffix_hashes,
             lambda data: exchange.decode_suffix_hashes(data, ASKED),
             exchange.encode_suffix_hashes, 100, sync_message.MAX_BYTES,
             make_large=make_largest_suffix_hashes),
    _message('rehash', make_rehash, exchange.decode_rehash,
             exchange.encode_rehash, 100, exchange.MAX_REHASH_BYTES),
    # Swift's functions read the lines: two may mean the same.
    _message('offer', make_offer, missing.decode_offer, None, 100,
             missing.MAX_OFFER_BYTES, make_large=make_largest_offer),
    _message('wanted', make_wanted,
             lambda data: missing.decode_wanted(data, OFFER),
             missing.encode_wanted, 100, sync_message.MAX_BYTES),
    Target('partition-set', make_set, decode_set, (PartitionSetError,),
           5 * MAX_PARTITIONS, 100, encode=lambda found: found.encoded,
           make_large=make_largest_set),
)
