# SPDX-License-Identifier: Apache-2.0
"""A logger that does not repeat itself: swift_lightsync/common/."""

import unittest

from swift_lightsync.common.quiet_logger import INTERVAL, QuietLogger
from tests.unit.sync.fixtures import CapturingLogger


class TestQuietLogger(unittest.TestCase):

    def setUp(self):
        self.now = 1000.0
        self.lines = CapturingLogger()
        self.quiet = QuietLogger(self.lines, lambda: self.now)

    def said(self):
        return self.lines.at('WARNING')

    def test_one_cause_is_told_once_a_minute_with_what_was_left_out(self):
        for _ in range(2368):
            self.quiet.warning_of('disk', 'It fails: %s', 'EIO')
        self.assertEqual(['It fails: EIO'], self.said())
        self.now += INTERVAL
        self.quiet.warning_of('disk', 'It fails: %s', 'ENOSPC')
        self.assertEqual('It fails: ENOSPC (and 2367 times more since the '
                         'last line)', self.said()[-1])
        self.now += INTERVAL
        self.quiet.warning_of('disk', 'It fails')
        self.assertEqual('It fails', self.said()[-1])

    def test_another_cause_has_lines_of_its_own(self):
        for cause in 'one', 'other', 'one':
            self.quiet.warning_of(cause, cause)
        self.assertEqual(['one', 'other'], self.said())

    def test_errors_and_exceptions_are_treated_likewise(self):
        for _ in range(3):
            self.quiet.error_of('e', 'error')
            try:
                raise ValueError('oops')
            except ValueError:
                self.quiet.exception_of('x', 'exception')
        self.assertEqual(2, len(self.lines.at('ERROR')))

    def test_all_else_is_the_loggers_own(self):
        for _ in range(2):
            self.quiet.warning('always')
            self.quiet.increment('some.metric')
        self.assertEqual(['always'] * 2, self.said())
        self.assertEqual(2, self.lines.counters['some.metric'])
