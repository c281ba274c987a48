# SPDX-License-Identifier: Apache-2.0
"""cursor_file: what peers hold, kept, replaced as a whole, doubted."""

import json
import os
import tempfile
import unittest
from unittest import mock

from swift_lightsync.proar.log.cursor_file import read_cursors, write_cursors
from tests.unit.sync.fixtures import CapturingLogger

CURSORS = {0: 7, 31: 0, 5: (1 << 64) - 1}


class TestCursorFile(unittest.TestCase):

    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.directory, '3.cursors')
        self.logger = CapturingLogger()

    def read(self):
        return read_cursors(self.path, self.logger)

    def test_what_is_written_is_read(self):
        write_cursors(self.path, CURSORS)
        self.assertEqual(CURSORS, self.read())
        write_cursors(self.path, {})
        self.assertEqual({}, self.read())

    def test_the_file_is_as_documented(self):
        write_cursors(self.path, {12: 34})
        with open(self.path) as file:
            self.assertEqual({'version': 1, 'peers': {'12': 34}},
                             json.load(file))

    def test_a_missing_file_is_no_cursors_and_no_trouble(self):
        self.assertEqual({}, self.read())
        self.assertEqual([], self.logger.lines)

    def test_a_damaged_file_is_no_cursors_and_a_warning(self):
        for content in (b'', b'[]', b'{"version": 2, "peers": {}}',
                        b'{"version": 1}', b'{"version": 1, "peers": []}',
                        b'{"version": 1, "peers": {"x": 1}}',
                        b'{"version": 1, "peers": {"1": -1}}',
                        b'{"version": 1, "peers": {"1": 1.5}}',
                        b'{"version": 1, "peers": {"1": 18446744073709551616'
                        b'}}'):
            with open(self.path, 'wb') as file:
                file.write(content)
            del self.logger.lines[:]
            self.assertEqual({}, self.read(), content[:80])
            warning, = self.logger.at('WARNING')
            self.assertIn(self.path, warning)

    def test_what_cannot_be_written_leaves_what_there_was(self):
        write_cursors(self.path, CURSORS)
        with mock.patch('os.replace', side_effect=OSError), \
                self.assertRaises(OSError):
            write_cursors(self.path, {1: 1})
        self.assertEqual(CURSORS, self.read())
