# SPDX-License-Identifier: Apache-2.0
"""How far a long run has come.

On a terminal one line, or a bar, changes in place (``rich`` draws it, where
it is installed); elsewhere there is a new line every few seconds. Nothing is
drawn by a thread of its own: a caller says what is done, and may say it as
often as it likes and from several threads.
"""

import datetime
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from swift_lightsync.common.command import silence

#: Seconds between two lines on a terminal, and elsewhere.
TERMINAL_INTERVAL = 0.5
INTERVAL = 10.0
#: Steps between two looks at the clock.
_STRIDE = 256


class Progress:
    """One task after the other, each with a passing line; and lines that stay.

    :param stream: where to; None: stderr
    :param interval: seconds between two lines where there is no terminal
    :param clock: returns seconds
    """

    def __init__(self, stream: TextIO | None = None,
                 interval: float = INTERVAL,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._live = _live(self._stream)
        self._interval = TERMINAL_INTERVAL if self._live else interval
        self._lock = threading.RLock()
        self.begin('starting')

    def begin(self, what: str, total: float = 0,
              unit: str = 'records') -> None:
        """Begin a task, which ends the one before.

        :param what: is being done
        :param total: of what ``advance`` is told, such as bytes; 0: unknown
        :param unit: what is counted
        """
        with self._lock:
            self._what, self._total, self._unit = what, total, unit
            self._count = self._looked = 0
            self._began = self._said = self._clock()

    def step(self, count: int = 1) -> None:
        """Say that more has been done, where the total is of the same unit.

        :param count: how many more; the clock is looked at now and then only
        """
        with self._lock:
            self._count += count
            if self._count - self._looked >= _STRIDE or \
                    self._count == self._total:
                self._looked = self._count
                self.advance(self._count, self._count)

    def advance(self, done: float, count: int) -> None:
        """Say how far the task is.

        :param done: of the total
        :param count: of the unit, altogether
        """
        with self._lock:
            self._count = count
            if self._is_time():
                self._pass(self.text(done))

    def show(self, text: Callable[[], str]) -> None:
        """Say in words of the caller's how far the task is.

        :param text: returns them; it is called only when there is a new line
        """
        with self._lock:
            if self._is_time():
                self._pass(text())

    def say(self, line: str) -> None:
        """Write a line that stays.

        :param line: without a line feed
        """
        with self._lock:
            self.clear()
            self._write(line + '\n')

    def clear(self) -> None:
        """Take the passing line away, to make room for something else."""
        with self._lock:
            if self._live is not None:
                self._live.clear()

    def text(self, done: float) -> str:
        """Return what is said of the task.

        :param done: of the total
        :returns: count, rate, percent and the time that is left
        """
        seconds = max(self._clock() - self._began, 0.001)
        text = '%s: %d %s, %d/s' % (self._what, self._count, self._unit,
                                    self._count / seconds)
        if not self._total:
            return text
        share = min(done / self._total, 1)
        text += ', %d%%' % (100 * share)
        if share:
            left = round(seconds / share - seconds)
            text += ', %s left' % datetime.timedelta(seconds=left)
        return text

    def _is_time(self) -> bool:
        now = self._clock()
        if now - self._said < self._interval:
            return False
        self._said = now
        return True

    def _pass(self, text: str) -> None:
        if self._live is not None:
            self._live.show(text)
        else:
            self._write(text + '\n')

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            # Nobody looks any more: the run goes on nevertheless.
            silence(self._stream)


class _Live:
    """A line of ``rich`` that changes in place.

    :param live: the class ``rich.live.Live``
    :param console: of the terminal
    """

    def __init__(self, live: Any, console: Any) -> None:
        self._class = live
        self._console = console
        self._shown: Any = None

    def show(self, text: str) -> None:
        """Show a text in the place of the one before."""
        from rich.text import Text
        if self._shown is None:
            # What others print is theirs: nothing is redirected, and the
            # cursor stays for whoever is killed.
            self._shown = self._class(
                console=self._console, auto_refresh=False, transient=True,
                redirect_stdout=False, redirect_stderr=False)
            self._shown.start()
            self._console.show_cursor(True)
        self._shown.update(Text(text, no_wrap=True, overflow='ellipsis'),
                           refresh=True)

    def clear(self) -> None:
        """Take it away, if there is one."""
        if self._shown is not None:
            self._shown.stop()
            self._shown = None


def _live(stream: TextIO) -> _Live | None:
    """Return what draws on a terminal; None: there is none, or no rich."""
    if not stream.isatty():
        return None
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        return None
    console = Console(file=stream)
    return None if console.is_dumb_terminal else _Live(Live, console)
