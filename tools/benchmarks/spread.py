# SPDX-License-Identifier: Apache-2.0
"""What several runs of one measurement come to."""

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Spread:
    """
    :param median: of the runs
    :param low: their least
    :param high: their greatest
    """
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values):
        """:param values: one or more numbers"""
        values = list(values)
        return cls(median(values), min(values), max(values))


def ratios(values, references):
    """
    Divide run by run, which keeps what befell both sides of one run out.

    :param values: a dict, run to number
    :param references: such a dict of what they are compared with
    :returns: the Spread of the ratios, or None if no run has one
    """
    found = [values[run] / references[run] for run in values
             if references.get(run)]
    return Spread.of(found) if found else None
