# SPDX-License-Identifier: Apache-2.0
"""config: COSBench's key=value texts."""

import unittest
from enum import Enum

from hypothesis import given
from hypothesis import strategies as st

from cosbench.errors import ConfigError
from cosbench.workload.config import Config

KEYS = st.text('abcXYZ_-09', min_size=1)
VALUES = st.text(st.characters(exclude_characters=';',
                               exclude_categories=['Cs'])).map(str.strip)


class Colour(Enum):

    RED = 'red'
    BLUE = 'blue'


class TestParsing(unittest.TestCase):

    def test_the_first_equals_sign_splits_and_blanks_are_trimmed(self):
        config = Config.parse(' secretkey = AAA== ;;\n b=1;c=;')
        self.assertEqual({'secretkey': 'AAA==', 'b': '1', 'c': ''},
                         dict(config))

    def test_keys_match_in_any_case(self):
        config = Config.parse('hashcheck=true;Sizes=c(1)KB')
        self.assertTrue(config.flag('hashCheck'))
        self.assertEqual('c(1)KB', config.text('sizes'))
        self.assertIn('SIZES', config)

    def test_an_entry_without_a_key_and_equals_is_kept_apart(self):
        config = Config.parse('a=1;none; =x')
        self.assertEqual((('a', '1'),), tuple(config.items()))
        self.assertEqual(('none', '=x'), config.ignored)

    def test_what_is_laid_over_or_comes_later_wins(self):
        self.assertEqual('2', Config.parse('A=1;a=2')['a'])
        self.assertEqual({}, dict(Config.parse(None)))
        over = Config.parse('b=3;c=4').over(Config.parse('a=1;B=2'))
        self.assertEqual({'a': '1', 'b': '3', 'c': '4'}, dict(over))

    def test_its_representation_hides_values(self):
        self.assertNotIn('hush', repr(Config.parse('password=hush')))

    @given(st.dictionaries(KEYS.map(str.lower), VALUES))
    def test_what_is_written_is_read_again(self, pairs):
        config = Config(pairs.items())
        self.assertEqual(pairs, dict(Config.parse(str(config))))

    @given(st.text())
    def test_any_text_is_a_config(self, text):
        for value in Config.parse(text).values():
            self.assertEqual(value.strip(), value)


class TestGetters(unittest.TestCase):

    def setUp(self):
        self.config = Config.parse(
            'n=7;far=99999999999999999999;sign=-1;word=x;yes=Yes;p=0.5;'
            'nan=nan;red=RED;arabic=\u0663')

    def refused(self, *words):
        """A ConfigError that names the words."""
        return self.assertRaisesRegex(ConfigError, '.*'.join(words))

    def test_values_have_types(self):
        self.assertEqual(7, self.config.integer('n'))
        self.assertIs(True, self.config.flag('yes'))
        self.assertEqual(0.5, self.config.fraction('p'))
        self.assertIs(Colour.RED, self.config.choice('red', Colour))

    def test_an_absent_key_has_its_default(self):
        self.assertEqual(3, self.config.integer('absent', 3))
        self.assertIs(None, self.config.flag('absent', None))
        for get in (self.config.text, self.config.integer):
            with self.refused('absent is missing'):
                get('absent')

    def test_an_error_names_key_value_and_what_is_allowed(self):
        for key in ('far', 'sign', 'word', 'arabic'):
            with self.refused(key, 'must be an integer from 0 to'):
                self.config.integer(key)
        with self.refused("n='7'", 'from 8 to 9'):
            self.config.integer('n', least=8, most=9)
        with self.refused("word='x'", 'true, yes, on'):
            self.config.flag('word')
        with self.refused("nan='nan'", 'number from 0 to 1'):
            self.config.fraction('nan')
        with self.refused("word='x'", 'one of red, blue'):
            self.config.choice('word', Colour)

    def test_an_error_shows_one_short_line(self):
        config = Config.parse('n=' + 'a\n' * 1000)
        with self.assertRaises(ConfigError) as raised:
            config.integer('n')
        self.assertNotIn('\n', str(raised.exception))
        self.assertLess(len(str(raised.exception)), 200)
