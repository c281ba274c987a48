# SPDX-License-Identifier: Apache-2.0
"""What is fuzzed: a parser, what it may refuse, and what it may cost."""

from dataclasses import dataclass
from typing import Callable, Optional

#: Bytes of memory that a parser may take whatever the input is.
MEMORY_BASE = 1 << 20
#: Seconds that an input may take, with its memory being measured, and seconds
#: for each byte of it.
TIME_BASE, TIME_EACH = 0.5, 2e-5


@dataclass(frozen=True)
class Target:
    """
    :param name: of the target
    :param make: a function of a random.Random: valid bytes
    :param parse: a function of bytes: what they say
    :param refuses: the exceptions that say that they are not valid
    :param longest: bytes of the longest input that is read; of a longer one
        no more is kept than that
    :param memory: bytes that may be taken for each byte of an input
    :param encode: a function of what was parsed: the bytes of it, where no
        other bytes may say the same
    :param mutations: of its own, see mutate
    :param finish: a function of bytes, that makes mutated ones look valid
    :param make_large: as ``make``: as much as a valid input can have, and
        costly ones
    :param buffer: bytes of the buffer that a file is read into
    """
    name: str
    make: Callable
    parse: Callable
    refuses: tuple
    longest: int
    memory: int
    encode: Optional[Callable] = None
    mutations: tuple = ()
    finish: Optional[Callable] = None
    make_large: Optional[Callable] = None
    buffer: int = 0

    def memory_for(self, data):
        """The bytes of memory that an input may take."""
        return MEMORY_BASE + self.buffer + self.memory * len(data)
