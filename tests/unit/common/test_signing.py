# SPDX-License-Identifier: Apache-2.0
"""signing: only who has the key, only now, and only once."""

import hashlib
import hmac
import math
import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common.signing import (
    Nonces,
    SignatureError,
    check_time,
    digest,
    is_same,
    sign,
)

KEY = b'k' * 32
PARTS = st.lists(st.text(st.characters(exclude_characters='\n')), min_size=1)
WINDOW = 10


class TestSign(unittest.TestCase):

    def test_it_is_hmac_over_lines(self):
        self.assertEqual(
            hmac.new(KEY, b'request\nPOST\n/v1/a\n1700000000\n\xff',
                     hashlib.sha256).hexdigest(),
            sign(KEY, 'request', 'POST', '/v1/a', 1700000000, '\udcff'))
        self.assertEqual(hashlib.sha256(b'x').hexdigest(), digest(b'x'))

    @given(PARTS, PARTS)
    def test_other_parts_or_another_key_have_another_signature(self, one,
                                                               other):
        try:
            macs = [sign(KEY, *parts) for parts in (one, other)]
        except UnicodeEncodeError:
            return
        self.assertEqual(one == other, macs[0] == macs[1])
        self.assertNotEqual(macs[0], sign(b'other', *one))

    def test_a_part_cannot_be_two(self):
        with self.assertRaisesRegex(SignatureError, "'a.nb', must hold no"):
            sign(KEY, 'a\nb')

    def test_whatever_a_message_says_is_compared(self):
        for expected, found, same in (
                ('ab', 'ab', True), (b'ab', 'ab', True), ('ab', b'ab', True),
                ('ab', 'ac', False), ('ab', '', False), ('ab', 'ä\udcff',
                                                         False)):
            self.assertEqual(same, is_same(expected, found))


class TestTime(unittest.TestCase):

    def test_a_window_in_both_directions_is_allowed(self):
        for signed_at in (90, 110, 100.5):
            check_time(signed_at, 100, WINDOW)
        for signed_at in (89, 111, math.inf):
            with self.assertRaises((SignatureError, OverflowError)):
                check_time(signed_at, 100, WINDOW)
        with self.assertRaisesRegex(
                SignatureError, '^it was signed at 89, here it is 100; at '
                'most 10 s may be between$'):
            check_time(89, 100, WINDOW)


class TestNonces(unittest.TestCase):

    def test_one_is_taken_once(self):
        nonces = Nonces(WINDOW, 9)
        nonces.add('a', 1000)
        nonces.add('b', 1000)
        with self.assertRaisesRegex(SignatureError, 'sent before'):
            nonces.add('a', 1001)

    def test_it_is_kept_exactly_as_long_as_its_time_is_good(self):
        nonces = Nonces(WINDOW, 9)
        nonces.add('a', 1000)
        check_time(1000 + WINDOW, 1000 + 2 * WINDOW, WINDOW)
        with self.assertRaises(SignatureError):
            nonces.add('a', 1000 + 2 * WINDOW)
        with self.assertRaises(SignatureError):
            check_time(1000 + WINDOW, 1000.1 + 2 * WINDOW, WINDOW)
        nonces.add('a', 1000.1 + 2 * WINDOW)

    def test_where_there_are_too_many_none_is_forgotten(self):
        nonces = Nonces(WINDOW, 2)
        nonces.add('a', 1000)
        nonces.add('b', 1000)
        for name, reason in (('c', 'more than 2 requests in 20 s'),
                             ('a', 'sent before')):
            with self.assertRaisesRegex(SignatureError, reason):
                nonces.add(name, 1001)
        nonces.add('c', 1001 + 2 * WINDOW)
        self.assertEqual(1, len(nonces))

    @given(st.lists(st.tuples(st.sampled_from('abcdef'), st.integers(0, 7))))
    def test_none_is_taken_twice_while_its_time_is_good(self, steps):
        nonces, taken, now = Nonces(WINDOW, 99), {}, 0
        for nonce, pause in steps:
            now += pause
            known = nonce in taken and now <= taken[nonce] + 2 * WINDOW
            try:
                nonces.add(nonce, now)
                self.assertFalse(known)
                taken[nonce] = now
            except SignatureError:
                self.assertTrue(known)
