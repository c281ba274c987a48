# SPDX-License-Identifier: Apache-2.0
"""Two results, operation by operation: how much faster is the second?

An operation of one result is that of the other with the same names of stage
and work and the same id. What only one has is listed.
"""

from dataclasses import dataclass
from typing import Tuple

from cosbench.measure.result import Result
from cosbench.measure.summary import Metrics
from cosbench.reports.bootstrap import Estimate, Side, estimates
from cosbench.reports.tables import label, measured

CONFIDENCE = 0.95
#: Attribute of ``Metrics``, percent; None: the mean.
TIMES = (('avg_res', None), ('p50', 50), ('p90', 90), ('p95', 95),
         ('p99', 99))
_PERCENTS = [percent for _, percent in TIMES if percent]


@dataclass(frozen=True)
class Pair:
    """An operation in both results."""

    stage: str
    work: str
    operation: str
    first: Metrics
    second: Metrics
    #: Second to first: above 1 is better.
    throughput: Estimate
    #: Of response times in the order of ``TIMES``: below 1 is better.
    times: Tuple[Estimate, ...]


@dataclass(frozen=True)
class Comparison:

    first: Result
    second: Result
    confidence: float
    pairs: Tuple[Pair, ...]
    #: Stage, work and operation, joined by /, of what only one has.
    only_first: Tuple[str, ...]
    only_second: Tuple[str, ...]


def compare(first, second, confidence=CONFIDENCE):
    """
    Compare two results, operation by operation.

    :param first: the ``Result`` that ratios are to
    :param second: the ``Result`` that is compared with it
    :param confidence: of the intervals
    :returns: a ``Comparison``
    :raises ValueError: if the confidence is none
    """
    if not 0 < confidence < 1:
        raise ValueError('confidence=%r: must be a number between 0 and 1, '
                         'such as 0.95' % (confidence,))
    mine, theirs = _operations(first), _operations(second)
    return Comparison(
        first, second, confidence,
        tuple(_pair(mine[key], theirs[key], confidence)
              for key in mine if key in theirs),
        tuple(_named(mine[key]) for key in mine if key not in theirs),
        tuple(_named(theirs[key]) for key in theirs if key not in mine))


def _operations(result):
    """Two of the same names are told apart by their order."""
    found = {}
    for stage in result.stages:
        for work, operation in measured(stage):
            names, number = (stage.name, work.name, operation.id), 0
            while (*names, number) in found:
                number += 1
            found[(*names, number)] = (stage, work, operation)
    return found


def _named(which):
    stage, work, operation = which
    return '%s/%s/%s' % (stage.name, work.name, label(operation))


def _pair(one, other, confidence):
    (stage, work, operation), (_, second_work, second) = one, other
    first = work.metrics(operation)
    later = second_work.metrics(second)
    ratios = [_ratio(first.throughput, later.throughput)] + [
        _ratio(getattr(first, name), getattr(later, name))
        for name, _ in TIMES]
    throughput, *times = estimates(
        ratios, _side(work, operation), _side(second_work, second),
        _PERCENTS, confidence)
    return Pair(stage.name, work.name, label(operation), first, later,
                throughput, tuple(times))


def _side(work, operation):
    if work.timeline is None:
        return Side([])
    begin, end = work.window
    intervals = work.timeline.intervals(operation.id, begin, end)
    # Without a run time the last interval is not a whole one.
    return Side(intervals if end is not None else intervals[:-1])


def _ratio(base, value):
    return value / base if base and value is not None else None
