# SPDX-License-Identifier: Apache-2.0
"""Two configurations, operation by operation: how much faster is the second?

An operation of one is that of the other with the same names of stage, work
and operation. What only one has is listed. Where both have several runs, the
intervals are across runs; with one each they are from how each varied in its
time (``bootstrap``), which says nothing of how runs differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cosbench.document.differences import Difference, differences
from cosbench.errors import ConfigError
from cosbench.experiment.core.figures import Run, common_operations
from cosbench.experiment.core.table import Row, table
from cosbench.measure.interval import Interval
from cosbench.measure.result import OperationResult, Result, WorkResult
from cosbench.reports.bootstrap import Side, estimates

CONFIDENCE = 0.95
FIRST, SECOND = 'first', 'second'
#: The figures of which one run has an interval of its own, and the percents
#: of those that are percentiles.
_IN_RUN = ('throughput', 'mean', 'p50', 'p95', 'p99')
_PERCENTS = (50, 95, 99)


@dataclass(frozen=True)
class Comparison:
    """What runs of two configurations say."""

    first: tuple[Result, ...]
    second: tuple[Result, ...]
    confidence: float
    #: Of the first and of the second, the same figures in the same order.
    base: tuple[Row, ...]
    rows: tuple[Row, ...]
    #: Stage, work and operation, joined by /, of what only one has.
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    #: What their documents say differently.
    changes: tuple[Difference, ...]
    #: What is against the comparison: limits of drivers, and warnings.
    warnings: tuple[str, ...]

    @property
    def is_repeated(self) -> bool:
        """Whether the intervals are across runs."""
        return min(len(self.first), len(self.second)) > 1

    @property
    def names(self) -> tuple[str, str]:
        """The ids of the runs of both, as a heading."""
        one, other = (', '.join(each.id for each in side)
                      for side in (self.first, self.second))
        return one, other


def compare(first: Sequence[Result], second: Sequence[Result],
            confidence: float = CONFIDENCE) -> Comparison:
    """Compare the runs of two configurations.

    :param first: those that ratios are to, at least one
    :param second: those that are compared with them, at least one
    :param confidence: of the intervals
    :returns: what they say
    :raises ConfigError: if the confidence is none
    """
    if not 0 < confidence < 1:
        raise ConfigError.of('confidence', confidence, 'a number between 0 '
                             'and 1, such as 0.95')
    runs = {FIRST: [Run.of(each, True) for each in first],
            SECOND: [Run.of(each, True) for each in second]}
    found = table(runs, FIRST, confidence, False)
    base = [row for row in found if row.configuration == FIRST]
    rows = [row for row in found if row.configuration == SECOND]
    if len(first) == len(second) == 1:
        rows = _in_run(rows, first[0], second[0], runs, confidence)
    common = common_operations(runs)
    only_first, only_second = (tuple(dict.fromkeys(
        name for run in side for name in run.operations
        if name not in common)) for side in runs.values())
    return Comparison(
        tuple(first), tuple(second), confidence, tuple(base), tuple(rows),
        only_first, only_second,
        tuple(differences(first[0].xml, second[0].xml)),
        tuple(_warnings(runs)))


def _warnings(runs: dict[str, list[Run]]) -> list[str]:
    """Return all that is against each run, each text once."""
    return list(dict.fromkeys(
        '%s: %s' % (run.id, text) for side in runs.values() for run in side
        for text in (*(['it is ' + run.state] if run.state != 'finished'
                       else []), *(each for each in run.limits if not any(
                           each in other for other in run.warnings)),
                    *run.warnings)))


def _in_run(rows: list[Row], first: Result, second: Result,
            runs: dict[str, list[Run]], confidence: float) -> list[Row]:
    """Give the rows the intervals that single runs have in themselves."""
    one, other = Run.parts(first), Run.parts(second)
    is_limited = any(run.limits for side in runs.values() for run in side)
    found = []
    for operation in dict.fromkeys(row.operation for row in rows):
        own = {row.figure: row for row in rows if row.operation == operation}
        pair = one[operation], other[operation]
        known = dict(zip(_IN_RUN, estimates(
            [own[name].ratio for name in _IN_RUN],
            _side(*pair[0]), _side(*pair[1]), _PERCENTS, confidence)))
        is_told = all(_tells_when_due(*part) for part in pair)
        for row in own.values():
            each = known.get(row.figure)
            if each is not None and (is_told or row.figure == 'throughput'):
                row = replace(
                    row, ratio=each.ratio, ratio_low=each.low,
                    ratio_high=each.high, differs=None if is_limited
                    or each.low is None else each.differs)
            found.append(row)
    return found


def _side(work: WorkResult, operation: OperationResult) -> Side:
    return Side([each.due for each in _intervals(work, operation)])


def _intervals(work: WorkResult, operation: OperationResult
               ) -> list[Interval]:
    if work.timeline is None:
        return []
    begin, end = work.window
    intervals = work.timeline.intervals(operation.id, begin, end)
    # Without a run time the last interval is not a whole one.
    return intervals if end is not None else intervals[:-1]


def _tells_when_due(work: WorkResult, operation: OperationResult) -> bool:
    """Whether its intervals have the times that its tally has."""
    tally = operation.tally
    return tally.intended.total == tally.response.total or any(
        each.is_late for each in _intervals(work, operation))
