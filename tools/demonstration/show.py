# SPDX-License-Identifier: Apache-2.0
"""What the demonstration prints, in 80 columns, and never silent for long.

On a terminal the last line says what is done at the moment, and is rewritten
in place; elsewhere a new line says so when nothing was printed for a while.
"""

import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from swift_lightsync.common.progress import Progress
from tools.benchmarks.record import lines

WIDTH = 79
INDENT = '  '
#: seconds between two looks at what is done, and between two such lines
TICK, SILENCE = 0.5, 4.0
VERDICTS = {True: 'PASSED', False: 'FAILED'}


class Show:
    """Prints scenes, steps, tables and verdicts.

    :param stream: where to; None: standard output
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.progress = Progress(stream or sys.stdout, SILENCE)
        self.scenes = 0
        self.begin = time.monotonic()

    def lines(self, *lines: str) -> None:
        """Print lines as they are, be they too long: they are commands."""
        for line in lines:
            self.progress.say(line.rstrip())

    def say(self, text: str, indent: str = INDENT) -> None:
        """Print paragraphs."""
        for line in text.splitlines():
            self.lines(*textwrap.wrap(
                line, WIDTH, initial_indent=indent, subsequent_indent=indent,
                break_on_hyphens=False))

    def act(self, title: str) -> None:
        """Begin an act."""
        self.lines('', '=== ' + title)

    def scene(self, title: str) -> None:
        """Begin the next scene."""
        self.scenes += 1
        self.lines('', '%d. %s  [%d s]' % (
            self.scenes, title, time.monotonic() - self.begin))

    def verdict(self, name: str, has_passed: bool, text: str) -> None:
        """Print what an act ends with."""
        self.lines('')
        self.say('%s %s: %s' % (VERDICTS[has_passed], name, text), '')

    def table(self, heads: list[str], rows: list[list[str]]) -> None:
        """Print a table; all columns but the first are aligned right."""
        self.lines('', *(INDENT + line for line in lines(
            [heads, *rows], left=1).splitlines()))

    @contextmanager
    def doing(self, what: str, total: int = 0
              ) -> Iterator[Callable[[], None]]:
        """Say what is done, and how far it is, while a with block runs.

        :param what: such as 'files uploaded'
        :param total: how many there will be; 0: they are not counted
        :returns: a context that gives a callable to count one more
        """
        done: list[None] = []
        begin = time.monotonic()

        def text() -> str:
            seconds = time.monotonic() - begin
            return '%s%s: %s%.0f s' % (INDENT, what, '%d of %d, ' % (
                len(done), total) if total else '', seconds)

        def repeat() -> None:
            while not over.wait(TICK):
                self.progress.show(text)

        over = threading.Event()
        thread = threading.Thread(target=repeat)
        self.progress.begin(what)
        thread.start()
        try:
            yield lambda: done.append(None)
        finally:
            over.set()
            thread.join()
        self.lines(text())
