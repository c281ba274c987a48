# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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
