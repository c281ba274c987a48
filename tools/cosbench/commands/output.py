# SPDX-License-Identifier: Apache-2.0
"""What is printed when nobody reads it any more, as before ``| head``."""

import os
import signal
import sys
from contextlib import contextmanager

#: As the shell has it of a process that SIGPIPE ended.
UNREAD = 128 + signal.SIGPIPE


def silence(stream):
    """Let all that is still written to a stream go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def until_unread():
    """
    End the process quietly where output of the block finds no reader. The
    signal itself would end servers whose clients hang up.
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


def _flush(stream):
    # None: it was closed from the begin.
    if stream is not None:
        stream.flush()
