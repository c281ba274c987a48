# SPDX-License-Identifier: Apache-2.0
"""Options: what is allowed, and what an operator reads of what is not."""

import os
import subprocess
import sys
import unittest

import swift_lightsync
from swift_lightsync.common.conf_options import (
    OptionError,
    between,
    finite_float,
    option,
)
from tests.unit.sync.fixtures import SwiftTestCase, node, ring_of

REPOSITORY = os.path.dirname(os.path.dirname(swift_lightsync.__file__))


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


class TestDaemon(SwiftTestCase):

    def started(self, start):
        """:returns: the exit status of a daemon, and its lines of errors"""
        ring_of(self.root, [node(0, 6200)])
        conf = os.path.join(self.root, 'object-server.conf')
        with open(conf, 'w') as out:
            out.write('[object-replicator]\nswift_dir = %s\n'
                      'error_suppression_limit = none\n' % self.root)
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c',
             'import sys\nfrom swift.common import utils\n'
             'from swift.common.daemon import run_daemon\n'
             'from swift_lightsync.sync import replicator\n'
             'utils.validate_hash_conf = lambda: None\n' + start, conf],
            cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
        return done.returncode, [line.replace(conf, 'CONF')
                                 for line in done.stderr.splitlines()]

    def test_a_daemon_ends_with_one_line_and_status_1(self):
        for start in ('replicator.main()',
                      # As swift-object-replicator has it.
                      'run_daemon(replicator.LightSyncReplicator, '
                      'sys.argv[1], "object-replicator", once=True)'):
            with self.subTest(start):
                self.assertEqual(
                    (1, ['Error: CONF: error_suppression_limit = none: '
                         'must be a whole number, 1 to 1000000']),
                    self.started(start))


if __name__ == '__main__':
    unittest.main()
