# SPDX-License-Identifier: Apache-2.0
"""
Feeds inputs to a parser, and finds what it should not do.

Inputs come from valid ones, by mutation. Those that were answered in a way
that was not seen before (accepted, or refused with another reason) are kept,
and mutated further. All of it follows from the seed.
"""

import random
import re
import resource
import signal
import time
import tracemalloc
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass

from tools.fuzzing.mutate import mutate
from tools.fuzzing.target import TIME_BASE, TIME_EACH

#: Inputs that are kept.
CORPUS = 512
#: One of so many inputs is large.
LARGE = 20000
#: Seconds after which a parser is stopped.
HANGS = 30
#: Bytes of address space that a parser may take besides what there was.
ADDRESS_SPACE = 2 << 30
#: What differs between messages that say the same: paths, values, numbers.
VARYING = re.compile(r'/\S+|\'[^\']*\'|"[^"]*"|[^a-zA-Z ]+')
#: Letters of a message that tell it from others.
TELLING = 100


def _kind_of(message):
    return VARYING.sub('#', message[:3 * TELLING])[:TELLING]


@dataclass(frozen=True)
class Finding:
    """
    :param target: name of the target
    :param number: of the input, from 0
    :param data: the input
    :param problem: what it did
    """
    target: str
    number: int
    data: bytes
    problem: str


class Hang(BaseException):
    """An input that takes too long."""


@contextmanager
def limits():
    """Measure memory and bound it, and let alarms end what hangs."""
    def hang(*_):
        raise Hang()

    before = signal.signal(signal.SIGALRM, hang)
    old = resource.getrlimit(resource.RLIMIT_AS)
    with open('/proc/self/statm', encoding='ascii') as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, old[1]))
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_AS, old)
        signal.signal(signal.SIGALRM, before)


class Fuzzer:
    """
    :param target: a :class:`Target`
    :param seed: an integer
    """

    def __init__(self, target, seed):
        self.target = target
        self.rng = random.Random('%s %d' % (target.name, seed))
        self.corpus = []
        self.outcomes = Counter()
        self.findings = []
        self.accepted = 0
        self.number = 0

    def run(self, inputs, progress=lambda number: None):
        """
        :param inputs: how many
        :param progress: a function that is called with the number of inputs
            that have been fed, now and then
        """
        with limits():
            for number in range(inputs):
                self.number = number
                data = self._next(number)
                self._remember(self.feed(data), data)
                if number % 1000 == 999:
                    progress(number + 1)

    def _next(self, number):
        """An input: valid, random, or a mutation of one that is kept."""
        target, rng = self.target, self.rng
        if target.make_large and number % LARGE == LARGE // 2:
            return target.make_large(rng)[:target.longest]
        kind = rng.random()
        if not self.corpus or kind < 0.1:
            return target.make(rng)
        if kind < 0.12:
            return rng.randbytes(rng.choice((0, 1, 9, 30, 300)))
        base = target.make(rng) if kind < 0.5 else rng.choice(self.corpus)
        data = mutate(rng, base, rng.choice(self.corpus), target.mutations)
        if target.finish and len(data) >= 4 and rng.random() < 0.8:
            data = target.finish(data)
        return data[:target.longest]

    def _remember(self, outcome, data):
        new = outcome not in self.outcomes
        self.outcomes[outcome] += 1
        if new and len(data) < 1 << 14:
            if len(self.corpus) == CORPUS:
                self.corpus.pop(self.rng.randrange(CORPUS))
            self.corpus.append(data)

    def feed(self, data):
        """
        Give an input to the parser.

        :param data: the bytes
        :returns: what came of it, without what varies
        """
        outcome, excess = self._measure(data)
        if excess:
            # What does not happen again was not the input's doing.
            again = self._measure(data)[1]
            for what, problem in excess.items():
                if what in again:
                    self._find(data, problem)
        return outcome

    def _measure(self, data):
        """:returns: what came of it, and a dict of what was too much"""
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        signal.setitimer(signal.ITIMER_REAL, HANGS)
        begin = time.process_time()
        try:
            outcome = self._parse(data)
        except Hang:
            outcome = self._find(data, 'takes more than %d s' % HANGS)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        seconds = time.process_time() - begin
        peak = tracemalloc.get_traced_memory()[1] - before
        return outcome, {
            what: 'takes %.3g %s, at most %.3g' % (found, what, allowed)
            for what, found, allowed in (
                ('bytes of memory', peak, self.target.memory_for(data)),
                ('seconds', seconds, TIME_BASE + TIME_EACH * len(data)))
            if found > allowed}

    def _parse(self, data):
        target = self.target
        try:
            found = target.parse(data)
        except target.refuses as err:
            return '%s: %s' % (type(err).__name__, _kind_of(str(err)))
        except Exception as err:
            return self._find(data, '%s: %.200s' % (type(err).__name__, err))
        self.accepted += 1
        if target.encode:
            try:
                encoded = target.encode(found)
            except Exception as err:
                return self._find(data, 'cannot be encoded: %s: %.200s'
                                  % (type(err).__name__, err))
            if encoded != data:
                return self._find(data, 'is encoded in another way: %s'
                                  % encoded[:80].hex())
        return 'accepted'

    def _find(self, data, problem):
        outcome = _kind_of(problem)
        # One of a kind will do.
        if outcome not in self.outcomes:
            self.findings.append(Finding(self.target.name, self.number, data,
                                         problem))
            self.outcomes[outcome] = 0
        return outcome
