# SPDX-License-Identifier: Apache-2.0
"""The log sink sorts messages into the files of their programs."""

import os
import tempfile
import unittest

from tools.cluster import logsink


class TestLogSink(unittest.TestCase):

    def test_a_message_has_a_name_and_a_text(self):
        for datagram, parsed in (
                (b'<134>object-server.2: PUT: done\x00',
                 ('object-server.2', 'PUT: done')),
                (b'<9>proxy: a\nb', ('proxy', 'a\nb')),
                (b'<9>what is this', ('other', 'what is this')),
                # a name cannot leave the directory
                (b'<9>../../etc/passwd: x', ('other', '../../etc/passwd: x')),
                (b'a: \xff', ('a', '\\xff'))):
            self.assertEqual(parsed, logsink.parse(datagram))

    def test_a_message_is_in_its_file_at_once(self):
        with tempfile.TemporaryDirectory() as directory:
            files = {}
            for message in (b'<134>updater.1: first',
                            b'<134>updater.1: second'):
                logsink.write(message, directory, files)
            with open(os.path.join(directory, 'updater.1.log')) as log:
                lines = log.read().splitlines()
        self.assertEqual(['first', 'second'],
                         [line.split(' ', 2)[2] for line in lines])
