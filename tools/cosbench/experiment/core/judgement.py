# SPDX-License-Identifier: Apache-2.0
"""Whether a condition holds, does not, or is not decided by the runs.

EXPERIMENT.md says when a comparison holds. What its interval leaves open stays
open.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from cosbench.errors import ConfigError
from cosbench.experiment.core.condition import (
    Comparison,
    Condition,
    Logic,
    Named,
    Number,
    Sum,
    Truth,
    Value,
    comparisons,
    named,
)
from cosbench.experiment.core.figures import (
    FIGURES,
    Run,
    Runs,
    common_operations,
    counted,
)
from cosbench.experiment.core.intervals import Mean, of_one


class Answer(Enum):
    """What is known of a condition."""

    HOLDS = 'holds'
    NOT = 'does not hold'
    OPEN = 'not decided'


@dataclass(frozen=True)
class Outcome:
    """The answer to a condition for a configuration, and why it is that."""

    condition: str
    configuration: str
    answer: Answer
    why: str


#: A round: the run of the judged configuration, and that of the base.
_Round = tuple[Run, Run]
_LOGIC: dict[str, Callable[[Sequence[Answer]], Answer]] = {
    'not': lambda parts: {Answer.HOLDS: Answer.NOT, Answer.NOT: Answer.HOLDS,
                          Answer.OPEN: Answer.OPEN}[parts[0]],
    'and': lambda parts: next((each for each in (Answer.NOT, Answer.OPEN)
                               if each in parts), Answer.HOLDS),
    'or': lambda parts: next((each for each in (Answer.HOLDS, Answer.OPEN)
                              if each in parts), Answer.NOT)}


def is_relative(condition: Condition) -> bool:
    """Return whether a condition says something of the base."""
    return any(each.of_base for each in _figures(condition))


def _figures(condition: Condition) -> list[Named]:
    return [each for found in comparisons(condition.truth)
            for each in named(found.left) + named(found.right)]


def steady_figures(conditions: Sequence[Condition]) -> list[str]:
    """Return the figures that conditions name, but the counted ones."""
    return list(dict.fromkeys(
        each.figure for condition in conditions
        for each in _figures(condition) if not FIGURES[each.figure].counted))


def operation_of(name: str, operations: Sequence[str]) -> str:
    """Return the operation that a condition means.

    :param name: its whole name, STAGE/WORK/OPERATION, or the last parts of
        it; '': the only one
    :param operations: the whole names that there are
    :returns: one of them
    :raises ConfigError: if it is none of them, or several
    """
    found = [each for each in operations if not name or each == name
             or each.endswith('/' + name)]
    if len(found) == 1:
        return found[0]
    raise ConfigError('operation %s: must be one of %s%s' % (
        name or '()', ', '.join(operations) or 'none',
        ', with as much of its name as tells it from the others'
        if found else ''))


def check(conditions: Sequence[Condition], operations: Sequence[str],
          has_others: bool) -> None:
    """Refuse conditions that no run of an experiment can answer.

    :param operations: whole names of those that all configurations have
    :param has_others: whether there is a configuration besides the base
    :raises ConfigError: with the condition that is wrong
    """
    for condition in conditions:
        for each in _figures(condition):
            try:
                operation_of(each.operation, operations)
            except ConfigError as err:
                raise ConfigError('condition %r: %s' % (
                    condition.text, err)) from None
        if is_relative(condition) and not has_others:
            raise ConfigError('condition %r: there is one configuration '
                              'only: base must not be in it'
                              % condition.text)


def judge(conditions: Sequence[Condition], runs: Runs, base: str,
          confidence: float) -> list[Outcome]:
    """Return what the runs say to conditions.

    :param conditions: that ``check`` accepts
    :param runs: of all configurations, as many of each, by rounds
    :param base: the name of the base configuration
    :param confidence: 0 to 1, of all answers together
    :returns: an outcome for each condition and configuration; what compares
        with the base has none for the base itself
    """
    asked = [(condition, name) for condition in conditions for name in runs
             if name != base or not is_relative(condition)]
    number = sum(len(comparisons(condition.truth)) for condition, _ in asked)
    sure = 1 - (1 - confidence) / max(1, number)
    operations = common_operations(runs)
    return [_outcome(condition, name, list(zip(runs[name], runs[base])),
                     operations, sure) for condition, name in asked]


def _outcome(condition: Condition, name: str, rounds: Sequence[_Round],
             operations: Sequence[str], sure: float) -> Outcome:
    words: list[str] = []

    def answer(truth: Truth) -> Answer:
        if isinstance(truth, Logic):
            return _LOGIC[truth.word]([answer(each)
                                       for each in truth.parts])
        found, why = _compared(truth, rounds, operations, sure)
        words.append(why)
        return found
    return Outcome(condition.text, name, answer(condition.truth),
                   '; '.join(words))


def _compared(found: Comparison, rounds: Sequence[_Round],
              operations: Sequence[str], sure: float
              ) -> tuple[Answer, str]:
    sides = named(found.left) + named(found.right)
    if all(FIGURES[each.figure].counted for each in sides):
        return _counted(found, rounds, operations)
    limits = [text for pair in rounds for run in pair for text in run.limits]
    if limits:
        return Answer.OPEN, 'a driver was the limit: ' + limits[0]
    lefts, rights = ([_value(side, lambda each: _of_run(
        each, pair, operations)) for pair in rounds]
        for side in (found.left, found.right))
    pairs = [(left, right) for left, right in zip(lefts, rights)
             if left is not None and right is not None]
    if len(pairs) < len(rounds) or not pairs:
        return Answer.OPEN, 'a run has no such figure'
    relative = all(left > 0 and right > 0 for left, right in pairs)
    mean = of_one([math.log(left / right) if relative else left - right
                   for left, right in pairs])
    ends = mean.interval(sure)
    if ends is None:
        return Answer.OPEN, 'one round does not tell how much runs differ'
    low, high = ends
    if found.sign in ('<', '<='):
        low, high = -high, -low
    answer = Answer.HOLDS if low > 0 else \
        Answer.NOT if high <= 0 else Answer.OPEN
    return answer, _words(mean, sure, relative)


def _words(mean: Mean, sure: float, relative: bool) -> str:
    low, high = mean.interval(sure) or (math.nan, math.nan)
    if relative:
        return 'left to right %.4f [%.4f, %.4f]' % (
            math.exp(mean.value), _exp(low), _exp(high))
    return 'left less right %.4g [%.4g, %.4g]' % (mean.value, low, high)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def _counted(found: Comparison, rounds: Sequence[_Round],
             operations: Sequence[str]) -> tuple[Answer, str]:
    """Compare what all rounds have together; there is nothing to guess."""
    def total(each: Named) -> float | None:
        return counted(each.figure,
                       operation_of(each.operation, operations),
                       [pair[each.of_base] for pair in rounds])
    left, right = _value(found.left, total), _value(found.right, total)
    if left is None or right is None:
        return Answer.OPEN, 'the runs have no such figure'
    holds = {'<': left < right, '<=': left <= right, '>': left > right,
             '>=': left >= right}[found.sign]
    return Answer.HOLDS if holds else Answer.NOT, \
        'left %g, right %g in all rounds' % (left, right)


def _of_run(each: Named, pair: _Round,
            operations: Sequence[str]) -> float | None:
    return pair[each.of_base].value(
        each.figure, operation_of(each.operation, operations))


def _value(value: Value, read: Callable[[Named], float | None]
           ) -> float | None:
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Named):
        return read(value)
    assert isinstance(value, Sum)
    left, right = _value(value.left, read), _value(value.right, read)
    if left is None or right is None or value.sign == '/' and not right:
        return None
    return {'+': left + right, '-': left - right, '*': left * right}[
        value.sign] if value.sign != '/' else left / right
