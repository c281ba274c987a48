# SPDX-License-Identifier: Apache-2.0
"""The names of files in a few bytes."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_losf.format.header import FormatError
from swift_losf.format.name_code import (
    decode_name,
    durable_code,
    durable_name,
    encode_name,
    other_name,
    supersedes,
)

TIMES = st.builds('{:010d}.{:05d}'.format, st.integers(0, 10 ** 10 - 1),
                  st.integers(0, 10 ** 5 - 1))
OFFSETS = st.one_of(st.just(''), st.builds(
    '_{:016x}'.format, st.integers(0, 2 ** 64 - 1)))
DIFFERENCES = st.one_of(st.just(''), st.builds(
    '{:+x}'.format, st.integers(-2 ** 59, 2 ** 59)))
FRAGMENTS = st.one_of(st.just(''), st.builds(
    '#{}{}'.format, st.integers(0, 255), st.sampled_from(['', '#d'])))
SWIFT_NAMES = st.builds(
    '{}{}{}{}{}'.format, TIMES, OFFSETS, DIFFERENCES, FRAGMENTS,
    st.sampled_from(['.data', '.meta', '.ts']))
PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126,
                                  exclude_characters='/'),
                    min_size=1, max_size=255)


class TestNameCode(unittest.TestCase):

    @given(st.one_of(SWIFT_NAMES, PRINTABLE))
    def test_a_name_comes_back(self, name):
        self.assertEqual(name, decode_name(encode_name(name)))

    @given(SWIFT_NAMES)
    def test_swifts_names_are_short(self, name):
        self.assertLessEqual(len(encode_name(name)), 1 + 7 + 8 + 8 + 1)

    def test_a_usual_name_is_eight_bytes(self):
        self.assertEqual(
            b'\1' + (170000000000001).to_bytes(7, 'big'),
            encode_name('1700000000.00001.data'))

    def test_names_that_only_look_like_swifts_keep_their_characters(self):
        for name in ('1.5.data', '1700000000.00001#007.data',
                     '1700000000.00001#256.data', '1700000000.00001#d.data',
                     '1700000000.00001_1.data', '11700000000.00001.data',
                     '1700000000.00001-0.meta', '1700000000.00001.DATA'):
            self.assertEqual(b'\0' + name.encode(), encode_name(name))

    def test_what_is_no_file_name_is_refused(self):
        for name in ('', 'x' * 256, 'a/b', 'a\n', 'caf\xe9', '\0'):
            with self.assertRaisesRegex(FormatError, '1 to 255 printable'):
                encode_name(name)

    def test_what_is_no_code_is_refused(self):
        good = encode_name('1700000000.00001#1.data')
        for code in (b'', b'\0', b'\0\xff', good[:-1], good + b'x',
                     b'\x10' + good[1:], b'\x51' + good[1:]):
            with self.assertRaises(FormatError):
                decode_name(code)

    def test_a_fragment_becomes_durable_once(self):
        durable = durable_name('1700000000.00001#1.data')
        self.assertEqual('1700000000.00001#1#d.data', durable)
        self.assertEqual(durable, durable_name(durable))
        self.assertEqual('1700000000.00001#1.data', other_name(durable))
        self.assertEqual(durable, other_name(other_name(durable)))
        self.assertEqual('', other_name('1700000000.00001.data'))
        for name in (durable, other_name(durable)):
            self.assertEqual(encode_name(durable),
                             durable_code(encode_name(name)))

    def test_what_is_newer_supersedes_as_swift_has_it(self):
        old, new = '1700000000.00001', '1700000000.00002'
        later = old + '_0000000000000001'
        for name, other in ((new + '.data', old + '.data'),
                            (new + '.ts', old + '.data'),
                            (new + '.data', old + '.ts'),
                            (new + '.data', old + '.meta'),
                            (new + '.meta', old + '.meta'),
                            (later + '.data', old + '.data'),
                            (new + '.data', later + '.data'),
                            (new + '+1f.meta', old + '.meta'),
                            (new + '#1#d.data', old + '#2#d.data'),
                            (new + '#1#d.data', old + '#2.data')):
            self.assertTrue(supersedes(name, other), (name, other))
            self.assertFalse(supersedes(other, name), (other, name))
        for name, other in ((new + '.meta', old + '.data'),
                            (new + '.meta', old + '.ts'),
                            (new + '#1.data', old + '#1#d.data'),
                            (new + '.data', new + '.data'),
                            (new + '#1#d.data', new + '#2#d.data'),
                            (new + '.data', 'unknown'),
                            ('unknown', old + '.data')):
            self.assertFalse(supersedes(name, other), (name, other))
