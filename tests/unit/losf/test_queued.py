# SPDX-License-Identifier: Apache-2.0
"""queued.py: a suffix that is taken for queued is queued."""

import os
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

from swift.obj.diskfile import HASH_INVALIDATIONS_FILE

from swift_losf.diskfile.queued import LOOKED_AT, is_queued, keep_queued


class TestQueued(unittest.TestCase):

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())

    def queued(self, *suffixes):
        with open(os.path.join(self.directory, HASH_INVALIDATIONS_FILE),
                  'w', encoding='ascii') as lines:
            lines.writelines(suffix + '\n' for suffix in suffixes)

    def is_queued(self, suffix):
        return is_queued(os.path.join(self.directory, suffix))

    def test_without_a_file_nothing_is(self):
        self.assertFalse(self.is_queued('abc'))

    def test_what_is_last_is_found_after_any_number_of_others(self):
        most = LOOKED_AT // len('abc\n')
        for others in 0, 1, most - 1, most, 3 * most:
            self.queued(*['fff'] * others, 'abc')
            self.assertTrue(self.is_queued('abc'), others)
            self.assertEqual(others > 0, self.is_queued('fff'))
            self.assertFalse(self.is_queued('bcf'))

    def test_so_much_is_looked_at_and_no_more(self):
        others = LOOKED_AT // len('abc\n') - 1
        for more, found in (0, True), (1, False):
            self.queued('abc', *['fff'] * (others + more))
            self.assertEqual(found, self.is_queued('abc'))

    def test_only_what_is_not_queued_is_queued(self):
        self.queued('abc')
        manager = SimpleNamespace(invalidate_hash=mock.Mock())
        for suffix in 'abc', 'abd':
            keep_queued(manager, os.path.join(self.directory, suffix))
        manager.invalidate_hash.assert_called_once_with(
            os.path.join(self.directory, 'abd'))
