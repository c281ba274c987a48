# SPDX-License-Identifier: Apache-2.0
"""The log sink sorts messages into the files of their programs."""

import os
import tempfile
import unittest

from tools.cluster import logsink


class TestParse(unittest.TestCase):

    def test_a_syslog_message_is_a_name_and_a_text(self):
        self.assertEqual(
            ('object-server.2', 'PUT: done'),
            logsink.parse(b'<134>object-server.2: PUT: done\x00'))

    def test_a_text_of_many_lines_stays_whole(self):
        self.assertEqual(('proxy', 'a\nb'), logsink.parse(b'<9>proxy: a\nb'))

    def test_a_message_without_a_name_goes_to_other(self):
        self.assertEqual(('other', 'what is this'),
                         logsink.parse(b'<9>what is this'))

    def test_a_name_cannot_leave_the_directory(self):
        self.assertEqual(('other', '../../etc/passwd: x'),
                         logsink.parse(b'<9>../../etc/passwd: x'))

    def test_bytes_that_are_not_utf8_are_kept_readable(self):
        self.assertEqual(('a', '\\xff'), logsink.parse(b'a: \xff'))


class TestLogSink(unittest.TestCase):

    def test_a_message_is_in_its_file_at_once(self):
        with tempfile.TemporaryDirectory() as directory:
            sink = logsink.LogSink(directory)
            sink.write(b'<134>updater.1: first')
            sink.write(b'<134>updater.1: second')
            with open(os.path.join(directory, 'updater.1.log')) as log:
                lines = log.read().splitlines()
        self.assertEqual(['first', 'second'],
                         [line.split(' ', 2)[2] for line in lines])
