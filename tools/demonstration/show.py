# SPDX-License-Identifier: Apache-2.0
"""
What the demonstration prints, in 80 columns, and never silent for long.

On a terminal the last line says what is done at the moment and is rewritten in
place; elsewhere a new line says so when nothing was printed for a while.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import IO, Optional

from rich import box
from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

WIDTH = 80
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


@dataclass
class Step:
    """
    Something that takes a while.

    :param what: what is done
    :param total: how many things; 0: it is not counted
    """

    what: str
    total: int = 0
    done: int = 0
    begin: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self) -> None:
        with self.lock:
            self.done += 1

    def __str__(self) -> str:
        seconds = time.monotonic() - self.begin
        if not self.total:
            return '  %s: %.0f s' % (self.what, seconds)
        return '  %s: %d of %d, %.0f s (%.0f a second)' % (
            self.what, self.done, self.total, seconds,
            self.done / max(seconds, 0.001))


class Show:
    """
    Prints scenes, steps, tables and verdicts.

    :param stream: where to; None: standard output
    """

    def __init__(self, stream: Optional[IO[str]] = None) -> None:
        self.console = Console(file=stream, highlight=False, markup=False,
                               emoji=False, soft_wrap=False)
        is_terminal = self.console.is_terminal
        self.console.width = (min(WIDTH, self.console.width)
                              if is_terminal else WIDTH)
        self.scenes = 0
        self.begin = self.printed = time.monotonic()
        self.steps: list[Step] = []

    def _print(self, what, style: Optional[str] = None, **kwargs) -> None:
        self.printed = time.monotonic()
        self.console.print(what, style=style, **kwargs)

    def act(self, title: str) -> None:
        """Begin an act."""
        self._print('\n=== %s' % title, 'bold')

    def scene(self, title: str) -> None:
        """Begin the next scene."""
        self.scenes += 1
        self._print('\n%d. %s  [%d s]' % (
            self.scenes, title, time.monotonic() - self.begin), 'bold')

    def say(self, text: str) -> None:
        """Print a paragraph."""
        self._print(Padding(Text(text), (0, 0, 0, 2)))

    def lines(self, *lines: str) -> None:
        """Print lines as they are, be they too long: they are commands."""
        for line in lines:
            self._print(('  ' + line).rstrip(), soft_wrap=True)

    def verdict(self, name: str, has_passed: bool, text: str) -> None:
        """Print the line with which an act ends."""
        word, style = VERDICTS[has_passed]
        self._print('\nVERDICT %s: %s. %s' % (name, word, text), style)

    def table(self, heads: list[str], rows: list[list[str]]) -> None:
        """Print a table; all columns but the first are aligned right."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for number, head in enumerate(heads):
            table.add_column(head, justify='right' if number else 'left',
                             overflow='fold')
        for row in rows:
            table.add_row(*map(Text, row))
        self._print(Padding(table, (0, 0, 0, 2)))

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
        if total or not self.steps:
            self.lines(str(step)[2:])

    @contextmanager
    def _repeating(self) -> Iterator[None]:
        def line() -> Text:
            # The steps may be over between two looks at them.
            return Text(str((self.steps or [''])[-1]), no_wrap=True,
                        overflow='ellipsis')

        def repeat() -> None:
            while not over.wait(SILENCE / 4):
                if time.monotonic() - self.printed >= SILENCE:
                    self._print(line())

        if self.console.is_terminal and os.environ.get('TERM') != 'dumb':
            with Live(get_renderable=line, console=self.console,
                      transient=True, refresh_per_second=4,
                      redirect_stdout=False, redirect_stderr=False):
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
