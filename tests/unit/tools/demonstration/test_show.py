# SPDX-License-Identifier: Apache-2.0
"""What is printed looks right on a terminal and in a pipe."""

import io
import threading
import unittest
from contextlib import suppress
from itertools import count
from unittest import mock

from tools.demonstration import show


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestProgress(unittest.TestCase):
    def progress(self, stream):
        with mock.patch.object(show, 'time') as time:
            time.monotonic.side_effect = range(100)
            shown = show.Show(stream)
            with shown.progress('things', 25) as count:
                for _ in range(25):
                    count()
        return stream.getvalue()

    def test_a_terminal_gets_one_line_that_is_rewritten(self):
        text = self.progress(Terminal())
        self.assertEqual(1, text.count('\n'))
        self.assertTrue(text.endswith('\n'))
        self.assertIn('25 of 25 things', text.rpartition('\r')[2])

    def test_a_pipe_gets_few_lines_and_no_carriage_return(self):
        text = self.progress(io.StringIO())
        self.assertNotIn('\r', text)
        self.assertIn(text.count('\n'), (2, 3))
        self.assertIn('25 of 25 things', text.splitlines()[-1])


class TestWaiting(unittest.TestCase):
    def wait(self, stream, error=None):
        """Until it was said three times how it stands."""
        said = count(1)
        thrice = threading.Event()

        def text():
            number = next(said)
            if number == 3:
                thrice.set()
            return 'now %d' % number

        with mock.patch.object(show, 'REDRAW_INTERVAL', 0.001), \
                mock.patch.object(show, 'REPEAT_INTERVAL', 0.001), \
                suppress(KeyboardInterrupt), \
                show.Show(stream).waiting(text):
            self.assertTrue(thrice.wait(60))
            if error:
                raise error
        return stream.getvalue()

    def test_a_terminal_gets_one_line_that_is_rewritten(self):
        text = self.wait(Terminal())
        self.assertTrue(text.startswith('\r  now 1\r  now 2\r  now 3\r'))
        self.assertEqual(len(text) - 1, text.index('\n'))

    def test_a_pipe_gets_lines(self):
        text = self.wait(io.StringIO())
        self.assertTrue(text.startswith('  now 1\n  now 2\n  now 3\n  now'))
        self.assertTrue(text.endswith('\n'))

    def test_the_line_ends_though_it_is_interrupted(self):
        self.assertTrue(self.wait(Terminal(), KeyboardInterrupt()).endswith(
            '\n'))


class TestTable(unittest.TestCase):
    def test_columns_are_aligned(self):
        stream = io.StringIO()
        show.Show(stream).table(['', 'one'], [['messages', '5'],
                                              ['x', '12345']])
        self.assertEqual(['              one',
                          '  --------  -----',
                          '  messages      5',
                          '  x         12345'],
                         stream.getvalue().splitlines())


class TestByteCount(unittest.TestCase):
    def test_a_number_of_bytes_is_readable(self):
        for number, text in ((0, '0 B'), (999, '999 B'), (1000, '1 kB'),
                             (1234567, '1.23 MB'), (5e9, '5 GB')):
            self.assertEqual(text, show.byte_count(number))
