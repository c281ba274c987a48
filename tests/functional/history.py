# SPDX-License-Identifier: Apache-2.0
"""Whether what clients were told is what one register would have told them.

A register holds one value. Its history is linearizable if each operation can
be given a moment between its invocation and its answer at which it takes
effect, so that each read has the value of the last write. (Lowe, "Testing for
linearizability": the just-in-time search, with the configurations as a set.)

An operation whose outcome is not known takes effect at any moment after its
invocation, or never. A write that may have failed takes effect before its
answer, or never.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum


class Value(Enum):
    """What is no value that was written."""
    ABSENT = 'absent'
    #: of a read: any but ABSENT
    PRESENT = 'present'


UNKNOWN = math.inf


@dataclass(frozen=True)
class Operation:
    """:param is_write: or a read
    :param value: that was written or read; each write has another, but for
        ABSENT
    :param invoked: seconds, on the clock of all operations
    :param answered: seconds; UNKNOWN if the outcome is not known
    :param label: for messages
    :param may_fail: whether a write that was answered may have no effect
    """
    is_write: bool
    value: object
    invoked: float
    answered: float = UNKNOWN
    label: str = ''
    may_fail: bool = False

    def __post_init__(self):
        if self.answered < self.invoked:
            raise ValueError('%s: answered at %r, before it was invoked'
                             % (self, self.answered))

    def precedes(self, other):
        """Whether it was answered before the other one was invoked."""
        return self.answered < other.invoked

    def fits(self, state):
        """Whether it is a read of what a register holds."""
        return not self.is_write and (
            self.value == state or self.value is Value.PRESENT
            and state is not Value.ABSENT)

    def __str__(self):
        return '%.4f-%.4f %s %s %s' % (
            self.invoked, self.answered,
            'write' if self.is_write else 'read', self.value, self.label)


@dataclass(frozen=True)
class Violation:
    """:param operation: that nothing explains
    :param before: some Operations that were invoked before its answer
    """
    operation: Operation
    before: tuple

    def __str__(self):
        return 'nothing explains %s, after\n%s' % (
            self.operation, '\n'.join('    %s' % each
                                      for each in self.before))


#: Operations that a message shows.
SHOWN = 16


def find_violation(operations, initial=Value.ABSENT):
    """Check that a history is linearizable.

    :param operations: Operations on one register, in any order
    :param initial: what it holds first
    :returns: a Violation of the first answer that is none of a register, or
        None
    """
    history = _that_matter(operations)
    search = _Search(history, initial)
    # Those of the same moment may be concurrent: all are invoked first.
    for _, is_answer, index in sorted(
            event for index, each in enumerate(history)
            for event in ((each.invoked, False, index),
                          (each.answered, True, index))):
        if history[index].answered == UNKNOWN and is_answer:
            break
        if not is_answer:
            search.invoke(index)
        elif not search.answer(index):
            return _violation(history[index], history)
    return None


def _violation(operation, operations):
    earlier = [each for each in sorted(
        operations, key=lambda each: each.invoked)
        if each.invoked <= operation.answered and each is not operation]
    return Violation(operation, tuple(earlier[-SHOWN:]))


def _that_matter(operations):
    """Without reads of unknown outcome, and with one value for what nobody has
    read of the writes of unknown outcome: so they are all the same.
    """
    read = {each.value for each in operations if not each.is_write}
    known = [each for each in operations if each.answered != UNKNOWN]
    unknown = [
        each if each.value in read | {Value.ABSENT}
        else replace(each, value=Value.PRESENT)
        for each in operations if each.is_write and each.answered == UNKNOWN]
    return known + [each for each in unknown if each.value in read]


class _Search:
    """All that a register may hold now. A configuration is its value, and
    those of the pending operations that have taken effect.

    :param history: a list of Operations, known by their indexes
    :param initial: what the register holds first
    """

    def __init__(self, history, initial):
        self._history = history
        self._pending = []
        self._configurations = {(initial, frozenset())}

    def invoke(self, index):
        self._pending.append(index)

    def answer(self, index):
        """Go on with those configurations in which an operation takes effect,
        and no further than needed.

        :returns: whether there is one
        """
        # Where it fails all stays as it is.
        found = {each for each in self._configurations
                 if self._history[index].may_fail and index not in each[1]}
        seen = set()
        open_ = list(self._configurations)
        while open_:
            state, done = configuration = open_.pop()
            if configuration in seen:
                continue
            seen.add(configuration)
            # A read changes nothing: the first moment is as good as any.
            done |= {each for each in self._pending
                     if self._history[each].fits(state)}
            if index in done:
                found.add((state, done - {index}))
            else:
                open_ += [(self._history[each].value, done | {each})
                          for each in self._writes(done)]
        self._pending.remove(index)
        self._configurations = found
        return bool(found)

    def _writes(self, done):
        """Yield the pending writes that may be next."""
        unknown = set()
        for each in self._pending:
            operation = self._history[each]
            if not operation.is_write or each in done:
                continue
            if operation.answered == UNKNOWN:
                # Of those with the same value the first is as good as any.
                if operation.value in unknown:
                    continue
                unknown.add(operation.value)
            yield each


@dataclass(frozen=True)
class Outage:
    """When the primary role of a register did not answer. All in seconds.

    :param begin: it answered till then
    :param down: it did not from then on
    :param up: it did not till then
    :param end: it answers everybody from then on
    """
    begin: float
    down: float
    up: float
    end: float

    def overlaps(self, operation):
        return operation.invoked <= self.end and \
            operation.answered >= self.begin

    def is_failed_over(self, operation):
        """Whether an operation is a write that others have acknowledged."""
        return operation.is_write and self.down <= operation.invoked and \
            operation.answered <= self.up


@dataclass(frozen=True)
class Verdict:
    """:param stale: reads that missed an acknowledged write, as they may
    :param violations: a list of Violations: of what they may not
    """
    stale: list
    violations: list


def judge(operations, outages=(), initial=Value.ABSENT):
    """Check a history with outages of the primary role. Reads that overlap one
    may be older, by what the others did not hold when it began: they miss no
    write that was acknowledged without the primary role. All others are those
    of a register.

    :param operations: as of :func:`find_violation`
    :param outages: a list of Outages
    :param initial: as of :func:`find_violation`
    :returns: a Verdict
    """
    excused, strict = [], []
    for each in operations:
        (excused if not each.is_write and any(
            outage.overlaps(each) for outage in outages)
            else strict).append(each)
    found = find_violation(strict, initial)
    violations = [found] if found else []
    writes = [Operation(True, initial, -math.inf, -math.inf)] + [
        each for each in operations if each.is_write]
    stale = []
    for read in excused:
        if not _misses(read, writes, lambda write: True):
            continue
        if _misses(read, writes, lambda write: any(
                outage.is_failed_over(write) for outage in outages)):
            violations.append(_violation(read, operations))
        else:
            stale.append(read)
    return Verdict(stale, violations)


def _misses(read, writes, counts):
    """Whether all writes of which a read may be are superseded for it.

    :param counts: a function of a Write that says whether it may supersede
    """
    before = [each for each in writes if each.precedes(read)
              and not each.may_fail and counts(each)]
    return all(any(write.precedes(each) for each in before)
               for write in writes if write.invoked <= read.answered
               and read.fits(write.value))
