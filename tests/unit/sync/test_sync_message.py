# SPDX-License-Identifier: Apache-2.0
"""sync_message: the bytes, and what is not let through."""

import re
import struct
import unittest
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.conversation import (
    UNREAD,
    Condition,
    DeviceState,
    SharedReply,
)
from swift_lightsync.sync.core.shared_set import (
    MAX_PARTITIONS,
    SECTION,
    SharedSet,
)
from swift_lightsync.sync.wire.sync_message import (
    MAX_BYTES,
    STATE,
    Form,
    Roots,
    SyncMessageError,
    Verdict,
    decode_reply,
    decode_roots,
    encode_reply,
    encode_roots,
)
from tests.unit.sync import documented
from tests.unit.sync.damage import MessageTestCase, allocated
from tests.unit.sync.verbs import slice_roots

ROOT = st.binary(min_size=16, max_size=16).map(bytes.hex)
ITEMS = st.tuples(st.integers(0, 2), st.sampled_from(['sda', 'sd ü']),
                  st.integers(0, 2 ** 32 - 1))
SETS = st.sets(ITEMS, max_size=30).map(SharedSet)


def of_device(partitions):
    return SharedSet((0, 'sda', partition) for partition in partitions)


EXAMPLE = of_device((9, 300, 4660))
#: How the devices of a reply are.
STATES = [DeviceState(Condition.READY, 7), DeviceState(Condition.READY)]
ROOTS = ('0453ca733495ca919803e8a00f71ddfb', 'ab' * 16, 'cd' * 16)
HUGE = 2 ** 32 - 1


def crc(body, value=None):
    return body + struct.pack('<I', crc32(body) if value is None else value)


def section(partitions=b'\x05', count=1):
    return SECTION.pack(0, 3, count, len(partitions)) + b'sda' + partitions


def message(magic=b'LSYN', version=1, kind=1, form=1, count=1, name=section(),
            length=None, slices=1, roots=bytes(16), extra=b'', value=None):
    """A message with whatever is wrong with it."""
    return crc(struct.pack('<4sBBHIII', magic, version, kind, form, count,
                           len(name) if length is None else length, slices)
               + name + roots + extra, value)


def reply(verdict=1, count=None, slices=(), kind=2, devices=0, states=b''):
    return crc(struct.pack('<4sBBHII', b'LSYN', 1, kind, verdict,
                           len(slices) if count is None else count, devices)
               + struct.pack('<%dI' % len(slices), *slices) + states)


def answered(data, slices=HUGE, devices=0):
    """What a reply says of the slices."""
    verdict, found = decode_reply(data, slices, devices)
    return verdict, found.differing


class TestTheDocument(unittest.TestCase):

    def test_the_example_is_what_is_sent_and_answered(self):
        asked, differs, equal = documented.example_messages()
        partitions = of_device([int(documented.found(
            r'^A message about partition (\d+) of sda with the root of'))])
        root = documented.found(r'^    root .*= ([0-9a-f]{32})$')
        roots = slice_roots(partitions, 1, {partitions[0]: root})
        self.assertEqual(asked, encode_roots(partitions, roots))
        self.assertEqual(Roots(roots, 1, partitions), decode_roots(asked))
        for data, named in ((differs, [0]), (equal, [])):
            self.assertEqual(data, encode_reply(Verdict.COMPARED, named,
                                                STATES[:1]))
            self.assertEqual(
                (Verdict.COMPARED, SharedReply(True, named, STATES[:1])),
                decode_reply(data, 1, 1))

    def test_the_limit_is_the_documented_one(self):
        self.assertEqual(
            documented.found(r'one above ([\d,]+) bytes'),
            format(MAX_BYTES, ','))

    def test_the_fields_are_the_documented_ones(self):
        section, sent, answered = re.findall(
            r'^\| bytes \| field \| value \|\n\|---\|---\|---\|\n'
            r'((?:\|.*\n)+)', documented.protocol(), re.M)

        def size(table):
            # Rows of one size, or of several with one size each; what is
            # counted by another field is not there.
            return sum(int(number) for row in table.splitlines()
                       for number in re.findall(
                           r'\d+(?! ×)', row.split('|')[1])
                       if '×' not in row.split('|')[1])

        self.assertEqual(SECTION.size, size(section))
        nothing = SharedSet(())
        self.assertEqual(len(encode_roots(nothing, ())), size(sent))
        self.assertEqual(len(encode_reply(Verdict.COMPARED)), size(answered))

    def test_forms_and_verdicts_are_the_documented_ones(self):
        form = documented.found(r'^\| 2 \| form \| (.*) \|$')
        self.assertEqual('1: the set itself follows; 2: its digest', form)
        self.assertEqual((1, 2), (Form.LIST, Form.DIGEST))
        verdict = documented.found(r'^\| 2 \| verdict \| (.*) \|$')
        self.assertEqual(
            '1: compared; 2: the digest is unknown, send the set; 3: not yet',
            verdict)
        self.assertEqual((1, 2, 3), (Verdict.COMPARED, Verdict.UNKNOWN_SET,
                                     Verdict.NOT_YET))

    def test_a_stable_cluster_needs_some_60_bytes(self):
        data = encode_roots(of_device(range(MAX_PARTITIONS)), ROOTS[:1],
                            with_list=False)
        self.assertEqual(60, round(len(data), -1))


class TestRoundTrip(unittest.TestCase):

    @given(SETS, st.data())
    def test_roots_with_the_set(self, partitions, data):
        asked = data.draw(st.integers(0, len(partitions)))
        count = len(partitions.slices(asked))
        roots = tuple(data.draw(st.lists(ROOT, min_size=count,
                                         max_size=count)))
        found = decode_roots(encode_roots(partitions, roots))
        self.assertEqual(Roots(roots, len(partitions), partitions), found)

    def test_roots_with_the_digest_only(self):
        self.assertEqual(
            Roots(ROOTS, 3, digest=EXAMPLE.digest),
            decode_roots(encode_roots(EXAMPLE, ROOTS, with_list=False)))

    @given(st.sets(st.integers(0, 999)).map(sorted), st.integers(0, 99))
    def test_replies(self, differing, more):
        slices = (differing[-1] + 1 if differing else 0) + more
        self.assertEqual(
            (Verdict.COMPARED, SharedReply(True, differing, STATES)),
            decode_reply(encode_reply(Verdict.COMPARED, differing, STATES),
                         slices, 2))

    def test_a_reply_that_the_set_is_unknown(self):
        self.assertEqual(
            (Verdict.UNKNOWN_SET, []),
            answered(encode_reply(Verdict.UNKNOWN_SET), 3, 2))

    @given(st.binary(max_size=60), st.integers(0, 4), st.integers(0, 4),
           st.sampled_from((1, 2)))
    def test_what_is_let_through_encodes_to_the_same_bytes(
            self, name, count, slices, form):
        data = message(form=form, name=name, count=count, slices=slices,
                       roots=bytes(16 * slices))
        try:
            found = decode_roots(data)
        except SyncMessageError:
            return
        if found.partitions is not None:
            self.assertEqual(data, encode_roots(found.partitions,
                                                found.roots))
        else:
            self.assertEqual(name, found.digest)

    def test_as_many_partitions_as_allowed_in_the_longest_form(self):
        step = 2 ** 32 // MAX_PARTITIONS
        partitions = of_device(range(0, 2 ** 32, step))
        roots = ('cd' * 16,) * MAX_PARTITIONS
        data = encode_roots(partitions, roots)
        self.assertLessEqual(len(data), MAX_BYTES)
        found = decode_roots(data)
        self.assertEqual((partitions, roots),
                         (found.partitions, found.roots))


class TestRefused(MessageTestCase):

    def refused(self, data, reason=''):
        self.assert_refused(decode_roots, data, reason)

    def reply_refused(self, data, reason, slices=3):
        self.assert_refused(lambda data: answered(data, slices), data, reason)

    def test_each_field_is_named_with_its_value(self):
        self.assertTrue(issubclass(SyncMessageError, ValueError))
        self.assertEqual(of_device([5]), decode_roots(message()).partitions)
        self.refused(message(magic=b'LSYM'), 'magic .*LSYM.*LSYN')
        self.refused(message(version=2), 'version is 2, must be 1')
        self.refused(message(kind=2), 'kind is 2, must be 1')
        self.refused(message(form=0), 'form is 0, must be 1')
        self.refused(message(form=3), 'form is 3, must be 1')
        self.refused(message(value=0), 'CRC-32')
        self.refused(b'', r'0 bytes, must be \d+ to %d' % MAX_BYTES)
        self.refused(bytes(MAX_BYTES + 1), '%d bytes' % (MAX_BYTES + 1))
        self.reply_refused(reply(verdict=4), 'verdict is 4')
        self.reply_refused(reply(verdict=3), 'all is ready')
        self.reply_refused(reply(verdict=0), 'verdict is 0')

    def test_lengths_that_do_not_fit(self):
        for length in (0, 2, 21, HUGE):
            self.refused(message(length=length), 'length')
        for count in (0, 2, HUGE):
            self.reply_refused(reply(count=count, slices=(1,)), 'bytes for')

    def test_a_digest_of_another_length(self):
        for length in (0, 15, 17):
            self.refused(message(form=2, name=bytes(length)),
                         'length of the digest is %d, must be 16' % length)

    def test_a_set_that_is_none(self):
        self.refused(message(name=b'\x80'), 'set of partitions: .*ends')
        self.refused(message(name=section(b'\x80')),
                     'set of partitions: .*ends')
        self.refused(message(name=section(b'\x80\x00')), 'shortest form')
        self.refused(message(count=1, name=section(b'\0\0')),
                     '2 partitions, said to be 1')

    def test_slices_that_cannot_be(self):
        for count, slices in ((1, 0), (0, 1), (5, 0), (5, 6), (10, 6),
                              (10, 9), (17, 12), (1, HUGE), (HUGE, 0)):
            self.refused(
                message(form=2, name=bytes(16), count=count, slices=slices,
                        roots=b''),
                '%d roots of %d partitions' % (slices, count))

    def test_counts_that_are_huge_allocate_nothing(self):
        def hostile():
            for count in (MAX_PARTITIONS + 1, HUGE):
                for slices in (1, count):
                    for form in (1, 2):
                        for length in (None, HUGE):
                            yield decode_roots, message(
                                form=form, count=count, slices=slices,
                                name=b'\x05', length=length)
            for verdict in (1, 2):
                yield (answered,
                       reply(verdict=verdict, count=HUGE))

        for decode, data in hostile():
            self.assert_refused(decode, data)
            self.assertLess(allocated(decode, data), 1 << 17)

    def test_a_reply_with_a_slice_that_was_not_asked_for(self):
        self.assertEqual([0, 2], answered(reply(slices=(0, 2)), 3)[1])
        for slices in ((3,), (0, 7), (HUGE,), (3 | UNREAD,)):
            self.reply_refused(reply(slices=slices), 'slice %d differs'
                               % (slices[-1] & ~UNREAD))
        self.reply_refused(reply(slices=(0,)), 'slice 0', slices=0)

    def test_a_reply_that_descends_or_repeats(self):
        for slices in ((2, 1), (1, 1), (0, 2, 1), (1, 1 | UNREAD)):
            self.reply_refused(reply(slices=slices), 'ascend')

    def test_a_reply_that_compared_nothing_and_names_slices(self):
        self.reply_refused(reply(verdict=2, slices=(1,)), 'slice 1')

    def test_devices_that_do_not_fit(self):
        for data, reason in (
                (reply(devices=1, states=bytes(5)), '1 devices, 0'),
                (reply(verdict=2, devices=0), None)):
            if reason:
                self.reply_refused(data, reason)
            else:
                decode_reply(data, 3, 9)
        for states, reason in ((STATE.pack(9, 0), 'condition is 9'),
                               (b'', 'bytes for'), (bytes(6), 'bytes for')):
            self.assert_refused(
                lambda data: decode_reply(data, 3, 1),
                reply(devices=1, states=states), reason)
