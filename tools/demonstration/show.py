# SPDX-License-Identifier: Apache-2.0
"""
What the demonstration prints: plain text, which also looks right in a pipe.

On a terminal a progress line is rewritten in place; elsewhere there is a new
one every few seconds.
"""

import sys
import textwrap
import threading
import time
from contextlib import contextmanager

WIDTH = 79
INDENT = '  '
#: seconds between two progress lines, on a terminal and elsewhere
REDRAW_INTERVAL = 0.2
REPEAT_INTERVAL = 10


def byte_count(number):
    """:returns: a number of bytes, readable: 12.3 MB"""
    for unit in ('B', 'kB', 'MB'):
        if number < 1000:
            return '%.3g %s' % (number, unit)
        number /= 1000
    return '%.3g GB' % number


class Show:
    """
    Prints scenes, and counts them.

    :param stream: where to
    """

    def __init__(self, stream=sys.stdout):
        self.stream = stream
        self.scenes = 0
        self.begin = time.monotonic()

    def _print(self, text, end='\n'):
        print(text, end=end, file=self.stream, flush=True)

    def scene(self, title):
        """Begin the next scene."""
        self.scenes += 1
        self._print('\n%d. %s  [%d s]' % (
            self.scenes, title, time.monotonic() - self.begin))

    def say(self, text):
        self._print(textwrap.fill(
            text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT,
            break_long_words=False, break_on_hyphens=False))

    def lines(self, *lines):
        """Print lines as they are."""
        for line in lines:
            self._print((INDENT + line).rstrip())

    @contextmanager
    def progress(self, what, total):
        """
        :param what: what is counted, such as 'files uploaded'
        :param total: how many there will be
        :returns: a context that gives a callable to count one more
        """
        counter = _Progress(self._print, self.stream.isatty(), what, total)
        yield counter.count
        counter.end()

    @contextmanager
    def waiting(self, text):
        """
        :param text: a callable that returns how it stands; another thread
            calls it
        :returns: a context in which this is said again and again, and at
            its end
        """
        def indented():
            return INDENT + text()

        def repeat():
            while not over.wait(REDRAW_INTERVAL):
                line.again(indented)

        line = _Line(self._print, self.stream.isatty())
        over = threading.Event()
        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            line.end(indented())

    def table(self, heads, rows):
        """
        Print a table; all columns but the first are aligned right.

        :param heads: a list of strings
        :param rows: a list of lists of strings
        """
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        rule = ['-' * width for width in widths]
        for row in (heads, rule, *rows):
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width)
                      for cell, width in zip(row[1:], widths[1:])]
            self._print((INDENT + '  '.join(cells)).rstrip())


class _Line:
    """What is said again now and then: on a terminal, in its place."""

    def __init__(self, write, in_place):
        self.write = write
        self.before, self.after, self.interval = (
            ('\r', '', REDRAW_INTERVAL) if in_place
            else ('', '\n', REPEAT_INTERVAL))
        self.begin = time.monotonic()
        self.next_time = self.begin + self.interval

    def again(self, text):
        """
        :param text: a callable that returns it
        """
        now = time.monotonic()
        if now >= self.next_time:
            self.next_time = now + self.interval
            self.write(self.before + text(), end=self.after)

    def end(self, text):
        self.write(self.before + text)


class _Progress:

    def __init__(self, write, in_place, what, total):
        self.line = _Line(write, in_place)
        self.what = what
        self.total = total
        self.done = 0
        self.lock = threading.Lock()

    def count(self):
        with self.lock:
            self.done += 1
            if self.done < self.total:
                self.line.again(self._text)

    def end(self):
        self.line.end(self._text())

    def _text(self):
        seconds = time.monotonic() - self.line.begin
        return '%s%d of %d %s, %.0f s (%.0f a second)' % (
            INDENT, self.done, self.total, self.what, seconds,
            self.done / max(seconds, 0.001))
