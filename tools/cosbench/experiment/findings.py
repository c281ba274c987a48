# SPDX-License-Identifier: Apache-2.0
"""What the runs of an experiment say, all together."""

from dataclasses import dataclass
from functools import cached_property

from cosbench.document.differences import Difference, differences
from cosbench.errors import ConfigError
from cosbench.experiment.book import MOST_ROUNDS, Plan
from cosbench.experiment.core.condition import Condition
from cosbench.experiment.core.figures import Run
from cosbench.experiment.core.judgement import (
    Answer,
    Outcome,
    judge,
    steady_figures,
)
from cosbench.experiment.core.table import Row, table, widths


@dataclass(frozen=True)
class Aims:
    """What an experiment is to find out, and how surely."""

    conditions: tuple[Condition, ...] = ()
    #: Rounds that count.
    least: int = 5
    most: int = 20
    #: Half of an interval, as a share of the value.
    precision: float = 0.02
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 2 <= self.least <= self.most <= MOST_ROUNDS:
            raise ConfigError(
                'repeats=%d, at most %d: must be 2 to %d, and the second not '
                'the less' % (self.least, self.most, MOST_ROUNDS))


@dataclass(frozen=True)
class Findings:
    """What is known after some rounds; computed when it is asked for."""

    plan: Plan
    aims: Aims
    #: Of whole rounds that count, by configuration.
    runs: dict[str, list[Run]]

    @cached_property
    def rows(self) -> list[Row]:
        """Each figure of each configuration; none before the first round."""
        return table(self.runs, self.base, self.aims.confidence) \
            if self.rounds else []

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """The answers to the conditions; none before the first round."""
        return judge(self.aims.conditions, self.runs, self.base,
                     self.aims.confidence) if self.rounds else []

    @cached_property
    def widest(self) -> tuple[str, str, str, float] | None:
        """The widest interval: configuration, operation, figure, and half of
        it as a share of the value. None before there is one.
        """
        known = [(name, operation, figure, width)
                 for name, operation, figure, width in widths(
                     self.runs, self.base, steady_figures(
                         self.aims.conditions), self.aims.confidence)
                 if width is not None] if self.rounds else []
        return max(known, key=lambda each: each[3], default=None)

    @cached_property
    def changes(self) -> dict[str, list[Difference]]:
        """Name of a configuration -> how it differs from the base."""
        first, *others = self.plan.configurations
        return {each.name: differences(first.xml, each.xml)
                for each in others}

    @property
    def base(self) -> str:
        return self.plan.names[0]

    @property
    def rounds(self) -> int:
        return len(self.runs[self.base])

    @property
    def is_narrow(self) -> bool:
        """Whether all is known as well as was asked for."""
        return self.widest is not None and \
            self.widest[3] <= self.aims.precision

    @property
    def is_enough(self) -> bool:
        """Whether no further round is needed."""
        return self.rounds >= self.aims.most or (
            self.rounds >= self.aims.least and self.is_narrow)

    @property
    def limits(self) -> list[str]:
        """Where a driver was the limit, each run once."""
        return ['%s, %s: %s' % (name, run.id, run.limits[0])
                for name, runs in self.runs.items() for run in runs
                if run.limits]

    def is_open(self, outcome: Outcome) -> bool:
        """Return whether an answer needs more runs, or other drivers.

        What is within the precision of its threshold needs none: so close
        was not asked for.
        """
        return outcome.answer is Answer.OPEN and (
            bool(self.limits) or not self.is_narrow)

