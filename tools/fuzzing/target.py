# SPDX-License-Identifier: Apache-2.0
"""
A target: a parser of foreign bytes, what it may refuse and what it may cost.

An input may be refused with the documented errors, and with nothing else. An
accepted one must be what its contents encode to, where one encoding is
promised. Time and memory are bounded by the length of the input.
"""

import json
import re
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, NamedTuple

#: Bytes of memory that a parser may take whatever the input is.
MEMORY_BASE = 1 << 20
#: Seconds of CPU time that an input may take while its memory is measured,
#: and seconds for each byte of it, where the reference work takes REFERENCE.
TIME_BASE, TIME_EACH, REFERENCE = 0.5, 2e-5, 0.03
#: An input is fed so often before it is found to cost too much: what does
#: not happen again was not the input's doing.
TRIES = 3
#: What differs between messages that say the same: paths, values, numbers.
VARYING = re.compile(r'/\S+|\'[^\']*\'|"[^"]*"|[^a-zA-Z ]+')
#: Letters of a message that tell it from others.
TELLING = 100
ACCEPTED = 'accepted'


@dataclass(frozen=True)
class Target:
    """A parser, and examples of what it reads.

    :param examples: inputs, most of them valid, of which others are made
    :param parse: a function of bytes that returns what they say
    :param refuses: the exceptions that say that an input is not valid
    :param longest: bytes of the longest input that is fed
    :param memory: bytes that may be taken for each byte of an input
    :param encode: a function of what was parsed that returns its bytes,
        where no other bytes may say the same
    :param write: a function of what was parsed that returns bytes which must
        be read as the same
    :param mutations: functions of a random.Random and bytes, for this format
    :param finish: a function of bytes that makes mutated ones look valid
    :param large: a function that returns examples that are as large as
        valid inputs can be, or costly
    :param buffer: bytes of the buffer that a file is read into
    """
    name: str
    examples: Sequence[bytes]
    parse: Callable[[bytes], Any]
    refuses: tuple[type, ...]
    longest: int
    memory: int = 64
    encode: Callable[[Any], bytes] | None = None
    write: Callable[[Any], bytes] | None = None
    mutations: tuple[Callable[[Any, bytes], bytes], ...] = ()
    finish: Callable[[bytes], bytes] | None = None
    large: Callable[[], Iterable[bytes]] = tuple
    buffer: int = 0


class Finding(NamedTuple):
    """An input, and what the parser did that it must not do."""
    data: bytes
    problem: str


@dataclass
class Checker:
    """Feeds inputs to a target, and keeps one input of each kind of problem.

    Memory is measured by tracemalloc, which the caller starts.
    """
    target: Target
    inputs: int = 0
    accepted: int = 0
    outcomes: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def feed(self, data: bytes) -> str:
        """Parse an input, and check all that the target promises.

        :param data: the input; bytes beyond the longest are cut off
        :returns: the outcome, without values
        """
        data = data[:self.target.longest]
        self.inputs += 1
        outcome, problem, excess = self._measure(data)
        for _ in range(TRIES - 1):
            if excess:
                again = self._measure(data)[2]
                excess = {what: excess[what] for what in excess
                          if what in again}
        for each in filter(None, (problem, *excess.values())):
            if all(_kind_of(each) != _kind_of(known.problem)
                   for known in self.findings):
                self.findings.append(Finding(data, each))
        self.accepted += outcome == ACCEPTED
        self.outcomes.add(outcome)
        return outcome

    def _measure(self, data: bytes) -> tuple[str, str, dict[str, str]]:
        """Return the outcome, a problem or '', and what was too much."""
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        begin = process_time()
        outcome, problem = self._parse(data)
        seconds = process_time() - begin
        peak = tracemalloc.get_traced_memory()[1] - before
        target, excess = self.target, {}
        memory = MEMORY_BASE + target.buffer + target.memory * len(data)
        if peak > memory:
            excess['memory'] = 'takes %.3g bytes of memory, at most %.3g' % (
                peak, memory)
        allowed = TIME_BASE + TIME_EACH * len(data)
        if seconds > allowed and seconds > allowed * slowness():
            excess['time'] = 'takes %.3g seconds, at most %.3g' % (
                seconds, allowed)
        return outcome, problem, excess

    def _parse(self, data: bytes) -> tuple[str, str]:
        try:
            found = self.target.parse(data)
        except self.target.refuses as err:
            return '%s: %s' % (type(err).__name__, _kind_of(str(err))), ''
        except Exception as err:
            problem = '%s: %.200s' % (type(err).__name__, err)
            return _kind_of(problem), problem
        try:
            return ACCEPTED, self._difference(data, found)
        except Exception as err:
            return ACCEPTED, 'cannot be encoded: %s: %.200s' % (
                type(err).__name__, err)

    def _difference(self, data: bytes, found: Any) -> str:
        target = self.target
        encoded = target.encode(found) if target.encode else data
        if encoded != data:
            return 'is encoded in another way: %s' % encoded[:80].hex()
        if target.write and target.parse(target.write(found)) != found:
            return 'is not read as it was written'
        return ''


def _kind_of(message: str) -> str:
    return VARYING.sub('#', message[:3 * TELLING])[:TELLING]


def slowness() -> float:
    """Return how many times longer than REFERENCE its work takes, or 1."""
    begin = process_time()
    for number in range(100000):
        str(number)
    return max(1.0, (process_time() - begin) / REFERENCE)


def as_json(*documents: Any) -> tuple[bytes, ...]:
    """Return the bytes of some documents in JSON."""
    return tuple(json.dumps(each).encode() for each in documents)


def as_text(*texts: Any) -> tuple[bytes, ...]:
    """Return the bytes of some texts, or of what str makes texts of."""
    return tuple(str(each).encode() for each in texts)
