# SPDX-License-Identifier: Apache-2.0
"""The messages of LIGHTSYNC requests, and how they are read.

Each goes through the function that the object-server or the replicator
decodes it with, and through what is done first with what came out.
"""

from types import SimpleNamespace

from swift_lightsync.sync import missing_message as missing
from swift_lightsync.sync.core import conversation, shared_set
from swift_lightsync.sync.core.conversation import Condition, DeviceState
from swift_lightsync.sync.core.root_tree import RootTree
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.wire import exchange_message as exchange
from swift_lightsync.sync.wire import known_sets, sync_message
from tools.fuzzing.mutate import repair_crc
from tools.fuzzing.target import Target

MOST = shared_set.MAX_PARTITIONS
#: What the answers that are decoded were asked with.
SLICES = 300
ASKED = frozenset(range(4096)) | {0xffffffff}
LARGEST_EXCHANGE = 256
#: Objects of each partition that were offered.
OFFERED = 20
OFFER = dict.fromkeys(ASKED, range(OFFERED))
#: Sets whose numbers take from one byte to five.
SETS = ((), (0,), range(17), range(0, 4000, 13), (5, 511, 1 << 17, 1 << 31),
        ((1 << 32) - 1,), range(1 << 28, 1 << 32, 1 << 29))
#: Sets of several devices and policies.
SHARED_SETS = [SharedSet(items) for items in (
    (), [(0, 'sda', 0)], [(0, 'd', each) for each in range(0, 4000, 13)],
    [(policy, name, each) for policy in (0, 1, 65535)
     for name in ('sda', 'sdb1', 'd\xefsk') for each in (0, 7, 1 << 31)])]
DEVICES = 2
DIGEST = '0123456789abcdef' * 2
SUFFIXES = [], ['abc'], ['000', '001', 'fff']
#: Lines of an offer, as ssync writes them.
LINE = DIGEST.encode() + b' 1700000000.00005'
LINES = [], [LINE], [LINE + end for end in (
    b'', b'_00000000000000ff', b' m:ff', b' m:ff__5', b' m:ffffffff,t:1',
    b'_0000000000000001 m:0__1,t:ff__2')]
#: Partitions that messages speak of.
SOME = (), (7,), (1, 5, 4095)


def _of_each(values):
    """Return dicts of partitions, with each of some values."""
    return [dict.fromkeys(partitions, value)
            for partitions in SOME for value in values]


def root_messages():
    return [sync_message.encode_roots(items, RootTree(
        shared_set.leaf_of(item, DIGEST) for item in items).slice_roots(
            count), with_list=with_list) for items in SHARED_SETS
        for count in (1, 2, len(items)) for with_list in (True, False)]


def largest_roots():
    for low in (0, (1 << 32) - MOST):
        items = SharedSet((0, 'sda', each) for each in range(low, low + MOST))
        for count in (1, 512, MOST):
            yield sync_message.encode_roots(items, [DIGEST] * count)


def largest_suffix_hashes():
    hashes = {'%03x' % suffix: DIGEST for suffix in range(4096)}
    yield exchange.encode_suffix_hashes(dict.fromkeys(range(64), hashes))


def largest_offer():
    yield missing.encode_offer({
        each: [LINE] * (missing.MAX_OBJECTS // 2) for each in (1, 2)})


def large_sets():
    """Yield sets with all gaps long, or none, and one that is too long."""
    yield from (bytes(MOST), b'\x80' * 5 * MOST, b'\xff\x7f' * MOST,
                b'\x01' * (MOST + 1))


def roots_reader():
    """Return a parser like the object-server, which remembers sets."""
    known = known_sets.KnownSets()

    def parse(data):
        message = sync_message.decode_roots(data)
        partitions = known.find(message)
        if partitions is not None:
            conversation.differing_slices(partitions, message.roots, {})
        return message
    return parse


def root_replies():
    ready = DeviceState(Condition.READY, 7)
    yield sync_message.encode_reply(sync_message.Verdict.UNKNOWN_SET)
    for differing in ([], [0], [1, 5 | conversation.UNREAD, 299]):
        yield sync_message.encode_reply(
            sync_message.Verdict.COMPARED, differing, [ready] * DEVICES)
    for condition in (Condition.UNMOUNTED, Condition.NOT_YET):
        yield sync_message.encode_reply(
            sync_message.Verdict.NOT_YET, (),
            [ready, DeviceState(condition, 0xffffffff)])


def encode_reply(found):
    verdict, reply = found
    return sync_message.encode_reply(verdict, reply.differing,
                                       reply.states)


class _Named(SimpleNamespace):
    """A set of which only the digest is known."""

    def __len__(self):
        return self.count


def encode_roots(message):
    named = message.partitions is None
    return sync_message.encode_roots(
        _Named(digest=message.digest, count=message.count, encoded=b'')
        if named else message.partitions, message.roots, with_list=not named)


def decode_set(data):
    """Decode it with the count that a peer would say, to get past that."""
    return shared_set.decode_numbers(data, sum(byte < 0x80 for byte in data))


def _message(name, examples, parse, encode,
             longest=sync_message.MAX_BYTES, memory=100, **more):
    return Target(
        name, examples, parse, (sync_message.SyncMessageError,
                                shared_set.PartitionSetError),
        longest, memory=memory, encode=encode, finish=repair_crc, **more)


TARGETS = (
    _message('roots', root_messages(), roots_reader(), encode_roots,
             # A byte may stand for an item of three.
             memory=200, large=largest_roots),
    _message('reply', [*root_replies()],
             lambda data: sync_message.decode_reply(data, SLICES, DEVICES),
             encode_reply),
    _message('suffixes', [exchange.encode_suffixes(each[:LARGEST_EXCHANGE])
                          for each in SETS],
             exchange.decode_suffixes, exchange.encode_suffixes),
    _message('suffix-hashes', [
        exchange.encode_suffix_hashes(each) for each in _of_each(
            [dict.fromkeys(suffixes, DIGEST) for suffixes in SUFFIXES])],
             lambda data: exchange.decode_suffix_hashes(data, ASKED),
             exchange.encode_suffix_hashes, large=largest_suffix_hashes),
    _message('rehash', [*map(exchange.encode_rehash, _of_each(SUFFIXES))],
             exchange.decode_rehash, exchange.encode_rehash,
             exchange.MAX_REHASH_BYTES),
    # Swift's functions read the lines: two may mean the same.
    _message('offer', [*map(missing.encode_offer, _of_each(LINES))],
             missing.decode_offer, None, missing.MAX_OFFER_BYTES,
             large=largest_offer),
    _message('wanted', [*map(missing.encode_wanted, _of_each(
        [(OFFERED, each) for each in ([], [0], [1, 5, OFFERED - 1])]))],
             lambda data: missing.decode_wanted(data, OFFER),
             missing.encode_wanted),
    Target('partition-set', [*map(shared_set.encode_numbers, SETS)],
           decode_set, (shared_set.PartitionSetError,), 5 * MOST, 100,
           encode=shared_set.encode_numbers, large=large_sets),
)
