# SPDX-License-Identifier: Apache-2.0
"""What is said of index servers that cannot be asked, and how often."""

import logging
import time
import unittest
from unittest import mock

from swift.common.utils import get_logger, get_prefixed_logger

from swift_losf.diskfile.complaints import complaints_of
from swift_losf.errors import IndexUnavailable

SAID = 'Unavailable until swift-init object-losf runs and it answers: '


class TestComplaints(unittest.TestCase):

    def setUp(self):
        self.logger = get_logger({}, log_route=self.id())
        self.complaints = complaints_of(self.logger)
        self.lines = []
        self.enterContext(mock.patch.object(
            self.logger.logger, 'callHandlers', side_effect=lambda record:
            self.lines.append(record.getMessage())))

    def raise_and_log(self, logger, cause='socket', reason='refused'):
        try:
            raise IndexUnavailable(reason, cause=cause)
        except IndexUnavailable:
            logger.exception('Error syncing partition')

    def test_each_index_server_is_told_of_once_a_minute(self):
        for _ in range(5):
            self.raise_and_log(self.logger)
            self.raise_and_log(self.logger, 'other', 'silent')
        self.assertEqual([SAID + 'refused', SAID + 'silent'], self.lines)
        with mock.patch.object(time, 'monotonic',
                               return_value=time.monotonic() + 61):
            complaints_of(self.logger)._logger._clock = time.monotonic
            self.raise_and_log(self.logger)
        self.assertEqual([
            SAID + 'refused (and 4 times more since the last line)'],
            self.lines[2:])

    def test_one_error_is_told_of_once_whoever_logs_it(self):
        err = self.complaints.of(IndexUnavailable('refused', cause='a'))
        self.logger.error('Unable to hash %s: %s', 3, err)
        self.assertEqual([SAID + 'refused'], self.lines)
        self.assertEqual((1, 0), (
            len(self.lines), self.complaints._logger._told['a'][1]))

    def test_all_else_is_logged_as_it_is(self):
        self.logger.error('Unable to hash %s: %s', 3, OSError('bad sector'))
        self.logger.info('%(a)s', {'a': 1})
        self.assertEqual(['Unable to hash 3: bad sector', '1'], self.lines)

    def test_adapters_of_one_logger_share_it(self):
        prefixed = get_prefixed_logger(self.logger, 'worker ')
        self.assertIs(self.complaints, complaints_of(prefixed))
        self.raise_and_log(prefixed)
        self.raise_and_log(self.logger)
        self.assertEqual(1, len(self.lines))

    def test_a_plain_logger_will_do(self):
        logger = logging.getLogger(self.id() + 'plain')
        self.assertIs(complaints_of(logger), complaints_of(logger))
