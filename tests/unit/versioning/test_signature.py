# SPDX-License-Identifier: Apache-2.0
"""signature.py: what is refused, and what not."""

import unittest
from dataclasses import replace

from swift_lightsync.versioning.core.signature import (
    WINDOW,
    Claim,
    SignatureError,
    answer_mac,
    check,
    trailer,
)

KEY = b'k' * 32
OTHER = b'o' * 32
CLAIM = Claim.of('paris', 1700000000, '0123456789abcdef' * 2,
                 b'{"verb":"offer"}')
SIGNED = CLAIM.signed(KEY, 'rome', 1000)


class TestRequest(unittest.TestCase):

    def verify(self, claim=SIGNED, keys=(KEY,), receiver='rome', length=1000,
               late=0):
        return claim.verify(keys, receiver, length, CLAIM.time + late)

    def test_the_key_that_signed_is_found(self):
        self.assertEqual(KEY, self.verify(keys=[OTHER, KEY]))

    def test_another_key_does_not_fit(self):
        for keys in ((), (OTHER,)):
            with self.assertRaises(SignatureError) as caught:
                self.verify(keys=keys)
            self.assertIn('site paris', str(caught.exception))

    def test_each_field_is_signed(self):
        for fields in (
                {'sender': 'oslo'}, {'time': CLAIM.time + 1},
                {'nonce': 'f' * 32}, {'length': 99}, {'digest': 'a' * 64}):
            with self.subTest(fields), self.assertRaises(SignatureError):
                self.verify(replace(SIGNED, **fields))
        for of_request in ({'receiver': 'oslo'}, {'length': 1001}):
            with self.subTest(of_request), \
                    self.assertRaises(SignatureError):
                self.verify(**of_request)

    def test_it_is_good_for_the_window_both_ways_and_no_longer(self):
        for late in (0, WINDOW, -WINDOW):
            self.verify(late=late)
        for late in (WINDOW + 1, -WINDOW - 1):
            with self.assertRaises(SignatureError):
                self.verify(late=late)

    def test_another_head_is_refused(self):
        SIGNED.check_head(b'{"verb":"offer"}')
        with self.assertRaises(SignatureError):
            SIGNED.check_head(b'{"verb":"ship"}')

    def test_a_signature_of_one_kind_is_none_of_another(self):
        self.assertNotEqual(trailer(KEY, SIGNED.mac, 'd').decode(),
                            answer_mac(KEY, SIGNED.mac, 200, b'd'))

    def test_the_trailer_depends_on_the_request_and_the_data(self):
        found = {trailer(key, mac, digest) for key in (KEY, OTHER)
                 for mac in ('a', 'b') for digest in ('c', 'd')}
        self.assertEqual(8, len(found))

    def test_the_answer_depends_on_request_status_and_body(self):
        found = {answer_mac(KEY, mac, status, body) for mac in ('a', 'b')
                 for status in (200, 409) for body in (b'c', b'd')}
        self.assertEqual(8, len(found))

    def test_check_takes_the_same_and_nothing_else(self):
        check('ab', b'ab', 'x')
        for found in ('ac', '', 'abc', 'ä'):
            with self.assertRaises(SignatureError) as caught:
                check('ab', found, 'the answer')
            self.assertIn('the answer', str(caught.exception))


class TestClaim(unittest.TestCase):

    def test_what_is_written_is_read(self):
        self.assertEqual(SIGNED, Claim.parse(str(SIGNED)))

    def test_what_is_none_is_refused_and_shown(self):
        good = str(SIGNED)
        for bad in ('', 'x', good + 'a', good[:-1], good.upper(),
                    good.replace('paris', '-paris'),
                    good.replace('paris', 'pa ris'), good + '\n',
                    good.replace('1700000000', '1e9'),
                    good.replace(' 16 ', ' 016 '),
                    good.replace(' 16 ', ' -1 '), 'ü' * 1000):
            with self.subTest(bad):
                with self.assertRaises(SignatureError) as caught:
                    Claim.parse(bad)
                self.assertLess(len(str(caught.exception)), 500)
