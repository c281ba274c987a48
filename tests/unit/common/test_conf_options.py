# SPDX-License-Identifier: Apache-2.0
"""Options: what is allowed, and what an operator reads of what is not."""

import unittest

from swift_lightsync.common.conf_options import (
    OptionError,
    between,
    finite_float,
    option,
)


class TestOption(unittest.TestCase):

    def test_a_value_is_parsed(self):
        self.assertEqual(7, option({'n': '7'}, 'n', 5, int))

    def test_the_default_is_parsed_as_well(self):
        self.assertEqual(5, option({}, 'n', '5', int))

    def test_what_the_parser_refuses_is_told_with_all_an_operator_needs(self):
        conf = {'__file__': '/etc/swift/object-server.conf', 'n': 'x'}
        with self.assertRaises(OptionError) as caught:
            option(conf, 'n', 5, int)
        self.assertEqual(
            '/etc/swift/object-server.conf: n = x: invalid literal for int() '
            "with base 10: 'x'", str(caught.exception))

    def test_a_value_of_another_type_is_told_too(self):
        with self.assertRaisesRegex(OptionError, 'configuration: n = None: '):
            option({'n': None}, 'n', 5, int)

    def test_an_error_of_the_parser_itself_is_not_hidden(self):
        with self.assertRaises(ZeroDivisionError):
            option({'n': '0'}, 'n', 5, lambda value: 1 / int(value))

    def test_it_can_be_caught_as_the_error_of_a_value(self):
        self.assertTrue(issubclass(OptionError, ValueError))

    def test_whole_numbers_between_two_are_allowed(self):
        parse = between(2, 10)
        for value, number in (('2', 2), ('10', 10), (7, 7)):
            self.assertEqual(number, parse(value))
        for value in ('1', '11', '-3', '2.5', 'nan', 'inf', 'x', '', None,
                      float('inf')):
            with self.assertRaisesRegex(
                    ValueError, '^must be a whole number, 2 to 10$',
                    msg=value):
                parse(value)

    def test_numbers_between_two_are_allowed(self):
        parse = between(0.5, 10, float)
        for value, number in (('0.5', 0.5), ('10', 10), (7, 7)):
            self.assertEqual(number, parse(value))
        for value in ('0.49', '10.1', '-3', 'nan', 'inf', 'x', '', None):
            with self.assertRaisesRegex(ValueError, '^must be 0.5 to 10$',
                                        msg=value):
                parse(value)

    def test_finite_numbers_from_zero_are_allowed(self):
        for value, number in (('0', 0), ('1.5', 1.5), ('1e9', 1e9), (3, 3)):
            self.assertEqual(number, finite_float(value))
        for value in ('-1', 'nan', 'inf', '-inf', 'x', ''):
            with self.assertRaises(ValueError, msg=value):
                finite_float(value)


if __name__ == '__main__':
    unittest.main()
