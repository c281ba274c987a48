# SPDX-License-Identifier: Apache-2.0
"""What our console commands have in common.

A command ends with 0 if all is well, with 1 if something is not well or
failed, and with 2 if it was called wrongly or was given bad input. Each
failure is one line on stderr, ``prog: what, value, what is allowed``, without
a traceback. Where nobody reads the output any more, as before ``| head``, the
command ends quietly.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, NoReturn, TextIO, TypeVar

_T = TypeVar('_T')
#: The exit status that a shell sees of a process that SIGPIPE ended.
UNREAD = 128 + signal.SIGPIPE


class Exit(IntEnum):
    """Exit statuses."""
    WELL = 0
    NOT_WELL = 1
    USAGE = 2


class UsageError(Exception):
    """What was asked for cannot be had, with the reason."""


def run(parser: argparse.ArgumentParser,
        work: Callable[[argparse.Namespace], int],
        argv: Sequence[str] | None = None,
        bad_input: tuple[type[Exception], ...] = ()) -> int:
    """Run a command.

    :param parser: of its arguments
    :param work: does what the command is for, and returns the exit status
    :param argv: the arguments; None: those of the process
    :param bad_input: errors besides UsageError that end with status 2
    :returns: the exit status; any other OSError is 1
    """
    _replace_closed_streams()
    args = parser.parse_args(argv)
    refused: tuple[type[Exception], ...] = (UsageError,) + bad_input
    with until_unread():
        try:
            status = work(args)
            _flush(sys.stdout)
            return status
        except BrokenPipeError:
            raise
        except refused as err:
            return _failed(parser, err, Exit.USAGE)
        except OSError as err:
            # A port that is taken, a full disk: the message has it all.
            _flush_or_silence(sys.stdout)
            return _failed(parser, err, Exit.NOT_WELL)


def _failed(parser: argparse.ArgumentParser, reason: Exception,
            status: Exit) -> int:
    print('%s: %s' % (parser.prog, reason), file=sys.stderr)
    return int(status)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``--json``.

    :param parser: of a command
    """
    parser.add_argument('--json', action='store_true',
                        help='print JSON instead of text')


def json_text(document: Any) -> str:
    """Write what ``--json`` prints.

    :param document: what ``json.dumps`` takes
    :returns: indented lines
    """
    return json.dumps(document, indent=2) + '\n'


def argument(parse: Callable[[str], _T]) -> Callable[[str], _T]:
    """Make the type of an argument of the parser of an option.

    :param parse: a parser as in ``options``
    :returns: for ``add_argument(type=...)``; it keeps the parser's reason
    """
    def parse_argument(value: str) -> _T:
        try:
            return parse(value)
        except ValueError as err:
            reason = str(err)
        # Parsers of options say what is allowed, those of addresses what
        # the value was too.
        if reason.startswith('must be '):
            reason = '%r %s' % (value, reason)
        raise argparse.ArgumentTypeError(reason)
    return parse_argument


def require_extra(prog: str, extra: str, *modules: str) -> None:
    """End the process, saying what to install, if a module is missing.

    :param prog: the command's name
    :param extra: of swift-lightsync, such as ``cosbench``
    :param modules: that the extra brings
    :raises SystemExit: with status 1 if one of them is not installed
    """
    missing = [each for each in modules if not _is_installed(each)]
    if missing:
        _end("%s: %s is not installed: pip install 'swift-lightsync[%s]'" % (
            prog, ', '.join(missing), extra))


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # The package that it is in is missing.
        return False


def _end(line: str) -> NoReturn:
    print(line, file=sys.stderr)
    sys.exit(int(Exit.NOT_WELL))


@contextlib.contextmanager
def until_unread() -> Iterator[None]:
    """End the process quietly where output of the block finds no reader.

    SIGPIPE itself would end servers whose clients hang up.

    :raises SystemExit: with status ``UNREAD``
    """
    try:
        try:
            yield
        finally:
            _flush(sys.stdout)
    except BrokenPipeError:
        for stream in (sys.stdout, sys.stderr):
            try:
                _flush(stream)
            except BrokenPipeError:
                # Else the interpreter finds it at its exit, and says so.
                silence(stream)
        sys.exit(UNREAD)


def silence(stream: TextIO) -> None:
    """Let all that is still written to a stream go nowhere.

    :param stream: of a file
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _replace_closed_streams() -> None:
    """Open /dev/null where a standard stream was closed from the start."""
    for name, mode in (('stdin', 'r'), ('stdout', 'w'), ('stderr', 'w')):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))


def _flush_or_silence(stream: TextIO) -> None:
    """Write what is left, or nothing: the disk it goes to may be full."""
    try:
        _flush(stream)
    except BrokenPipeError:
        raise
    except OSError:
        silence(stream)


def _flush(stream: TextIO | None) -> None:
    # None: it was closed from the beginning.
    if stream is not None:
        stream.flush()
