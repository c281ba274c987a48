# SPDX-License-Identifier: Apache-2.0
"""Messages of all kinds: whatever is damaged is refused."""


from hypothesis import given, settings
from hypothesis import strategies as st

from swift_lightsync.sync.wire.sync_message import (
    SyncMessageError,
    Verdict,
    decode_reply,
    decode_roots,
    encode_reply,
    encode_roots,
    pack,
)
from tests.unit.sync import test_exchange_message as exchange
from tests.unit.sync import test_missing_message as missing
from tests.unit.sync.damage import MessageTestCase
from tests.unit.sync.test_sync_message import EXAMPLE, HUGE, ROOTS, STATES


def reply(verdict, differing):
    states = STATES if verdict is Verdict.COMPARED else ()
    return (encode_reply(verdict, differing, states),
            lambda data: decode_reply(data, HUGE, 2))


#: Each kind: a message, and what reads it.
KINDS = {
    'roots': (encode_roots(EXAMPLE, ROOTS), decode_roots),
    'roots, a digest': (encode_roots(EXAMPLE, ROOTS, False), decode_roots),
    'a reply': reply(Verdict.COMPARED, [0, 2]),
    'a reply, equal': reply(Verdict.COMPARED, []),
    'a reply, unknown': reply(Verdict.UNKNOWN_SET, []),
    **exchange.KINDS, **missing.KINDS}


class TestDamage(MessageTestCase):

    def each(self):
        for name, (data, decode) in KINDS.items():
            with self.subTest(name):
                yield data, decode

    def test_every_truncation_is_refused(self):
        for data, decode in self.each():
            for length in range(len(data)):
                self.assert_refused(decode, data[:length])

    def test_every_flipped_bit_is_refused(self):
        for data, decode in self.each():
            for bit in range(8 * len(data)):
                flipped = bytearray(data)
                flipped[bit // 8] ^= 1 << bit % 8
                self.assert_refused(decode, bytes(flipped))

    def test_every_truncation_within_a_sound_frame_is_refused(self):
        for data, decode in self.each():
            fields = data[6:-4]
            for length in range(len(fields)):
                self.assert_refused(decode, pack(data[5], fields[:length]))

    def test_bytes_that_follow_are_refused(self):
        for data, decode in self.each():
            for more in (b'\0', bytes(6), bytes(24)):
                self.assert_refused(decode, data + more, 'CRC')
                self.assert_refused(decode, pack(data[5], data[6:-4], more),
                                    'bytes|length')

    def test_the_message_of_another_kind_is_refused(self):
        for data, decode in self.each():
            for other, _ in KINDS.values():
                if other[5] != data[5]:
                    self.assert_refused(decode, other, 'kind is|bytes, must')

    @given(st.sampled_from(sorted(KINDS)), st.binary(max_size=200))
    @settings(max_examples=500)
    def test_any_fields_give_a_message_or_an_error_that_says_why(
            self, name, fields):
        data, decode = KINDS[name]
        try:
            decode(pack(data[5], fields))
        except SyncMessageError as err:
            self.assertTrue(str(err))
