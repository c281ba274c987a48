# SPDX-License-Identifier: Apache-2.0
"""text: what people read, whatever it is made of."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common.text import MAX_SHOWN, printable, short, shown


class TestText(unittest.TestCase):

    @given(st.recursive(
        st.none() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
    def test_any_value_is_one_short_line(self, value):
        self.assertLessEqual(len(shown(value)), MAX_SHOWN)
        self.assertTrue(shown(value).isprintable())

    def test_a_short_value_is_shown_whole(self):
        for value in (None, 5, 'a', ['10.0.0.1', 6200, 'sda'], {'a': 1},
                      'x' * (MAX_SHOWN - 2)):
            self.assertEqual(repr(value), shown(value))

    def test_a_terminal_is_not_steered(self):
        self.assertEqual('a?[2Jb??', printable('a\x1b[2Jb\n\u202e'))
        self.assertEqual('a\n?', printable('a\n\t', keep='\n'))

    def test_numbers_have_three_digits(self):
        self.assertEqual(
            ['1,230', '12.3', '1.23', '0.012', '0', '1e-05', '100', '-1.5'],
            [short(value) for value in (1230.4, 12.34, 1.234, .0123, 0, 1e-5,
                                        100, -1.5)])
