# SPDX-License-Identifier: Apache-2.0
"""The errors of a workload: each names the thing, its value, what is allowed.

``ConfigError`` is raised by what knows a value only; the builder catches it
and adds the line; ``WorkloadError`` carries all that a document was refused
for.
"""

from dataclasses import dataclass


class ConfigError(ValueError):
    """A value that is not allowed."""

    @classmethod
    def of(cls, key, value, allowed):
        """
        :param key: the name of the setting
        :param value: its value, as it was written
        :param allowed: what it must be, as words that follow 'must be'
        """
        return cls('%s=%s: must be %s' % (key, shown(value), allowed))


class ArchiveError(Exception):
    """An archive, or a run in it, that cannot be used."""


@dataclass(frozen=True)
class Problem:
    """Something about one line of a document."""

    line: int
    reason: str


class WorkloadError(Exception):
    """
    A document that is no workload.

    :param problems: what it was refused for, as ``Problem``; at least one
    """

    def __init__(self, problems):
        self.problems = tuple(problems)
        super().__init__('; '.join(
            'line %d: %s' % (problem.line, problem.reason)
            for problem in self.problems))


def shown(value, most=80):
    """A value as an error shows it: printable, one line, not too long."""
    text = repr(str(value))
    return text if len(text) <= most else text[:most - 4] + "...'"
