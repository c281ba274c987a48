# SPDX-License-Identifier: Apache-2.0
"""What an experiment found: each figure of each configuration, to the base.

An experiment ends when its intervals are narrow, and they are narrow a
little too often by chance. 4,000 simulated experiments raised false alarms
in up to 5.3% where 5% were meant; ``_LOOKS`` takes that back.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cosbench.experiment.core.figures import (
    FIGURES,
    JUDGED,
    SHOWN,
    STEADY,
    Run,
    Runs,
    common_operations,
    counted,
)
from cosbench.experiment.core.intervals import Mean, certain, of_one, of_two

#: The share of the false alarms that verdicts may use.
_LOOKS = 0.8


@dataclass(frozen=True)
class Row:
    """One figure of one operation of a configuration."""

    configuration: str
    operation: str
    figure: str
    #: The geometric mean of its runs, and its confidence interval; None
    #: where there is none. Of failures and success: all runs together.
    mean: float | None
    low: float | None = None
    high: float | None = None
    #: To the base, likewise; None for the base itself.
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    #: Whether it is another than that of the base, all verdicts of the
    #: configuration together being wrong by chance in 1 - confidence of
    #: experiments; None: not judged, or a driver was the limit.
    differs: bool | None = None

    @property
    def is_better(self) -> bool:
        """Whether the ratio is on the good side."""
        return (self.ratio or 1.0) > 1 if FIGURES[
            self.figure].more_is_better else (self.ratio or 1.0) < 1


def table(runs: Runs, base: str, confidence: float,
          is_paired: bool = True) -> list[Row]:
    """Return what runs say of all that they have in common.

    :param runs: that count, of all configurations
    :param base: the name of the one that others are compared with
    :param is_paired: whether the runs of a place are of one round
    :returns: rows by configuration, operation, figure
    """
    found: list[Row] = []
    for name, own in runs.items():
        rows = []
        for operation in common_operations(runs):
            for figure in SHOWN:
                rows.append((_row(name, operation, figure, own, confidence),
                             _to_base(figure, operation, own, runs[base],
                                      is_paired)))
        if name == base:
            found += [row for row, _ in rows]
        else:
            limited = any(run.limits for run in [*own, *runs[base]])
            found += _compared(rows, confidence, limited)
    return found


def _values(runs: Sequence[Run], figure: str, operation: str
            ) -> list[float]:
    """Return what runs have, logarithms; none if one has nothing."""
    values = [run.value(figure, operation) for run in runs]
    known = [math.log(each) for each in values if each is not None
             and each > 0]
    return known if len(known) == len(values) else []


def _row(name: str, operation: str, figure: str, runs: Sequence[Run],
         confidence: float) -> Row:
    if FIGURES[figure].counted:
        return Row(name, operation, figure,
                   counted(figure, operation, runs))
    logs = _values(runs, figure, operation)
    if not logs:
        return Row(name, operation, figure, None)
    mean = of_one(logs)
    return Row(name, operation, figure, math.exp(mean.value),
               *_ends(mean, confidence))


def _to_base(figure: str, operation: str, own: Sequence[Run],
             base: Sequence[Run], is_paired: bool) -> Mean | None:
    if FIGURES[figure].counted:
        return None
    logs = _values(own, figure, operation)
    others = _values(base, figure, operation)
    if not logs or not others:
        return None
    if is_paired and len(logs) == len(others):
        return of_one([one - other for one, other in zip(logs, others)])
    return of_two(others, logs)


def _ends(mean: Mean, confidence: float
          ) -> tuple[float | None, float | None]:
    ends = mean.interval(confidence)
    # Two runs that differ much have an interval without an end.
    if ends is None or ends[1] > 700:
        return None, None
    return math.exp(ends[0]), math.exp(ends[1])


def _compared(rows: Sequence[tuple[Row, Mean | None]], confidence: float,
              limited: bool) -> Iterator[Row]:
    judged = [mean for row, mean in rows
              if row.figure in JUDGED and mean is not None]
    verdicts = iter(certain([mean.chance for mean in judged],
                            1 - (1 - confidence) * _LOOKS))
    for row, mean in rows:
        if mean is None:
            yield row
            continue
        known = next(verdicts) if row.figure in JUDGED else None
        if limited or not mean.freedom:
            known = None
        yield Row(row.configuration, row.operation, row.figure, row.mean,
                  row.low, row.high, math.exp(mean.value),
                  *_ends(mean, confidence), known)


def widths(runs: Runs, base: str, figures: Sequence[str], confidence: float
           ) -> Iterator[tuple[str, str, str, float | None]]:
    """Yield how wide the intervals are that an experiment is for.

    :param runs: that count, by rounds
    :param base: the name of the base; of one configuration alone, the
        interval is that of its own mean
    :param figures: that matter beside ``STEADY``
    :returns: (configuration, operation, figure, half the interval as a
        share of the value; None: there is no interval)
    """
    for name, own in runs.items():
        if name == base and len(runs) > 1:
            continue
        for operation in common_operations(runs):
            for figure in dict.fromkeys([*STEADY, *figures]):
                logs = _values(own, figure, operation)
                mean = of_one(logs) if name == base and logs else _to_base(
                    figure, operation, own, runs[base], True)
                ends = mean and mean.interval(confidence)
                yield name, operation, figure, math.expm1(
                    min(700.0, (ends[1] - ends[0]) / 2)) if ends else None

