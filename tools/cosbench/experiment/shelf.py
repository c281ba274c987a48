# SPDX-License-Identifier: Apache-2.0
"""Experiments of a directory, for who only looks at them."""

import json
import os
from dataclasses import dataclass

from cosbench.errors import ConfigError
from cosbench.experiment.book import (
    ARCHIVE,
    PLAN,
    RESULT,
    finished_runs,
    read_plan,
    whole_rounds,
)
from cosbench.experiment.core.expression import parse
from cosbench.experiment.findings import Aims, Findings

#: Bytes of a result.json that are read.
_MAX_RESULT = 64 << 20


@dataclass(frozen=True)
class Entry:
    """An experiment of the directory."""

    name: str
    configurations: tuple[str, ...]
    #: Runs that have begun.
    begun: int
    #: Unix seconds at which something last happened.
    changed: float


def entries(directory: str) -> list[Entry]:
    """Return the experiments of a directory, the latest first.

    :param directory: its path; those below it that have an experiment count
    """
    found: list[Entry] = []
    try:
        names = os.listdir(directory)
    except OSError:
        return found
    for name in names:
        path = os.path.join(directory, name)
        try:
            plan = read_plan(path)
            changed = os.path.getmtime(os.path.join(path, PLAN))
        except (ConfigError, OSError):
            continue
        found.append(Entry(name, tuple(plan.names), len(plan.runs), changed))
    return sorted(found, key=lambda each: -each.changed)


def findings(directory: str) -> Findings:
    """Return what an experiment says now, also while it runs.

    :param directory: of the experiment
    :returns: ``Findings``
    :raises ConfigError: if it cannot be read
    """
    plan = read_plan(directory)
    known = finished_runs(plan, os.path.join(directory, ARCHIVE))
    return Findings(plan, _aims(directory), whole_rounds(plan, known))


def _aims(directory: str) -> Aims:
    """Return what it was last run for; the usual, before its first round."""
    usual = Aims()
    try:
        with open(os.path.join(directory, RESULT), 'rb') as source:
            found = json.loads(source.read(_MAX_RESULT))
        return Aims(tuple(map(parse, found['asked'])), int(found['least']),
                    int(found['most']), float(found['precision']),
                    float(found['confidence']))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return usual
