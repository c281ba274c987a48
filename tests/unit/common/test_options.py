# SPDX-License-Identifier: Apache-2.0
"""options: what is allowed, and what an operator reads of what is not."""

import subprocess
import sys
import unittest
from dataclasses import FrozenInstanceError, dataclass
from enum import Enum

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common.options import (
    FALSE_VALUES,
    TRUE_VALUES,
    OptionError,
    Options,
    absolute_path,
    boolean,
    choice,
    comma_list,
    integer,
    number,
    option,
    positive_seconds,
    read_option,
    seconds,
)


class Colour(Enum):
    RED = 'red'
    BLUE = 'blue'


@dataclass(frozen=True)
class Plain(Options):
    count: int = option(4, integer(1, 10))
    share: float = option(0.5, number(0, 1))
    colour: Colour = option(Colour.RED, choice(Colour))
    is_on: bool = option(True, boolean)


@dataclass(frozen=True)
class Prefixed(Options):
    PREFIX = 'losf_'
    more: Plain
    path: str = option('', absolute_path)


class TestOptions(unittest.TestCase):

    def test_what_is_not_set_has_its_default(self):
        self.assertEqual(Plain(), Plain.from_conf({}))

    def test_what_is_set_is_parsed_and_the_rest_is_others(self):
        self.assertEqual(Plain(7, 1.0, Colour.BLUE, False), Plain.from_conf(
            {'count': '7', 'share': '1', 'colour': 'blue', 'is_on': 'No',
             'unknown': 'x', 'losf_count': 'y'}))

    def test_a_prefix_and_fields_that_are_no_options(self):
        self.assertEqual(
            Prefixed(Plain(), '/a'),
            Prefixed.from_conf({'losf_path': '/a', 'path': 'b'},
                               more=Plain()))

    def test_options_do_not_change(self):
        with self.assertRaises(FrozenInstanceError):
            Plain().count = 5

    def test_what_is_not_allowed_is_told_with_all_an_operator_needs(self):
        for conf, text in (
                ({'count': '0', '__file__': '/etc/o.conf'},
                 '/etc/o.conf: count = 0: must be a whole number, 1 to 10'),
                ({'share': 'nan'},
                 'configuration: share = nan: must be 0 to 1'),
                ({'colour': 'x'},
                 'configuration: colour = x: must be red or blue'),
                ({'is_on': None},
                 'configuration: is_on = None: must be true or false')):
            with self.assertRaises(OptionError) as caught:
                Plain.from_conf(conf)
            self.assertEqual(text, str(caught.exception))
        with self.assertRaisesRegex(OptionError, 'losf_path = b: '):
            Prefixed.from_conf({'losf_path': 'b'}, more=Plain())

    def test_an_error_of_the_parser_itself_is_not_hidden(self):
        with self.assertRaises(ZeroDivisionError):
            read_option({'n': '0'}, 'n', 5, lambda value: 1 / int(value))

    def test_the_default_is_parsed_as_well(self):
        self.assertEqual(5, read_option({}, 'n', '5', int))

    def test_uncaught_it_ends_the_process_with_one_line(self):
        done = subprocess.run(
            [sys.executable, '-c', 'from swift_lightsync.common.options '
             'import *; read_option({"n": "x"}, "n", 1, integer(1))'],
            capture_output=True, text=True, timeout=120)
        self.assertEqual(
            (1, 'Error: configuration: n = x: must be a whole number, at '
             'least 1\n'), (done.returncode, done.stderr))

    def test_it_can_be_caught_as_the_error_of_a_value(self):
        self.assertTrue(issubclass(OptionError, ValueError))


class TestParsers(unittest.TestCase):

    def check(self, parse, allowed, refused, reason):
        for value, parsed in allowed:
            found = parse(value)
            self.assertEqual((parsed, type(parsed)), (found, type(found)))
        for value in refused:
            with self.assertRaisesRegex(ValueError, '^%s$' % reason,
                                        msg=value):
                parse(value)

    def test_whole_numbers(self):
        self.check(integer(2, 10), (('2', 2), (' 10 ', 10), (7, 7)),
                   ('1', '11', '-3', '2.5', 'nan', 'inf', 'x', '', None,
                    float('inf'), float('nan')),
                   'must be a whole number, 2 to 10')
        self.check(integer(2), (('2', 2), ('9' * 30, int('9' * 30))),
                   ('1', 'x', '', None), 'must be a whole number, at least 2')

    def test_numbers(self):
        self.check(number(0.5, 10), (('0.5', 0.5), ('10', 10.0), (7, 7.0)),
                   ('0.49', '10.1', '-3', 'nan', 'inf', 'x', '', None,
                    10 ** 400), 'must be 0.5 to 10')

    def test_durations(self):
        self.check(seconds, (('0', 0.0), ('1.5', 1.5), (3, 3.0)),
                   ('-1', 'nan', 'inf', '-inf', 'x', '', None),
                   'must be a number of seconds from 0')
        self.check(positive_seconds, (('0.1', 0.1), ('1e9', 1e9)),
                   ('0', '-1', 'nan', 'inf', 'x', '', None),
                   'must be a number of seconds above 0')

    def test_booleans(self):
        self.check(boolean, [(each.upper() + ' ', True)
                             for each in TRUE_VALUES]
                   + [(each, False) for each in FALSE_VALUES]
                   + [(True, True), (False, False)],
                   ('', 'ja', '2', None), 'must be true or false')

    def test_lists(self):
        self.check(comma_list(integer(0, 9)),
                   (('1', (1,)), (' 2 ,3', (2, 3))), ('', '1,,2', '1,10'),
                   'must be a whole number, 0 to 9')

    def test_paths(self):
        self.check(absolute_path, (('', ''), ('/a', '/a')), ('a', './a'),
                   'must be an absolute path, or empty')

    @given(st.integers(), st.integers(), st.integers())
    def test_a_number_is_parsed_or_refused_by_its_bounds(self, least, value,
                                                         most):
        try:
            self.assertEqual(value, integer(least, most)(str(value)))
            self.assertTrue(least <= value <= most)
        except ValueError:
            self.assertFalse(least <= value <= most)
