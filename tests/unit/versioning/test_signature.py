# SPDX-License-Identifier: Apache-2.0
"""signature.py: what is refused, and what not."""

import unittest
from dataclasses import replace

from swift_lightsync.versioning.core.signature import (
    PATH,
    WINDOW,
    Claim,
    HeadClaim,
    SignatureError,
    Signed,
    answer_mac,
    check,
    trailer,
)

KEY = b'k' * 32
OTHER = b'o' * 32
REQUEST = Signed('POST', PATH, 'paris', 'rome', 1700000000,
                 '0123456789abcdef' * 2, 1000,
                 HeadClaim.of(b'{"verb":"offer"}'))


class TestRequest(unittest.TestCase):

    def test_the_key_that_signed_is_found(self):
        mac = REQUEST.claim(KEY).mac
        self.assertEqual(KEY, REQUEST.key_of([OTHER, KEY], mac))

    def test_another_key_does_not_fit(self):
        with self.assertRaises(SignatureError) as caught:
            REQUEST.key_of([OTHER], REQUEST.mac(KEY))
        self.assertIn('site paris', str(caught.exception))

    def test_no_key_no_signature(self):
        with self.assertRaises(SignatureError):
            REQUEST.key_of([], REQUEST.mac(KEY))

    def test_each_field_is_signed(self):
        mac = REQUEST.mac(KEY)
        for name, value in (
                ('method', 'PUT'), ('path', '/v1/AUTH_a/d'),
                ('sender', 'oslo'), ('receiver', 'oslo'),
                ('time', REQUEST.time + 1), ('nonce', 'f' * 32),
                ('length', 1001), (
                    'head', HeadClaim.of(b'{"verb":"ship"}'))):
            with self.subTest(name):
                self.assertNotEqual(
                    mac, replace(REQUEST, **{name: value}).mac(KEY))

    def test_a_signature_of_one_kind_is_none_of_another(self):
        mac = REQUEST.mac(KEY)
        self.assertNotEqual(trailer(KEY, mac, 'd').decode(),
                            answer_mac(KEY, mac, 200, b'd'))

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
        claim = REQUEST.claim(KEY)
        self.assertEqual(claim, Claim.parse(str(claim)))

    def test_what_is_none_is_refused_and_shown(self):
        good = str(REQUEST.claim(KEY))
        for bad in ('', 'x', good + 'a', good[:-1], good.upper(),
                    good.replace('paris', '-paris'),
                    good.replace('paris', 'pa ris'), good + '\n',
                    good.replace('1700000000', '1e9'), 'ü' * 1000):
            with self.subTest(bad):
                with self.assertRaises(SignatureError) as caught:
                    Claim.parse(bad)
                self.assertLess(len(str(caught.exception)), 500)

    def test_it_is_good_for_the_window_both_ways_and_no_longer(self):
        claim = REQUEST.claim(KEY)
        for late in (0, WINDOW, -WINDOW):
            claim.check_time(claim.time + late)
        for late in (WINDOW + 1, -WINDOW - 1):
            with self.assertRaises(SignatureError):
                claim.check_time(claim.time + late)
