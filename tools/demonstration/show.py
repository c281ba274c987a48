# SPDX-License-Identifier: Apache-2.0
"""
What the demonstration prints, in 80 columns, and never silent for long.

On a terminal the last line says what is done at the moment, and is rewritten
in place; elsewhere a new line says so when nothing was printed for a while.
"""

import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import IO, Optional

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

WIDTH = 80
INDENT = '  '
#: seconds of silence after which a line is printed that is not rewritten
SILENCE = 4.0
VERDICTS = {True: ('PASSED', 'bold green'), False: ('FAILED', 'bold red')}


def byte_count(number: float) -> str:
    """Return a number of bytes as a person reads it: 12.3 MB."""
    for unit in ('B', 'kB', 'MB'):
        if number < 1000:
            return '%.3g %s' % (number, unit)
        number /= 1000
    return '%.3g GB' % number


class Step:
    """
    Something that takes a while.

    :param what: what is done
    :param total: how many things; 0: it is not counted
    """

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.begin = time.monotonic()
        self.lock = threading.Lock()

    def count(self) -> None:
        with self.lock:
            self.done += 1

    def __str__(self) -> str:
        seconds = time.monotonic() - self.begin
        if not self.total:
            return '%s%s: %.0f s' % (INDENT, self.what, seconds)
        return '%s%s: %d of %d, %.0f s (%.0f a second)' % (
            INDENT, self.what, self.done, self.total, seconds,
            self.done / max(seconds, 0.001))


class Show:
    """
    Prints scenes, steps, tables and verdicts.

    :param stream: where to; None: standard output
    """

    def __init__(self, stream: Optional[IO[str]] = None) -> None:
        self.console = Console(file=stream, highlight=False, markup=False,
                               emoji=False)
        self.width = (min(WIDTH, self.console.width)
                      if self.console.is_terminal else WIDTH)
        self.scenes = 0
        self.begin = self.printed = time.monotonic()
        self.steps: list[Step] = []

    def lines(self, *lines: str, style: Optional[str] = None) -> None:
        """Print lines as they are, be they too long: they are commands."""
        self.printed = time.monotonic()
        for line in lines:
            self.console.print(Text(line.rstrip(), style or ''),
                               soft_wrap=True)

    def say(self, text: str, indent: str = INDENT,
            style: Optional[str] = None) -> None:
        """Print a paragraph."""
        for line in text.splitlines():
            self.lines(*textwrap.wrap(
                line, self.width - 1, initial_indent=indent,
                subsequent_indent=indent, break_on_hyphens=False),
                style=style)

    def act(self, title: str) -> None:
        """Begin an act."""
        self.lines('', '=== ' + title, style='bold')

    def scene(self, title: str) -> None:
        """Begin the next scene."""
        self.scenes += 1
        self.lines('', '%d. %s  [%d s]' % (
            self.scenes, title, time.monotonic() - self.begin), style='bold')

    def verdict(self, name: str, has_passed: bool, text: str) -> None:
        """Print what an act ends with."""
        word, style = VERDICTS[has_passed]
        self.lines('')
        self.say('VERDICT %s: %s. %s' % (name, word, text), '', style)

    def table(self, heads: list[str], rows: list[list[str]]) -> None:
        """Print a table; all columns but the first are aligned right."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for number, head in enumerate(heads):
            table.add_column(head, justify='right' if number else 'left')
        for row in rows:
            table.add_row(*map(Text, row))
        with self.console.capture() as printed:
            self.console.print(table, width=self.width - len(INDENT))
        self.lines(*(INDENT + line for line in printed.get().splitlines()))

    @contextmanager
    def doing(self, what: str, total: int = 0
              ) -> Iterator[Callable[[], None]]:
        """
        Say what is done, and how far it is, while a with block runs.

        :param what: such as 'files uploaded'
        :param total: how many there will be; 0: they are not counted
        :returns: a context that gives a callable to count one more
        """
        step = Step(what, total)
        self.steps.append(step)
        try:
            with self._repeating() if len(self.steps) == 1 else nullcontext():
                yield step.count
        finally:
            self.steps.remove(step)
        self.lines(str(step))

    @contextmanager
    def _repeating(self) -> Iterator[None]:
        def line() -> Text:
            text = Text(str(self.steps[-1]), no_wrap=True)
            text.truncate(self.width - 1, overflow='ellipsis')
            return text

        def repeat() -> None:
            while not over.wait(SILENCE / 8):
                if time.monotonic() - self.printed >= SILENCE:
                    self.lines(str(line()))

        if self.console.is_terminal:
            with Live(get_renderable=line, console=self.console,
                      transient=True):
                yield
            return
        over = threading.Event()
        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
